# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Components of drives and vehicles: motor, gear, battery, winding, spring, radiator, propeller.

Each is a system of a few boxes with typed ports. Energies have lower bounds and irreversible parts
are of the form ``N^T K N``, so that both laws hold by construction. :data:`PARTS` lists all with
their parameters and units, from which pattern files are read.
"""

from .battery import Battery, SeriesResistance, battery
from .damper import Damper, damper
from .gear import MeshFriction, gear
from .inverter import Inverter, Signal, inverter
from .motor import motor
from .parameters import Parameter, Part
from .parts import PARTS, part
from .plane_contact import PlaneContact, plane_contact
from .point_mass import PointWeight, point_mass
from .propeller import AirDrag, Thrust, propeller
from .radiator import Radiator, radiator
from .spring import LinearSpring, spring
from .strut import Strut, strut
from .winding import Resistance, winding

__all__ = [
    "PARTS",
    "AirDrag",
    "Battery",
    "Damper",
    "Inverter",
    "LinearSpring",
    "MeshFriction",
    "Parameter",
    "Part",
    "PlaneContact",
    "PointWeight",
    "Radiator",
    "Resistance",
    "SeriesResistance",
    "Signal",
    "Strut",
    "Thrust",
    "battery",
    "damper",
    "gear",
    "inverter",
    "motor",
    "part",
    "plane_contact",
    "point_mass",
    "propeller",
    "radiator",
    "spring",
    "strut",
    "winding",
]

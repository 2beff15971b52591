# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Components of drives and vehicles: motor, gear, battery, winding, spring, radiator, propeller.

Each is a system of a few boxes with typed ports. Energies have lower bounds and irreversible parts
are of the form ``N^T K N``, so that both laws hold by construction. :data:`PARTS` lists all with
their parameters and units, from which pattern files are read.
"""

from .electrics import (
    Battery,
    Inverter,
    Resistance,
    SeriesResistance,
    Signal,
    battery,
    inverter,
    motor,
    winding,
)
from .mechanics import (
    Damper,
    LinearSpring,
    PlaneContact,
    PointWeight,
    Strut,
    damper,
    plane_contact,
    point_mass,
    spring,
    strut,
)
from .parameters import Parameter, Part
from .parts import PARTS, part
from .propulsion import AirDrag, MeshFriction, Radiator, Thrust, gear, propeller, radiator

__all__ = [
    "PARTS", "AirDrag", "Battery", "Damper", "Inverter", "LinearSpring", "MeshFriction",
    "Parameter", "Part", "PlaneContact", "PointWeight", "Radiator", "Resistance",
    "SeriesResistance", "Signal", "Strut", "Thrust", "battery", "damper", "gear", "inverter",
    "motor", "part", "plane_contact", "point_mass", "propeller", "radiator", "spring", "strut",
    "winding",
]  # fmt: skip

# Copyright 2026 The vms_ph authors
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.

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

# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Components of drives and vehicles: motor, gear, battery, winding, spring, radiator, propeller.

Each is a system of a few boxes with typed ports. Energies have lower bounds and irreversible parts
dissipate at all velocities, so that both laws hold by construction. ``vms-ph ephs parts`` lists all
with their parameters and units, which the annotations of their arguments are.
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
from .mechanics import Damper, LinearSpring, PlaneContact, PointWeight, Strut, point_mass, spring
from .propulsion import AirDrag, MeshFriction, Radiator, Thrust, gear, propeller

__all__ = [
    "AirDrag", "Battery", "Damper", "Inverter", "LinearSpring", "MeshFriction", "PlaneContact",
    "PointWeight", "Radiator", "Resistance", "SeriesResistance", "Signal", "Strut", "Thrust",
    "battery", "gear", "inverter", "motor", "point_mass", "propeller", "spring", "winding",
]  # fmt: skip

# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Effects that act on a robot: friction, fluids, actuators and their allocation."""

from .actuator_dynamics import ActuatorDynamics
from .actuator_kinds import Caster, Motor, ReactionWheel, Rotor, Tilt, Wheel
from .actuators import Actuators
from .allocation import Allocation
from .fluid import WATER, Fluid, ImmersedBody
from .friction import Friction
from .strip_theory import immersed_cylinder

__all__ = [
    "WATER",
    "ActuatorDynamics",
    "Actuators",
    "Allocation",
    "Caster",
    "Fluid",
    "Friction",
    "ImmersedBody",
    "Motor",
    "ReactionWheel",
    "Rotor",
    "Tilt",
    "Wheel",
    "immersed_cylinder",
]

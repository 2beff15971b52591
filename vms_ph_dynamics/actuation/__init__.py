# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Effects that act on a robot: friction, fluids, actuators and their allocation."""

from .actuator_dynamics import ActuatorDynamics
from .actuators import Caster, Motor, ReactionWheel, Rotor, Tilt, Wheel
from .allocation import Actuators, Allocation
from .fluid import WATER, Fluid, ImmersedBody, immersed_cylinder
from .friction import Friction

__all__ = [
    "WATER", "ActuatorDynamics", "Actuators", "Allocation", "Caster", "Fluid", "Friction",
    "ImmersedBody", "Motor", "ReactionWheel", "Rotor", "Tilt", "Wheel", "immersed_cylinder",
]  # fmt: skip

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

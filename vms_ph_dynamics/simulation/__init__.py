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

"""Simulation of robots with a controller in the loop."""

from .actuated import ActuatedSimulation
from .efforts import Actuation, Control, External, ToolWrench
from .held_mechanism import HeldMechanism
from .mechanism import Mechanism
from .payload import Payload
from .sample import Sample
from .simulation import Simulation
from .water_current import WaterCurrent

__all__ = [
    "ActuatedSimulation",
    "Actuation",
    "Control",
    "External",
    "HeldMechanism",
    "Mechanism",
    "Payload",
    "Sample",
    "Simulation",
    "ToolWrench",
    "WaterCurrent",
]

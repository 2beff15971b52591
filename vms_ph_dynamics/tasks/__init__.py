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

"""Differential tasks eta = J(q) v."""

from .centre_of_mass import CentreOfMassTask
from .distance import DistanceTask
from .frame import FrameTask
from .free_floating import FreeFloatingTask
from .orientation import OrientationTask
from .pose import PoseTask
from .position import PositionTask
from .prioritised import PrioritisedTask
from .reaction import ReactionTask
from .stacked import StackedTask
from .task import Task

__all__ = [
    "CentreOfMassTask",
    "DistanceTask",
    "FrameTask",
    "FreeFloatingTask",
    "OrientationTask",
    "PoseTask",
    "PositionTask",
    "PrioritisedTask",
    "ReactionTask",
    "StackedTask",
    "Task",
]

# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

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

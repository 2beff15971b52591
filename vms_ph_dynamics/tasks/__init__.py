# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Differential tasks eta = J(q) v."""

from .frame import (
    CentreOfMassTask,
    DistanceTask,
    FrameTask,
    OrientationTask,
    PoseTask,
    PositionTask,
)
from .task import StackedTask, Task

__all__ = [
    "CentreOfMassTask", "DistanceTask", "FrameTask", "OrientationTask",
    "PoseTask", "PositionTask", "StackedTask", "Task",
]  # fmt: skip

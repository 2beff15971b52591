# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Task Jacobians over an array namespace."""

from typing import Any

import numpy as np

from ..errors import ModelError
from ..tasks import (
    CentreOfMassTask,
    DistanceTask,
    OrientationTask,
    PoseTask,
    PositionTask,
    StackedTask,
    Task,
)
from .spatial import Expression


def task_jacobian(tree: Any, task: Task) -> Expression:
    """Return ``J(q)`` of a task, (m,nv).

    Args:
        tree: an ExportedTree, or another one with its poses and Jacobians.
        task: the task.

    Raises:
        ModelError: the task has no symbolic Jacobian.
    """
    if isinstance(task, StackedTask):
        return tree.xp.vstack([task_jacobian(tree, part) for part in task.parts])
    if isinstance(task, PoseTask):
        return _frame_rows(tree, task.frame, linear=True, angular=True)
    if isinstance(task, PositionTask):
        return _frame_rows(tree, task.frame, linear=True)
    if isinstance(task, OrientationTask):
        return _frame_rows(tree, task.frame, angular=True)
    if isinstance(task, CentreOfMassTask):
        return tree.centre_of_mass_jacobian
    if isinstance(task, DistanceTask):
        separation, relative = (
            tree.pose(task.frame).position,
            _frame_rows(tree, task.frame, linear=True),
        )
        if isinstance(task.to, str):
            separation -= tree.pose(task.to).position
            relative -= _frame_rows(tree, task.to, linear=True)
        else:
            separation -= tree.xp.constant(np.reshape(task.to, (3, 1)))
        return (separation / (separation.T @ separation) ** 0.5).T @ relative
    raise ModelError(
        f"a {type(task).__name__} has no export; exported are PoseTask, PositionTask, "
        "OrientationTask, CentreOfMassTask, DistanceTask and StackedTask of these"
    )


def _frame_rows(tree: Any, frame: str, linear: bool = False, angular: bool = False) -> Expression:
    jacobian, rotation = tree.jacobian(frame), tree.pose(frame).rotation
    rows = [rotation @ jacobian[:3, :]] * linear + [rotation @ jacobian[3:, :]] * angular
    return tree.xp.vstack(rows)

# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Task Jacobians over an array namespace."""

from typing import Any

import numpy as np

from ..errors import ModelError
from ..tasks import CentreOfMassTask, DistanceTask, FrameTask, StackedTask, Task
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
    if isinstance(task, FrameTask):
        return _frame_rows(tree, task)
    if isinstance(task, CentreOfMassTask):
        return tree.centre_of_mass_jacobian
    if isinstance(task, DistanceTask):
        first, second = task.point_tasks
        separation, relative_jacobian = tree.pose(first.frame).position, _frame_rows(tree, first)
        if second is None:
            separation -= tree.xp.constant(np.reshape(task.to, (3, 1)))
        else:
            separation -= tree.pose(second.frame).position
            relative_jacobian -= _frame_rows(tree, second)
        return (separation / (separation.T @ separation) ** 0.5).T @ relative_jacobian
    raise ModelError(
        f"a {type(task).__name__} has no export; exported are PoseTask, PositionTask, "
        "OrientationTask, CentreOfMassTask, DistanceTask and StackedTask of these"
    )


def _frame_rows(tree: Any, task: FrameTask) -> Expression:
    jacobian, rotation = tree.jacobian(task.frame), tree.pose(task.frame).rotation
    blocks = [rotation @ jacobian[:3, :], rotation @ jacobian[3:, :]]
    return tree.xp.vstack(blocks[task.rows.start // 3 : task.rows.stop // 3])

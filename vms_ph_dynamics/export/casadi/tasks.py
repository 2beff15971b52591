# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The Jacobians of tasks as CasADi expressions."""

import casadi as ca

from ...errors import ModelError
from ...tasks import (
    CentreOfMassTask,
    DistanceTask,
    OrientationTask,
    PoseTask,
    PositionTask,
    StackedTask,
    Task,
)
from .spatial import Expression
from .tree import SymbolicTree


def task_jacobian(tree: SymbolicTree, task: Task) -> Expression:
    """Return ``J(q)`` of a task, (m,nv).

    Raises:
        ModelError: the task has no symbolic Jacobian.
    """
    if isinstance(task, StackedTask):
        return ca.vertcat(*(task_jacobian(tree, part) for part in task.parts))
    if isinstance(task, PoseTask):
        return _frame_rows(tree, task.frame, linear=True, angular=True)
    if isinstance(task, PositionTask):
        return _frame_rows(tree, task.frame, linear=True)
    if isinstance(task, OrientationTask):
        return _frame_rows(tree, task.frame, angular=True)
    if isinstance(task, CentreOfMassTask):
        return tree.centre_of_mass_jacobian
    if isinstance(task, DistanceTask):
        apart, relative = tree.pose(task.frame).position, _frame_rows(tree, task.frame, linear=True)
        if isinstance(task.to, str):
            apart -= tree.pose(task.to).position
            relative -= _frame_rows(tree, task.to, linear=True)
        else:
            apart -= ca.DM(task.to)
        return (apart / ca.norm_2(apart)).T @ relative
    raise ModelError(
        f"a {type(task).__name__} has no export to CasADi; exported are PoseTask, PositionTask, "
        "OrientationTask, CentreOfMassTask, DistanceTask and StackedTask of these"
    )


def _frame_rows(
    tree: SymbolicTree, frame: str, linear: bool = False, angular: bool = False
) -> Expression:
    own, rotation = tree.jacobian(frame), tree.pose(frame).rotation
    rows = [rotation @ own[:3, :]] * linear + [rotation @ own[3:, :]] * angular
    return ca.vertcat(*rows)

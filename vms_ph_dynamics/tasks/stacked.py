# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Several tasks of equal priority, stacked."""

import numpy as np

from ..arrays import Array
from ..errors import ModelError
from ..evaluation import Evaluation
from .task import Task


class StackedTask(Task):
    """``eta`` stacks the task velocities of several tasks with equal priority.

    Attributes:
        parts: the tasks.
    """

    def __init__(self, *parts: Task) -> None:
        """Stack tasks of one robot.

        Args:
            *parts: the tasks.

        Raises:
            ModelError: there is no task, the tasks are of different robots, or they have more
                dimensions than the robot.
        """
        self.parts = checked_parts(parts)
        super().__init__(parts[0].model)
        self.dimension = sum(part.dimension for part in parts)

    def jacobian(self, d: Evaluation) -> Array:
        """Return ``J(q)``, (m,nv)."""
        return np.concatenate([part.jacobian(d) for part in self.parts])

    def jacobian_rate(self, d: Evaluation) -> Array:
        """Return the derivative of ``J`` along ``d.v``, (m,nv)."""
        return np.concatenate([part.jacobian_rate(d) for part in self.parts])

    def jacobian_gradient(self, d: Evaluation) -> Array:
        """Return the derivatives of ``J`` along each unit velocity, (m,nv,nv)."""
        return np.concatenate([part.jacobian_gradient(d) for part in self.parts])


def checked_parts(parts: tuple[Task, ...]) -> tuple[Task, ...]:
    """Return the tasks after checking that they can be stacked.

    Raises:
        ModelError: there is no task, an argument is none, the tasks are of different robots, or
            they have more dimensions than the robot.
    """
    if not parts:
        raise ModelError("a stack needs at least one task; none is given")
    if wrong := [part for part in parts if not isinstance(part, Task)]:
        raise ModelError(f"give the tasks one by one, as in StackedTask(a, b); given: {wrong[0]!r}")
    model = parts[0].model
    if any(part.model is not model for part in parts):
        raise ModelError("all tasks of a stack must be made with the same model")
    dimension = sum(part.dimension for part in parts)
    if dimension > model.nv:
        raise ModelError(
            f"the tasks of the stack have {dimension} dimensions together, '{model.name}' has "
            f"{model.nv}; leave one out"
        )
    return parts

# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The interface of a differential task, and tasks stacked."""

from abc import ABC, abstractmethod

import numpy as np

from ..arrays import Array, summary
from ..errors import ModelError
from ..evaluation import Evaluation
from ..model import VMSModel


class Task(ABC):
    """A linear map ``eta = J(q) v`` from velocities to a task velocity [D (1)].

    It need not be integrable. On a moving base v includes the base twist, and derivatives are taken
    along velocities with the base part in the base frame.

    Attributes:
        dimension: m, the size of ``eta``.
        depends_on_inertia: whether J depends on inertial parameters.
        frame_rows: frames, first rows and numbers of rows of the geometric Jacobians that J
            consists of; None where it is another.

    Args:
        model: the robot.
    """

    dimension: int
    depends_on_inertia = False
    frame_rows: tuple[tuple[int, int, int], ...] | None = None

    def __init__(self, model: VMSModel) -> None:
        self.model = model

    def __repr__(self) -> str:
        """Return the task with its size, in one line."""
        frame = getattr(self, "frame", None)
        suffix = "" if not isinstance(frame, str) else f" of '{frame}'"
        return summary(self, f"'{self.model.name}'{suffix}", f"{self.dimension} velocities")

    @abstractmethod
    def jacobian(self, d: Evaluation) -> Array:
        """Return ``J(q)``, (m,nv)."""

    @abstractmethod
    def jacobian_rate(self, d: Evaluation) -> Array:
        """Return the derivative of ``J`` along the velocity of the evaluation, (m,nv)."""

    def jacobian_gradient(self, d: Evaluation) -> Array:
        """Return the derivatives of ``J`` along each unit velocity, (m,nv,nv), the last index.

        The rate is linear in the velocity, so unit velocities give it exactly.
        """
        unit_vectors = np.eye(self.model.nv)
        return np.stack(
            [self.jacobian_rate(Evaluation(self.model, d.q, unit)) for unit in unit_vectors], axis=2
        )

    def jacobian_rate_gradient(self, d: Evaluation) -> Array:
        """Return the derivatives of :meth:`jacobian_rate` at fixed ``d.v``, (m,nv,nv).

        Raises:
            ModelError: the task has no such formula.
        """
        raise ModelError(
            f"a {type(self).__name__} has no closed derivatives; tasks of frames have, and others "
            "through form.casadi().rate_derivatives"
        )


class StackedTask(Task):
    """``eta`` stacks the task velocities of several tasks of one robot with equal priority.

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
        self.depends_on_inertia = any(part.depends_on_inertia for part in parts)
        rows = [part.frame_rows for part in parts if part.frame_rows is not None]
        self.frame_rows = sum(rows, ()) if len(rows) == len(parts) else None

    def jacobian(self, d: Evaluation) -> Array:
        """Return ``J(q)``, (m,nv)."""
        return np.concatenate([part.jacobian(d) for part in self.parts])

    def jacobian_rate(self, d: Evaluation) -> Array:
        """Return the derivative of ``J`` along ``d.v``, (m,nv)."""
        return np.concatenate([part.jacobian_rate(d) for part in self.parts])

    def jacobian_gradient(self, d: Evaluation) -> Array:
        """Return the derivatives of ``J`` along each unit velocity, (m,nv,nv)."""
        return np.concatenate([part.jacobian_gradient(d) for part in self.parts])

    def jacobian_rate_gradient(self, d: Evaluation) -> Array:
        """Return the derivatives of :meth:`jacobian_rate` at fixed ``d.v``, (m,nv,nv)."""
        return np.concatenate([part.jacobian_rate_gradient(d) for part in self.parts])


def checked_parts(parts: tuple[Task, ...]) -> tuple[Task, ...]:
    """Return the tasks after checking that they can be stacked.

    Raises:
        ModelError: there is no task, an argument is none, the tasks are of different robots, or
            they have more dimensions than the robot.
    """
    if not parts:
        raise ModelError("a stack needs at least one task; none is given")
    if non_tasks := [part for part in parts if not isinstance(part, Task)]:
        raise ModelError(f"give tasks one by one, as in StackedTask(a, b); given: {non_tasks[0]!r}")
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

# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The interface of a differential task; tasks stacked, and tasks in order of priority."""

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

    Args:
        model: the robot.
    """

    dimension: int

    def __init__(self, model: VMSModel) -> None:
        self.model = model

    def __repr__(self) -> str:
        """Return the task with its size, in one line."""
        frame = getattr(self, "frame", None)
        of = "" if not isinstance(frame, str) else f" of '{frame}'"
        return summary(self, f"'{self.model.name}'{of}", f"{self.dimension} velocities")

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
        units = np.eye(self.model.nv)
        return np.stack(
            [self.jacobian_rate(Evaluation(self.model, d.q, unit)) for unit in units], axis=2
        )


class _Combination(Task):
    """Several tasks of one robot as one.

    Attributes:
        parts: the tasks; in order of priority, the most important first.
    """

    def __init__(self, *parts: Task) -> None:
        """Combine tasks of one robot.

        Args:
            *parts: the tasks.

        Raises:
            ModelError: there is no task, the tasks are of different robots, or they have more
                dimensions than the robot.
        """
        self.parts = checked_parts(parts)
        super().__init__(parts[0].model)
        self.dimension = sum(part.dimension for part in parts)


class StackedTask(_Combination):
    """``eta`` stacks the task velocities of several tasks with equal priority."""

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


# Singular values below this fraction of the largest count as zero.
_RANK = 1e-9


class PrioritisedTask(_Combination):
    """``eta_i = J_i (I - P_<i) v``: the part of each task in the null space of those before it.

    ``P_<i`` is the dynamically consistent projector of the tasks before the i-th, stacked. The task
    inertia ``Lambda_t`` is then block-diagonal over the tasks: a force of one task accelerates no
    task of higher priority, and the kinetic energy is the sum of those of the tasks and of the null
    space (Ott, Dietrich, Albu-Schaeffer, Automatica 2015). Where a task conflicts with those before
    it, its rows lose rank, as at a singularity.
    """

    def jacobian(self, d: Evaluation) -> Array:
        """Return ``J(q)``, (m,nv)."""
        before, rows = None, []
        for part in self.parts:
            jacobian = part.jacobian(d)
            free = jacobian
            if before is not None:
                free = jacobian - jacobian @ _Projector(d, before).matrix
            rows.append(free)
            before = jacobian if before is None else np.vstack([before, jacobian])
        return np.concatenate(rows)

    def jacobian_rate(self, d: Evaluation) -> Array:
        """Return the derivative of ``J`` along ``d.v``, (m,nv)."""
        mass_rate = d.C + d.C.T
        before: Array | None = None
        before_rate: Array | None = None
        rows = []
        for part in self.parts:
            jacobian, rate = part.jacobian(d), part.jacobian_rate(d)
            free = rate
            if before is not None and before_rate is not None:
                projector = _Projector(d, before)
                turning = projector.rate(before_rate, mass_rate)
                free = rate - rate @ projector.matrix - jacobian @ turning
            rows.append(free)
            before = jacobian if before is None else np.vstack([before, jacobian])
            before_rate = rate if before_rate is None else np.vstack([before_rate, rate])
        return np.concatenate(rows)


class _Projector:
    """``P = J_sharp J``, the M-orthogonal projector along the kernel of J [D, section 3.1]."""

    def __init__(self, d: Evaluation, jacobian: Array) -> None:
        left, values, right = np.linalg.svd(jacobian, full_matrices=False)
        regular = values > _RANK * values[0]
        # P depends on the row space only; orthonormal rows keep it exact near singularities.
        self._rows = right[regular]
        self._to_rows = (left[:, regular] / values[regular]).T
        self._m = d.M
        lifted = np.linalg.solve(d.M, self._rows.T)
        self._inertia = np.linalg.inv(self._rows @ lifted)
        self._sharp = lifted @ self._inertia
        self.matrix = self._sharp @ self._rows

    def rate(self, jacobian_rate: Array, mass_rate: Array) -> Array:
        """Return the derivative of P along a motion, (nv,nv)."""
        rows_rate = self._to_rows @ jacobian_rate
        free = np.eye(len(self.matrix)) - self.matrix
        drive = rows_rate.T @ self._inertia - mass_rate @ self._sharp
        sharp_rate = free @ np.linalg.solve(self._m, drive) - self._sharp @ rows_rate @ self._sharp
        return sharp_rate @ self._rows + self._sharp @ rows_rate

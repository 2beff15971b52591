# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The distance between two frames, or between a frame and a point, as a task."""

from collections.abc import Sequence

import numpy as np

from ..arrays import Array, frozen, vector
from ..evaluation import Evaluation
from ..model import VMSModel
from .position import PositionTask
from .task import Task

# Below this distance, m, the direction between the two points is rounding.
_COINCIDENT = 1e-9


class DistanceTask(Task):
    """``eta`` is the rate of the distance of two points, m/s.

    With ``u`` the unit vector from the second to the first, ``J = u^T (J_1 - J_2)``. If the points
    coincide the direction is undefined and the Jacobian is zero, hence singular.

    Attributes:
        frame: name of the frame whose origin is the first point.
        to: name of the frame of the second point, or the point (3,) itself.
    """

    dimension = 1

    def __init__(
        self, model: VMSModel, frame: str | None = None, to: str | Sequence[float] = (0, 0, 0)
    ) -> None:
        """Create the task of two points.

        Args:
            model: the robot.
            frame: its origin is the first point; the model's end effector when None.
            to: the second point: the origin of a frame, or a point (3,) in the inertial frame, m.

        Raises:
            ModelError: there is no such frame.
            StateError: ``to`` is not a point.
        """
        super().__init__(model)
        self._first = PositionTask(model, frame)
        self._second = PositionTask(model, to) if isinstance(to, str) else None
        self._point: Array = np.zeros(3)
        if not isinstance(to, str):
            self._point = frozen(vector(to, 3, "the point of a distance").copy())
        self.frame = self._first.frame
        self.to: str | Array = to if isinstance(to, str) else self._point

    def value(self, d: Evaluation) -> float:
        """Return the distance, m."""
        return float(np.linalg.norm(self._apart(d)))

    def jacobian(self, d: Evaluation) -> Array:
        """Return ``J(q)``, (1,nv)."""
        apart = self._apart(d)
        distance = float(np.linalg.norm(apart))
        if distance < _COINCIDENT:
            return np.zeros((1, self.model.nv))
        return (apart / distance @ self._relative(d))[None, :]

    def jacobian_rate(self, d: Evaluation) -> Array:
        """Return the derivative of ``J`` along ``d.v``, (1,nv)."""
        apart = self._apart(d)
        distance = float(np.linalg.norm(apart))
        if distance < _COINCIDENT:
            return np.zeros((1, self.model.nv))
        u, relative = apart / distance, self._relative(d)
        speed = relative @ d.v
        turning = (speed - u * (u @ speed)) / distance
        rate = self._first.jacobian_rate(d)
        if self._second is not None:
            rate = rate - self._second.jacobian_rate(d)
        return (turning @ relative + u @ rate)[None, :]

    def _apart(self, d: Evaluation) -> Array:
        second = self._point if self._second is None else self._second.value(d)
        return self._first.value(d) - second

    def _relative(self, d: Evaluation) -> Array:
        jacobian = self._first.jacobian(d)
        return jacobian if self._second is None else jacobian - self._second.jacobian(d)

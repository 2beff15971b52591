"""The position of a frame as a task."""

import numpy as np
import pinocchio as pin

from ..arrays import Array
from ..evaluation import Evaluation
from ..model import VMSModel
from .task import Task

_AXES = pin.LOCAL_WORLD_ALIGNED


class PositionTask(Task):
    """``eta`` is the velocity of a frame's origin in the inertial frame, m/s.

    Integrable: it is the derivative of :meth:`value`.
    """

    dimension = 3

    def __init__(self, model: VMSModel, frame: str | None = None) -> None:
        """Take the origin of ``frame``, the model's end effector when None.

        Raises:
            ModelError: no such frame.
        """
        super().__init__(model)
        self.frame = model.end_effector if frame is None else frame
        self._frame_id = model.frame_id(self.frame)

    def value(self, d: Evaluation) -> Array:
        """Return the position in the inertial frame, (3,), m."""
        return d.placement(self.frame)[:3, 3]

    def jacobian(self, d: Evaluation) -> Array:
        """Return ``J(q)``, (3,nv)."""
        return d.frame_jacobian(self._frame_id, _AXES)[:3]

    def jacobian_rate(self, d: Evaluation) -> Array:
        """Return the derivative of ``J`` along ``d.v``, (3,nv)."""
        return d.frame_jacobian_rate(self._frame_id, _AXES)[:3]

    def jacobian_gradient(self, d: Evaluation) -> Array:
        """Return the derivatives of ``J`` along each unit velocity, (3,nv,nv).

        Column j of J is the velocity ``l_j`` that joint j gives the frame's origin. Moving joint k
        turns it with the axis ``w_k`` when j is carried along by k (every joint is by the base),
        and otherwise moves the origin it is the velocity of: ``w_k x l_j`` or ``w_j x l_k``.
        (Pinocchio's own kinematic Hessian reaches Python with its indices scrambled.)
        """
        full = d.frame_jacobian(self._frame_id, _AXES)
        # carried[j,k] = w_k x l_j, for all pairs at once.
        carried = np.cross(full[3:].T[None, :, :], full[:3].T[:, None, :])
        index = np.arange(self.model.nv)
        by_k = (index[None, :] <= index[:, None]) | (index[None, :] < self.model.b)
        gradient = np.where(by_k[:, :, None], carried, carried.transpose(1, 0, 2))
        return gradient.transpose(2, 0, 1)

# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Tasks that are rows of the Jacobian of a frame."""

import numpy as np
import pinocchio as pin

from ..arrays import Array
from ..evaluation import Evaluation
from ..model import VMSModel
from .task import Task

_AXES = pin.LOCAL_WORLD_ALIGNED

# _CROSS[a,b,c] w_c is the matrix of w x.
_CROSS = np.zeros((3, 3, 3))
for _a, _b, _c in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
    _CROSS[_a, _b, _c], _CROSS[_b, _a, _c] = -1.0, 1.0


class FrameTask(Task):
    """Rows of the geometric Jacobian of a frame: velocity of its origin, angular velocity.

    Both are relative to the inertial frame and in its axes, linear first.

    Attributes:
        frame: its name.
        frame_id: its index among the frames of Pinocchio's model.
    """

    _rows: slice

    def __init__(self, model: VMSModel, frame: str | None = None) -> None:
        """Create the task of ``frame``, the model's end effector when None.

        Args:
            model: the robot.
            frame: name of a frame.

        Raises:
            ModelError: there is no such frame.
        """
        super().__init__(model)
        self.frame = model.end_effector if frame is None else frame
        self.frame_id = model.frame_id(self.frame)
        index = np.arange(model.tree.pinocchio.nv)
        # by_k[j,k]: joint j is moved by joint k; the joints of a base move all others.
        self._by_k = (index[None, :] <= index[:, None]) | (index[None, :] < model.b)

    def jacobian(self, d: Evaluation) -> Array:
        """Return ``J(q)``, (m,nv)."""
        return d.frame_jacobian(self.frame_id, _AXES)[self._rows]

    def jacobian_rate(self, d: Evaluation) -> Array:
        """Return the derivative of ``J`` along ``d.v``, (m,nv)."""
        return d.frame_jacobian_rate(self.frame_id, _AXES)[self._rows]

    def jacobian_gradient(self, d: Evaluation) -> Array:
        """Return the derivatives of ``J`` along each unit velocity, (m,nv,nv).

        Column j of the Jacobian holds the velocity ``l_j`` that joint j gives the frame's origin
        and its axis ``w_j``. If joint k moves joint j (as those of the base move every joint), it
        rotates both with the axis ``w_k``; otherwise it moves the frame's origin, which changes
        ``l_j`` by ``w_j x l_k``. (Pinocchio's own kinematic Hessian reaches Python with its indices
        scrambled.)
        """
        # For all joints of Pinocchio's model, since columns of joints that mimic others differ.
        full = pin.computeFrameJacobian(
            d.tree.pinocchio, d.tree.data(), d.q_origin, self.frame_id, _AXES
        ).reshape(6, d.tree.pinocchio.nv)
        turning = (_CROSS @ full[3:]).transpose(2, 0, 1)
        blocks = []
        if self._rows.start == 0:
            # carried[a,j,k] = (w_k x l_j)_a, for all pairs at once.
            carried = (turning @ full[:3]).transpose(1, 2, 0)
            blocks.append(np.where(self._by_k, carried, carried.transpose(0, 2, 1)))
        if self._rows.stop == 6:
            blocks.append((turning @ full[3:]).transpose(1, 2, 0) * self._by_k)
        gradient = blocks[0] if len(blocks) == 1 else np.concatenate(blocks)
        p = d.tree.projection
        return gradient if p is None else np.einsum("ajk,jp,kq->apq", gradient, p, p)

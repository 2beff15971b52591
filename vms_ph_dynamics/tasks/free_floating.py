# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Tasks of a free-floating robot: the motion of a frame, and the reaction of its base."""

from typing import Literal

import numpy as np
import pinocchio as pin

from ..arrays import Array
from ..errors import ModelError, OptionError
from ..evaluation import Evaluation, check_moving_rigid
from ..model import VMSModel
from .task import Task

_AXES = pin.LOCAL_WORLD_ALIGNED

_ROWS = {
    ("floating", "position"): [0, 1, 2],
    ("floating", "orientation"): [3, 4, 5],
    ("floating", "pose"): [0, 1, 2, 3, 4, 5],
    ("planar", "position"): [0, 1],
    ("planar", "orientation"): [5],
    ("planar", "pose"): [0, 1, 5],
}


class FreeFloatingTask(Task):
    """``eta = J_g qdot`` with the generalised Jacobian ``J_g = J_m - J_s A`` (Umetani, Yoshida).

    At zero momentum it is the twist of the frame, in inertial axes, linear first. With momentum the
    frame moves beside it with ``J_s v_hat``, as if the joints were locked. Its force ``J^T F`` puts
    no wrench on the base, so that a base without actuators can bear it.

    Attributes:
        frame: its name.
        frame_id: its index among the frames of Pinocchio's model.
    """

    def __init__(
        self,
        model: VMSModel,
        frame: str | None = None,
        part: Literal["position", "orientation", "pose"] = "pose",
    ) -> None:
        """Create the task of ``frame``, the model's end effector when None.

        Args:
            model: the robot.
            frame: name of a frame.
            part: which rows of its twist.

        Raises:
            ModelError: the base is fixed, the robot is in a fluid, or there is no such frame.
            OptionError: ``part`` is none of those named.
        """
        super().__init__(model)
        check_moving_rigid(Evaluation(model, model.neutral_configuration(), np.zeros(model.nv)))
        if (model.base, part) not in _ROWS:
            raise OptionError(f"part must be position, orientation or pose; given: {part!r}")
        self.frame = model.end_effector if frame is None else frame
        self.frame_id = model.frame_id(self.frame)
        self._rows = _ROWS[model.base, part]
        self.dimension = len(self._rows)

    def jacobian(self, d: Evaluation) -> Array:
        """Return ``(0, J_g)``, (m,nv)."""
        full, b = d.frame_jacobian(self.frame_id, _AXES)[self._rows], self.model.b
        return np.concatenate([0.0 * full[:, :b], full[:, b:] - full[:, :b] @ d.A], axis=1)

    def jacobian_rate(self, d: Evaluation) -> Array:
        """Return the derivative along ``d.v``, (m,nv)."""
        b = self.model.b
        full = d.frame_jacobian(self.frame_id, _AXES)[self._rows]
        rate = d.frame_jacobian_rate(self.frame_id, _AXES)[self._rows]
        joints = rate[:, b:] - rate[:, :b] @ d.A - full[:, :b] @ d.A_rate
        return np.concatenate([0.0 * full[:, :b], joints], axis=1)


class ReactionTask(Task):
    """``eta = A_w qdot``: the angular velocity that the joints take from the base, rad/s.

    At zero momentum the base rotates with ``-eta`` in its own axes; joint motions with ``eta = 0``
    are the reaction null space (Yoshida). It is not integrable: the connection has curvature, see
    :func:`~vms_ph_dynamics.decoupling.curvature`.
    """

    def __init__(self, model: VMSModel) -> None:
        """Create the task of a robot.

        Args:
            model: the robot.

        Raises:
            ModelError: the base is fixed, the robot is in a fluid, or it has fewer joints than the
                rotation of its base has components.
        """
        super().__init__(model)
        check_moving_rigid(Evaluation(model, model.neutral_configuration(), np.zeros(model.nv)))
        self.dimension = 1 if model.base == "planar" else 3
        if model.n < self.dimension:
            raise ModelError(
                f"the reaction task has {self.dimension} dimensions; '{model.name}' has "
                f"{model.n} joints, and needs at least as many"
            )

    def jacobian(self, d: Evaluation) -> Array:
        """Return ``(0, A_w)``, (m,nv)."""
        return self._widened(d.A)

    def jacobian_rate(self, d: Evaluation) -> Array:
        """Return the derivative along ``d.v``, (m,nv)."""
        return self._widened(d.A_rate)

    def _widened(self, connection: Array) -> Array:
        rows = connection[-self.dimension :]
        return np.concatenate([np.zeros((self.dimension, self.model.b)), rows], axis=1)

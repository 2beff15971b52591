# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The frames in which the total momentum is conserved [B, 3.2.1]."""

from dataclasses import dataclass

import numpy as np

from ..arrays import Array, frozen
from ..evaluation import Evaluation, check_moving_rigid
from .frames import Frame, base_pose


@dataclass(frozen=True)
class Conservation:
    """The deviation of the momentum in a frame c from a constant of motion.

    Attributes:
        momentum: ``h_c``, (b,), linear first, N s and N m s.
        residual: ``(a_cb - a_ib)^T h_b``, (b,) [B (3.60)]; zero exactly when the momentum in c
            changes by external forces alone.
        inertial_residual: ``a_ci^T h_i``, (b,) [B (3.62)], the same in the inertial frame.
        drift: ``hdot_c - A_cb^-T F``, (b,): rate of the momentum in c beyond that of the forces, N
            and N m.
    """

    momentum: Array
    residual: Array
    inertial_residual: Array
    drift: Array

    def holds(self, tolerance: float = 1e-9) -> bool:
        """Return whether the residual vanishes, measured against ``max(1, |h_c|)``.

        Args:
            tolerance: largest norm of the residual, relative to that.
        """
        scale = max(1.0, float(np.abs(self.momentum).max()))
        return float(np.abs(self.residual).max()) <= tolerance * scale


def conservation(d: Evaluation, frame: Frame) -> Conservation:
    """Return the residuals of [B, proposition 3.2.1] for a frame at a state.

    [B] adds that the momentum in a rotating frame is never conserved, which is not correct: with
    zero linear momentum a frame may rotate about the angular momentum.

    Raises:
        ModelError: the base is fixed, or the robot is in a fluid.
    """
    check_moving_rigid(d)
    group, v_b = frame.group, d.v[: d.model.b]
    residual = (frame.a - group.ad(v_b)).T @ d.p
    to_inertial = group.Ad(base_pose(d))
    spatial = np.linalg.solve(to_inertial.T, d.p)
    twist_ci = to_inertial @ (frame.twist - v_b)
    return Conservation(
        frozen(frame.momentum(d)),
        frozen(residual),
        frozen(group.coad(twist_ci) @ spatial),
        frozen(np.linalg.solve(frame.A.T, -residual)),
    )

# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Frames that move with the robot, and the momentum that they conserve [B, 3.2]."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
import pinocchio as pin

from ..arrays import Array, frozen
from ..evaluation import Evaluation, check_moving_rigid
from ..groups import Group, base_group

Alignment = Literal["inertial", "locked"]


def base_pose(d: Evaluation) -> Array:
    """Return H_ib, the pose of the base in the inertial frame: (3,3) planar, (4,4) floating.

    Raises:
        ModelError: the base is fixed.
    """
    base_group(d.model.base)
    if d.model.base == "planar":
        x, y, c, s = d.q[:4]
        return np.array([[c, -s, x], [s, c, y], [0.0, 0.0, 1.0]])
    return np.array(pin.XYZQUATToSE3(d.q[:7]).homogeneous)


def centre_of_mass(d: Evaluation) -> Array:
    """Return o_bc, the centre of mass in the base frame, (2,) or (3,), m [B (3.64)].

    Raises:
        ModelError: the base is fixed, or the robot is in a fluid.
    """
    check_moving_rigid(d)
    locked, m = d.M_b, d.M_b[0, 0]
    if d.model.base == "planar":
        return np.array([locked[1, 2], -locked[0, 2]]) / m
    return np.array([locked[5, 1], locked[3, 2], locked[4, 0]]) / m


@dataclass(frozen=True)
class Frame:
    """A frame c at an instant, by its relation to the base frame b.

    Attributes:
        group: SE(2) or SE(3).
        pose: H_cb, the pose of the base in c.
        twist: nu_cb, the twist of the base against c in base axes, linear first, so that
            ``d/dt A_cb = A_cb a_cb``.
    """

    group: Group
    pose: Array
    twist: Array

    @property
    def A(self) -> Array:
        """A_cb, maps twists in b to twists in c, (b,b)."""
        return self.group.Ad(self.pose)

    @property
    def a(self) -> Array:
        """a_cb, the small adjoint of :attr:`twist`, (b,b)."""
        return self.group.ad(self.twist)

    def momentum(self, d: Evaluation) -> Array:
        """Return ``h_c = A_cb^-T h_b``, (b,) [B (3.69)]."""
        return np.linalg.solve(self.A.T, d.p)


def inertial_frame(d: Evaluation) -> Frame:
    """Return the inertial frame itself, as seen from the base.

    Raises:
        ModelError: the base is fixed.
    """
    return Frame(base_group(d.model.base), frozen(base_pose(d)), d.v[: d.model.b])


def centre_of_mass_frame(
    d: Evaluation, alignment: Alignment = "inertial", orientation: Array | None = None
) -> Frame:
    """Return a frame at the centre of mass [B, 3.2.3 and 3.2.4].

    Args:
        d: the state.
        alignment: ``"inertial"`` does not rotate; its momentum is the centroidal one. ``"locked"``
            rotates with the locked velocity: its spatial twist is that of the robot with locked
            joints. The orientation of the latter may depend on the path; see :mod:`.integrability`.
        orientation: R_bc of the locked alignment, (2,2) or (3,3); the identity when None.

    Raises:
        ModelError: the base is fixed, or the robot is in a fluid.
    """
    check_moving_rigid(d)
    group, b = base_group(d.model.base), d.model.b
    size = 2 if b == 3 else 3
    centre, from_c = centre_of_mass(d), group.identity()
    if alignment == "locked":
        twist = d.v[:b] - d.v_hat
        turn = np.eye(size) if orientation is None else orientation
    else:
        moving = np.zeros(b)
        moving[:size] = d.p[:size] / d.M_b[0, 0]
        twist = d.v[:b] - moving
        turn = base_pose(d)[:size, :size].T
    from_c[:size, :size], from_c[:size, size] = turn, centre
    return Frame(group, frozen(group.inverse(from_c)), frozen(twist))


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

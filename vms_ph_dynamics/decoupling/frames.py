# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Frames that move with the robot, the momentum they conserve, and the curvature [B, 3.2]."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
import pinocchio as pin

from ..arrays import Array, frozen
from ..errors import StateError
from ..evaluation import Evaluation, check_moving_rigid
from ..forms.decoupled import DecoupledEvaluation
from ..groups import SO2, SO3, Group, base_group
from ..model import VMSModel

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


# A curvature below this, in 1/rad^2, is rounding: the entries of dA are accurate to about 1e-13.
FLAT = 1e-9

_MOST_STEPS = 4096
# The orientation is refined until halving the steps moves it by less than this, rad.
_CONVERGED = 1e-12


@dataclass(frozen=True)
class Curvature:
    """The residual of the condition of integrability, a 2-form on the joints [B (3.72), (3.73)].

    Attributes:
        in_base: ``dT^i/dq_j - dT^j/dq_i + [T^i, T^j]`` for the columns T^i of the mechanical
            connection, (n,n,b), linear first in base axes.
        at_centre: the same twists taken at the centre of mass, still in base axes. Their linear
            part is zero: the displacement of the centre of mass is never path dependent.
    """

    in_base: Array
    at_centre: Array

    @property
    def angular(self) -> Array:
        """The angular part, (n,n,1) or (n,n,3): rotation per area of a small loop of two joints."""
        return self.in_base[:, :, -1:] if self.in_base.shape[2] == 3 else self.in_base[:, :, 3:]

    def is_flat(self, tolerance: float = FLAT) -> bool:
        """Return whether the 2-form vanishes; the orientation is then locally a function of q."""
        return float(np.abs(self.in_base).max(initial=0.0)) <= tolerance


def curvature(d: Evaluation) -> Curvature:
    """Return the residual 2-form of [B (3.72)] at a configuration.

    A small loop of the joints i and j, traversed from i to j, moves the base at zero momentum by
    ``K[i, j]`` times its area, and the aligned frame as seen from the base by the opposite.

    Raises:
        ModelError: the base is fixed, or the robot is in a fluid.
    """
    check_moving_rigid(d)
    group, t = base_group(d.model.base), d.A
    # slope[k, :, i] = dT^i/dq_k.
    slope = DecoupledEvaluation(d).dA
    two_form = np.einsum("jbi->ijb", slope) - np.einsum("ibj->ijb", slope)
    two_form += np.stack([(group.ad(column) @ t).T for column in t.T])
    to_centre = group.identity()
    centre = centre_of_mass(d)
    to_centre[: len(centre), -1] = -centre
    return Curvature(frozen(two_form), frozen(two_form @ group.Ad(to_centre).T))


def aligned_orientation(model: VMSModel, q_start: Array, q_end: Array) -> Array:
    """Return R_bc at ``q_end`` of the frame aligned with the locked velocity [B (3.74)-(3.76)].

    The frame is aligned with the base at ``q_start``. The rotation is integrated along the straight
    line in joint space, and is a function of its ends alone if the 2-form of :func:`curvature`
    vanishes between them, as it always does with one joint.

    Args:
        model: a robot on a planar or floating base.
        q_start: (nq,), of which only the joints are used.
        q_end: (nq,), of which only the joints are used.

    Returns:
        (2,2) or (3,3).

    Raises:
        ModelError: the base is fixed, or the robot is in a fluid.
        StateError: the locked velocity is not integrable between the two.
    """
    start = model.checked_configuration(q_start)
    along = model.difference(start, model.checked_configuration(q_end))
    along[: model.b] = 0.0
    before = _integrated(model, start, along, 1)
    steps = 2
    while steps <= _MOST_STEPS:
        after = _integrated(model, start, along, steps)
        if np.abs(after - before).max() < _CONVERGED:
            return frozen(after)
        before, steps = after, 2 * steps
    raise StateError(
        f"the orientation between the two configurations did not converge in {_MOST_STEPS} steps; "
        "give configurations that are closer to each other"
    )


def _integrated(model: VMSModel, start: Array, along: Array, steps: int) -> Array:
    """The Magnus scheme of fourth order for ``dR/ds = hat(T_w qdot) R``."""
    planar = model.base == "planar"
    group = SO2() if planar else SO3()
    rotation, h, gap = group.identity(), 1.0 / steps, np.sqrt(3.0) / 6.0
    for k in range(steps):
        first, second = (
            _angular_rate(model, model.integrate(start, (k + 0.5 + side * gap) * h * along), along)
            for side in (-1.0, 1.0)
        )
        turn = 0.5 * h * (first + second)
        if not planar:
            turn -= np.sqrt(3.0) / 12.0 * h * h * np.cross(first, second)
        rotation = group.exp(turn) @ rotation
    return rotation


def _angular_rate(model: VMSModel, q: Array, along: Array) -> Array:
    d = model.evaluate(q, along)
    if model.n > 1:
        residual = curvature(d)
        if not residual.is_flat():
            raise StateError(
                "the locked velocity is not integrable here: its orientation depends on the path; "
                f"the largest entry of the 2-form is {np.abs(residual.in_base).max():.3g} 1/rad^2, "
                f"at most {FLAT:g} is accepted; integrate along the path that was taken"
            )
    else:
        check_moving_rigid(d)
    locked = d.A @ along[model.b :]
    return locked[-1:] if model.b == 3 else locked[3:]

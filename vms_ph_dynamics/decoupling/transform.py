# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The decoupling transformation, external and internal velocity, Coriolis matrices [B, 3.3].

The products of the Coriolis matrices of the Hamel and of the Euler-Newton equations
with the robot's velocity are equal, the matrices differ. :attr:`Evaluation.C` is a
third one with the same product, from which ``Mdot`` below is computed.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
import pinocchio as pin

from ..arrays import Array, cached_property, frozen, summary
from ..errors import StateError
from ..evaluation import Evaluation, check_moving_rigid
from ..groups import SE3
from .frames import Frame

_SE3 = SE3()


def mass_rate(d: Evaluation) -> Array:
    """Return ``Mdot`` along the motion, (nv,nv)."""
    return frozen(d.C + d.C.T)


class BodyCoriolis:
    """The Coriolis matrices that are sums over the bodies [B (3.41), (3.83)].

    With the body Jacobians ``J_j = [A_jb, J_jq]``, inertias ``Lambda_j`` and ``a_j = ad`` of the
    body twists ``J_j v``.

    Attributes:
        newton_euler: ``sum J^T (Lambda Jdot - a^T Lambda J)``, (nv,nv): not passive.
        passivity: ``sum J^T Lambda a J``, (nv,nv): its product with the velocity is zero, since
            ``a_j nu_j = 0``.
    """

    def __init__(self, d: Evaluation) -> None:
        """Compute the sums over the bodies.

        Args:
            d: the state.

        Raises:
            ModelError: the base is fixed, or the robot is in a fluid.
        """
        check_moving_rigid(d)
        m, data, p = d.tree.pinocchio, d.tree.data(), d.tree.projection
        pin.computeJointJacobiansTimeVariation(m, data, d.q_origin, d.v_full)
        self.newton_euler, self.passivity = np.zeros((2, d.model.nv, d.model.nv))
        for j in range(1, m.njoints):
            jacobian = pin.getJointJacobian(m, data, j, pin.LOCAL)
            rate = pin.getJointJacobianTimeVariation(m, data, j, pin.LOCAL)
            if p is not None:
                jacobian, rate = jacobian @ p, rate @ p
            inertia = m.inertias[j].matrix()
            ad = _SE3.ad(jacobian @ d.v)
            weighted = inertia @ jacobian
            self.newton_euler += weighted.T @ rate - (ad @ jacobian).T @ weighted
            self.passivity += weighted.T @ (ad @ jacobian)
        frozen(self.newton_euler)
        frozen(self.passivity)

    @property
    def passive(self) -> Array:
        """The passive matrix, ``Mdot = C + C^T``, (nv,nv) [B (3.82), (3.83), second lines].

        The first lines of (3.83c, d) add vectors to matrices.
        """
        return self.newton_euler + self.passivity


@dataclass(frozen=True)
class TransformedDynamics:
    """``M_x vdot_x + C_x v_x + C_xy v_y = F_x``, and likewise for y [B (3.81), (3.84)].

    [B] prints both equations without the derivatives of v.

    Attributes:
        M_x: (b,b); M_y: (n,n).
        C_x: (b,b); C_xy: (b,n); C_yx: (n,b); C_y: (n,n) [B (A.5)].
    """

    M_x: Array
    M_y: Array
    C_x: Array
    C_xy: Array
    C_yx: Array
    C_y: Array

    @property
    def M(self) -> Array:
        """The block-diagonal inertia, (nv,nv)."""
        zero = np.zeros_like(self.C_xy)
        return np.block([[self.M_x, zero], [zero.T, self.M_y]])

    @property
    def C(self) -> Array:
        """All four blocks of the Coriolis matrix, (nv,nv)."""
        return np.block([[self.C_x, self.C_xy], [self.C_yx, self.C_y]])


class DecouplingTransform:
    """``(v_x, v_y) = T (v_b, qdot)`` with ``T = [[T_x, T_x A], [0, T_y]]`` [B (3.80)].

    The most general transform under which joint torques do not act on x and the inertia is
    block-diagonal. ``A = M_bb^-1 M_bq`` is the mechanical connection.

    Attributes:
        matrix, inverse: T and T^-1, (nv,nv).
        rate: Tdot, (nv,nv) [B (A.3)].
        velocity: ``(v_x, v_y)``, (nv,).
    """

    def __init__(
        self,
        d: Evaluation,
        T_x: Array | None = None,
        T_y: Array | None = None,
        T_x_rate: Array | None = None,
        T_y_rate: Array | None = None,
    ) -> None:
        """Build the transform from its blocks at a state; a block that is None is the identity.

        Args:
            d: the state.
            T_x: (b,b), invertible.
            T_y: (n,n), invertible.
            T_x_rate: the derivative of T_x along the motion; zero when None.
            T_y_rate: the derivative of T_y along the motion; zero when None.

        Raises:
            ModelError: the base is fixed, or the robot is in a fluid.
            StateError: a block has the wrong shape or is not invertible.
        """
        check_moving_rigid(d)
        b, n = d.model.b, d.model.n
        self.d = d
        self.T_x, self._x_inverse = _invertible(T_x, b, "T_x")
        self.T_y, self._y_inverse = _invertible(T_y, n, "T_y")
        self.T_x_rate = _block(T_x_rate, b, "T_x_rate", np.zeros((b, b)))
        self.T_y_rate = _block(T_y_rate, n, "T_y_rate", np.zeros((n, n)))
        zero = np.zeros((n, b))
        self.matrix = frozen(np.block([[self.T_x, self.T_x @ d.A], [zero, self.T_y]]))
        corner = -d.A @ self._y_inverse
        self.inverse = frozen(np.block([[self._x_inverse, corner], [zero, self._y_inverse]]))
        corner = self.T_x_rate @ d.A + self.T_x @ d.A_rate
        self.rate = frozen(np.block([[self.T_x_rate, corner], [zero, self.T_y_rate]]))
        self.velocity = frozen(self.matrix @ d.v)

    def __repr__(self) -> str:
        """Return what it is of, in one line."""
        return summary(self, repr(self.d))

    def force(self, generalised: Array) -> Array:
        """Return ``(F_x, F_y) = T^-T (F_b, tau)``, (nv,); power is unchanged."""
        return self.inverse.T @ generalised

    def dynamics(self, coriolis: Array) -> TransformedDynamics:
        """Return the transformed blocks for a Coriolis matrix (nv,nv) of the base frame [B (A.5)].

        With :attr:`.Evaluation.C_hamel`, ``C_xy`` vanishes for any blocks [B, proposition 3.3.1].
        With a passive matrix it does not, and ``C_yx = -C_xy^T``, since the transformed matrix is
        passive too; (3.84) prints ``C_xy^T``.
        """
        d, b = self.d, self.d.model.b
        a, x, y = d.A, self._x_inverse, self._y_inverse
        c_b, c_bq, c_qb, c_q = (
            coriolis[:b, :b],
            coriolis[:b, b:],
            coriolis[b:, :b],
            coriolis[b:, b:],
        )
        mdot = mass_rate(d)
        m_y = y.T @ d.M_hat_m @ y
        cross = c_bq - c_b @ a + mdot[:b, :b] @ a - mdot[:b, b:]
        inner = c_q - c_qb @ a + a.T @ (c_b @ a - c_bq)
        return TransformedDynamics(
            M_x=frozen(x.T @ d.M_b @ x),
            M_y=frozen(m_y),
            C_x=frozen(x.T @ (c_b - d.M_b @ x @ self.T_x_rate) @ x),
            C_xy=frozen(x.T @ cross @ y),
            C_yx=frozen(y.T @ (c_qb - a.T @ c_b) @ x),
            C_y=frozen(y.T @ inner @ y - m_y @ self.T_y_rate @ y),
        )


def momentum_map(d: Evaluation, frame: Frame) -> DecouplingTransform:
    """Return the transform of which v_x is the total momentum in a frame: ``T_x = A_cb^-T M_bb``.

    Where that momentum is a constant of motion, ``C_x v_x + C_xy v_y = 0`` for any Coriolis matrix
    [B (3.85)]; ``C_x`` itself vanishes for the Hamel matrix and the inertial frame only.

    Raises:
        ModelError: the base is fixed, or the robot is in a fluid.
    """
    check_moving_rigid(d)
    b = d.model.b
    x = np.linalg.solve(frame.A.T, d.M_b)
    rate = np.linalg.solve(frame.A.T, mass_rate(d)[:b, :b] - frame.a.T @ d.M_b)
    return DecouplingTransform(d, T_x=x, T_x_rate=rate)


def external_velocity(d: Evaluation, frame: Frame) -> DecouplingTransform:
    """Return the transform of which v_x is the locked velocity in a frame: ``T_x = A_cb``.

    Raises:
        ModelError: the base is fixed, or the robot is in a fluid.
    """
    return DecouplingTransform(d, T_x=frame.A, T_x_rate=frame.A @ frame.a)


def _block(value: Array | None, size: int, name: str, default: Array) -> Array:
    if value is None:
        return frozen(default)
    block = np.array(value, dtype=float)
    if block.shape != (size, size) or not np.isfinite(block).all():
        raise StateError(
            f"{name} must be a finite matrix of shape ({size}, {size}); given: shape {block.shape}"
        )
    return frozen(block)


def _invertible(value: Array | None, size: int, name: str) -> tuple[Array, Array]:
    block = _block(value, size, name, np.eye(size))
    try:
        return block, frozen(np.linalg.inv(block))
    except np.linalg.LinAlgError:
        raise StateError(f"{name} is singular; the transform must be invertible") from None


# Singular values below this fraction of the largest count as zero.
_RANK = 1e-9

_PLANAR_ROWS = [0, 1, 5]


def internal_jacobian(d: Evaluation, frame: str) -> Array:
    """Return ``J_int = J_jq - A_jb A`` of a frame of the robot, (6,n) or (3,n) [B (3.96)].

    It maps joint rates to the part of the frame's twist, in its own axes, that is not a motion with
    locked joints. On a planar base the rows are those of motion in the plane.

    Raises:
        ModelError: the base is fixed, the robot is in a fluid, or there is no such frame.
    """
    check_moving_rigid(d)
    b = d.model.b
    jacobian = d.jacobian(frame)
    internal = jacobian[:, b:] - jacobian[:, :b] @ d.A
    return frozen(internal[_PLANAR_ROWS] if d.model.base == "planar" else internal)


def internal_jacobian_rate(d: Evaluation, frame: str) -> Array:
    """Return the derivative of :func:`internal_jacobian` along ``d.v``, (6,n) or (3,n).

    ``J_jq' - J_jb' A - J_jb A'``, the ``D_rate`` of :class:`ExternalInternal`.

    Raises:
        ModelError: the base is fixed, the robot is in a fluid, or there is no such frame.
    """
    check_moving_rigid(d)
    b, index = d.model.b, d.model.frame_id(frame)
    rate, to_base = d.frame_jacobian_rate(index), d.frame_jacobian(index)[:, :b]
    internal = rate[:, b:] - rate[:, :b] @ d.A - to_base @ d.A_rate
    return frozen(internal[_PLANAR_ROWS] if d.model.base == "planar" else internal)


class ExternalInternal:
    """``(nu_ext, nu_int) = I (v_b, qdot)``, ``I = [[A_cb, A_cb A], [0, D]]`` [B (3.92), (3.96)].

    [B] asks for ``D D# = 1``, which needs at least as many joints as D has rows. There the
    rows of D are met exactly (``covers == "task"``), and joint motions in the null space of D are
    seen by neither velocity: the transformed equations (3.89) hold for those velocities only that
    ``I^-1`` gives. With fewer joints than rows, as on a leg of one joint, only ``D# D = 1`` is
    possible (``covers == "joints"``): ``I^-1 I = 1``, no motion is lost, ``I I^-1`` is the
    projector ``diag(1, D D#)``, and (3.89) holds on the image of D: for internal velocities that
    the joints can produce, and for internal forces up to a part that does no work on them.

    Attributes:
        D: (m,n), maps joint rates to the internal velocity.
        D_inverse: D#, (n,m).
        covers: ``"task"`` where ``D D# = 1``; ``"joints"`` where ``D# D = 1``; ``"both"``.
        matrix: I, (b+m,nv).
        inverse: I^-1, (nv,b+m).
        velocity: ``(nu_ext, nu_int)``, (b+m,).
    """

    covers: Literal["task", "joints", "both"]

    def __init__(
        self,
        d: Evaluation,
        frame: Frame,
        D: Array,
        D_rate: Array | None = None,
        weight: Array | None = None,
    ) -> None:
        """Build the map from a frame (external) and a Jacobian (internal velocity).

        Args:
            d: the state.
            frame: c, whose axes the external velocity is given in.
            D: (m,n), for instance :func:`internal_jacobian`.
            D_rate: its derivative along the motion; needed for :meth:`coriolis` only.
            weight: (n,n) positive definite W of ``D# = W D^T (D W D^T)^-1``; the identity when
                None.

        Raises:
            ModelError: the base is fixed, or the robot is in a fluid.
            StateError: D has the wrong shape, or has neither full row nor full column rank.
        """
        check_moving_rigid(d)
        n, b = d.model.n, d.model.b
        self.d, self.frame = d, frame
        self.D = _matrix(D, n, "D")
        self._rate = None if D_rate is None else _matrix(D_rate, n, "D_rate")
        m = len(self.D)
        self.D_inverse, self.covers = _generalised_inverse(self.D, weight)
        a_cb = frame.A
        zero = np.zeros((m, b))
        self.matrix = frozen(np.block([[a_cb, a_cb @ d.A], [zero, self.D]]))
        to_base = np.linalg.inv(a_cb)
        corner = -d.A @ self.D_inverse
        self.inverse = frozen(np.block([[to_base, corner], [np.zeros((n, b)), self.D_inverse]]))
        self.velocity = frozen(self.matrix @ d.v)

    def __repr__(self) -> str:
        """Return what it is of, in one line."""
        return summary(self, repr(self.d))

    @classmethod
    def of_frame(
        cls, d: Evaluation, frame: Frame, internal: str, weight: Array | None = None
    ) -> "ExternalInternal":
        """Return the map whose internal velocity is that of a frame of the robot [B (3.96)].

        Args:
            d: the state.
            frame: c, whose axes the external velocity is given in.
            internal: name of the frame, such as the end effector.
            weight: (n,n), as above.

        Raises:
            ModelError: as above, or there is no such frame.
            StateError: the internal Jacobian has neither full row nor full column rank.
        """
        jacobian, rate = internal_jacobian(d, internal), internal_jacobian_rate(d, internal)
        return cls(d, frame, jacobian, rate, weight)

    @cached_property
    def projector(self) -> Array:
        """``I I^-1``, (b+m,b+m): the identity if D D# = 1, else the projector on the image of D."""
        return frozen(self.matrix @ self.inverse)

    @cached_property
    def M(self) -> Array:
        """Block-diagonal inertia, (b+m,b+m) [B (3.93)]."""
        mass = self.inverse.T @ self.d.M @ self.inverse
        return frozen((mass + mass.T) / 2)

    def coriolis(self, coriolis: Array) -> Array:
        """Return ``I^-T (C - M I^-1 Idot) I^-1``, (b+m,b+m), for a Coriolis matrix (nv,nv).

        Raises:
            StateError: no ``D_rate`` was given.
        """
        if self._rate is None:
            raise StateError(
                "the Coriolis matrix needs D_rate, the derivative of D, which was not given"
            )
        inner = coriolis - self.d.M @ self.inverse @ self.rate
        return frozen(self.inverse.T @ inner @ self.inverse)

    @cached_property
    def rate(self) -> Array:
        """The derivative of I along the motion, (b+m,nv)."""
        assert self._rate is not None
        d, b = self.d, self.d.model.b
        turn = self.frame.A @ self.frame.a
        corner = turn @ d.A + self.frame.A @ d.A_rate
        return frozen(np.block([[turn, corner], [np.zeros((len(self.D), b)), self._rate]]))

    def force(self, generalised: Array) -> Array:
        """Return ``(F_ext, F_int) = I^-T (F_b, tau)``, (b+m,); F_ext has no part of tau."""
        return self.inverse.T @ generalised


def _matrix(value: Array, columns: int, name: str) -> Array:
    matrix = np.array(value, dtype=float)
    if matrix.ndim != 2 or matrix.shape[1] != columns or not np.isfinite(matrix).all():
        raise StateError(
            f"{name} must be a finite matrix with {columns} columns, one per joint; given: shape "
            f"{matrix.shape}"
        )
    return frozen(matrix)


def _generalised_inverse(
    matrix: Array, weight: Array | None
) -> tuple[Array, Literal["task", "joints", "both"]]:
    m, n = matrix.shape
    values = np.linalg.svd(matrix, compute_uv=False)
    if values[-1] <= _RANK * max(values[0], 1e-300):
        raise StateError(
            f"D has rank below min{matrix.shape}: it has neither D D# = 1 nor D# D = 1; its "
            f"singular values are {', '.join(f'{s:.3g}' for s in values)}"
        )
    if m > n:
        return frozen(np.linalg.pinv(matrix)), "joints"
    w = np.eye(n) if weight is None else _matrix(weight, n, "weight")
    lifted = w @ matrix.T
    return frozen(np.linalg.solve((matrix @ lifted).T, lifted.T).T), "both" if m == n else "task"

# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The decoupling transformation and the Coriolis matrices of both equations [B, 3.1 and 3.3.3].

The products of the Coriolis matrices of the Hamel and of the Euler-Newton equations
with the robot's velocity are equal, the matrices differ. :attr:`Evaluation.C` is a
third one with the same product, from which ``Mdot`` below is computed.
"""

from dataclasses import dataclass

import numpy as np
import pinocchio as pin

from ..arrays import Array, frozen
from ..errors import StateError
from ..evaluation import Evaluation, check_moving_rigid
from ..groups import SE3
from .frames import Frame

_SE3 = SE3()


def mass_rate(d: Evaluation) -> Array:
    """Return ``Mdot`` along the motion, (nv,nv)."""
    return frozen(d.C + d.C.T)


def hamel_coriolis(d: Evaluation) -> Array:
    """Return the Coriolis matrix of the Hamel equations, (nv,nv) [B (3.39)].

    See :attr:`Evaluation.C_hamel`. It is not passive.

    Raises:
        ModelError: the base is fixed, or the robot is in a fluid.
    """
    return d.C_hamel


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


def passive_coriolis(d: Evaluation) -> Array:
    """Return the passive matrix of [B (3.82)], (nv,nv); see :class:`BodyCoriolis`.

    Raises:
        ModelError: the base is fixed, or the robot is in a fluid.
    """
    return frozen(BodyCoriolis(d).passive)


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

    def force(self, generalised: Array) -> Array:
        """Return ``(F_x, F_y) = T^-T (F_b, tau)``, (nv,); power is unchanged."""
        return self.inverse.T @ generalised

    def dynamics(self, coriolis: Array) -> TransformedDynamics:
        """Return the transformed blocks for a Coriolis matrix (nv,nv) of the base frame [B (A.5)].

        With :func:`hamel_coriolis`, ``C_xy`` vanishes for any blocks [B, proposition 3.3.1]. With a
        passive matrix it does not, and ``C_yx = -C_xy^T``, since the transformed matrix is passive
        too; (3.84) prints ``C_xy^T``.
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

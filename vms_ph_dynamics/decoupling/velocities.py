# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""External and internal velocity of a robot [B, 3.3.4]."""

from typing import Literal

import numpy as np

from ..arrays import Array, cached_property, frozen
from ..errors import StateError
from ..evaluation import Evaluation, check_moving_rigid
from .frames import Frame

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

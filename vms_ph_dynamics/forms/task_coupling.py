# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The derivative terms of the task-space form: the coupling of task, null space and shape."""

import numpy as np

from ..arrays import Array, cached_property, frozen
from .standard import coadjoint_matrix
from .task_terms import NullSpaceRate, TaskTerms


class TaskCoupling:
    """An immutable snapshot of the terms with derivatives of J, M and Z, computed on first use.

    All derivatives are exact and, on a moving base, along velocities in the base frame.
    :attr:`E` and :attr:`G` are the matrices of the source; :attr:`E_v` is computed without them.
    All arrays are read-only.

    Args:
        t: the inertias, velocities and momenta at the state.

    Raises:
        StateError: from every term, where the task Jacobian has lost rank.
    """

    def __init__(self, t: TaskTerms) -> None:
        self._t = t
        # The part of the velocity in the null space: v = u + n.
        self.n = t.Z.T @ t.nu

    @cached_property
    def E(self) -> Array:
        """``[A_t; A_n]``: derivatives of ``J_bar^-T p`` at fixed momentum p, (nv,nv).

        [D, Prop. 1] prints ``A_t = (d J_sharp^T) J_bar^T pi_e + J_sharp^T (d J_bar^T) pi_e``, and
        A_n likewise; these are derivatives of a constant and vanish. Only the first terms
        are correct.
        """
        d, b = self._t.d, self._t.d.model.b
        # A motion of the base does not change any inertia.
        dM = np.concatenate([np.zeros((b, *d.M.shape)), d.dM])
        return frozen(self.split_rates(self.gradient, dM @ self.n).T.copy())

    @cached_property
    def G(self) -> Array:
        """``E J_bar^-1 - J_bar^-T E^T + J_bar^-T diag(ad~_p, 0) J_bar^-1``, skew, (nv,nv).

        [D (27)]; the last term, absent in the source, whose base is fixed, is the Lie-Poisson
        structure of the momentum of a moving base.
        """
        d, inverse = self._t.d, self._t.J_bar_inverse
        b = d.model.b
        product = self.E @ inverse
        G = product - product.T
        if b > 0:
            G = G + inverse[:b].T @ coadjoint_matrix(d.model, d.p) @ inverse[:b]
        return frozen((G - G.T) / 2)

    @property
    def G_12(self) -> Array:
        """Block of G through which null space and task exchange energy, (m,nv-m)."""
        m = len(self._t.J)
        return self.G[:m, m:]

    @cached_property
    def E_v(self) -> Array:
        """``E v``: drift of ``J_bar^-T p`` along the motion at fixed p, (nv,)."""
        d = self._t.d
        return frozen(self.split_rates(self.jacobian_rate, (d.C + d.C.T) @ self.n))

    @cached_property
    def exchange(self) -> float:
        """Power from null-space energy to task energy by inertia alone, W.

        ``pi^T Jdot n - u^T C n`` with ``v = u + n`` split by the task. Independent of the choice of
        the null-space basis.
        """
        t, n = self._t, self.n
        return float(t.pi @ (self.jacobian_rate @ n) - (t.d.v - n) @ (t.d.C @ n))

    @cached_property
    def exchange_through_G_12(self) -> float:
        """``eta^T G_12 nu``, W: the part of :attr:`exchange` through the block G_12 [D, Prop. 1].

        The rest, ``n^T dK_t/dq - u^T dK_nu/dq``, is exchanged through the configuration. The split
        depends on how the null-space basis rotates between configurations; only the sum is
        independent of it.
        """
        return float(self._t.eta @ self.G_12 @ self._t.nu)

    @cached_property
    def null_space(self) -> NullSpaceRate:
        """The derivative of Z along motions."""
        return NullSpaceRate(self._t.regular.pseudo_inverse, self._t.Z, self._t.reference)

    @cached_property
    def jacobian_rate(self) -> Array:
        """The derivative of J along the motion, (m,nv)."""
        return self._t.regular.rate(self._t.task.jacobian_rate(self._t.d))

    @cached_property
    def gradient(self) -> Array:
        """The derivatives of J along each unit velocity, the first index, (nv,m,nv)."""
        return self._t.regular.rate(np.moveaxis(self._t.task.jacobian_gradient(self._t.d), 2, 0))

    def split_rates(
        self,
        jacobian_rate: Array,
        momentum_rate: Array,
        split: tuple[Array, Array, Array] | None = None,
    ) -> Array:
        """Return ``d(J_bar^-T) p``, (...,nv), for a derivative of J and M or a stack of them.

        With ``J_sharp = M^-1 J^T Lambda_t`` differentiated by the product rule, everything else
        cancels.

        Args:
            jacobian_rate: dJ, (...,m,nv).
            momentum_rate: ``dM n``, (...,nv).
            split: ``J_sharp^T p`` (m,), ``n = M^-1 (p - J^T J_sharp^T p)`` (nv,) and p (nv,); those
                of the motion when None.
        """
        t = self._t
        pi, n, p = (t.pi, self.n, t.d.momentum) if split is None else split
        covector = np.swapaxes(jacobian_rate, -1, -2) @ pi + momentum_rate
        task_rows = (jacobian_rate @ n) @ t.Lambda_t - covector @ t.J_sharp
        return np.concatenate([task_rows, self.null_space.rate(jacobian_rate) @ p], axis=-1)


class TaskEvaluation(TaskTerms):
    """An immutable snapshot of the task-space quantities; each is computed on first use."""

    @cached_property
    def coupling(self) -> TaskCoupling:
        """The derivative terms: A_t, A_n, G and the coupling of task and null space."""
        return TaskCoupling(self)

    @property
    def E(self) -> Array:
        """``[A_t; A_n]``, (nv,nv) [D, Prop. 1]; see :class:`TaskCoupling`."""
        return self.coupling.E

    @property
    def G(self) -> Array:
        """Gyroscopic block of the structure matrix, skew-symmetric, (nv,nv) [D (27)]."""
        return self.coupling.G

    @property
    def J_z(self) -> Array:
        """Structure matrix ``[[0, J_bar^-1], [-J_bar^-T, G]]``, skew, (2nv,2nv) [D (27)]."""
        nv = self.d.model.nv
        inverse = self.J_bar_inverse
        return frozen(np.block([[np.zeros((nv, nv)), inverse], [-inverse.T, self.G]]))

# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The derivative terms of the task-space form: the coupling of task, null space and shape."""

import numpy as np

from ..arrays import Array, cached_property, frozen
from ..evaluation import Evaluation
from .standard import coadjoint_matrix
from .task_terms import NullSpaceRate, TaskTerms


class TaskCoupling:
    """An immutable snapshot of the terms with derivatives of J, M and Z, computed on first use.

    All derivatives are exact and, on a moving base, along velocities in the base frame.
    :attr:`E` and :attr:`G` are the matrices of the source; :attr:`E_v`, :attr:`E_transpose_eta`
    and :attr:`G_eta` are their products with the velocities, computed without the matrices. All
    arrays are read-only.

    Args:
        t: the inertias, velocities and momenta at the state.

    Raises:
        StateError: from every term, where the task Jacobian has lost rank.
    """

    def __init__(self, t: TaskTerms) -> None:
        self._t = t
        # The part of the velocity in the null space: v = u + n.
        self._n = t.Z.T @ t.nu
        self._u = t.d.v - self._n

    @cached_property
    def E(self) -> Array:
        """``[A_t; A_n]``: derivatives of ``J_bar^-T p`` at fixed momentum p, (nv,nv).

        [D, Prop. 1] prints ``A_t = (d J_sharp^T) J_bar^T pi_e + J_sharp^T (d J_bar^T) pi_e``, and
        A_n likewise; these are derivatives of a constant and vanish. Only the first terms
        are correct.
        """
        d, b = self._t.d, self._t.d.model.b
        # A motion of the base does not change any inertia.
        mass = np.concatenate([np.zeros((b, *d.M.shape)), d.dM])
        return frozen(self._drift(np.moveaxis(self._regular_gradient, 2, 0), mass).T.copy())

    @cached_property
    def G(self) -> Array:
        """``E J_bar^-1 - J_bar^-T E^T + J_bar^-T diag(ad~_p, 0) J_bar^-1``, skew, (nv,nv).

        [D (27)]; the last term, absent in the source, whose base is fixed, is the Lie-Poisson
        structure of the momentum of a moving base.
        """
        d, inverse = self._t.d, self._t.J_bar_inverse
        b = d.model.b
        product = self.E @ inverse
        g = product - product.T
        if b > 0:
            g = g + inverse[:b].T @ coadjoint_matrix(d.model, d.p) @ inverse[:b]
        return frozen((g - g.T) / 2)

    @property
    def G_12(self) -> Array:
        """Block of G through which null space and task exchange energy, (m,nv-m)."""
        m = len(self._t.J)
        return self.G[:m, m:]

    @cached_property
    def E_v(self) -> Array:
        """``E v``: drift of ``J_bar^-T p`` along the motion at fixed p, (nv,)."""
        return frozen(self._drift(self._jacobian_rate, self._t.d.C + self._t.d.C.T))

    @cached_property
    def E_transpose_eta(self) -> Array:
        """``E^T (eta, nu)``, (nv,): minus the derivatives of the energy at fixed ``(pi, pi_nu)``.

        The derivatives at fixed p are not included. Computed with the transpose of the map from
         derivatives of J to E, applied once, instead of once a direction.
        """
        t, n, u = self._t, self._n, self._u
        d, b = t.d, t.d.model.b
        covector = t.pi[:, None] * (n - u) + self._null_space.transpose(t.nu, d.momentum)
        # The map that completes a derivative of J near a singularity is its own transpose.
        gradient = self._task_gradient
        slopes = t.regular.rate(covector).ravel() @ gradient.reshape(-1, gradient.shape[2])
        slopes[b:] -= self._mass_slope(u, n)
        return frozen(slopes)

    @cached_property
    def G_eta(self) -> Array:
        """``G (eta, nu)``, (nv,), without the matrix G."""
        d, b = self._t.d, self._t.d.model.b
        force = -self.E_transpose_eta
        if b > 0:
            # The base rows of C^T v are ad_v^T p = ad~_p v.
            force = force.copy()
            force[:b] += (d.C.T @ d.v)[:b]
        return frozen(self.E_v + self._t.J_bar_inverse.T @ force)

    @cached_property
    def exchange(self) -> float:
        """Power from null-space energy to task energy by inertia alone, W.

        ``pi^T Jdot n - u^T C n`` with ``v = u + n`` split by the task. Independent of the choice of
        the null-space basis.
        """
        t = self._t
        task_power = t.pi @ (self._jacobian_rate @ self._n)
        return float(task_power - self._u @ (t.d.C @ self._n))

    @cached_property
    def exchange_through_G_12(self) -> float:
        """``eta^T G_12 nu``, W: the part of :attr:`exchange` through the block G_12 [D, Prop. 1].

        The rest, ``n^T dK_t/dq - u^T dK_nu/dq``, is exchanged through the configuration. The split
        depends on how the null-space basis rotates between configurations; only the sum is
        independent of it.
        """
        # The rest of these rows of G, its skew block G_11, gives no power to eta.
        t = self._t
        return float(t.eta @ self.G_eta[: len(t.J)])

    @cached_property
    def _null_space(self) -> NullSpaceRate:
        return NullSpaceRate(self._t.regular.pseudo_inverse, self._t.Z, self._t.reference)

    @cached_property
    def _jacobian_rate(self) -> Array:
        return self._t.regular.rate(self._t.task.jacobian_rate(self._t.d))

    @cached_property
    def _task_gradient(self) -> Array:
        return self._t.task.jacobian_gradient(self._t.d)

    @cached_property
    def _regular_gradient(self) -> Array:
        if self._t.is_regular:
            return self._task_gradient
        derivatives = self._t.regular.rate(np.moveaxis(self._task_gradient, 2, 0))
        return np.moveaxis(derivatives, 0, 2)

    def _drift(self, jacobian_rate: Array, mass_rate: Array) -> Array:
        # d(J_sharp^T p) and d(Z p) at fixed p, for one derivative of (J, M) or a stack of them;
        # with J_sharp = M^-1 J^T Lambda differentiated by the product rule, everything but these
        # terms cancels.
        t = self._t
        covector = np.swapaxes(jacobian_rate, -1, -2) @ t.pi + mass_rate @ self._n
        task_rows = (jacobian_rate @ self._n) @ t.Lambda_t - covector @ t.J_sharp
        basis_rate = self._null_space.rate(jacobian_rate)
        return np.concatenate([task_rows, basis_rate @ t.d.momentum], axis=-1)

    def _mass_slope(self, u: Array, n: Array) -> Array:
        # u^T (dM/dq_k) n for all joints k: with T_k(x) = (C(x)^T x)_k the slope of the kinetic
        # energy of a velocity x, it is (T_k(u + n) - T_k(u - n)) / 2.
        d, b = self._t.d, self._t.d.model.b
        difference = u - n
        coriolis = Evaluation(d.model, d.q, difference).C
        return ((d.C.T @ d.v)[b:] - (coriolis.T @ difference)[b:]) / 2


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

"""The terms of the task-space form at one state."""

from functools import cached_property

import numpy as np

from ..arrays import Array, frozen
from ..evaluation import Evaluation
from ..tasks import Task
from .null_space import aligned_null_space, null_space_rate


class TaskEvaluation:
    """An immutable snapshot of the task-space quantities; each is computed when first asked for.

    ``m`` is the dimension of the task; the null space has ``nv - m`` dimensions. All arrays are
    read-only.
    """

    def __init__(self, d: Evaluation, task: Task, reference: Array) -> None:
        self.d = d
        self.task = task
        self._reference = reference

    @cached_property
    def J(self) -> Array:
        """Task Jacobian, (m,nv) [D (1)]."""
        return frozen(self.task.jacobian(self.d))

    @cached_property
    def Z(self) -> Array:
        """Orthonormal basis of the null space of J, (nv-m,nv): ``J Z^T = 0``."""
        return frozen(aligned_null_space(self.J, self._reference))

    @cached_property
    def Lambda_t(self) -> Array:
        """Task inertia ``(J M^-1 J^T)^-1``, (m,m) [D (15)]."""
        return frozen(_symmetric(np.linalg.inv(self.J @ np.linalg.solve(self.d.M, self.J.T))))

    @cached_property
    def Lambda_nu(self) -> Array:
        """Null-space inertia ``Z M Z^T``, (nv-m,nv-m)."""
        return frozen(_symmetric(self.Z @ self.d.M @ self.Z.T))

    @cached_property
    def J_sharp(self) -> Array:
        """Dynamically consistent inverse ``M^-1 J^T Lambda_t``, (nv,m) [D (13)]."""
        return frozen(np.linalg.solve(self.d.M, self.J.T @ self.Lambda_t))

    @cached_property
    def N(self) -> Array:
        """Null-space velocity map ``(Z M Z^T)^-1 Z M``, (nv-m,nv): ``nu = N v``."""
        return frozen(np.linalg.solve(self.Lambda_nu, self.Z @ self.d.M))

    @cached_property
    def J_bar(self) -> Array:
        """Extended Jacobian ``[J; N]``, (nv,nv) [D (23)]."""
        return frozen(np.vstack([self.J, self.N]))

    @cached_property
    def J_bar_inverse(self) -> Array:
        """``[J_sharp, Z^T]``, the inverse of the extended Jacobian, (nv,nv)."""
        return frozen(np.hstack([self.J_sharp, self.Z.T]))

    @cached_property
    def eta(self) -> Array:
        """Task velocity ``J v``, (m,)."""
        return frozen(self.J @ self.d.v)

    @cached_property
    def nu(self) -> Array:
        """Null-space velocity ``N v``, (nv-m,)."""
        return frozen(self.N @ self.d.v)

    @cached_property
    def pi(self) -> Array:
        """Task momentum ``Lambda_t eta``, (m,) [D (26)]."""
        return frozen(self.Lambda_t @ self.eta)

    @cached_property
    def pi_nu(self) -> Array:
        """Null-space momentum ``Lambda_nu nu = Z M v``, (nv-m,) [D (26)]."""
        return frozen(self.Z @ self.d.momentum)

    @cached_property
    def kinetic_task(self) -> float:
        """``1/2 pi^T Lambda_t^-1 pi``, J."""
        return 0.5 * float(self.pi @ self.eta)

    @cached_property
    def kinetic_null(self) -> float:
        """``1/2 pi_nu^T Lambda_nu^-1 pi_nu``, J."""
        return 0.5 * float(self.pi_nu @ self.nu)

    @cached_property
    def E(self) -> Array:
        """``[A_t; A_n]``: derivative of ``J_bar^-T p`` in q at fixed momentum, (nv,nv).

        [D, Prop. 1] prints ``A_t = (d J_sharp^T) J_bar^T pi_e + J_sharp^T (d J_bar^T) pi_e``, and
        A_n likewise; these are derivatives of a constant and vanish. Only the first terms belong
        there.
        """
        d, nv = self.d, self.d.model.nv
        jacobian_gradient = self.task.jacobian_gradient(d)
        null_motion = self.Z.T @ self.nu
        columns = []
        for k in range(nv):
            along = jacobian_gradient[:, :, k]
            unit = np.zeros(nv)
            unit[k] = 1.0
            columns.append(self._momentum_drift(along, _mass_rate(d, unit), null_motion))
        return frozen(np.stack(columns, axis=1))

    @cached_property
    def E_v(self) -> Array:
        """``E v`` without the matrix: drift of ``J_bar^-T p`` along the motion, (nv,)."""
        d = self.d
        mass_rate = d.C + d.C.T
        null_motion = self.Z.T @ self.nu
        return frozen(self._momentum_drift(self.task.jacobian_rate(d), mass_rate, null_motion))

    @cached_property
    def G(self) -> Array:
        """Gyroscopic coupling ``E J_bar^-1 - J_bar^-T E^T``, skew-symmetric, (nv,nv) [D (27)]."""
        product = self.E @ self.J_bar_inverse
        return frozen(product - product.T)

    def _momentum_drift(self, jacobian_rate: Array, mass_rate: Array, null_motion: Array) -> Array:
        # d(J_sharp^T p) and d(Z p) at fixed p; with J_sharp = M^-1 J^T Lambda differentiated by
        # the product rule, everything but these terms cancels.
        zdot = null_space_rate(self.J, jacobian_rate, self.Z, self._reference)
        task_drift = self.Lambda_t @ (jacobian_rate @ null_motion) - self.J_sharp.T @ (
            jacobian_rate.T @ self.pi + mass_rate @ null_motion
        )
        return np.concatenate([task_drift, zdot @ self.d.momentum])


def _mass_rate(d: Evaluation, velocity: Array) -> Array:
    coriolis = d.model.evaluate(d.q, velocity).C
    return coriolis + coriolis.T


def _symmetric(x: Array) -> Array:
    return (x + x.T) / 2

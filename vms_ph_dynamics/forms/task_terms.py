# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""All terms of the task-space form at one state."""

from dataclasses import dataclass

import numpy as np

from ..arrays import Array, cached_property, frozen
from ..evaluation import Evaluation
from ..tasks import Task
from .null_space import AlignedBasis, RegularJacobian, aligned_basis


@dataclass(frozen=True, slots=True)
class TaskPower:
    """Power of a force split by the task [D (22), (30)], W.

    Attributes:
        task: ``sigma^T eta``.
        null_space: ``tau_0^T nu``.
    """

    task: float
    null_space: float


@dataclass(frozen=True, slots=True)
class OperationalSpace:
    """``inertia etadot + bias + gravity = F``, the task dynamics under a force F [D (16)].

    Attributes:
        inertia: Lambda_t (m,m).
        bias: ``Lambda_t (J M^-1 C v - Jdot v)``, (m,).
        gravity: ``J_sharp^T g``, (m,).
    """

    inertia: Array
    bias: Array
    gravity: Array


class TaskTerms:
    """Inertias, velocities and momenta of a task and its null space; each computed on first use.

    ``m`` is the dimension of the task; the null space has ``nv - m`` dimensions. All arrays are
    read-only. Where the smallest singular value of the Jacobian falls below the threshold of the
    form, :attr:`is_regular` is false and all quantities are those of the nearby regular Jacobian of
    :class:`RegularJacobian`, at the distance :attr:`lift`.

    Args:
        d: the terms of the equations of motion at the state.
        task: the task.
        reference: (nv-m,nv) rows that the null-space basis is aligned with.
        threshold: smallest singular value at which the Jacobian is regular.
    """

    def __init__(self, d: Evaluation, task: Task, reference: Array, threshold: float = 0.0) -> None:
        self.d = d
        self.task = task
        self.reference = reference
        self._threshold = threshold

    @cached_property
    def regular(self) -> RegularJacobian:
        """The Jacobian with its singular values."""
        return RegularJacobian(self.task.jacobian(self.d), self._threshold)

    @property
    def is_regular(self) -> bool:
        """Whether J is the Jacobian of the task itself and not a lifted one."""
        return self.regular.is_regular

    @property
    def lift(self) -> float:
        """Distance of J from the Jacobian of the task; zero if that is regular."""
        return self.regular.lift

    @cached_property
    def J(self) -> Array:
        """Task Jacobian, (m,nv) [D (1)]; lifted near a singularity."""
        return frozen(self.regular.matrix)

    @cached_property
    def Z(self) -> Array:
        """Orthonormal basis of the null space of J, (nv-m,nv): ``J Z^T = 0``."""
        return frozen(self._aligned.basis)

    @property
    def alignment(self) -> float:
        """Smallest singular value of ``Zref Z^T``: 1 at the reference, 0 where Z jumps."""
        return self._aligned.alignment

    @cached_property
    def Lambda_t(self) -> Array:
        """Task inertia ``(J M^-1 J^T)^-1``, (m,m) [D (15)]."""
        return frozen(_symmetric(np.linalg.inv(self.J @ self._mobile)))

    @cached_property
    def Lambda_nu(self) -> Array:
        """Null-space inertia ``Z M Z^T``, (nv-m,nv-m)."""
        return frozen(_symmetric(self.Z @ self.d.M @ self.Z.T))

    @cached_property
    def Lambda_bar(self) -> Array:
        """Extended inertia ``diag(Lambda_t, Lambda_nu)``, (nv,nv) [D (24)]."""
        m, nv = len(self.J), self.d.model.nv
        inertia = np.zeros((nv, nv))
        inertia[:m, :m], inertia[m:, m:] = self.Lambda_t, self.Lambda_nu
        return frozen(inertia)

    @cached_property
    def J_sharp(self) -> Array:
        """Dynamically consistent inverse ``M^-1 J^T Lambda_t``, (nv,m) [D (13)]."""
        return frozen(self._mobile @ self.Lambda_t)

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
    def P(self) -> Array:
        """Projector ``J_sharp J`` of velocities along the null space, (nv,nv).

        Its transpose projects forces onto those of the task [D, section 3.1].
        """
        return frozen(self.J_sharp @ self.J)

    @cached_property
    def eta(self) -> Array:
        """Task velocity ``J v``, (m,)."""
        return frozen(self.J @ self.d.v)

    @cached_property
    def nu(self) -> Array:
        """Null-space velocity ``N v``, (nv-m,)."""
        return frozen(self.N @ self.d.v)

    @cached_property
    def eta_e(self) -> Array:
        """Extended velocity ``(eta, nu)``, (nv,) [D (23)]."""
        return frozen(np.concatenate([self.eta, self.nu]))

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

    @property
    def operational_space(self) -> OperationalSpace:
        """The task dynamics in the form of Khatib [D (16)]."""
        d = self.d
        rate = self.regular.rate(self.task.jacobian_rate(d))
        bias = self.J_sharp.T @ (d.C @ d.v) - self.Lambda_t @ (rate @ d.v)
        return OperationalSpace(self.Lambda_t, frozen(bias), frozen(self.J_sharp.T @ d.g))

    def sigma(self, force: Array) -> Array:
        """Return the task part ``J_sharp^T tau`` (m,) of a generalised force (nv,)."""
        return self.J_sharp.T @ force

    def tau_0(self, force: Array) -> Array:
        """Return the null-space part ``Z tau`` (nv-m,) of a generalised force (nv,)."""
        return self.Z @ force

    def power(self, force: Array) -> TaskPower:
        """Return the power of a generalised force (nv,) at the task and null-space ports."""
        task, null_space = self.sigma(force) @ self.eta, self.tau_0(force) @ self.nu
        return TaskPower(float(task), float(null_space))

    @cached_property
    def _aligned(self) -> AlignedBasis:
        return aligned_basis(self.regular.kernel, self.reference)

    @cached_property
    def _mobile(self) -> Array:
        return np.linalg.solve(self.d.M, self.J.T)


def _symmetric(x: Array) -> Array:
    return (x + x.T) / 2

# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""All terms of the task-space form at one state, with a smooth basis of the null space."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..arrays import Array, cached_property, frozen, summary
from ..errors import StateError
from ..evaluation import Evaluation
from ..tasks import Task


class AlignedBasis(NamedTuple):
    """A basis of a null space and its alignment with a reference basis.

    Attributes:
        basis: Z (nv-m,nv), orthonormal rows.
        alignment: the smallest singular value of ``Zref Z^T``: 1 at the reference, 0 where Z is
            discontinuous.
    """

    basis: Array
    alignment: float


def orthonormal_null_space(jacobian: Array) -> Array:
    """Return rows that span ``ker J``, orthonormal, (nv-m,nv).

    They are computed by a singular value decomposition and are not continuous in the configuration.
    """
    return np.linalg.svd(jacobian)[2][jacobian.shape[0] :]


def aligned_basis(basis: Array, reference: Array) -> AlignedBasis:
    """Return the orthonormal basis Z of a space that is closest to a reference basis.

    ``Z = (B B^T)^-1/2 B`` with ``B = Zref (I - J^+ J)``: smooth in the configuration as long as the
    smallest singular value of ``Zref Z^T`` is positive. Equivalently, ``Zref Z^T`` is symmetric and
    positive definite.

    Args:
        basis: any orthonormal rows that span the space, (nv-m,nv).
        reference: Zref (nv-m,nv), orthonormal rows.
    """
    left, singular_values, right = np.linalg.svd(reference @ basis.T)
    return AlignedBasis((left @ right) @ basis, float(singular_values[-1]))


class NullSpaceRate:
    """The derivative of :func:`aligned_basis` along motions, exact.

    The part of ``Zdot`` in the row space of J, ``-Z Jdot^T (J^+)^T``, follows from ``J Z^T = 0``;
    the part in the null space, ``Omega Z`` with Omega skew, from the symmetry of ``S = Zref Z^T``:
    ``S Omega + Omega S = F - F^T`` with ``F = Zref R^T`` of the first part R.

    Args:
        pseudo_inverse: J^+ (nv,m).
        null_space: Z (nv-m,nv).
        reference: Zref (nv-m,nv).
    """

    def __init__(self, pseudo_inverse: Array, null_space: Array, reference: Array) -> None:
        self._inverse, self._null_space, self._reference = pseudo_inverse, null_space, reference
        overlap = reference @ null_space.T  # symmetric up to rounding
        eigenvalues, self._eigenvectors = np.linalg.eigh((overlap + overlap.T) / 2)
        self._eigenvalue_sums = eigenvalues[:, None] + eigenvalues

    def rate(self, jacobian_rate: Array) -> Array:
        """Return Zdot (...,nv-m,nv) of ``Jdot`` (...,m,nv), of one motion or of several."""
        return self._complete(self._row_part(jacobian_rate))

    def rate_gradient(self, gradient: Array, jacobian_rate: Array, rate_gradient: Array) -> Array:
        """Return the derivatives of Zdot (k,nv-m,nv) of one motion along k directions.

        Args:
            gradient: derivatives of J along them, (k,m,nv).
            jacobian_rate: Jdot of the motion, (m,nv).
            rate_gradient: its derivatives at a fixed velocity, (k,m,nv).
        """
        z, parts, part = self._null_space, self._row_part(gradient), self._row_part(jacobian_rate)
        rates, rate = self._complete(parts), self._complete(part)
        product = parts @ jacobian_rate.T + part @ np.swapaxes(gradient, -1, -2)
        known_part = (rate @ z.T) @ rates + (rates @ z.T) @ part + self._row_part(rate_gradient)
        known_part -= product @ self._inverse.T + part @ np.swapaxes(parts, -1, -2) @ z
        return self._complete(known_part)

    def _row_part(self, jacobian_rate: Array) -> Array:
        return -self._null_space @ np.swapaxes(self._inverse @ jacobian_rate, -1, -2)

    def _complete(self, known_part: Array) -> Array:
        """A derivative of Z from all of it but a rotation ``Omega Z``."""
        f = self._reference @ np.swapaxes(known_part, -1, -2)
        vectors = self._eigenvectors
        skew = vectors.T @ (f - np.swapaxes(f, -1, -2)) @ vectors / self._eigenvalue_sums
        return vectors @ skew @ vectors.T @ self._null_space + known_part


# A singular direction has no derivative if its singular value is below this fraction of the
# threshold.
_RANK_TOLERANCE = 1e-6


class RegularJacobian:
    """``J = L S R``, and the nearby ``J_hat = L S_hat R`` on which the task-space form is based.

    A singular value s below the threshold s0 is lifted to ``(s^2 + s0^2) / (2 s0)``, which joins
    ``s`` with its slope at s0 and never falls below ``s0 / 2``. Where nothing is lifted, ``J_hat``
    is J itself. All identities of the form hold exactly for ``J_hat``, and its pseudo-inverse is
    never larger than ``2 / s0``; its rows span those of J, completed where J has lost one.

    Attributes:
        left: L (m,m). singular_values: S (m,), descending. right: R (m,nv). kernel: (nv-m,nv), ``J
            kernel^T`` is zero; all with orthonormal rows.
        is_regular: whether nothing is lifted.
        matrix: J_hat (m,nv).

    Args:
        jacobian: J (m,nv).
        threshold: s0, in the units of the task.
    """

    def __init__(self, jacobian: Array, threshold: float) -> None:
        m = len(jacobian)
        self.left, self.singular_values, right = np.linalg.svd(jacobian)
        self.right, self.kernel = right[:m], right[m:]
        self._threshold = threshold
        self.is_regular = bool(self.singular_values[-1] >= threshold)
        self.matrix = jacobian
        if not self.is_regular:
            self.matrix = self.left @ (self._lifted_values[:, None] * self.right)

    @property
    def smallest_singular_value(self) -> float:
        """Smallest singular value of J, before any lifting."""
        return float(self.singular_values[-1])

    @property
    def lift(self) -> float:
        """``|J_hat - J|``, the largest singular value of the difference."""
        return float(np.max(self._lifted_values - self.singular_values))

    @cached_property
    def pseudo_inverse(self) -> Array:
        """Moore-Penrose inverse of J_hat, (nv,m)."""
        return self.right.T @ (self.left / self._lifted_values).T

    def rate(self, jacobian_rate: Array) -> Array:
        """Return the derivative of J_hat that belongs to one of J, exact, (...,m,nv).

        The map is linear and its own transpose. Between singular directions it multiplies by
        divided differences of the lifting, towards the kernel by ``s_hat / s``: the directions
        rotate ever faster as s goes to zero.

        Raises:
            StateError: a singular value is zero, so that its direction has no derivative.
        """
        if self.is_regular:
            return jacobian_rate
        s, lifted = self.singular_values, self._lifted_values
        if s[-1] < _RANK_TOLERANCE * self._threshold:
            rank = int(np.sum(s >= _RANK_TOLERANCE * self._threshold))
            raise StateError(
                f"the task Jacobian has rank {rank} of {len(s)} here, so its momenta have no rate; "
                "stay away from this configuration, or use a task of fewer dimensions"
            )
        row_block = self.left.T @ jacobian_rate @ self.right.T
        swapped = np.swapaxes(row_block, -1, -2)
        symmetric_part, skew_part = (row_block + swapped) / 2, (row_block - swapped) / 2
        kernel_block = self.left.T @ jacobian_rate @ self.kernel.T
        sum_quotient = (lifted[:, None] + lifted) / (s[:, None] + s)
        row_rate = self._difference_quotient * symmetric_part + sum_quotient * skew_part
        kernel_rate = (lifted / s)[:, None] * kernel_block
        return self.left @ (row_rate @ self.right + kernel_rate @ self.kernel)

    @cached_property
    def _lifted_values(self) -> Array:
        s, s0 = self.singular_values, self._threshold
        return np.where(s >= s0, s, (s * s + s0 * s0) / (2 * s0) if s0 > 0 else s)

    @cached_property
    def _difference_quotient(self) -> Array:
        s, lifted = self.singular_values, self._lifted_values
        differences = s[:, None] - s[None, :]
        slope = np.where(s >= self._threshold, 1.0, s / self._threshold)
        is_equal = np.abs(differences) < 1e-9 * (1.0 + s[0])
        quotient = (lifted[:, None] - lifted[None, :]) / np.where(is_equal, 1.0, differences)
        return np.where(is_equal, (slope[:, None] + slope[None, :]) / 2, quotient)


@dataclass(frozen=True, slots=True)
class TaskPower:
    """Power of a force split by the task [D (22), (30)], W.

    Attributes:
        task: ``sigma^T eta``.
        null_space: ``tau_0^T nu``.
    """

    task: float
    null_space: float


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

    def __repr__(self) -> str:
        """Return what it is of, in one line."""
        return summary(self, repr(self.task), "q", self.d.q, "v", self.d.v)

    def __init__(self, d: Evaluation, task: Task, reference: Array, threshold: float = 0.0) -> None:
        self.d, self.task = d, task
        self.reference, self._threshold = reference, threshold

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
        return frozen(self._aligned_basis.basis)

    @property
    def alignment(self) -> float:
        """Smallest singular value of ``Zref Z^T``: 1 at the reference, 0 where Z jumps."""
        return self._aligned_basis.alignment

    @cached_property
    def Lambda_t(self) -> Array:
        """Task inertia ``(J M^-1 J^T)^-1``, (m,m) [D (15)]."""
        return frozen(_symmetric(np.linalg.inv(self.J @ self._response)))

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
        return frozen(self._response @ self.Lambda_t)

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
    def stacked_velocity(self) -> Array:
        """Task and null-space velocity ``(eta, nu)``, (nv,), ``eta_e`` of [D (23)]."""
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
    def _aligned_basis(self) -> AlignedBasis:
        return aligned_basis(self.regular.kernel, self.reference)

    @cached_property
    def _response(self) -> Array:
        return np.linalg.solve(self.d.M, self.J.T)


def _symmetric(x: Array) -> Array:
    return (x + x.T) / 2

# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""A smooth basis of the null space of a task, and its regular Jacobian."""

from typing import NamedTuple

import numpy as np

from ..arrays import Array, cached_property
from ..errors import StateError


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
    left, values, right = np.linalg.svd(reference @ basis.T)
    return AlignedBasis((left @ right) @ basis, float(values[-1]))


class Eigenbasis:
    """Eigenvectors of ``Zref Z^T``, symmetric up to rounding, and sums of its eigenvalues.

    Attributes:
        vectors: the columns, (k,k). sums: of eigenvalues i and j, (k,k).
    """

    def __init__(self, null_space: Array, reference: Array) -> None:
        s = reference @ null_space.T
        values, self.vectors = np.linalg.eigh((s + s.T) / 2)
        self.sums = values[:, None] + values


def null_space_rate(
    pseudo_inverse: Array,
    jacobian_rate: Array,
    null_space: Array,
    reference: Array,
    eigen: Eigenbasis,
) -> Array:
    """Return the derivative of :func:`aligned_basis` along a motion, exact, (...,nv-m,nv).

    The part of ``Zdot`` in the row space of J, ``-Z Jdot^T (J^+)^T``, follows from ``J Z^T = 0``;
    the part in the null space, ``Omega Z`` with Omega skew, from the symmetry of ``S = Zref Z^T``:
    ``S Omega + Omega S = F - F^T`` with ``F = Zref R^T`` of the first part R.

    Args:
        pseudo_inverse: J^+ (nv,m).
        jacobian_rate: (...,m,nv), of one motion or of several.
        null_space: Z (nv-m,nv).
        reference: Zref (nv-m,nv).
        eigen: of ``Zref Z^T``.
    """
    row_part = -null_space @ np.swapaxes(pseudo_inverse @ jacobian_rate, -1, -2)
    f = reference @ np.swapaxes(row_part, -1, -2)
    vectors = eigen.vectors
    skew = vectors.T @ (f - np.swapaxes(f, -1, -2)) @ vectors / eigen.sums
    return vectors @ skew @ vectors.T @ null_space + row_part


def null_space_rate_transpose(
    pseudo_inverse: Array,
    nu: Array,
    momentum: Array,
    null_space: Array,
    reference: Array,
    eigen: Eigenbasis,
) -> Array:
    """Return B (m,nv) with ``<B, Jdot> = nu^T Zdot p`` for every ``Jdot``.

    The transpose of :func:`null_space_rate`, which replaces its evaluation along every direction.

    Args:
        pseudo_inverse: J^+ (nv,m).
        nu: (nv-m,).
        momentum: p (nv,).
        null_space: Z (nv-m,nv).
        reference: Zref (nv-m,nv).
        eigen: of ``Zref Z^T``.
    """
    vectors = eigen.vectors
    a, b = nu @ vectors, (null_space @ momentum) @ vectors
    product = a[:, None] * b
    weight = (product - product.T) / eigen.sums
    turning = (reference @ pseudo_inverse).T @ (vectors @ weight @ vectors.T)
    rows = (momentum @ pseudo_inverse)[:, None] * (nu @ null_space)
    return -rows - turning @ null_space


# A singular direction has no derivative if its singular value is below this fraction of the
# threshold.
_LOST = 1e-6


class RegularJacobian:
    """``J = L S R``, and the nearby ``J_hat = L S_hat R`` on which the task-space form is based.

    A singular value s below the threshold s0 is lifted to ``(s^2 + s0^2) / (2 s0)``, which joins
    ``s`` with its slope at s0 and never falls below ``s0 / 2``. Where nothing is lifted, ``J_hat``
    is J itself. All identities of the form hold exactly for ``J_hat``, and its pseudo-inverse is
    never larger than ``2 / s0``; its rows span those of J, completed where J has lost one.

    Attributes:
        left: L (m,m). values: S (m,), descending. right: R (m,nv). kernel: (nv-m,nv), ``J
            kernel^T`` is zero; all with orthonormal rows.
        is_regular: whether nothing is lifted.
        matrix: J_hat (m,nv).

    Args:
        jacobian: J (m,nv).
        threshold: s0, in the units of the task.
    """

    def __init__(self, jacobian: Array, threshold: float) -> None:
        m = len(jacobian)
        self.left, self.values, right = np.linalg.svd(jacobian)
        self.right, self.kernel = right[:m], right[m:]
        self._threshold = threshold
        self.is_regular = bool(self.values[-1] >= threshold)
        self.matrix = jacobian
        if not self.is_regular:
            self.matrix = self.left @ (self._lifted[:, None] * self.right)

    @property
    def smallest(self) -> float:
        """Smallest singular value of J, before any lifting."""
        return float(self.values[-1])

    @property
    def lift(self) -> float:
        """``|J_hat - J|``, the largest singular value of the difference."""
        return float(np.max(self._lifted - self.values))

    @cached_property
    def pseudo_inverse(self) -> Array:
        """Moore-Penrose inverse of J_hat, (nv,m)."""
        return self.right.T @ (self.left / self._lifted).T

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
        s, lifted = self.values, self._lifted
        if s[-1] < _LOST * self._threshold:
            rank = int(np.sum(s >= _LOST * self._threshold))
            raise StateError(
                f"the task Jacobian has rank {rank} of {len(s)} here, so its momenta have no rate; "
                "stay away from this configuration, or use a task of fewer dimensions"
            )
        within = self.left.T @ jacobian_rate @ self.right.T
        swapped = np.swapaxes(within, -1, -2)
        even, odd = (within + swapped) / 2, (within - swapped) / 2
        beyond = self.left.T @ jacobian_rate @ self.kernel.T
        inner = self._difference_quotient * even + self._sum_quotient * odd
        outer = (lifted / s)[:, None] * beyond
        return self.left @ (inner @ self.right + outer @ self.kernel)

    @cached_property
    def _lifted(self) -> Array:
        s, s0 = self.values, self._threshold
        return np.where(s >= s0, s, (s * s + s0 * s0) / (2 * s0) if s0 > 0 else s)

    @cached_property
    def _difference_quotient(self) -> Array:
        s, lifted = self.values, self._lifted
        differences = s[:, None] - s[None, :]
        slope = np.where(s >= self._threshold, 1.0, s / self._threshold)
        near = np.abs(differences) < 1e-9 * (1.0 + s[0])
        quotient = (lifted[:, None] - lifted[None, :]) / np.where(near, 1.0, differences)
        return np.where(near, (slope[:, None] + slope[None, :]) / 2, quotient)

    @cached_property
    def _sum_quotient(self) -> Array:
        s, lifted = self.values, self._lifted
        return (lifted[:, None] + lifted[None, :]) / (s[:, None] + s[None, :])

# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""A smooth orthonormal basis of the null space of a task."""

from typing import NamedTuple

import numpy as np

from ..arrays import Array


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

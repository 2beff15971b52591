"""A smooth orthonormal basis of the null space of a task."""

import numpy as np

from ..arrays import Array


def orthonormal_null_space(jacobian: Array) -> Array:
    """Return rows that span ``ker J``, orthonormal, (nv-m,nv).

    From a singular value decomposition: good at one configuration, but not continuous in it.
    """
    return np.linalg.svd(jacobian)[2][jacobian.shape[0] :]


def aligned_basis(basis: Array, reference: Array) -> Array:
    """Return the orthonormal basis Z of the same space that is closest to a reference basis.

    ``Z = (B B^T)^-1/2 B`` with ``B = Zref (I - J^+ J)``: smooth in the configuration as long as the
    smallest singular value of ``Zref Z^T`` is positive. Equivalently, ``Zref Z^T`` is symmetric and
    positive definite.

    Args:
        basis: any orthonormal rows that span the space, (nv-m,nv).
        reference: Zref (nv-m,nv), orthonormal rows.
    """
    left, _, right = np.linalg.svd(reference @ basis.T)
    return (left @ right) @ basis


def alignment(null_space: Array, reference: Array) -> float:
    """Return the smallest singular value of ``Zref Z^T``: 1 at the reference, 0 where Z breaks."""
    return float(np.linalg.svd(reference @ null_space.T, compute_uv=False)[-1])


def null_space_rate(
    pseudo_inverse: Array, jacobian_rate: Array, null_space: Array, reference: Array
) -> Array:
    """Return the derivative of :func:`aligned_basis` along a motion, exact, (...,nv-m,nv).

    The part of ``Zdot`` in the row space of J, ``-Z Jdot^T (J^+)^T``, follows from ``J Z^T = 0``;
    the part in the null space, ``Omega Z`` with Omega skew, from the symmetry of ``S = Zref Z^T``:
    ``S Omega + Omega S = F - F^T`` with ``F = Zref R^T`` of the first part R.

    Args:
        pseudo_inverse: J^+ (nv,m).
        jacobian_rate: (...,m,nv), of one motion or of many.
        null_space: Z (nv-m,nv).
        reference: Zref (nv-m,nv).
    """
    row_part = -null_space @ np.swapaxes(pseudo_inverse @ jacobian_rate, -1, -2)
    f = reference @ np.swapaxes(row_part, -1, -2)
    values, vectors = eigenbasis(reference @ null_space.T)
    skew = vectors.T @ (f - np.swapaxes(f, -1, -2)) @ vectors / (values[:, None] + values)
    return vectors @ skew @ vectors.T @ null_space + row_part


def null_space_rate_transpose(
    pseudo_inverse: Array, nu: Array, momentum: Array, null_space: Array, reference: Array
) -> Array:
    """Return B (m,nv) with ``<B, Jdot> = nu^T Zdot p`` for every ``Jdot``.

    The transpose of :func:`null_space_rate`, which spares its evaluation along every direction.

    Args:
        pseudo_inverse: J^+ (nv,m).
        nu: (nv-m,).
        momentum: p (nv,).
        null_space: Z (nv-m,nv).
        reference: Zref (nv-m,nv).
    """
    values, vectors = eigenbasis(reference @ null_space.T)
    a, b = vectors.T @ nu, vectors.T @ (null_space @ momentum)
    weight = (np.outer(a, b) - np.outer(b, a)) / (values[:, None] + values)
    turning = (reference @ pseudo_inverse).T @ (vectors @ weight @ vectors.T)
    return -np.outer(momentum @ pseudo_inverse, nu @ null_space) - turning @ null_space


def eigenbasis(s: Array) -> tuple[Array, Array]:
    """Return eigenvalues and eigenvectors (columns) of a matrix symmetric up to rounding."""
    return np.linalg.eigh((s + s.T) / 2)

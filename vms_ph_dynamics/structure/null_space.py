"""A smooth orthonormal basis of the null space of a task."""

import numpy as np

from ..arrays import Array


def orthonormal_null_space(jacobian: Array) -> Array:
    """Return rows that span ``ker J``, orthonormal, (nv-m,nv).

    From a singular value decomposition: good at one configuration, but not continuous in it.
    """
    return np.linalg.svd(jacobian)[2][jacobian.shape[0] :]


def aligned_null_space(jacobian: Array, reference: Array) -> Array:
    """Return the orthonormal basis Z of ``ker J`` that is closest to a reference basis.

    ``Z = (B B^T)^-1/2 B`` with ``B = Zref (I - J^+ J)``: smooth in the configuration as long as the
    smallest singular value of ``Zref Z^T`` is positive. Equivalently, ``Zref Z^T`` is symmetric and
    positive definite.

    Args:
        jacobian: (m,nv) of full row rank.
        reference: Zref (nv-m,nv), orthonormal rows.
    """
    basis = orthonormal_null_space(jacobian)
    left, _, right = np.linalg.svd(reference @ basis.T)
    return (left @ right) @ basis


def alignment(null_space: Array, reference: Array) -> float:
    """Return the smallest singular value of ``Zref Z^T``: 1 at the reference, 0 where Z breaks."""
    return float(np.linalg.svd(reference @ null_space.T, compute_uv=False)[-1])


def null_space_rate(
    jacobian: Array, jacobian_rate: Array, null_space: Array, reference: Array
) -> Array:
    """Return the derivative of :func:`aligned_null_space` along a motion, exact, (nv-m,nv).

    The part of ``Zdot`` in the row space of J follows from ``J Z^T = 0``, the part in the null
    space, ``Omega Z`` with Omega skew, from the symmetry of ``S = Zref Z^T``:
    ``S Omega + Omega S = F - F^T`` with ``F = Zref R^T``.
    """
    row_part = -null_space @ np.linalg.solve(jacobian @ jacobian.T, jacobian_rate).T @ jacobian
    s = reference @ null_space.T
    f = reference @ row_part.T
    values, vectors = np.linalg.eigh((s + s.T) / 2)
    skew = vectors.T @ (f - f.T) @ vectors / (values[:, None] + values[None, :])
    return vectors @ skew @ vectors.T @ null_space + row_part

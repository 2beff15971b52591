# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""CasADi as an array namespace, and factorisations of small symbolic matrices.

They need no pivoting and no square roots.
"""

from collections.abc import Sequence

import casadi as ca
import numpy as np
import numpy.typing as npt

from ..spatial import ArrayNamespace, Expression


class CasadiArrays(ArrayNamespace):
    """The array namespace of ``casadi.SX``; zeros that are known are not computed with."""

    def constant(self, numbers: npt.ArrayLike) -> Expression:
        """Return a sparse matrix of numbers."""
        return ca.SX(ca.sparsify(ca.DM(np.asarray(numbers, dtype=np.float64))))

    def zeros(self, rows: int, columns: int) -> Expression:
        """Return a matrix without entries."""
        return ca.SX(rows, columns)

    def vstack(self, parts: Sequence[Expression]) -> Expression:
        """Return matrices one below the other."""
        return ca.vertcat(*parts)

    def hstack(self, parts: Sequence[Expression]) -> Expression:
        """Return matrices side by side."""
        return ca.horzcat(*parts)

    def cos(self, x: Expression) -> Expression:
        """Return the cosine of every entry."""
        return ca.cos(x)

    def sin(self, x: Expression) -> Expression:
        """Return the sine of every entry."""
        return ca.sin(x)

    def cross(self, x: Expression, y: Expression) -> Expression:
        """Return the cross product of vectors (3,1)."""
        return ca.cross(x, y)

    def mirrored(self, upper: Expression) -> Expression:
        """Return the symmetric matrix of an upper triangle."""
        return ca.triu2symm(ca.triu(upper))


CASADI = CasadiArrays()


class Factorised:
    """``M = L^T D L`` of a symmetric positive definite matrix, L unit lower triangular.

    The order from the last row to the first leaves the zeros of a kinematic tree in place
    (Featherstone, Rigid Body Dynamics Algorithms, 2008, 6.5).
    """

    def __init__(self, matrix: Expression) -> None:
        size = matrix.shape[0]
        rows = [matrix[i, : i + 1] for i in range(size)]
        self._pivots: list[Expression] = [None] * size
        self._shares: list[dict[int, Expression]] = [{} for _ in range(size)]
        for k in reversed(range(size)):
            pivot = self._pivots[k] = rows[k][k]
            for i in reversed(range(k)):
                if not rows[k][i].is_zero():
                    share = self._shares[k][i] = rows[k][i] / pivot
                    rows[i] = rows[i] - share * rows[k][: i + 1]

    def solve(self, right: Expression) -> Expression:
        """Return ``M^-1`` times a matrix (n,m)."""
        rows = [right[i, :] for i in range(len(self._pivots))]
        for k in reversed(range(len(rows))):
            for i, share in self._shares[k].items():
                rows[i] = rows[i] - share * rows[k]
        for k, pivot in enumerate(self._pivots):
            rows[k] = rows[k] / pivot
            for i, share in self._shares[k].items():
                rows[k] = rows[k] - share * rows[i]
        return ca.vertcat(*rows) if rows else right


def inverse(matrix: Expression) -> Expression:
    """Return the inverse of a symmetric positive definite matrix, symmetric."""
    size = matrix.shape[0]
    if size == 0:
        return matrix
    return ca.triu2symm(ca.triu(Factorised(matrix).solve(ca.SX.eye(size))))


def orthonormal_rows(matrix: Expression) -> Expression:
    """Return orthonormal rows with the span of those of a matrix of full rank.

    Gram and Schmidt's process, twice: once more makes them orthogonal to rounding.
    """
    rows: list[Expression] = []
    for i in range(matrix.shape[0]):
        row = matrix[i, :]
        for _ in range(2):
            for other in rows:
                row = row - ca.dot(row, other) * other
            row = row / ca.norm_2(row.T)
        rows.append(row)
    return ca.vertcat(*rows)


# Steps of the iteration for the inverse square root: it converges quadratically, to rounding for
# eigenvalues above 0.01, which are the squares of alignments above 0.1.
_STEPS = 12


class SquareRoot:
    """``S^1/2`` and ``S^-1/2`` of a symmetric matrix with eigenvalues within (0, 1].

    By the coupled iteration of Newton and Schulz, which needs no eigenvectors (Higham, Functions
    of Matrices, 2008, 6.7).

    Attributes:
        root, inverse: both, (n,n).
    """

    def __init__(self, matrix: Expression) -> None:
        unit = ca.SX.eye(matrix.shape[0])
        self.root, self.inverse = matrix, unit
        for _ in range(_STEPS):
            step = (3.0 * unit - self.inverse @ self.root) / 2.0
            self.root, self.inverse = self.root @ step, step @ self.inverse


def nearest_orthonormal(rows: Expression, normal: Expression) -> Expression:
    """Return the orthonormal rows nearest to ``rows``, orthogonal to the rows of ``normal``.

    ``(B B^T)^-1/2 B`` with ``B = rows (I - normal^T normal)``. As ``B B^T = I - X X^T`` with
    ``X = rows normal^T``, its root follows from that of the smaller ``T^2 = I - X^T X``:
    ``(B B^T)^-1/2 = I + X T^-1 (I + T)^-1 X^T``.

    Args:
        rows: (k,n), orthonormal.
        normal: (m,n), orthonormal.
    """
    x = rows @ normal.T
    k, m = x.shape
    across = rows - x @ normal
    if k <= m:
        return SquareRoot(across @ across.T).inverse @ across
    unit = ca.SX.eye(m)
    root = SquareRoot(unit - x.T @ x)
    return across + x @ (root.inverse @ Factorised(unit + root.root).solve(x.T @ across))

# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""CasADi as an array namespace, and the factors of small symbolic matrices."""

from collections.abc import Sequence
from typing import Any

import casadi as ca
import numpy as np
import numpy.typing as npt

from ..forms import FormArrays
from ..spatial import Expression


class CasadiArrays(FormArrays):
    """The array namespace of ``casadi.SX``; structural zeros are skipped."""

    module = ca

    def constant(self, numbers: npt.ArrayLike) -> Expression:
        """Return a sparse matrix of numbers."""
        return ca.SX(ca.sparsify(ca.DM(np.asarray(numbers, dtype=np.float64))))

    def zeros(self, row_count: int, column_count: int) -> Expression:
        """Return a matrix of structural zeros."""
        return ca.SX(row_count, column_count)

    def vstack(self, matrices: Sequence[Expression]) -> Expression:
        """Return matrices one below the other."""
        return ca.vertcat(*matrices)

    def hstack(self, matrices: Sequence[Expression]) -> Expression:
        """Return matrices side by side."""
        return ca.horzcat(*matrices)

    def cross(self, x: Expression, y: Expression) -> Expression:
        """Return the cross product of vectors (3,1)."""
        return ca.cross(x, y)

    def symmetric_from_upper(self, upper_triangle: Expression) -> Expression:
        """Return the symmetric matrix of an upper triangle."""
        return ca.triu2symm(ca.triu(upper_triangle))

    def concatenate(self, columns: Sequence[Expression]) -> Expression:
        """Return columns one below the other."""
        return ca.vertcat(*columns)

    def take(self, vector: Expression, selection: Any) -> Expression:
        """Return some entries of a column; by one index CasADi would make a row of a (1,1)."""
        return vector[selection, :]

    def factorise(self, matrix: Expression) -> "LTDLFactorisation":
        """Factorise a matrix, without pivoting or square roots."""
        return LTDLFactorisation(matrix)


CASADI = CasadiArrays()


class LTDLFactorisation:
    """``M = L^T D L`` of a symmetric positive definite matrix, L unit lower triangular.

    The order from the last row to the first leaves the zeros of a kinematic tree in place
    (Featherstone, Rigid Body Dynamics Algorithms, 2008, 6.5).
    """

    def __init__(self, matrix: Expression) -> None:
        size = matrix.shape[0]
        rows = [matrix[i, : i + 1] for i in range(size)]
        self._pivots: list[Expression] = [None] * size
        self._factors: list[dict[int, Expression]] = [{} for _ in range(size)]
        for k in reversed(range(size)):
            pivot = self._pivots[k] = rows[k][k]
            for i in reversed(range(k)):
                if not rows[k][i].is_zero():
                    factor = self._factors[k][i] = rows[k][i] / pivot
                    rows[i] = rows[i] - factor * rows[k][: i + 1]

    def solve(self, right_side: Expression) -> Expression:
        """Return ``M^-1`` times a matrix (n,m)."""
        rows = [right_side[i, :] for i in range(len(self._pivots))]
        for k in reversed(range(len(rows))):
            for i, factor in self._factors[k].items():
                rows[i] = rows[i] - factor * rows[k]
        for k, pivot in enumerate(self._pivots):
            rows[k] = rows[k] / pivot
            for i, factor in self._factors[k].items():
                rows[k] = rows[k] - factor * rows[i]
        return ca.vertcat(*rows) if rows else right_side

# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""One interface to operations that SymPy and CasADi name differently."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np

from vms_ph_dynamics import Array, MissingExtraError


class MatrixAlgebra(ABC):
    """Operations that need only what matrices of both libraries share.

    Both have ``+``, ``-``, ``@``, ``.T`` and indices.
    """

    @abstractmethod
    def matrix(self, rows: Any, width: int = 0) -> Any:
        """Return a matrix of numbers and expressions from a list of rows.

        ``width`` is the number of columns if there are no rows.
        """

    def hstack(self, blocks: Sequence[Any]) -> Any:
        """Return matrices side by side."""
        rows = range(blocks[0].shape[0])
        return self.matrix([[b[row, j] for b in blocks for j in range(b.shape[1])] for row in rows])

    def product(self, matrix: Any, entries: Sequence[Any]) -> list[Any]:
        """Return the entries of a matrix times a column."""
        return [
            sum((matrix[i, j] * entry for j, entry in enumerate(entries)), start=0)
            for i in range(matrix.shape[0])
        ]

    def constant(self, array: Array) -> Any:
        """Return a matrix of numbers; a vector is a column."""
        matrix = np.atleast_2d(array.T).T
        return self.matrix(matrix.tolist(), matrix.shape[1])

    def column(self, entries: Sequence[Any]) -> Any:
        """Return a column."""
        return self.matrix([[entry] for entry in entries], 1)


class SympyAlgebra(MatrixAlgebra):
    """Expressions of SymPy; numbers that are integers stay exact.

    Raises:
        MissingExtraError: SymPy is not installed.
    """

    def __init__(self) -> None:
        try:
            import sympy
        except ImportError:
            raise MissingExtraError(
                "symbolic equations need the package sympy: pip install 'vms-ph[symbolic]'"
            ) from None
        self._sympy = sympy

    def symbol(self, name: str) -> Any:
        """Return a real symbol."""
        return self._sympy.Symbol(name, real=True)

    def matrix(self, rows: Any, width: int = 0) -> Any:
        """Return a matrix whose entries are exact where they are integers."""
        entries = [[_exact_number(entry) for entry in row] for row in rows]
        return self._sympy.Matrix(
            len(entries), len(entries[0]) if entries else width, lambda i, j: entries[i][j]
        )

    def function(self, name: str, x: Any) -> Any:
        """Apply the named elementary function to an expression."""
        return (self._sympy.Abs if name == "abs" else getattr(self._sympy, name))(x)

    def choose(self, cases: Sequence[tuple[Any, Any]], otherwise: Any) -> Any:
        """Return the value of the first case (guard, value) whose guard is positive."""
        pairs = [(value, guard > 0) for guard, value in cases]
        return self._sympy.Piecewise(*pairs, (otherwise, True))

    def solve_symmetric(self, a: Any, b: Any) -> Any:
        """Return the solution by LU."""
        return a.LUsolve(b)

    def solve(self, a: Any, b: Any) -> Any:
        """Return the solution by LU."""
        return a.LUsolve(b)

    def jacobian(self, y: Any, x: Any) -> Any:
        """Return the derivative."""
        return y.jacobian(x)

    def depends(self, y: Any, x: Any) -> bool:
        """Return whether symbols are shared."""
        return bool(y.free_symbols & x.free_symbols)

    def substitute_zeros(self, y: Any, x: Any) -> Any:
        """Return y with zeros in place of x."""
        return y.subs(dict.fromkeys(list(x), 0))

    def compile_numpy_function(self, inputs: Sequence[Any], output: Any) -> Any:
        """Return a function of NumPy arrays that computes ``output``."""
        blocks = [list(block) for block in inputs]
        numeric_function = self._sympy.lambdify(blocks, output, "numpy", cse=True)

        def call(*values: Array) -> Array:
            return np.asarray(numeric_function(*values), dtype=np.float64).reshape(output.shape)

        return call


class CasadiAlgebra(MatrixAlgebra):
    """Expressions of CasADi.

    Raises:
        MissingExtraError: CasADi is not installed.
    """

    def __init__(self) -> None:
        try:
            import casadi
        except ImportError:
            raise MissingExtraError(
                "equations for CasADi need the package casadi: pip install 'vms-ph[casadi]'"
            ) from None
        self._casadi = casadi

    def symbol(self, name: str) -> Any:
        """Return a symbol."""
        return self._casadi.SX.sym(name)

    def matrix(self, rows: Any, width: int = 0) -> Any:
        """Return a matrix whose zeros are structural."""
        width = len(rows[0]) if rows else width
        matrix = self._casadi.SX(len(rows), width)
        for i, row in enumerate(rows):
            for j, entry in enumerate(row):
                if not (isinstance(entry, float | int) and entry == 0):
                    matrix[i, j] = entry
        return matrix

    def function(self, name: str, x: Any) -> Any:
        """Apply the named elementary function to an expression."""
        return getattr(self._casadi, "fabs" if name == "abs" else name)(x)

    def choose(self, cases: Sequence[tuple[Any, Any]], otherwise: Any) -> Any:
        """Return the value of the first case (guard, value) whose guard is positive."""
        expression = otherwise
        for guard, value in reversed(cases):
            expression = self._casadi.if_else(guard > 0, value, expression)
        return expression

    def solve_symmetric(self, a: Any, b: Any) -> Any:
        """Return the solution by a factorisation that keeps zeros."""
        d, lt, p = self._casadi.ldl(a)
        return self._casadi.ldl_solve(b, d, lt, p)

    def solve(self, a: Any, b: Any) -> Any:
        """Return the solution."""
        return self._casadi.solve(a, b)

    def jacobian(self, y: Any, x: Any) -> Any:
        """Return the derivative."""
        return self._casadi.jacobian(y, x)

    def depends(self, y: Any, x: Any) -> bool:
        """Return whether it depends on a symbol."""
        return bool(self._casadi.depends_on(y, x))

    def substitute_zeros(self, y: Any, x: Any) -> Any:
        """Return y with zeros in place of x."""
        return self._casadi.substitute(y, x, self._casadi.SX.zeros(*x.shape))

    def compile_numpy_function(self, inputs: Sequence[Any], output: Any) -> Any:
        """Return a function of NumPy arrays that computes ``output``."""
        numeric_function = self._casadi.Function("f", list(inputs), [self._casadi.densify(output)])

        def call(*values: Array) -> Array:
            return np.array(numeric_function(*values), dtype=np.float64).reshape(output.shape)

        return call


def _exact_number(entry: Any) -> Any:
    if isinstance(entry, float) and entry.is_integer() and abs(entry) < 1e9:
        return int(entry)
    return entry


Algebra = SympyAlgebra | CasadiAlgebra
"""The operations on expressions of either library."""

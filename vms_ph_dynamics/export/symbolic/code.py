# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Numeric code from symbolic expressions [printsimmat of B, table A.1]."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import sympy as sp

from ...arrays import Array
from .planar import Expression, Matrix

Numeric = Callable[..., Array]
"""A function from the values of the arguments to an array."""


def source(
    name: str,
    matrix: Matrix,
    arguments: Sequence[Expression],
    values: Mapping[Expression, float] | None = None,
) -> str:
    """Return Python code of a function that computes a matrix, with common subexpressions.

    Args:
        name: of the function.
        matrix: the matrix to compute.
        arguments: the symbols that are its arguments, in order.
        values: values of symbols that are constants.

    Raises:
        ValueError: a symbol is neither an argument nor has a value.
    """
    filled = sp.Matrix(matrix).subs(dict(values or {}))
    unknown = filled.free_symbols - set(arguments)
    if unknown:
        listed = ", ".join(sorted(str(symbol) for symbol in unknown))
        raise ValueError(
            f"{name} needs values of {listed}; give them, or add them to the arguments"
        )
    shared, (reduced,) = sp.cse(filled, symbols=sp.numbered_symbols("_c"))
    printer = sp.pycode
    lines = [f"def {name}({', '.join(str(a) for a in arguments)}):"]
    lines += [f"    {symbol} = {printer(value)}" for symbol, value in shared]
    rows = [
        "[" + ", ".join(printer(reduced[i, k]) for k in range(reduced.cols)) + "]"
        for i in range(reduced.rows)
    ]
    lines.append("    return numpy.array([" + ", ".join(rows) + "])")
    return "\n".join(lines) + "\n"


def numeric(
    matrix: Matrix,
    arguments: Sequence[Expression],
    values: Mapping[Expression, float] | None = None,
) -> Numeric:
    """Return the function of :func:`source` as a callable.

    The arguments but for the name are those of that function.

    Raises:
        ValueError: a symbol is neither an argument nor has a value.
    """
    import math

    space: dict[str, Any] = {"math": math, "numpy": np}
    exec(source("generated", matrix, arguments, values), space)
    function: Numeric = space["generated"]
    return function

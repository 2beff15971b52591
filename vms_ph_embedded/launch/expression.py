# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""``$(eval ...)``: the part of Python's expressions that a launch file needs, and nothing else.

The expression is checked before Python evaluates it: within the part that is accepted the result is
by construction that of ``ros2 launch``, which evaluates any Python. A launch file is a program (it
may run commands), so the check is there for clarity, not for security.
"""

import ast
import builtins
import math
from collections.abc import Iterable, Mapping
from types import SimpleNamespace
from typing import Any

from vms_ph_io.descriptions.bounded_arithmetic import BOUNDED_OPERATORS, BoundedOperators

_FUNCTIONS = {
    name: getattr(builtins, name)
    for name in ("abs", "bool", "float", "int", "len", "max", "min", "round", "str", "sum")
}
_METHODS = {"lower", "upper", "strip", "startswith", "endswith", "split"}
_ACCEPTED_NODES = (
    ast.Expression,
    ast.Constant,
    ast.Name,
    ast.Load,
    ast.Attribute,
    ast.Call,
    ast.UnaryOp,
    ast.unaryop,
    ast.BinOp,
    ast.operator,
    ast.BoolOp,
    ast.boolop,
    ast.Compare,
    ast.cmpop,
    ast.IfExp,
    ast.List,
    ast.Tuple,
    ast.Subscript,
    ast.Slice,
)


_MAX_LENGTH = 4096  # characters of an expression
_MAX_DIGITS = 400


class ExpressionError(Exception):
    """The expression is not accepted, or has no value."""


def evaluate(source: str) -> str:
    """The value of an expression, as text.

    Args:
        source: The expression; functions of ``math`` by their names, or as ``math.sin``.

    Raises:
        ExpressionError: It is malformed, uses more of Python than is accepted, or fails.
    """
    names: dict[str, object] = {**_FUNCTIONS, "round": _round, **_MATH_NAMES}
    names["math"] = SimpleNamespace(**_MATH_NAMES)
    if len(source) > _MAX_LENGTH:
        raise ExpressionError(
            f"{source[:40]!r}... has {len(source)} characters; at most {_MAX_LENGTH} are accepted"
        )
    try:
        syntax_tree = ast.parse(source.strip(), mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise ExpressionError(f"{source!r} is not an expression: {error}") from None
    for node in ast.walk(syntax_tree):
        _check(node, source, names)
    names |= BOUNDED_OPERATORS
    bounded = ast.fix_missing_locations(BoundedOperators().visit(syntax_tree))
    try:
        return str(eval(compile(bounded, "<launch file>", "eval"), {"__builtins__": {}}, names))
    except (Exception, RecursionError, MemoryError) as error:
        raise ExpressionError(f"{source!r} has no value: {error}") from None


def _round(number: Any, *digits: int) -> Any:
    if any(abs(digit_count) > _MAX_DIGITS for digit_count in digits):
        raise ValueError(f"a number is rounded to at most {_MAX_DIGITS} digits")
    return round(number, *digits)


# Without those whose value, or time, grows faster than any power of whole numbers.
_MATH_NAMES: Mapping[str, Any] = {
    name: value
    for name, value in vars(math).items()
    if not name.startswith("_") and name not in ("prod", "factorial", "comb", "perm")
}


def _check(node: ast.AST, source: str, names: Mapping[str, object]) -> None:
    if not isinstance(node, _ACCEPTED_NODES):
        raise ExpressionError(
            f"{type(node).__name__} in {source!r} is not accepted; numbers, text, comparisons, "
            "and/or/not, if/else, + - * / // % ** and the functions of math are"
        )
    if isinstance(node, ast.Name) and node.id not in names:
        raise ExpressionError(f"{node.id!r} in {source!r} is unknown; known are {_listed(names)}")
    if isinstance(node, ast.Attribute):
        is_of_math = isinstance(node.value, ast.Name) and node.value.id == "math"
        if is_of_math and node.attr not in _MATH_NAMES:
            raise ExpressionError(f"math has no {node.attr!r}")
        if not is_of_math and node.attr not in _METHODS:
            raise ExpressionError(f".{node.attr} is not accepted; {_listed(_METHODS)} are")


def _listed(names: Iterable[str]) -> str:
    return ", ".join(sorted(names))

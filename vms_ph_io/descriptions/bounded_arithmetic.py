# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Operators of Python whose results are bounded: ``9**9**9`` is an error and not a hang.

The expressions of launch files and of xacro are evaluated by Python; what their authors mistype
must not occupy a processor or the memory.
"""

import ast
import re
from collections.abc import Mapping
from typing import Any

LARGEST_BITS = 2**16
"""Largest size of a value, bits."""


def check_bits(bits: int) -> None:
    """Refuse a value that would be too large.

    Raises:
        ValueError: more than :data:`LARGEST_BITS`.
    """
    if bits > LARGEST_BITS:
        raise ValueError(
            f"it would take {bits // 8} bytes; at most {LARGEST_BITS // 8} are accepted"
        )


def _item_count(value: Any) -> int:
    """Characters and items of a value, those of its items included."""
    if isinstance(value, (list, tuple)):
        return 1 + sum(map(_item_count, value))
    return len(value) if isinstance(value, str) else 1


def _power(base: Any, exponent: Any) -> Any:
    if isinstance(base, int) and isinstance(exponent, int):
        check_bits(abs(base).bit_length() * max(exponent, 0))
    return base**exponent


def _product(left: Any, right: Any) -> Any:
    for number, other_operand in ((left, right), (right, left)):
        if isinstance(number, int) and isinstance(other_operand, (str, list, tuple)):
            check_bits(8 * _item_count(other_operand) * max(number, 0))
    return left * right


def _shift_left(number: Any, shift: Any) -> Any:
    if isinstance(number, int) and isinstance(shift, int):
        check_bits(number.bit_length() + max(shift, 0))
    return number << shift


def _remainder(left: Any, right: Any) -> Any:
    if isinstance(left, str) and re.search(r"%[^%a-zA-Z]*(\*|\d{4})", left):
        raise ValueError("a width in a format has at most three digits")
    return left % right


BOUNDED_OPERATORS: Mapping[str, Any] = {
    "bounded_pow": _power,
    "bounded_mult": _product,
    "bounded_lshift": _shift_left,
    "bounded_mod": _remainder,
}
"""What :class:`BoundedOperators` calls, by name: the names that an expression must see."""


class BoundedOperators(ast.NodeTransformer):
    """Puts bounded functions in place of the operators that make large values of small ones."""

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        """Return the call that takes the place of an operator."""
        self.generic_visit(node)
        name = f"bounded_{type(node.op).__name__.lower()}"
        if name not in BOUNDED_OPERATORS:
            return node
        return ast.Call(ast.Name(name, ast.Load()), [node.left, node.right], [])

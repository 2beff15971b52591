"""``$(eval ...)``: the part of Python's expressions that a launch file needs, and nothing else.

The expression is checked before Python evaluates it: within the part that is accepted the result is
by construction that of ``ros2 launch``, which evaluates any Python. A launch file is a program (it
may run commands), so the check is there for clarity, not for security.
"""

import ast
import builtins
import math
import re
from collections.abc import Callable, Iterable, Mapping
from types import SimpleNamespace
from typing import Any

_FUNCTIONS = {
    name: getattr(builtins, name)
    for name in ("abs", "bool", "float", "int", "len", "max", "min", "round", "str", "sum")
}
_METHODS = {"lower", "upper", "strip", "startswith", "endswith", "split", "replace", "join"}
_NODES = (
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


_LONGEST = 4096  # characters of an expression
_LARGEST = 2**16  # bits of a value
_MOST_DIGITS = 400
_MOST_FACTORS = 1000


class ExpressionError(Exception):
    """The expression is not accepted, or has no value."""


def evaluate(source: str, *, with_math: bool = True) -> str:
    """The value of an expression, as text.

    Args:
        source: The expression.
        with_math: Whether the functions of ``math`` are known, by their names and as ``math.sin``.

    Raises:
        ExpressionError: It is malformed, uses more of Python than is accepted, or fails.
    """
    names: dict[str, object] = {**_FUNCTIONS, "round": _round}
    if with_math:
        names |= _MATH
        names["math"] = SimpleNamespace(**_MATH)
    if len(source) > _LONGEST:
        raise ExpressionError(
            f"{source[:40]!r}... has {len(source)} characters; at most {_LONGEST} are accepted"
        )
    try:
        tree = ast.parse(source.strip(), mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise ExpressionError(f"{source!r} is not an expression: {error}") from None
    for node in ast.walk(tree):
        _check(node, source, names)
    names |= {f"<{kind.__name__}>": function for kind, function in _BOUNDED.items()}
    names |= {f"<{name}>": function for name, function in _BOUNDED_METHODS.items()}
    bounded = ast.fix_missing_locations(_Bounded().visit(tree))
    try:
        return str(eval(compile(bounded, "<launch file>", "eval"), {"__builtins__": {}}, names))
    except (Exception, RecursionError, MemoryError) as error:
        raise ExpressionError(f"{source!r} has no value: {error}") from None


def _power(base: Any, exponent: Any) -> Any:
    if isinstance(base, int) and isinstance(exponent, int):
        _fits(abs(base).bit_length() * max(exponent, 0))
    return base**exponent


def _product(left: Any, right: Any) -> Any:
    for number, other in ((left, right), (right, left)):
        if isinstance(number, int) and isinstance(other, (str, list, tuple)):
            _fits(8 * _size(other) * max(number, 0))
    return left * right


def _shifted(number: Any, places: Any) -> Any:
    if isinstance(number, int) and isinstance(places, int):
        _fits(number.bit_length() + max(places, 0))
    return number << places


def _remainder(left: Any, right: Any) -> Any:
    if isinstance(left, str) and re.search(r"%[^%a-zA-Z]*(\*|\d{4})", left):
        raise ValueError("a width in a format has at most three digits")
    return left % right


def _join(separator: str) -> Callable[[Any], str]:
    def join(items: Any) -> str:
        texts = list(items)
        _fits(8 * (len(separator) * len(texts) + sum(map(len, texts))))
        return separator.join(texts)

    return join


def _replace(text: str) -> Callable[..., str]:
    def replace(old: str, new: str, count: int = -1) -> str:
        _fits(8 * (len(text) + text.count(old) * len(new)))
        return text.replace(old, new, count)

    return replace


def _round(number: Any, *digits: int) -> Any:
    if any(abs(each) > _MOST_DIGITS for each in digits):
        raise ValueError(f"a number is rounded to at most {_MOST_DIGITS} digits")
    return round(number, *digits)


def _prod(items: Any) -> Any:
    factors = list(items)
    _fits(sum(abs(each).bit_length() for each in factors if isinstance(each, int)))
    return math.prod(factors)


def _of_small(function: Callable[..., int]) -> Callable[..., int]:
    """A function of whole numbers whose value, or time, grows faster than any power of them."""

    def bounded(*given: int) -> int:
        if any(each > _MOST_FACTORS for each in given):
            raise ValueError(f"{function.__name__} takes at most {_MOST_FACTORS}")
        return function(*given)

    return bounded


def _size(value: Any) -> int:
    """Characters and items of a value, those of its items included."""
    if isinstance(value, (list, tuple)):
        return 1 + sum(map(_size, value))
    return len(value) if isinstance(value, str) else 1


def _fits(bits: int) -> None:
    if bits > _LARGEST:
        raise ValueError(f"it would take {bits // 8} bytes; at most {_LARGEST // 8} are accepted")


# What can make something large of something small.
_BOUNDED: Mapping[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Pow: _power,
    ast.Mult: _product,
    ast.LShift: _shifted,
    ast.Mod: _remainder,
}
_BOUNDED_METHODS: Mapping[str, Callable[[str], Callable[..., str]]] = {
    "join": _join,
    "replace": _replace,
}
_MATH: Mapping[str, Any] = {
    **{name: value for name, value in vars(math).items() if not name.startswith("_")},
    "prod": _prod,
    **{name: _of_small(getattr(math, name)) for name in ("factorial", "comb", "perm")},
}


class _Bounded(ast.NodeTransformer):
    """Puts the bounded functions in place of those operators and methods."""

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        self.generic_visit(node)
        if type(node.op) not in _BOUNDED:
            return node
        name = ast.Name(f"<{type(node.op).__name__}>", ast.Load())
        return ast.Call(name, [node.left, node.right], [])

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        self.generic_visit(node)
        of_math = isinstance(node.value, ast.Name) and node.value.id == "math"
        if of_math or node.attr not in _BOUNDED_METHODS:
            return node
        return ast.Call(ast.Name(f"<{node.attr}>", ast.Load()), [node.value], [])


def _check(node: ast.AST, source: str, names: Mapping[str, object]) -> None:
    if not isinstance(node, _NODES):
        raise ExpressionError(
            f"{type(node).__name__} in {source!r} is not accepted; numbers, text, comparisons, "
            "and/or/not, if/else, + - * / // % ** and the functions of math are"
        )
    if isinstance(node, ast.Name) and node.id not in names:
        raise ExpressionError(f"{node.id!r} in {source!r} is unknown; known are {_listed(names)}")
    if isinstance(node, ast.Attribute):
        of_math = isinstance(node.value, ast.Name) and node.value.id == "math"
        if of_math and (node.attr.startswith("_") or not hasattr(math, node.attr)):
            raise ExpressionError(f"math has no {node.attr!r}")
        if not of_math and node.attr not in _METHODS:
            raise ExpressionError(f".{node.attr} is not accepted; {_listed(_METHODS)} are")


def _listed(names: Iterable[str]) -> str:
    return ", ".join(sorted(names))

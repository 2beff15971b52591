# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Text to typed values, by the rules of ``ros2 launch``.

A value without a type is what YAML makes of it: ``1`` an integer, ``1.0`` a float, ``true`` a truth
value, ``[1, 2]`` a list. YAML is applied twice: to the text of the attribute, where a substitution
still counts as text, and to what the substitution gives.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass

from vms_ph_embedded.launch import grammar
from vms_ph_embedded.launch.errors import LaunchError, Location
from vms_ph_io.settings.bounded_text import YamlError, parse_yaml

Scalar = bool | int | float | str
Value = Scalar | list[Scalar]

_SCALARS: tuple[type, ...] = (bool, int, float, str)


@dataclass(frozen=True, slots=True)
class Kind:
    """A type that a value may be asked to have.

    Args:
        name: As the ``type`` attribute writes it.
        scalar: Of the value, or of the items of the list; None: whatever YAML finds.
        is_list: Whether the value is a list.
    """

    name: str
    scalar: type | None
    is_list: bool = False


ANY = Kind("yaml", None)
BOOL = Kind("bool", bool)
FLOAT = Kind("float", float)
INT = Kind("int", int)

KINDS: dict[str, Kind] = {
    kind.name: kind
    for kind in (
        ANY,
        BOOL,
        FLOAT,
        INT,
        Kind("str", str),
        *(Kind(f"list_of_{t.__name__}", t, is_list=True) for t in _SCALARS),
    )
}


def coerce(text: str, kind: Kind, *, lenient: bool = False) -> Value:
    """Text as a value of a kind.

    Args:
        text: The text.
        kind: The required kind.
        lenient: Keep text that cannot be converted, in lists too: a substitution may yet come.

    Raises:
        ValueError: The text is not of the kind; the message names its kind.
    """
    if kind.scalar is str and not kind.is_list:
        return text
    if kind.scalar in (int, float) and not kind.is_list:
        try:
            return int(text) if kind.scalar is int else float(text)
        except ValueError:
            if lenient:
                return text
            raise ValueError(f"{text!r} is not of type {kind.name}") from None
    if kind.scalar is bool and not kind.is_list:
        text = {"1": "true", "0": "false"}.get(text, text)
    value = _from_yaml(text, lenient)
    if kind.scalar is None:
        return value
    items = value if isinstance(value, list) else [value]
    accepted = (kind.scalar, str) if lenient else (kind.scalar,)
    if isinstance(value, list) is not kind.is_list or not _all(items, *accepted):
        raise ValueError(f"{text!r} is not of type {kind.name}; YAML reads it as {value!r}")
    return value


def _all(items: list[Scalar], *types: type) -> bool:
    # As in ros2 launch, True counts as an integer here (it is one in Python).
    return all(isinstance(item, types) for item in items)


def _from_yaml(text: str, lenient: bool) -> Value:
    if not text:
        return text
    try:
        value = parse_yaml(text)
    except YamlError:
        if lenient:
            return text
        raise ValueError(f"{text!r} is not YAML; write type='str' if it is text") from None
    if isinstance(value, list):
        kinds = [type(item) for item in value if type(item) is not str]
        first = kinds[0] if kinds else str
        accepted = (first, str) if lenient else (first,)
        if first in _SCALARS and _all(value, *accepted):
            return value
        raise ValueError(f"{text!r} is a list of mixed types; write [1.0, 2.5], not [1, 2.5]")
    if isinstance(value, _SCALARS):
        return value  # type: ignore[return-value]
    raise ValueError(
        f"YAML reads {text!r} as {type(value).__name__}; accepted are bool, int, float, text "
        "and lists of them. Write type='str' if it is text"
    )


@dataclass(frozen=True, slots=True)
class TypedTemplate:
    """The value of a parameter before its substitutions are carried out.

    Args:
        kind: What it must come to.
        content: A value, a template that becomes one, or a list of both.
        location: Where it stands.
    """

    kind: Kind
    content: Scalar | grammar.Template | list[Scalar | grammar.Template]
    location: Location

    @classmethod
    def parse(cls, text: str, kind: Kind, location: Location) -> "TypedTemplate":
        """Read the text of an attribute.

        Raises:
            LaunchError: It can never become a value of the kind.
        """
        try:
            value = coerce(text, kind, lenient=True)
            if not isinstance(value, list):
                content = _template(value, location)
                if not isinstance(content, tuple):
                    _check_kind(content, kind, text)
                return cls(kind, content, location)
            items = [_template(item, location) for item in value]
            fixed = [item for item in items if not isinstance(item, tuple)]
            if len({type(item) for item in fixed}) > 1:
                raise ValueError(f"{text!r} is a list of mixed types")
            for item in fixed if items else [""]:  # an empty list is one of text
                _check_kind(item, kind, text)
            return cls(kind, items, location)
        except ValueError as error:
            raise LaunchError(str(error), location) from None

    @property
    def templates(self) -> tuple[grammar.Template, ...]:
        """The substitutions to evaluate before the value is known."""
        content = self.content if isinstance(self.content, list) else [self.content]
        return tuple(item for item in content if isinstance(item, tuple))

    def evaluate(self, text: Callable[[grammar.Template], str]) -> Value:
        """The value, once ``text`` carries out the substitutions.

        Raises:
            LaunchError: What the substitutions give is not of the kind.
        """
        try:
            if isinstance(self.content, tuple):
                return _as_ros_reads(coerce(text(self.content), self.kind), self.kind)
            if not isinstance(self.content, list):
                return _as_ros_reads(self.content, self.kind)
            item_kind = Kind(self.kind.name, self.kind.scalar)
            items = [
                coerce(text(item), item_kind) if isinstance(item, tuple) else item
                for item in self.content
            ]
            _check_uniform(items, self.kind)
            items = [_as_ros_reads(item, self.kind) for item in items]
            _check_uniform(items, self.kind)
            return items  # type: ignore[return-value]
        except ValueError as error:
            raise LaunchError(str(error), self.location) from None


def _template(item: Scalar, location: Location) -> Scalar | grammar.Template:
    """Text becomes a template if a substitution is in it; anything else stays."""
    if not isinstance(item, str):
        return item
    template = grammar.parse(item, location)
    if grammar.is_plain(template):
        return "".join(str(part) for part in template)
    return template


def _check_kind(item: Scalar, kind: Kind, text: str) -> None:
    if kind.scalar is not None and type(item) is not kind.scalar:
        raise ValueError(f"{text!r} is not of type {kind.name}")


def _check_uniform(items: list[Value], kind: Kind) -> None:
    types = [type(item) for item in items if type(item) is not str]
    scalar_type = kind.scalar or (types[0] if types else str)
    if any(isinstance(item, list) or not isinstance(item, scalar_type) for item in items):
        raise ValueError(f"{items!r} is a list of mixed types")


_C_FLOAT = re.compile(r"[+-]?((\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|inf|infinity|nan)", re.IGNORECASE)


def _as_ros_reads(value: Value, kind: Kind) -> Value:
    """A value without a type, as a ROS node gets it.

    ``1e-6`` is text for PyYAML, but not for the C library that reads a node's parameters: there it
    is a number, and ``y`` and ``n`` are truth values. A launch file that works in ROS 2 relies on
    it. With a type the text stays text, and so does text that was quoted within the attribute.
    """
    if kind.scalar is not None or not isinstance(value, str):
        return value
    if value in ("y", "Y"):
        return True
    if value in ("n", "N"):
        return False
    if not _C_FLOAT.fullmatch(value) or not isinstance(parse_yaml(value), str):
        return value
    number = float(value)
    # The C library leaves numbers beyond its range as text.
    in_range = number not in (0.0, float("inf"), float("-inf")) or value[-1] in "fFyY"
    return number if in_range else value

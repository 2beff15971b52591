# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Text to typed values, by the rules of ``ros2 launch``.

A value without a type is what YAML makes of it: ``1`` an integer, ``1.0`` a float, ``true`` a truth
value, ``[1, 2]`` a list. YAML is applied twice: to the text of the attribute, where a substitution
still counts as text, and to what the substitution gives.
"""

import enum
import math
import re
from collections.abc import Callable

from vms_ph_embedded.launch import grammar
from vms_ph_io.settings.bounded_text import YamlError, parse_yaml

Scalar = bool | int | float | str
Value = Scalar | list[Scalar]

_SCALAR_TYPES = (bool, int, float, str)


class Kind(enum.Enum):
    """A type that a value may be asked to have, as the ``type`` attribute writes it."""

    BOOL = "bool"
    INT = "int"
    FLOAT = "float"
    STR = "str"
    SECONDS = "a number of seconds, not negative"


KINDS = {kind.value: kind for kind in (Kind.BOOL, Kind.INT, Kind.FLOAT, Kind.STR)}


class _NotYaml(ValueError):
    """Text that YAML does not read."""


def coerce(text: str, kind: Kind) -> Scalar:
    """Text as a value of a kind.

    Raises:
        ValueError: The text is not of the kind; the message names its kind.
    """
    try:
        if kind is Kind.INT:
            return int(text)
        if kind is Kind.FLOAT:
            return float(text)
        if kind is Kind.BOOL:
            value = from_yaml({"1": "true", "0": "false"}.get(text, text))
            if isinstance(value, bool):
                return value
        if kind is Kind.SECONDS and 0.0 <= float(text) < math.inf:
            return float(text)
    except ValueError:
        pass
    if kind is Kind.STR:
        return text
    raise ValueError(f"{text!r} is not of type {kind.value}")


def from_yaml(text: str) -> Value:
    """Text as YAML reads it: a bool, int, float, text, or a list of values of one of these types.

    Raises:
        ValueError: It is something else, or no YAML.
    """
    if not text:
        return text
    try:
        value = parse_yaml(text)
    except YamlError:
        raise _NotYaml(f"{text!r} is not YAML; write type='str' if it is text") from None
    for item in value if isinstance(value, list) else [value]:
        if not isinstance(item, _SCALAR_TYPES):
            raise ValueError(
                f"YAML reads {text!r} as {type(item).__name__}; accepted are bool, int, float, "
                "text and lists of them. Write type='str' if it is text"
            )
    return value


def parameter(text: str, kind: Kind | None, evaluate: Callable[[str], str]) -> Value:
    """The value of a parameter.

    Args:
        text: As the attribute has it, substitutions included.
        kind: What it must be; None: whatever YAML finds.
        evaluate: Carries out the substitutions of a text.

    Raises:
        ValueError: It is not of the kind, or a list of mixed types.
    """
    if kind is not None:
        return coerce(evaluate(text), kind)
    try:
        value = from_yaml(text)
    except _NotYaml:
        value = text
    if isinstance(value, list):
        value = [_evaluated(item, evaluate) for item in value]  # type: ignore[misc]
    else:
        value = _evaluated(value, evaluate)
    types: set[type] = {type(item) for item in value} if isinstance(value, list) else set()
    if len(types) > 1 or list in types:
        raise ValueError(f"{text!r} is a list of mixed types; write [1.0, 2.5], not [1, 2.5]")
    return value


def _evaluated(item: Scalar, evaluate: Callable[[str], str]) -> Value:
    if not isinstance(item, str):
        return item
    text = evaluate(item)
    if not grammar.is_plain(grammar.parse(item)):
        return _as_ros_reads(from_yaml(text))
    return _as_ros_reads(text)


_C_FLOAT = re.compile(r"[+-]?((\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|inf|infinity|nan)", re.IGNORECASE)


def _as_ros_reads(value: Value) -> Value:
    """A value without a type, as a ROS node gets it.

    ``1e-6`` is text for PyYAML, but not for the C library that reads a node's parameters: there it
    is a number, and ``y`` and ``n`` are truth values. A launch file that works in ROS 2 relies on
    it. With a type the text stays text, and so does text that was quoted within the attribute.
    """
    if not isinstance(value, str):
        return value
    if value in ("y", "Y", "n", "N"):
        return value in ("y", "Y")
    if not _C_FLOAT.fullmatch(value) or not isinstance(parse_yaml(value), str):
        return value
    number = float(value)
    # The C library leaves numbers beyond its range as text.
    is_in_range = number not in (0.0, float("inf"), float("-inf")) or value[-1] in "fFyY"
    return number if is_in_range else value

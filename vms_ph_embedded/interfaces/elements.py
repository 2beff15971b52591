# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Types of a scalar field, or of one element of an array or sequence.

The rules and the wording of the assertions are those of the Python classes that ROS 2 generates
with field checks on. A real ROS 2 with checks off aborts the process on a wrong type instead.
"""

from __future__ import annotations

import math
from collections import UserString
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from rosbags.interfaces import Nodetype

# ROS name: (name in IDL, type code of array.array)
NUMBERS = {
    "int8": ("int8", "b"),
    "uint8": ("uint8", "B"),
    "int16": ("int16", "h"),
    "uint16": ("uint16", "H"),
    "int32": ("int32", "i"),
    "uint32": ("uint32", "I"),
    "int64": ("int64", "q"),
    "uint64": ("uint64", "Q"),
    "float32": ("float", "f"),
    "float64": ("double", "d"),
}
_FLOAT_BOUND = {"float32": "3.402823466e+38", "float64": "1.7976931348623157e+308"}


def require(condition: bool, message: str) -> None:
    """Assert, also under python -O: field checks stay on."""
    if not condition:
        raise AssertionError(message)


def _identity(value: Any) -> Any:
    return value


@dataclass(frozen=True)
class Element:
    """The values that a scalar field accepts."""

    python_type: type
    idl_name: str
    default: Callable[[], Any]
    type_rule: str  # what an assertion says the field must be
    accepted_types: tuple[type, ...] = ()  # the Python types, when they are not python_type alone
    range_rule: str = ""
    in_range: Callable[[Any], bool] | None = None  # whether a value of the right type is in range
    element_rule: str = ""  # what an assertion about a sequence says of its elements' range
    max_length: int = 0  # the longest string
    to_wire: Callable[[Any], Any] = _identity  # the value as rosbags serialises it
    from_wire: Callable[[Any], Any] = _identity  # the value for what rosbags has deserialised
    passes_through: bool = True  # rosbags can read the Python value as it is

    def check(self, name: str, value: Any) -> None:
        """Raise AssertionError unless a field of this name may hold the value."""
        has_right_type = isinstance(value, self.accepted_types or self.python_type)
        require(has_right_type, f"The '{name}' field must be {self.type_rule}")
        if self.in_range is not None:
            rule = self.range_rule or self.type_rule
            require(self.in_range(value), f"The '{name}' field must be {rule}")


def make_element(desc: Any, message_class: Callable[[str], Any]) -> Element:
    """The element for a scalar description of rosbags."""
    kind, detail = desc
    if kind == Nodetype.NAME:
        return _message_element(message_class(detail))
    ros_name, max_length = detail
    if ros_name == "bool":
        return Element(bool, "boolean", bool, "of type 'bool'")
    if ros_name == "byte":
        return _OCTET
    if ros_name == "string":
        return _string_element(max_length)
    return _float_element(ros_name) if ros_name in _FLOAT_BOUND else _integer_element(ros_name)


# Python holds a byte as bytes of length one, rosbags as a signed integer.
_OCTET = Element(
    bytes,
    "octet",
    lambda: b"\0",
    "of type 'bytes' or 'ByteString' with length 1",
    accepted_types=(bytes, bytearray),
    in_range=lambda value: len(value) == 1,
    to_wire=lambda value: int.from_bytes(value, "little", signed=True),
    from_wire=lambda value: bytes((value & 0xFF,)),
    passes_through=False,
)


def _integer_element(ros_name: str) -> Element:
    bits = int(ros_name.lstrip("uint"))
    is_unsigned = ros_name.startswith("u")
    low, high = (0, 2**bits - 1) if is_unsigned else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
    description = "unsigned integer" if is_unsigned else "integer"
    return Element(
        int,
        ros_name,
        int,
        "of type 'int'",
        range_rule=f"an {description} in [{low}, {high}]",
        in_range=lambda value: low <= value <= high,
        element_rule=f"and each {description} in [{low}, {high}]",
    )


def _float_element(ros_name: str) -> Element:
    idl_name, bound_text = NUMBERS[ros_name][0], _FLOAT_BOUND[ros_name]
    bound = float(bound_text)
    return Element(
        float,
        idl_name,
        float,
        "of type 'float'",
        range_rule=f"a {idl_name} in [-{bound_text}, {bound_text}]",
        in_range=lambda value: not (value < -bound or value > bound) or math.isinf(value),
        element_rule=f"and each {idl_name} in [{-bound:f}, {bound:f}]",
    )


def _string_element(max_length: int) -> Element:
    if not max_length:
        return Element(str, "string", str, "of type 'str'")
    return Element(
        str,
        f"string<{max_length}>",
        str,
        f"string value not longer than {max_length}",
        accepted_types=(str, UserString),
        in_range=lambda value: len(value) <= max_length,
        max_length=max_length,
    )


def _message_element(message: Any) -> Element:
    package, _, name = message.__msgtype__.split("/")
    return Element(
        message,
        f"{package}/{name}",
        message,
        f"a sub message of type '{name}'",
        to_wire=message.__to_wire__,
        passes_through=message.__passes_through__,
    )

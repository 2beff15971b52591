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
    accepts: tuple[type, ...] = ()  # the Python types, when they are not python_type alone
    range_rule: str = ""
    fits: Callable[[Any], bool] | None = None  # whether a value of the right type is in range
    element_rule: str = ""  # what an assertion about a sequence says of its elements' range
    limit: int = 0  # the longest string
    to_wire: Callable[[Any], Any] = _identity  # the value as rosbags serialises it
    from_wire: Callable[[Any], Any] = _identity  # the value for what rosbags has deserialised
    passes_through: bool = True  # rosbags can read the Python value as it is

    def check(self, name: str, value: Any) -> None:
        """Raise AssertionError unless a field of this name may hold the value."""
        right_type = isinstance(value, self.accepts or self.python_type)
        require(right_type, f"The '{name}' field must be {self.type_rule}")
        if self.fits is not None:
            rule = self.range_rule or self.type_rule
            require(self.fits(value), f"The '{name}' field must be {rule}")


def make_element(desc: Any, message_class: Callable[[str], Any]) -> Element:
    """The element for a scalar description of rosbags."""
    kind, detail = desc
    if kind == Nodetype.NAME:
        return _nested(message_class(detail))
    ros_name, limit = detail
    if ros_name == "bool":
        return Element(bool, "boolean", bool, "of type 'bool'")
    if ros_name == "byte":
        return _OCTET
    if ros_name == "string":
        return _string(limit)
    return _float(ros_name) if ros_name in _FLOAT_BOUND else _integer(ros_name)


# Python holds a byte as bytes of length one, rosbags as a signed integer.
_OCTET = Element(
    bytes,
    "octet",
    lambda: b"\0",
    "of type 'bytes' or 'ByteString' with length 1",
    accepts=(bytes, bytearray),
    fits=lambda value: len(value) == 1,
    to_wire=lambda value: int.from_bytes(value, "little", signed=True),
    from_wire=lambda value: bytes((value & 0xFF,)),
    passes_through=False,
)


def _integer(ros_name: str) -> Element:
    bits = int(ros_name.lstrip("uint"))
    unsigned = ros_name.startswith("u")
    low, high = (0, 2**bits - 1) if unsigned else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
    kind = "unsigned integer" if unsigned else "integer"
    return Element(
        int,
        ros_name,
        int,
        "of type 'int'",
        range_rule=f"an {kind} in [{low}, {high}]",
        fits=lambda value: low <= value <= high,
        element_rule=f"and each {kind} in [{low}, {high}]",
    )


def _float(ros_name: str) -> Element:
    name, text = NUMBERS[ros_name][0], _FLOAT_BOUND[ros_name]
    bound = float(text)
    return Element(
        float,
        name,
        float,
        "of type 'float'",
        range_rule=f"a {name} in [-{text}, {text}]",
        fits=lambda value: not (value < -bound or value > bound) or math.isinf(value),
        element_rule=f"and each {name} in [{-bound:f}, {bound:f}]",
    )


def _string(limit: int) -> Element:
    if not limit:
        return Element(str, "string", str, "of type 'str'")
    return Element(
        str,
        f"string<{limit}>",
        str,
        f"string value not longer than {limit}",
        accepts=(str, UserString),
        fits=lambda value: len(value) <= limit,
        limit=limit,
    )


def _nested(message: Any) -> Element:
    package, _, name = message.__msgtype__.split("/")
    return Element(
        message,
        f"{package}/{name}",
        message,
        f"a sub message of type '{name}'",
        to_wire=message.__to_wire__,
        passes_through=message.__passes_through__,
    )

# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Parameters, their types, and their messages."""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from enum import Enum
from typing import Any

from rcl_interfaces.msg import Parameter as ParameterMsg
from rcl_interfaces.msg import ParameterType, ParameterValue

from vms_ph_embedded import subset

__getattr__ = subset.make_module_getattr(__name__)

PARAMETER_SEPARATOR_STRING = "."


class _Type(Enum):
    """The types that a parameter can have."""

    NOT_SET = ParameterType.PARAMETER_NOT_SET
    BOOL = ParameterType.PARAMETER_BOOL
    INTEGER = ParameterType.PARAMETER_INTEGER
    DOUBLE = ParameterType.PARAMETER_DOUBLE
    STRING = ParameterType.PARAMETER_STRING
    BYTE_ARRAY = ParameterType.PARAMETER_BYTE_ARRAY
    BOOL_ARRAY = ParameterType.PARAMETER_BOOL_ARRAY
    INTEGER_ARRAY = ParameterType.PARAMETER_INTEGER_ARRAY
    DOUBLE_ARRAY = ParameterType.PARAMETER_DOUBLE_ARRAY
    STRING_ARRAY = ParameterType.PARAMETER_STRING_ARRAY

    @classmethod
    def from_parameter_value(cls, parameter_value: Any) -> _Type:
        """The type of a value."""
        if parameter_value is None:
            return cls.NOT_SET
        for name, python_type in _SCALAR_TYPES.items():  # bool before int
            if isinstance(parameter_value, python_type):
                return cls[name]
        if not isinstance(parameter_value, (list, tuple, array)):
            raise TypeError(f"The given value is not one of the allowed types '{parameter_value}'.")
        for name, python_type in _ELEMENT_TYPES.items():
            if _all_are(parameter_value, python_type):
                return cls[name]
        raise TypeError(
            f"The given value is not a list of one of the allowed types '{parameter_value}'."
        )

    def check(self, parameter_value: Any) -> bool:
        """Whether a value has this type."""
        if self is _Type.NOT_SET:
            return parameter_value is None
        if self.name in _SCALAR_TYPES:
            return isinstance(parameter_value, _SCALAR_TYPES[self.name])
        is_numeric = self in (_Type.INTEGER_ARRAY, _Type.DOUBLE_ARRAY)
        if not isinstance(parameter_value, (list, tuple, array) if is_numeric else (list, tuple)):
            return False
        if self is _Type.BYTE_ARRAY and not all(len(value) == 1 for value in parameter_value):
            return False
        return _all_are(parameter_value, _ELEMENT_TYPES[self.name])


_SCALAR_TYPES = {"BOOL": bool, "INTEGER": int, "DOUBLE": float, "STRING": str}
_ELEMENT_TYPES = {
    "BYTE_ARRAY": bytes,  # first, so that an empty list is one, as in rclpy
    "BOOL_ARRAY": bool,
    "INTEGER_ARRAY": int,
    "DOUBLE_ARRAY": float,
    "STRING_ARRAY": str,
}


def _all_are(values: Iterable[Any], python_type: type) -> bool:
    return all(isinstance(value, python_type) for value in values)


class Parameter:
    """A name with a value of some type."""

    Type = _Type

    def __init__(self, name: str, type_: _Type | None = None, value: Any = None) -> None:
        if type_ is None:
            type_ = _Type.from_parameter_value(value)
        if not isinstance(type_, _Type):
            raise TypeError(f"type must be an instance of '{_Type!r}'")
        if not type_.check(value):
            raise ValueError(f"Type '{type_}' and value '{value}' do not agree")
        self._name, self._type_, self._value = name, type_, value

    @property
    def name(self) -> str:
        """The name."""
        return self._name

    @property
    def type_(self) -> _Type:
        """The type of the value."""
        return self._type_

    @property
    def value(self) -> Any:
        """The value."""
        return self._value

    def get_parameter_value(self) -> Any:
        """The value as rcl_interfaces.msg.ParameterValue."""
        message = ParameterValue(type=self.type_.value)
        if self.type_ is not _Type.NOT_SET:
            setattr(message, f"{self.type_.name.lower()}_value", self.value)
        return message

    def to_parameter_msg(self) -> Any:
        """This as rcl_interfaces.msg.Parameter."""
        return ParameterMsg(name=self.name, value=self.get_parameter_value())

    @classmethod
    def from_parameter_msg(cls, param_msg: Any) -> Parameter:
        """The parameter that a message holds."""
        type_ = _Type(param_msg.value.type)
        if type_ is _Type.NOT_SET:
            return cls(param_msg.name, type_)
        return cls(param_msg.name, type_, getattr(param_msg.value, f"{type_.name.lower()}_value"))


_Type.__qualname__ = "Parameter.Type"


def parameter_value_to_python(parameter_value: Any) -> Any:
    """The value that an rcl_interfaces.msg.ParameterValue holds; None when it is not set."""
    try:
        type_ = _Type(parameter_value.type)
    except ValueError:
        raise RuntimeError(f"unexpected parameter type {parameter_value.type}") from None
    if type_ is _Type.NOT_SET:
        return None
    value = getattr(parameter_value, f"{type_.name.lower()}_value")
    return value if type_.name in _SCALAR_TYPES else list(value)

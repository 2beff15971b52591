# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The exceptions of rclpy."""

from __future__ import annotations

from typing import Any

from vms_ph_embedded import subset

__getattr__ = subset.make_module_getattr(__name__)


class RCLError(RuntimeError):
    """An error that the ROS client library would raise."""


class InvalidHandle(RuntimeError):
    """Raised when something that has been destroyed is used."""


class NotInitializedException(Exception):
    """Raised when rclpy is used before rclpy.init()."""

    def __init__(self, message: str | None = None) -> None:
        detail = f" msg:{message}" if message else ""
        super().__init__(f"rclpy.init() has not been called.{detail}")


class NameValidationException(Exception):
    """Raised when a topic name, node name, or namespace is invalid."""

    def __init__(self, name_type: str, name: str, error_msg: str, invalid_index: int) -> None:
        pointer = " " * invalid_index
        super().__init__(f"Invalid {name_type}: {error_msg}:\n  '{name}'\n   {pointer}^")


class InvalidNamespaceException(NameValidationException):
    """Raised when a namespace is invalid."""

    def __init__(self, name: str, error_msg: str, invalid_index: int) -> None:
        super().__init__("namespace", name, error_msg, invalid_index)


class InvalidNodeNameException(NameValidationException):
    """Raised when a node name is invalid."""

    def __init__(self, name: str, error_msg: str, invalid_index: int) -> None:
        super().__init__("node name", name, error_msg, invalid_index)


class InvalidTopicNameException(NameValidationException):
    """Raised when a topic name is invalid."""

    def __init__(self, name: str, error_msg: str, invalid_index: int) -> None:
        super().__init__("topic name", name, error_msg, invalid_index)


class InvalidServiceNameException(NameValidationException):
    """Raised when a service name is invalid."""

    def __init__(self, name: str, error_msg: str, invalid_index: int) -> None:
        super().__init__("service name", name, error_msg, invalid_index)


class ParameterException(Exception):
    """Base of the errors about parameters."""

    def __init__(self, error_msg: str, parameters: str | list[str]) -> None:
        super().__init__(f"{error_msg}: {parameters}")


class ParameterNotDeclaredException(ParameterException):
    """Raised when a parameter is used that is not declared."""

    def __init__(self, parameters: str | list[str]) -> None:
        super().__init__("Invalid access to undeclared parameter(s)", parameters)


class ParameterAlreadyDeclaredException(ParameterException):
    """Raised when a parameter is declared twice."""

    def __init__(self, parameters: str | list[str]) -> None:
        super().__init__("Parameter(s) already declared", parameters)


class InvalidParameterException(ParameterException):
    """Raised when the name of a parameter is invalid."""

    def __init__(self, parameter_name: str) -> None:
        super().__init__("Invalid parameter name", parameter_name)


class InvalidParameterTypeException(ParameterException):
    """Raised when a parameter gets a value of the wrong type."""

    def __init__(self, desired_parameter: Any, expected_type: Any) -> None:
        super().__init__(
            f"Trying to set parameter '{desired_parameter.name}' to '{desired_parameter.value}'"
            f" of type '{desired_parameter.type_.name}', expecting type '{expected_type}'",
            desired_parameter.name,
        )


class InvalidParameterValueException(ParameterException):
    """Raised when a callback or a descriptor rejects a value."""

    def __init__(self, parameter: str, value: Any, reason: str) -> None:
        super().__init__(
            f"Invalid parameter value ({value}) for parameter. Reason: {reason}", parameter
        )


class ParameterImmutableException(ParameterException):
    """Raised when a read-only parameter is changed."""

    def __init__(self, parameter_name: str) -> None:
        super().__init__("Attempted to modify read-only parameter", parameter_name)


class ParameterUninitializedException(ParameterException):
    """Raised when a parameter without a value is read."""

    def __init__(self, parameter_name: str) -> None:
        super().__init__(f"The parameter '{parameter_name}' is not initialized", parameter_name)

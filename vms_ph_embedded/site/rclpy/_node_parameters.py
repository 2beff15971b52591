# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The parameters of a node."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

from rcl_interfaces.msg import (
    ListParametersResult,
    ParameterDescriptor,
    ParameterEvent,
    ParameterValue,
    SetParametersResult,
)
from rcl_interfaces.srv import ListParameters
from rclpy._parameter_rules import REJECTED_TYPE, REL_TOL, check_parameter, rejected
from rclpy.exceptions import (
    InvalidParameterException,
    InvalidParameterTypeException,
    InvalidParameterValueException,
    ParameterAlreadyDeclaredException,
    ParameterImmutableException,
    ParameterNotDeclaredException,
    ParameterUninitializedException,
)
from rclpy.parameter import PARAMETER_SEPARATOR_STRING, Parameter

_DEPTH_RECURSIVE = ListParameters.Request.DEPTH_RECURSIVE

_PreSetCallback = Callable[[list[Parameter]], list[Parameter]]
_OnSetCallback = Callable[[list[Parameter]], Any]


class NodeParameters:
    """The parameters of a node."""

    PARAM_REL_TOL = REL_TOL

    def __init__(self, overrides: dict[str, Parameter], *, allow_undeclared: bool) -> None:
        self._parameter_overrides = overrides
        self._allow_undeclared_parameters = allow_undeclared
        self._parameters: dict[str, Parameter] = {}
        self._descriptors: dict[str, Any] = {}
        self._pre_set_parameters_callbacks: list[_PreSetCallback] = []
        self._on_set_parameters_callbacks: list[_OnSetCallback] = []

    def _ros_publish_parameter_event(self, event: Any) -> None:
        raise NotImplementedError

    # Declaring

    def declare_parameter(
        self, name: str, value: Any = None, descriptor: Any = None, ignore_override: bool = False
    ) -> Parameter:
        """Declare a parameter by a default value, or by a type if there is none."""
        declaration: tuple[Any, ...] = (name,)
        if value is not None or descriptor is not None:
            declaration = (name, value, descriptor or ParameterDescriptor())
        return self.declare_parameters("", [declaration], ignore_override)[0]

    def declare_parameters(
        self, namespace: str, parameters: Sequence[tuple[Any, ...]], ignore_override: bool = False
    ) -> list[Parameter]:
        """Declare parameters given as (name, value or type, descriptor)."""
        pairs = [
            self._ros_read_declaration(index, declaration, namespace, ignore_override)
            for index, declaration in enumerate(parameters)
        ]
        duplicates = [
            parameter.name for parameter, _ in pairs if self.has_parameter(parameter.name)
        ]
        if duplicates:
            raise ParameterAlreadyDeclaredException(duplicates)
        for parameter, descriptor in pairs:
            result = self._ros_set_together([parameter], {parameter.name: descriptor})
            if result.successful:
                continue
            if result.reason.startswith(REJECTED_TYPE):
                expected_type = Parameter.Type(descriptor.type).name
                raise InvalidParameterTypeException(parameter, expected_type)
            raise InvalidParameterValueException(parameter.name, parameter.value, result.reason)
        return [self._parameters[parameter.name] for parameter, _ in pairs]

    def undeclare_parameter(self, name: str) -> None:
        """Forget a parameter."""
        self._ros_require_declared(name)
        if self._descriptors[name].read_only:
            raise ParameterImmutableException(name)
        del self._parameters[name], self._descriptors[name]

    def has_parameter(self, name: str) -> bool:
        """Whether a parameter is declared."""
        return name in self._parameters

    # Getting

    def get_parameter(self, name: str) -> Parameter:
        """A parameter."""
        if not self.has_parameter(name):
            self._ros_require_declared(name, unless_allowed=True)
            return Parameter(name, Parameter.Type.NOT_SET)
        parameter = self._parameters[name]
        is_unset = parameter.type_ == Parameter.Type.NOT_SET
        if is_unset and not self._descriptors[name].dynamic_typing:
            raise ParameterUninitializedException(name)
        return parameter

    def get_parameters(self, names: list[str]) -> list[Parameter]:
        """Some parameters."""
        return [self.get_parameter(name) for name in _checked_names(names)]

    def get_parameter_or(self, name: str, alternative_value: Parameter | None = None) -> Parameter:
        """A parameter, or an alternative when it has no value."""
        parameter = self._parameters.get(name)
        if parameter is not None and parameter.type_ != Parameter.Type.NOT_SET:
            return parameter
        return alternative_value or Parameter(name, Parameter.Type.NOT_SET)

    def get_parameter_type(self, name: str) -> Any:
        """The type of a parameter."""
        if self.has_parameter(name):
            return self._parameters[name].type_.value
        self._ros_require_declared(name, unless_allowed=True)
        return Parameter.Type.NOT_SET

    def get_parameter_types(self, names: list[str]) -> list[Any]:
        """The types of some parameters."""
        return [self.get_parameter_type(name) for name in _checked_names(names)]

    def list_parameters(self, prefixes: list[str], depth: int) -> Any:
        """The names of the parameters below some prefixes, down to a depth."""
        if not isinstance(prefixes, list):
            raise TypeError("The prefixes argument must be a list")
        if not all(isinstance(prefix, str) for prefix in prefixes):
            raise TypeError("All prefixes must be instances of type str")
        if not isinstance(depth, int):
            raise TypeError("The depth must be instance of type int")
        if depth < 0:
            raise ValueError("The depth must be greater than or equal to zero")

        def is_within_depth(name: str) -> bool:
            return depth == _DEPTH_RECURSIVE or name.count(PARAMETER_SEPARATOR_STRING) < depth

        def is_listed(name: str) -> bool:
            if not prefixes:
                return is_within_depth(name)
            branches = [prefix + PARAMETER_SEPARATOR_STRING for prefix in prefixes]
            return name in prefixes or any(
                name.startswith(start) and is_within_depth(name[len(start) :]) for start in branches
            )

        names = [name for name in self._parameters if is_listed(name)]
        parents = [name.rpartition(PARAMETER_SEPARATOR_STRING)[0] for name in names]
        return ListParametersResult(
            names=names, prefixes=list(dict.fromkeys(parent for parent in parents if parent))
        )

    # Setting

    def set_parameters(self, parameter_list: list[Parameter]) -> list[Any]:
        """Set parameters one after the other; each has its own result."""
        return [self.set_parameters_atomically([parameter]) for parameter in parameter_list]

    def set_parameters_atomically(self, parameter_list: list[Parameter]) -> Any:
        """Set all of these parameters, or none."""
        if self._pre_set_parameters_callbacks:
            parameter_list = [
                parameter
                for callback in self._pre_set_parameters_callbacks
                for parameter in callback(parameter_list)
            ]
            if not parameter_list:
                return rejected(
                    "parameter list cannot be empty, this might be due to "
                    "pre_set_parameters_callback modifying the original parameters list."
                )
        if not all(isinstance(parameter, Parameter) for parameter in parameter_list):
            raise TypeError(f"parameter must be instance of type '{Parameter!r}'")
        undeclared = [p.name for p in parameter_list if not self.has_parameter(p.name)]
        if undeclared and not self._allow_undeclared_parameters:
            raise ParameterNotDeclaredException(undeclared)
        return self._ros_set_together(parameter_list)

    def add_pre_set_parameters_callback(self, callback: _PreSetCallback) -> None:
        """Have a function change what is about to be set."""
        self._pre_set_parameters_callbacks.insert(0, callback)

    def add_on_set_parameters_callback(self, callback: _OnSetCallback) -> None:
        """Have a function accept or reject what is about to be set."""
        self._on_set_parameters_callbacks.insert(0, callback)

    # Describing

    def describe_parameter(self, name: str) -> Any:
        """The descriptor of a parameter."""
        if name not in self._descriptors:
            self._ros_require_declared(name, unless_allowed=True)
            return ParameterDescriptor()
        return self._descriptors[name]

    def describe_parameters(self, names: list[str]) -> list[Any]:
        """The descriptors of some parameters."""
        return [self.describe_parameter(name) for name in names]

    # How it is done

    def _ros_require_declared(self, name: str, *, unless_allowed: bool = False) -> None:
        if not self.has_parameter(name) and not (
            unless_allowed and self._allow_undeclared_parameters
        ):
            raise ParameterNotDeclaredException(name)

    def _ros_read_declaration(
        self, index: int, declaration: tuple[Any, ...], namespace: str, ignore_override: bool
    ) -> tuple[Parameter, Any]:
        if not 1 <= len(declaration) <= 3:
            raise TypeError(
                f"Invalid parameter tuple length at index {index} in parameters list: "
                f"{declaration}; expecting length between 1 and 3"
            )
        name = declaration[0]
        if not isinstance(name, str):
            raise TypeError(
                f"First element {name} at index {index} in parameters list is not a str."
            )
        if namespace:
            name = f"{namespace}.{name}"
        if not name:
            raise InvalidParameterException(name)
        descriptor = declaration[2] if len(declaration) > 2 else ParameterDescriptor()
        if not isinstance(descriptor, ParameterDescriptor):
            raise TypeError(
                f"Third element {descriptor} at index {index} in parameters list "
                "is not a ParameterDescriptor."
            )
        if len(declaration) == 1:
            warnings.warn(
                f"when declaring parameter named '{name}', declaring a parameter only providing "
                "its name is deprecated. You have to either:\n"
                '\t- Pass a name and a default value different to "PARAMETER NOT SET"'
                " (and optionally a descriptor).\n"
                "\t- Pass a name and a parameter type.\n"
                "\t- Pass a name and a descriptor with `dynamic_typing=True",
                stacklevel=4,
            )
            descriptor.dynamic_typing = True
        value = self._ros_read_type(
            name, declaration[1] if len(declaration) > 1 else None, descriptor
        )
        if not ignore_override and name in self._parameter_overrides:
            value = self._parameter_overrides[name].value
        return Parameter(name, value=value), descriptor

    def _ros_read_type(self, name: str, value: Any, descriptor: Any) -> Any:
        """Write the type of a declaration into its descriptor; the value if there is one."""
        if isinstance(value, Parameter.Type):
            if value == Parameter.Type.NOT_SET:
                raise ValueError(
                    f"Cannot declare parameter {{{name}}} as statically typed of type NOT_SET"
                )
            if descriptor.dynamic_typing:
                raise ValueError(
                    f"When declaring parameter {{{name}}} passing a descriptor with"
                    "`dynamic_typing=True` is not allowed when the parameter type is provided"
                )
            descriptor.type = value.value
            return None
        if not descriptor.dynamic_typing:
            is_message = isinstance(value, ParameterValue)
            type_ = value.type if is_message else Parameter.Type.from_parameter_value(value).value
            if type_ == Parameter.Type.NOT_SET.value:
                raise ValueError(
                    "Cannot declare a statically typed parameter with default value "
                    "of type PARAMETER_NOT_SET"
                )
            descriptor.type = type_
        return value

    def _ros_set_together(
        self, parameters: list[Parameter], new_descriptors: dict[str, Any] | None = None
    ) -> Any:
        """Set parameters if all comply and no callback objects; with descriptors, declare them."""
        is_declaration = new_descriptors is not None
        descriptors = new_descriptors if new_descriptors is not None else self._descriptors
        for parameter in parameters:
            if parameter.name in descriptors:
                descriptor = descriptors[parameter.name]
                result = check_parameter(
                    parameter,
                    descriptor,
                    is_declared=self.has_parameter(parameter.name),
                    check_read_only=not is_declaration,
                )
                if not result.successful:
                    return result
        for callback in self._on_set_parameters_callbacks:
            result = callback(parameters)
            if not result.successful:
                return result
        event = ParameterEvent()
        for parameter in parameters:
            message = parameter.to_parameter_msg()
            if not is_declaration and parameter.type_ == Parameter.Type.NOT_SET:
                event.deleted_parameters.append(message)
                self._parameters.pop(parameter.name, None)
                self._descriptors.pop(parameter.name, None)
                continue
            if is_declaration or parameter.name not in self._descriptors:
                any_type = ParameterDescriptor(dynamic_typing=True)
                self._descriptors[parameter.name] = descriptors.get(parameter.name, any_type)
            is_new = self.get_parameter_or(parameter.name).type_ == Parameter.Type.NOT_SET
            (event.new_parameters if is_new else event.changed_parameters).append(message)
            self._parameters[parameter.name] = parameter
        self._ros_publish_parameter_event(event)
        return SetParametersResult(successful=True)


def _checked_names(names: list[str]) -> list[str]:
    if not all(isinstance(name, str) for name in names):
        raise TypeError("All names must be instances of type str")
    return names

# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Declares the parameters of nodes, with type, description, bounds and read-only flag.

The class attribute ``PARAMETER_FILE`` of a node is the name of its file
config/parameters/<name>.yaml, in the schema of generate_parameter_library, which the C++ plugins
also use. The gains of a controller are fields of its ``Gains`` record instead, since any class may
be a controller.
"""

from collections.abc import Callable, Collection
from dataclasses import fields, replace
from functools import cache
from typing import Any, TypeVar

import numpy as np
from rcl_interfaces.msg import (
    FloatingPointRange,
    IntegerRange,
    ParameterDescriptor,
    SetParametersResult,
)
from rclpy.exceptions import InvalidParameterTypeException
from rclpy.node import Node
from rclpy.parameter import Parameter

from vms_ph_dynamics import VmsPhError
from vms_ph_io import share_directory
from vms_ph_io.settings.parameter_schema import ParameterSpec, load_parameters
from vms_ph_io.settings.yaml_files import key_of

Record = TypeVar("Record", bound=Any)


@cache
def parameters_of(name: str) -> dict[str, ParameterSpec]:
    """Return the parameters of a node by the name of its file.

    Raises:
        VmsPhError: no such file, or a file that does not follow the schema.
    """
    return load_parameters(share_directory() / f"config/parameters/{name}.yaml")


def declare(node: Node, name: str, default: Any = None, file: str = "") -> Any:
    """Declare a parameter of a node's file and return its value.

    Args:
        node: node whose class has the attribute ``PARAMETER_FILE``.
        name: name of the parameter, with dots.
        default: default value; that of the file if None.
        file: name of the file; that of the node if empty.

    Raises:
        VmsPhError: the given value is outside the bounds in the file.
    """
    spec = parameters_of(file or node.PARAMETER_FILE)[name]
    descriptor = _descriptor(spec.description, spec.default, spec.bounds, spec.read_only)
    value = _declare_value(node, name, spec.default if default is None else default, descriptor)
    if complaint := spec.complaint(value):
        raise VmsPhError(f"{node.get_name()}: {complaint}")
    if not spec.read_only:
        _accept_integers(node, {name})

        def validate(parameters: list[Parameter]) -> SetParametersResult:
            reasons = [spec.complaint(p.value) for p in parameters if p.name == name]
            reason = next(filter(None, reasons), "")
            return SetParametersResult(successful=not reason, reason=reason)

        node.add_on_set_parameters_callback(validate)
    return value


def declare_record(node: Node, prefix: str, record_type: type[Record]) -> Record:
    """Declare the parameters ``<prefix>.<field>`` of a record, and return it with their values.

    Args:
        node: as in :func:`declare`.
        prefix: before the names of the fields.
        record_type: a dataclass with a field for every parameter.

    Raises:
        VmsPhError: a value is outside its bounds.
    """
    return record_type(**declare_fields(node, prefix, record_type))


def declare_fields(node: Node, prefix: str, record_type: Any, skip: Collection[str] = ()) -> Any:
    """Return the values of :func:`declare_record` by field, but for the keys ``skip``."""
    keys = {field.name: key_of(field) for field in fields(record_type)}
    values = {k: declare(node, f"{prefix}.{key}") for k, key in keys.items() if key not in skip}
    return {name: x if np.isscalar(x) else np.array(x, float) for name, x in values.items()}


def record_parameters(prefix: str, record: Any, excluded: Collection[str] = ()) -> dict[str, Any]:
    """Return the parameters ``<prefix>.<field>`` of a record, as parameter files have them."""
    names = {key_of(field): field.name for field in fields(record)}
    values = {f"{prefix}.{k}": getattr(record, n) for k, n in names.items() if k not in excluded}
    return {
        name: value
        if value is None or isinstance(value, bool)
        else np.asarray(value, float).tolist()
        for name, value in values.items()
    }


def declare_gains(
    node: Node, controller: Callable[[], Any], attribute: str = "gains", names: Collection[str] = ()
) -> None:
    """Declare every gain of a controller as a parameter that can change while it runs.

    The controller accounts for the energy of a change, in ``reference_power`` of its state. A gain
    with the name of another parameter of the node is ``gain.<name>``.

    Args:
        node: of the parameters.
        controller: returns what has the record of its gains as an attribute that can be set.
        attribute: name of that attribute.
        names: of the gains to declare; all if empty.
    """
    gains = getattr(controller(), attribute)
    gain_fields = [f for f in fields(gains) if not names or f.name in names]
    taken_names = {f.name for f in gain_fields if node.has_parameter(f.name)}
    gain_of = {gain_parameter(f.name, taken_names): f.name for f in gain_fields}
    for field in gain_fields:
        bounds = field.metadata.get("low"), field.metadata.get("high")
        descriptor = _descriptor(field.metadata["description"], field.default, bounds)
        current = getattr(gains, field.name)
        value = _declare_value(node, gain_parameter(field.name, taken_names), current, descriptor)
        gains = replace(gains, **{field.name: value})
        setattr(controller(), attribute, gains)
    _accept_integers(node, set(gain_of))

    def apply_gains(parameters: list[Parameter]) -> SetParametersResult:
        new = {gain_of[p.name]: p.value for p in parameters if p.name in gain_of}
        try:
            if new:
                setattr(controller(), attribute, replace(getattr(controller(), attribute), **new))
        except VmsPhError as error:
            return SetParametersResult(successful=False, reason=str(error))
        return SetParametersResult(successful=True)

    node.add_on_set_parameters_callback(apply_gains)


def gain_parameter(name: str, taken_names: Collection[str]) -> str:
    """Return the parameter of a gain; other parameters have the names ``taken_names``."""
    return f"gain.{name}" if name in taken_names else name


def _declare_value(node: Node, name: str, value: Any, descriptor: ParameterDescriptor) -> Any:
    """Declare a parameter and return its value; an integer is taken for a number."""
    try:
        return node.declare_parameter(name, value, descriptor).value
    except InvalidParameterTypeException:
        if not isinstance(value, float):
            raise
    override = node.declare_parameter(name, value, ParameterDescriptor(dynamic_typing=True)).value
    node.undeclare_parameter(name)
    if type(override) is not int:
        return node.declare_parameter(name, value, descriptor).value  # raises as before
    return node.declare_parameter(name, float(override), descriptor, ignore_override=True).value


def _accept_integers(node: Node, names: set[str]) -> None:
    """Convert integers that are set to numbers, as in ``ros2 param set controller stiffness 100``.

    A ROS 2 before Iron has no such callbacks and refuses integers.
    """

    def convert(parameters: list[Parameter]) -> list[Parameter]:
        return [
            Parameter(parameter.name, Parameter.Type.DOUBLE, float(parameter.value))
            if parameter.name in names
            and parameter.type_ == Parameter.Type.INTEGER
            and node.get_parameter(parameter.name).type_ == Parameter.Type.DOUBLE
            else parameter
            for parameter in parameters
        ]

    if hasattr(node, "add_pre_set_parameters_callback"):
        node.add_pre_set_parameters_callback(convert)


def _descriptor(
    description: str, default: Any, bounds: Any, read_only: bool = False
) -> ParameterDescriptor:
    """Return the descriptor of a parameter; bounds, or one of them, may be None."""
    descriptor = ParameterDescriptor(description=description, read_only=read_only)
    low, high = bounds or (None, None)
    if low is None or high is None:
        return descriptor
    if isinstance(default, float):
        limits = FloatingPointRange(from_value=float(low), to_value=float(high))
        descriptor.floating_point_range = [limits]
    else:
        descriptor.integer_range = [IntegerRange(from_value=int(low), to_value=int(high), step=1)]
    return descriptor

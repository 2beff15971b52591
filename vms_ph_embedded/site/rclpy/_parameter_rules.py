# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Checks of values against a parameter descriptor."""

from __future__ import annotations

import math
from typing import Any

from rcl_interfaces.msg import SetParametersResult
from rclpy.parameter import Parameter

REJECTED_TYPE = "Wrong parameter type"
REL_TOL = 1e-6  # of floating-point values at the ends and steps of their range


def check_parameter(
    parameter: Parameter, descriptor: Any, *, is_declared: bool, check_read_only: bool
) -> Any:
    """Whether a descriptor allows a value; completes the descriptor."""
    descriptor.name = parameter.name
    if check_read_only and descriptor.read_only:
        return rejected(f"Trying to set a read-only parameter: {parameter.name}.")
    is_set = parameter.type_ != Parameter.Type.NOT_SET
    if descriptor.dynamic_typing:
        descriptor.type = parameter.type_.value
    elif is_declared and not is_set:
        return rejected("Static parameter cannot be undeclared")
    elif is_set and parameter.type_.value != descriptor.type:
        return rejected(
            f"{REJECTED_TYPE}, expected '{Parameter.Type(descriptor.type)}' got '{parameter.type_}'"
        )
    if parameter.type_ == Parameter.Type.INTEGER and descriptor.integer_range:
        return _check_integer_range(parameter, descriptor.integer_range[0])
    if parameter.type_ == Parameter.Type.DOUBLE and descriptor.floating_point_range:
        return _check_floating_point_range(parameter, descriptor.floating_point_range[0])
    return SetParametersResult(successful=True)


def rejected(reason: str) -> Any:
    """The result of not setting a parameter."""
    return SetParametersResult(successful=False, reason=reason)


def _check_integer_range(parameter: Parameter, allowed_range: Any) -> Any:
    low, high = sorted((allowed_range.from_value, allowed_range.to_value))
    value, step = parameter.value, allowed_range.step
    if not low <= value <= high:
        return rejected(
            f"Parameter {parameter.name} out of range. Min: {low}, Max: {high}, value: {value}"
        )
    if value not in (low, high) and step and (value - low) % step:
        return rejected(
            f"The parameter value for {parameter.name} is not a valid step. "
            f"Min: {low}, max: {high}, value: {value}, step: {step}"
        )
    return SetParametersResult(successful=True)


def _check_floating_point_range(parameter: Parameter, allowed_range: Any) -> Any:
    low, high = sorted((allowed_range.from_value, allowed_range.to_value))
    value, step = parameter.value, allowed_range.step

    def is_close(a: float, b: float) -> bool:
        return math.isclose(a, b, rel_tol=REL_TOL)

    if is_close(value, low) or is_close(value, high):
        return SetParametersResult(successful=True)
    if not low < value < high:
        return rejected(
            f"Parameter {parameter.name} out of range Min: {low}, Max: {high}, value: {value}"
        )
    if step and not is_close(low + round((value - low) / step) * step, value):
        return rejected(
            f"The parameter value for {parameter.name} is not close enough to a valid step. "
            f"Min: {low}, max: {high}, value: {value}, step: {step}"
        )
    return SetParametersResult(successful=True)

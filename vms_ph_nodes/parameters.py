"""Declaring parameters with a description, bounds and what may change while running."""

from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any

from rcl_interfaces.msg import (
    FloatingPointRange,
    IntegerRange,
    ParameterDescriptor,
    SetParametersResult,
)
from rclpy.node import Node
from rclpy.parameter import Parameter

if TYPE_CHECKING:
    from vms_ph_controllers import Controller


def declare(
    node: Node,
    name: str,
    default: Any,
    description: str,
    low: float | None = None,
    high: float | None = None,
    read_only: bool = True,
) -> Any:
    """Declare a parameter and return its value.

    Args:
        node: whose parameter it is.
        name: relative to the node.
        default: gives the type as well.
        description: one line.
        low: smallest value of a number.
        high: largest value of a number.
        read_only: whether it is fixed once the node runs.
    """
    descriptor = ParameterDescriptor(description=description, read_only=read_only)
    if low is not None and high is not None:
        if isinstance(default, float):
            bounds = FloatingPointRange(from_value=float(low), to_value=float(high))
            descriptor.floating_point_range = [bounds]
        else:
            descriptor.integer_range = [
                IntegerRange(from_value=int(low), to_value=int(high), step=1)
            ]
    return node.declare_parameter(name, default, descriptor).value


def declare_gains(node: Node, controller: "Controller") -> None:
    """Expose every gain of a controller as a parameter that can change while it runs."""
    for item in fields(controller.gains):
        value = declare(
            node,
            item.name,
            getattr(controller.gains, item.name),
            item.metadata["description"],
            item.metadata["low"],
            item.metadata["high"],
            read_only=False,
        )
        controller.gains = replace(controller.gains, **{item.name: value})
    names = {item.name for item in fields(controller.gains)}

    def change(parameters: list[Parameter]) -> SetParametersResult:
        new = {p.name: p.value for p in parameters if p.name in names}
        if new:
            controller.gains = replace(controller.gains, **new)
        return SetParametersResult(successful=True)

    node.add_on_set_parameters_callback(change)

# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""vms-ph param: reads and changes the parameters of running nodes."""

from contextlib import suppress
from typing import Any

import typer
import yaml
from rcl_interfaces.srv import DescribeParameters, GetParameters, ListParameters, SetParameters
from rclpy.node import Node
from rclpy.parameter import Parameter, parameter_value_to_python

from vms_ph_dynamics import VmsPhError
from vms_ph_dynamics.errors import did_you_mean
from vms_ph_io.installation import command_name

from .message_text import parse, to_plain, to_yaml
from .temporary_node import call, temporary_node

app = typer.Typer(help="Read and change the parameters of nodes.", no_args_is_help=True)

_NODE_ARGUMENT = typer.Argument(help="name of the node, like /controller")
_NAME_ARGUMENT = typer.Argument(help="name of the parameter, like stiffness")


@app.command("list")
def list_parameters(node_name: str = _NODE_ARGUMENT) -> None:
    """List the parameters of a node with their descriptions."""
    with temporary_node() as node:
        names = _parameter_names(node, node_name)
        response = _call(node, node_name, "describe_parameters", DescribeParameters, names=names)
        for descriptor in response.descriptors:
            remark = " (read-only)" if descriptor.read_only else ""
            typer.echo(f"{descriptor.name}{remark}: {descriptor.description}")


@app.command()
def get(node_name: str = _NODE_ARGUMENT, name: str = _NAME_ARGUMENT) -> None:
    """Print the value of a parameter."""
    with temporary_node() as node:
        names = _parameter_names(node, node_name)
        if name not in names:
            raise VmsPhError(
                f"{node_name} has no parameter '{name}'{did_you_mean(name, names)}; "
                f"`{command_name()} param list {node_name}` shows them"
            )
        typer.echo(to_yaml(_parameter_values(node, node_name, [name])[name]).removesuffix("\n..."))


@app.command("set", context_settings={"ignore_unknown_options": True})
def set_parameter(
    node_name: str = _NODE_ARGUMENT,
    name: str = _NAME_ARGUMENT,
    value: str = typer.Argument(help="new value as YAML: 3.5, true, text, [1, 2]"),
) -> None:
    """Change a parameter of a running node."""
    with temporary_node() as node:
        new_value = parse(value)
        is_declared = name in _parameter_names(node, node_name)
        current_value = _parameter_values(node, node_name, [name])[name] if is_declared else None
        if isinstance(current_value, float) and isinstance(new_value, (int, str)):
            with suppress(ValueError, OverflowError):  # YAML parses 1e3 as a string
                new_value = float(new_value)
        message = _parameter_message(name, new_value)
        response = _call(node, node_name, "set_parameters", SetParameters, parameters=[message])
        if not response.results:
            raise VmsPhError(f"{node_name} refused the request without a reason")
        outcome = response.results[0]
        if not outcome.successful:
            raise VmsPhError(f"{node_name} rejected {name} = {new_value!r}: {outcome.reason}")
        typer.echo(f"{name} = {new_value!r}")


@app.command()
def dump(node_name: str = _NODE_ARGUMENT) -> None:
    """Print all parameters of a node in the format of --params-file."""
    with temporary_node() as node:
        values = _parameter_values(node, node_name, sorted(_parameter_names(node, node_name)))
        typer.echo(
            yaml.safe_dump({node_name: {"ros__parameters": values}}, sort_keys=False).rstrip()
        )


def _parameter_message(name: str, value: Any) -> Any:
    try:
        return Parameter(name, value=value).to_parameter_msg()
    except (TypeError, ValueError, AssertionError, OverflowError):
        raise VmsPhError(
            f"{value!r} is no value of a parameter; accepted are true and false, integers of 64 "
            "bits, numbers, text, and lists of values of one of these types"
        ) from None


def _parameter_names(node: Node, node_name: str) -> list[str]:
    return list(_call(node, node_name, "list_parameters", ListParameters).result.names)


def _parameter_values(node: Node, node_name: str, names: list[str]) -> dict[str, Any]:
    response = _call(node, node_name, "get_parameters", GetParameters, names=names)
    values = (to_plain(parameter_value_to_python(value)) for value in response.values)
    if len(response.values) != len(names):
        raise VmsPhError(
            f"{node_name} gave {len(response.values)} values for {len(names)} parameters"
        )
    return dict(zip(names, values, strict=True))


def _call(node: Node, node_name: str, service: str, service_type: Any, **fields: Any) -> Any:
    request = service_type.Request()
    for name, value in fields.items():
        setattr(request, name, value)
    return call(node, service_type, f"/{node_name.strip('/')}/{service}", request)

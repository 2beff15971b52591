# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""vms-ph node: lists running nodes, with their topics and services."""

import typer
from rclpy.node import Node

from vms_ph_dynamics import VmsPhError
from vms_ph_dynamics.errors import did_you_mean
from vms_ph_io.installation import command_name

from .temporary_node import stable_result, temporary_node, wait_for

app = typer.Typer(help="List running nodes, with their topics and services.", no_args_is_help=True)


@app.command("list")
def list_nodes() -> None:
    """List the running nodes, without hidden ones, whose names begin with ``_``."""
    with temporary_node() as node:
        for name in stable_result(node, lambda: _node_names(node)):
            typer.echo(name)


def _node_names(node: Node) -> list[str]:
    """Return the names of all running nodes but this one, with their namespaces."""
    return [
        f"{namespace.rstrip('/')}/{name}"
        for name, namespace in sorted(node.get_node_names_and_namespaces())
        if name != node.get_name() and not name.startswith("_")
    ]


@app.command()
def info(name: str = typer.Argument(help="name of the node, like /simulator")) -> None:
    """Show the publishers, subscriptions and services of a node."""
    namespace, _, base_name = ("/" + name.strip("/")).rpartition("/")
    namespace = namespace or "/"
    with temporary_node() as node:
        wait_for(
            node,
            lambda: (base_name, namespace) in node.get_node_names_and_namespaces(),
            lambda: (
                f"there is no node {name}{did_you_mean(name, _node_names(node))}; "
                f"`{command_name()} node list` shows the running ones"
            ),
        )
        queries = (
            ("Publishers", node.get_publisher_names_and_types_by_node),
            ("Subscribers", node.get_subscriber_names_and_types_by_node),
            ("Service Servers", node.get_service_names_and_types_by_node),
            ("Service Clients", node.get_client_names_and_types_by_node),
        )
        try:
            sections = stable_result(
                node, lambda: [(title, query(base_name, namespace)) for title, query in queries]
            )
        except RuntimeError as error:
            raise VmsPhError(f"{name} is no longer running: {error}") from None
        typer.echo(f"{namespace.rstrip('/')}/{base_name}")
        for title, endpoints in sections:
            typer.echo(f"  {title}:")
            for endpoint, types in sorted(endpoints):
                typer.echo(f"    {endpoint}: {', '.join(types)}")

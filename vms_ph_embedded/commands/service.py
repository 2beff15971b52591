# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""vms-ph service: lists and calls services."""

import typer

from vms_ph_dynamics import VmsPhError
from vms_ph_dynamics.errors import did_you_mean
from vms_ph_io.installation import command_name
from vms_ph_nodes.topics.interfaces import load_interface

from .message_text import parse, set_fields, to_yaml
from .temporary_node import call, print_names, temporary_node, wait_for

app = typer.Typer(help="List and call services.", no_args_is_help=True)


@app.command("list")
def list_services(
    show_types: bool = typer.Option(False, "--show-types", "-t", help="also show the types"),
) -> None:
    """List the services of running nodes."""
    with temporary_node() as node:
        print_names(node, node.get_service_names_and_types, show_types)


@app.command("call")
def call_service(
    name: str = typer.Argument(help="name of the service, like /simulator/reset"),
    type_name: str = typer.Argument(
        "", metavar="[TYPE]", help="type of the service, like std_srvs/srv/Trigger"
    ),
    fields: str = typer.Argument("{}", help="fields of the request, as YAML"),
) -> None:
    """Call a service and print its response."""
    with temporary_node() as node:
        expected_type = load_interface(type_name, "srv") if type_name else None
        name = node.resolve_service_name(name)

        def types_by_service() -> dict[str, list[str]]:
            return dict(node.get_service_names_and_types())

        types = wait_for(
            node,
            lambda: types_by_service().get(name),
            lambda: (
                f"there is no service {name}{did_you_mean(name, types_by_service())}; "
                f"`{command_name()} service list` shows the running ones"
            ),
        )
        service_type = load_interface(types[0], "srv")
        if expected_type not in (None, service_type):
            raise VmsPhError(f"the type of {name} is {types[0]}, not {type_name}")
        request = set_fields(service_type.Request(), parse(fields))
        typer.echo(to_yaml(call(node, service_type, name, request)))

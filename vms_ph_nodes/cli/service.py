"""vms-ph service: list and call services."""

import typer

from .ros import awaited, call, settled, short_node

app = typer.Typer(help="List and call services.", no_args_is_help=True)


@app.command("list")
def list_services(
    types: bool = typer.Option(False, "--show-types", "-t", help="show the types too"),
) -> None:
    """List the services there are."""
    with short_node() as node:
        for name, kinds in sorted(settled(node, node.get_service_names_and_types)):
            typer.echo(f"{name} [{', '.join(kinds)}]" if types else name)


@app.command("call")
def call_service(
    name: str = typer.Argument(help="of the service, like /simulator/reset"),
    kind: str = typer.Argument("", metavar="[TYPE]", help="like std_srvs/srv/Trigger"),
    values: str = typer.Argument("{}", help="of the request, as YAML"),
) -> None:
    """Call a service and print its response."""
    from ..message_text import fill, load_interface, parse, to_yaml

    with short_node() as node:
        if not kind:
            missing = f"there is no service {name}; `vms-ph service list` shows those there are"
            kinds = awaited(
                node, lambda: dict(node.get_service_names_and_types()).get(name), missing
            )
            kind = kinds[0]
        service = load_interface(kind, "srv")
        request = fill(service.Request(), parse(values))
        typer.echo(to_yaml(call(node, service, name, request)))

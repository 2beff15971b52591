# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""vms-ph interface: prints definitions of messages and services."""

import os
from pathlib import Path

import typer
from ament_index_python.packages import PackageNotFoundError, get_package_share_directory

from vms_ph_dynamics import VmsPhError
from vms_ph_io import share_directory
from vms_ph_nodes.topics.interfaces import load_interface

app = typer.Typer(help="Show the definitions of messages and services.", no_args_is_help=True)


@app.command()
def show(
    name: str = typer.Argument(
        help="name of the type, like vms_ph/msg/Energy or std_srvs/srv/Trigger"
    ),
) -> None:
    """Print the definition of a message or service."""
    text = _from_file(name) or _from_class(name)
    typer.echo(text.rstrip())


@app.command("list")
def list_interfaces() -> None:
    """List the messages and services of this project."""
    for kind in ("msg", "srv"):
        for file in sorted((share_directory() / kind).glob(f"*.{kind}")):
            typer.echo(f"vms_ph/{kind}/{file.stem}")


def _from_file(name: str) -> str | None:
    """Return the definition with comments from the package's share folder, if it is there."""
    package, _, rest = name.partition("/")
    kind, _, type_name = rest.rpartition("/")
    for folder in (kind,) if kind else ("msg", "srv"):
        try:
            file = Path(get_package_share_directory(package)) / folder / f"{type_name}.{folder}"
        except (PackageNotFoundError, ValueError, OSError):  # no name that a package can have
            return None
        if os.path.isfile(file):
            return file.read_text()
    return None


def _from_class(name: str) -> str:
    for kind in ("msg", "srv"):
        try:
            interface = load_interface(name, kind)
        except VmsPhError:
            continue
        if kind == "msg":
            return _fields(interface)
        return f"{_fields(interface.Request)}\n---\n{_fields(interface.Response)}"
    raise VmsPhError(f"there is no interface '{name}'; give one like sensor_msgs/msg/JointState")


def _fields(message_type: type) -> str:
    types: dict[str, str] = message_type.get_fields_and_field_types()  # type: ignore[attr-defined]
    return "\n".join(f"{kind} {name}" for name, kind in types.items())

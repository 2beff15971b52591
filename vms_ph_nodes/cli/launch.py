# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""vms-ph launch, run and env: start nodes, and let other programs join their DDS domain."""

import os
import sys
from importlib import import_module
from pathlib import Path

import typer

from vms_ph_dynamics import VmsPhError
from vms_ph_io import share_directory
from vms_ph_io.wings import WINGS, find_program, hook, programs

_SUFFIX = ".launch.xml"


def find_launch_file(name: str) -> Path:
    """Return a launch file by its path, or a bundled one by its name without the suffix.

    Raises:
        VmsPhError: no such file; the message lists the bundled ones.
    """
    folder = share_directory() / "launch"
    for file in (Path(name), folder / name, folder / f"{name}{_SUFFIX}"):
        if os.path.isfile(file):  # False, too, for a path that no file can have
            return file
    names = ", ".join(sorted(p.name.removesuffix(_SUFFIX) for p in folder.glob(f"*{_SUFFIX}")))
    raise VmsPhError(f"there is no launch file {name}; give a path, or one of: {names}")


def launch(
    context: typer.Context,
    file: str = typer.Argument(
        help="path of a *.launch.xml file, or the name of a bundled one, like panda"
    ),
    show_args: bool = typer.Option(
        False, "--show-args", "-s", help="list the arguments of the launch file and exit"
    ),
) -> None:
    """Start the nodes of a launch file, with arguments as name:=value; Ctrl-C stops them.

    For instance: vms-ph launch panda web:=true push_period:=5.0
    """
    path = find_launch_file(file)
    if not WINGS["embedded"].is_installed:
        command = ["ros2", "launch", str(path), *(["--show-args"] if show_args else context.args)]
        try:
            os.execvp("ros2", command)
        except OSError as error:
            raise VmsPhError(
                f"ros2 cannot be started ({error}); source the setup file of your ROS 2. Without "
                f"ROS 2, launch files need the wing 'embedded': {WINGS['embedded'].remedy}"
            ) from None
    launch_module = hook("embedded", "launch", user="vms-ph launch")
    if show_args:
        typer.echo(launch_module.show_arguments(path))
        return
    description = launch_module.load(path, context.args)
    hook("embedded", "wire")  # its error here is one, and not one of every node
    sys.exit(launch_module.Launcher(description).run())


def run(
    context: typer.Context,
    node: str = typer.Argument(help=f"one of: {', '.join(sorted(programs()))}"),
) -> None:
    """Run one node; arguments after its name are passed on, as by ros2 run.

    For instance: vms-ph run simulator --ros-args -p rate:=50.0 -r __ns:=/left
    """
    sys.argv = [node, *context.args]
    import_module(find_program(node)).main()


def env() -> None:
    """Print the shell line with which a ROS 2 with Cyclone DDS sees these nodes.

    Use it as: eval "$(vms-ph env)". The state of the C++ core is printed beside, on stderr.
    """
    if not WINGS["embedded"].is_installed:
        raise VmsPhError(
            "these nodes run in the ROS 2 that is sourced here; its other programs see them already"
        )
    from vms_ph_io.build.native_build import status_text

    typer.echo(hook("embedded", "discovery").export_line())
    typer.echo(status_text(), err=True)

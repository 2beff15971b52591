# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""vms-ph launch: runs a launch file with ros2 launch or with the embedded launcher."""

import importlib.util
import os
import sys

import typer

from vms_ph_dynamics.errors import VmsPhError


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
    from .launch_files import find_launch_file, find_share

    path = find_launch_file(file)
    if importlib.util.find_spec("vms_ph_embedded") is None:
        words = ["ros2", "launch", str(path), *(["--show-args"] if show_args else context.args)]
        try:
            os.execvp("ros2", words)
        except OSError as error:
            raise VmsPhError(
                f"ros2 cannot be started ({error}); source the setup file of your ROS 2"
            ) from None
    from vms_ph_embedded.launch import Launcher, load, show_arguments

    if show_args:
        typer.echo(show_arguments(path, find_share=find_share))
        return
    description = load(path, context.args, find_share=find_share)
    import vms_ph_embedded.wire  # noqa: F401  # its error here is one, and not one of every node

    sys.exit(Launcher(description).run())

# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""vms-ph launch: runs a launch file with ros2 launch or with the embedded launcher."""

import os
import sys

import typer

from vms_ph_dynamics.errors import VmsPhError
from vms_ph_io.wings import WINGS, hook


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
    if not WINGS["embedded"].is_installed:
        words = ["ros2", "launch", str(path), *(["--show-args"] if show_args else context.args)]
        try:
            os.execvp("ros2", words)
        except OSError as error:
            raise VmsPhError(
                f"ros2 cannot be started ({error}); source the setup file of your ROS 2. Without "
                f"ROS 2, launch files need the wing 'embedded': {WINGS['embedded'].remedy}"
            ) from None
    launcher = hook("embedded", "launch", user="vms-ph launch")
    if show_args:
        typer.echo(launcher.show_arguments(path, find_share=find_share))
        return
    description = launcher.load(path, context.args, find_share=find_share)
    hook("embedded", "wire")  # its error here is one, and not one of every node
    sys.exit(launcher.Launcher(description).run())

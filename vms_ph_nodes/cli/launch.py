"""vms-ph launch: run a launch file, with ROS 2 or without."""

import importlib.util
import os
import sys

import typer

from vms_ph_dynamics.errors import VmsPhError


def launch(
    context: typer.Context,
    file: str = typer.Argument(help="a *.launch.xml file, or the name of one of ours: panda"),
    show_args: bool = typer.Option(False, "--show-args", "-s", help="list its arguments and end"),
) -> None:
    """Start the nodes of a launch file; arguments as name:=value. Ctrl-C stops all of them.

    For instance: vms-ph launch panda web:=true push_period:=5.0
    """
    from .launch_files import find_launch_file, find_share

    path = find_launch_file(file)
    if importlib.util.find_spec("vms_ph_embedded") is None:
        words = ["ros2", "launch", str(path), *(["--show-args"] if show_args else context.args)]
        try:
            os.execvp("ros2", words)
        except OSError as error:
            raise VmsPhError(f"ros2 cannot be started ({error}); source your ROS 2") from None
    from vms_ph_embedded.launch import Launcher, load, show_arguments

    if show_args:
        typer.echo(show_arguments(path, find_share=find_share))
        return
    sys.exit(Launcher(load(path, context.args, find_share=find_share)).run())

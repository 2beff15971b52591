"""vms-ph launch: a launch file without ROS 2."""

import sys

import typer


def launch(
    context: typer.Context,
    file: str = typer.Argument(help="a *.launch.xml file, or the name of one of ours: panda"),
    show_args: bool = typer.Option(False, "--show-args", "-s", help="list its arguments and end"),
) -> None:
    """Start what a launch file says; arguments as name:=value. Ctrl-C stops all of it.

    For instance: vms-ph launch panda web:=true push_period:=5.0
    """
    from vms_ph_embedded.launch import Launcher, load, show_arguments

    from ..launch_files import find_launch_file, find_share

    path = find_launch_file(file)
    if show_args:
        typer.echo(show_arguments(path, find_share=find_share))
        return
    sys.exit(Launcher(load(path, context.args, find_share=find_share)).run())

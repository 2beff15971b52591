"""vms-ph env: how other DDS programs join the domain of these nodes."""

import typer


def env() -> None:
    """Print the shell line with which a ROS 2 with Cyclone DDS sees these nodes.

    Use it as: eval "$(vms-ph env)"
    """
    from vms_ph_embedded.discovery import export_line

    typer.echo(export_line())

# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""vms-ph env: how other DDS programs join the domain of these nodes, and the state of the core."""

import importlib.util

import typer

from vms_ph_dynamics.errors import VmsPhError


def env() -> None:
    """Print the shell line with which a ROS 2 with Cyclone DDS sees these nodes.

    Use it as: eval "$(vms-ph env)". The state of the C++ core is printed beside, on stderr.
    """
    if importlib.util.find_spec("vms_ph_embedded") is None:
        raise VmsPhError(
            "these nodes run in the ROS 2 that is sourced here; its other programs see them already"
        )
    from vms_ph_embedded.discovery import export_line
    from vms_ph_io.build.native_background import in_words

    typer.echo(export_line())
    typer.echo(in_words(), err=True)

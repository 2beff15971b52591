# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""vms-ph env: how other DDS programs join the domain of these nodes, and the state of the core."""

import typer

from vms_ph_dynamics import VmsPhError
from vms_ph_io.wings import WINGS, hook


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

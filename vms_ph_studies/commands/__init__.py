# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The commands of vms-ph that this wing adds."""

from collections.abc import Mapping

import typer

from . import bench, reproduce, sweep

COMMANDS: Mapping[str, typer.Typer] = {
    "reproduce": reproduce.app,
    "bench": bench.app,
    "sweep": sweep.app,
}
"""The application of every command, by its name."""

# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""vms-ph run: runs one node, like ros2 run."""

import runpy
import sys

import typer

from vms_ph_io.wings import find_program, programs


def run(
    context: typer.Context,
    node: str = typer.Argument(help=f"one of: {', '.join(sorted(programs()))}"),
) -> None:
    """Run one node; arguments after its name are passed on, as by ros2 run.

    For instance: vms-ph run simulator --ros-args -p rate:=50.0 -r __ns:=/left
    """
    module = find_program(node)
    sys.argv = [module, *context.args]
    runpy.run_module(module, run_name="__main__", alter_sys=True)

# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""vms-ph run: runs one node, like ros2 run."""

import importlib.util
import runpy
import sys

import typer

from vms_ph_dynamics.errors import VmsPhError

EXECUTABLES = (
    "closed_loop",
    "describe",
    "check_settings",
    "scene_model",
    "simulator",
    "controller",
    "energy_guard",
    "energy_monitor",
    "force_observer",
    "marker_publisher",
    "reference_marker",
    "joint_heat",
    "model_server",
    "task_runner",
    "task_settings",
    "bag_recorder",
    "bag_player",
    "web_viewer",
)


def run(
    context: typer.Context,
    node: str = typer.Argument(help=f"one of: {', '.join(EXECUTABLES)}"),
) -> None:
    """Run one node; arguments after its name are passed on, as by ros2 run.

    For instance: vms-ph run simulator --ros-args -p rate:=50.0 -r __ns:=/left
    """
    if node not in EXECUTABLES:
        raise VmsPhError(f"there is no node '{node}'; there are {', '.join(EXECUTABLES)}")
    module = f"vms_ph_nodes.{node}"
    if importlib.util.find_spec(module) is None:
        raise VmsPhError(f"{module} is not installed")
    sys.argv = [module, *context.args]
    runpy.run_module(module, run_name="__main__", alter_sys=True)

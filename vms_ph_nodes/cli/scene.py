# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""vms-ph scene: a robot in a scene with contacts, judged by the goals of its task."""

import json
from typing import Any

import typer

from vms_ph_io.tasks.task_goals import goal_lines


def scene(
    name: str = typer.Argument("", help="a scene of --list, or the path of a YAML file of one"),
    list_: bool = typer.Option(False, "--list", help="list the scenes of this project"),
    seconds: float = typer.Option(0.0, min=0.0, help="simulated time; 0: the shortest of the task"),
    step: float = typer.Option(1e-3, min=1e-5, max=0.01, help="step of MuJoCo, s"),
    controller: str = typer.Option("", help="control law instead of that of the task"),
    as_json: bool = typer.Option(False, "--json", help="print one JSON document and nothing else"),
) -> None:
    """Simulate a scene with contacts by MuJoCo; exit with code 1 if a goal is not met."""
    from vms_ph_dynamics.errors import VmsPhError
    from vms_ph_io.settings import scenes
    from vms_ph_io.tasks.scene_run import run_scene

    if list_:
        for scene_name in scenes.names():
            typer.echo(f"{scene_name:14s}{scenes.load(scene_name).scene.title}")
        return
    if not name:
        raise VmsPhError(f"no scene is given; there are {', '.join(scenes.names())}")
    outcome = run_scene(name, seconds=seconds, step=step, controller=controller)
    typer.echo(json.dumps(outcome, indent=2) if as_json else _in_words(outcome))
    if not outcome["met"]:
        raise typer.Exit(1)


def _in_words(outcome: dict[str, Any]) -> str:
    lines = [
        f"{outcome['scene']}: {outcome['robot']} with {outcome['controller']}, "
        f"{outcome['seconds']:g} s, {outcome['real_time_factor']:.1f} times real time"
    ]
    lines += goal_lines(outcome["goals"])
    energies = ", ".join(f"{port} {energy:.4g}" for port, energy in outcome["port_energy"].items())
    lines.append(f"  energy supplied (J): {energies}; dissipated {outcome['dissipated']:.4g}")
    lines.append(f"  unaccounted, the error of MuJoCo's steps (J): {outcome['unaccounted']:.3g}")
    return "\n".join(lines)

# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""A task of a robot with its own actuators, for vms-ph demo."""

import json
from pathlib import Path
from typing import Any

import typer

from vms_ph_dynamics.errors import OptionError
from vms_ph_io.tasks.task_goals import goal_lines


def list_tasks() -> None:
    """Print the names and titles of the bundled tasks and scenes."""
    from vms_ph_io.settings import scenes
    from vms_ph_io.tasks import robot_tasks

    for name, (title, robot) in robot_tasks.titles().items():
        typer.echo(f"{name:22s}{title} ({Path(robot).name})")
    for name in scenes.names():
        typer.echo(f"{name:22s}{scenes.load(name).scene.title} (with contacts, by MuJoCo)")


def run_by_name(name: str, seconds: float, controller: str, as_json: bool) -> None:
    """Run a task or a scene, print its goals and energies; exit with code 1 if one is not met.

    Raises:
        VmsPhError: there is no such task, or a value is not accepted.
    """
    from vms_ph_io import robots
    from vms_ph_io.settings import scenes
    from vms_ph_io.tasks import robot_tasks
    from vms_ph_io.tasks.task_run import run_task

    if name in scenes.names():
        from .scene import scene

        scene(name, False, seconds, 1e-3, controller, as_json)
        return
    if robot_tasks.is_of_leg(name):
        _run_leg(name, seconds, controller, as_json)
        return
    if name in robots.names():
        tasks = [task for task, (_, robot) in robot_tasks.titles().items() if robot == name]
        raise OptionError(
            f"'{name}' is a robot; its tasks are {', '.join(tasks) or 'none'}, and "
            f"--robot {name} simulates it with page and bag"
        )
    hint = (
        f"; scenes are {', '.join(scenes.names())}; tasks of legs are "
        f"{', '.join(robot_tasks.names_of_legs())}"
    )
    task = robot_tasks.load(name, hint)
    # A demo shows the whole task; its shortest form is for tests.
    outcome = run_task(task, seconds=seconds or 60.0, controller=controller)
    _print(outcome, task.shortest, as_json)


def _run_leg(name: str, seconds: float, controller: str, as_json: bool) -> None:
    from vms_ph_io.wings import hook

    if controller:
        raise OptionError(f"'{name}' has no option --controller: a leg hops by HoppingController")
    user = f"the task '{name}'"
    task = hook("hopping", "hopping_tasks", user=user).load(name)
    outcome = hook("hopping", "hopping_run", user=user).run_hops(task, seconds=seconds or 60.0)
    _print(outcome, task.shortest, as_json)


def _print(outcome: dict[str, Any], shortest: float, as_json: bool) -> None:
    typer.echo(json.dumps(outcome, indent=2) if as_json else in_words(outcome, shortest))
    if not outcome["met"]:
        raise typer.Exit(1)


def in_words(outcome: dict[str, Any], shortest: float) -> str:
    """Return what :func:`.run_task` found, as lines of text."""
    lines = [
        f"{outcome['task']}: {outcome['robot']} with {outcome['controller']}, "
        f"{outcome['seconds']:g} s, {outcome['real_time_factor']:.1f} times real time"
    ]
    if outcome["failure"]:
        lines.append(f"  the motion ended: {outcome['failure']}")
    lines += goal_lines(outcome["goals"], shortest)
    energies = ", ".join(f"{name} {energy:.4g}" for name, energy in outcome["energy"].items())
    lines.append(f"  energy (J): {energies}")
    return "\n".join(lines)

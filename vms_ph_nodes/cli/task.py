# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Tasks of robots, and scenes with contacts, for vms-ph demo."""

import json
from pathlib import Path
from typing import Any

import typer

from vms_ph_dynamics import OptionError
from vms_ph_io.settings.bounded_text import YamlError, read_yaml
from vms_ph_io.wings import hook


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

    if _is_scene(name):
        from vms_ph_io.tasks.scene_run import run_scene

        outcome, shortest = run_scene(name, seconds=seconds, controller=controller), 0.0
    elif robot_tasks.is_of_leg(name):
        outcome, shortest = _leg_outcome(name, seconds, controller)
    elif name in robots.names() and name not in robot_tasks.names():
        tasks = [task for task, (_, robot) in robot_tasks.titles().items() if robot == name]
        raise OptionError(
            f"'{name}' is a robot; its tasks are {', '.join(tasks) or 'none'}, and "
            f"--robot {name} simulates it with page and bag"
        )
    else:
        from vms_ph_io.tasks.task_run import run_task

        hint = (
            f"; scenes are {', '.join(scenes.names())}; tasks of legs are "
            f"{', '.join(robot_tasks.names_of_legs())}"
        )
        task = robot_tasks.load(name, hint)
        # A demo shows the whole task; its shortest form is for tests.
        outcome = run_task(task, seconds=seconds or 60.0, controller=controller)
        shortest = task.shortest
    typer.echo(json.dumps(outcome, indent=2) if as_json else in_words(outcome, shortest))
    if not outcome["met"]:
        raise typer.Exit(1)


def _is_scene(name: str) -> bool:
    """Return whether a name is that of a bundled scene, or a file is about one."""
    from vms_ph_io.settings import scenes

    path = Path(name)
    if path.suffix not in (".yaml", ".yml") or not path.is_file():
        return name in scenes.names()
    try:
        content = read_yaml(path)
    except YamlError:  # the reader of tasks says what is wrong
        return False
    return isinstance(content, dict) and "task" in content


def _leg_outcome(name: str, seconds: float, controller: str) -> tuple[dict[str, Any], float]:
    if controller:
        raise OptionError(f"'{name}' has no option --controller: a leg hops by HoppingController")
    user = f"the task '{name}'"
    task = hook("hopping", "hopping_tasks", user=user).load(name)
    run_hops = hook("hopping", "hopping_run", user=user).run_hops
    return run_hops(task, seconds=seconds or 60.0), task.shortest


def in_words(outcome: dict[str, Any], shortest: float) -> str:
    """Return the outcome of a task or of a scene as lines of text."""
    lines = [
        f"{outcome.get('task') or outcome['scene']}: {outcome['robot']} with "
        f"{outcome['controller']}, {outcome['seconds']:g} s, "
        f"{outcome['real_time_factor']:.1f} times real time"
    ]
    if outcome.get("failure"):
        lines.append(f"  the motion ended: {outcome['failure']}")
    from vms_ph_io.tasks.task_goals import goal_lines  # it needs Pinocchio

    lines += goal_lines(outcome["goals"], shortest)
    if "port_energy" in outcome:
        supplied = _listed(outcome["port_energy"])
        lines.append(f"  energy supplied (J): {supplied}; dissipated {outcome['dissipated']:.4g}")
        lines.append(
            f"  unaccounted, the error of MuJoCo's steps (J): {outcome['unaccounted']:.3g}"
        )
    else:
        lines.append(f"  energy (J): {_listed(outcome['energy'])}")
    return "\n".join(lines)


def _listed(energies: dict[str, float]) -> str:
    return ", ".join(f"{name} {energy:.4g}" for name, energy in energies.items())

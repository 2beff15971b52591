# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""vms-ph demo: runs the nodes with web page and bag, or a task without nodes."""

import json
import sys
from datetime import datetime
from pathlib import Path
from typing import Any

import typer

from vms_ph_dynamics import OptionError, VmsPhError
from vms_ph_io.wings import WINGS, hook

# Options that a task has too; those of one with nodes and page.
_TASK_OPTIONS = ("task", "seconds", "controller", "as_json", "headless")
_PAGE_OPTIONS = ("task", "seconds", "rate", "speed", "port", "token", "bag", "out")

# Options that are launch arguments about the robot.
_ROBOT_OPTIONS = (
    *("robot", "base", "end_effector", "tools", "locked_joints", "inertia", "gravity"),
    *("friction", "actuators", "initial_positions", "controller", "engine"),
)


def demo(
    context: typer.Context,
    task: str = typer.Argument(
        "", help="arm, drone, satellite, teleoperation or an arm, as fr3; a task of --list; a file"
    ),
    list_: bool = typer.Option(False, "--list", help="list the tasks and scenes of this project"),
    as_json: bool = typer.Option(False, "--json", help="of a task: print one JSON document"),
    robot: str = typer.Option(
        "panda", help="a bundled robot, or the path of a URDF, xacro or MJCF file"
    ),
    base: str = typer.Option("", help="auto, fixed, planar or floating; default: the robot's"),
    end_effector: str = typer.Option("", help="frame of the end-effector wrench"),
    tools: str = typer.Option("", help="frames of further wrench ports"),
    locked_joints: str = typer.Option("", help="joints to lock: 'name name=position ...'"),
    inertia: str = typer.Option("auto", help="wrong inertias: auto, strict, repair or as_given"),
    gravity: str = typer.Option("", help="gravity, m/s^2: '0 0 -9.81'"),
    friction: str = typer.Option("", help="YAML file with the friction of the joints"),
    actuators: str = typer.Option("", help="of the base: own, ideal or a YAML file"),
    initial_positions: str = typer.Option("", help="initial positions: 'name=position ...'"),
    controller: str = typer.Option("", help="law: class name, package.module:Class, law.py:Class"),
    engine: str = typer.Option("", help="vms_ph (default); mujoco; ephs: motors, battery, heat"),
    headless: bool = typer.Option(False, help="no web page, for scripts"),
    seconds: float = typer.Option(0.0, min=0.0, help="duration, s; 0: to Ctrl-C, 60 s of a task"),
    rate: float = typer.Option(100.0, help="rate of the topics, Hz", min=0.1, max=1000.0),
    speed: float = typer.Option(1.0, help="ratio of simulated to real time", min=0.01, max=100.0),
    push: float = typer.Option(5.0, help="period of the pushes, s; 0: no pushes", min=0.0),
    port: int = typer.Option(8080, help="port of the web page on 127.0.0.1", min=1, max=65535),
    token: str = typer.Option(
        "auto", help="in the page's address: auto (new), off, or a fixed one"
    ),
    bag: bool = typer.Option(True, help="record a bag and plot it at the end"),
    out: Path = typer.Option(None, help="folder for bag and plot; default: vms_ph_runs/<time>"),
) -> None:
    """Simulate and control a robot; show its energies on a web page.

    The demos are arm (the default), drone, satellite, teleoperation, fr3, gen3, iiwa14, openarm,
    so101, ur10e and xarm7. With --robot or --push a robot holds its pose and is pushed
    periodically. Press Ctrl-C to end; a summary and a plot of the run follow.

    With another task, such as vms-ph demo underwater_station, or with --headless: simulates a robot
    with its own actuators as fast as possible, prints goals and energies, and exits with code 1 if
    a goal is not met.
    """
    from vms_ph_io.tasks import robot_tasks

    if list_:
        list_tasks()
        return
    if not (task or headless or _explicit_options(context) - {*_PAGE_OPTIONS}):
        task = "arm"
    is_live = bool(task) and not (headless or as_json) and task in robot_tasks.demos()
    if task and not is_live:
        _check_options(context, _TASK_OPTIONS)
        run_by_name(task, seconds, controller, as_json)
        return
    if is_live:
        _check_options(context, _PAGE_OPTIONS)
    embedded = WINGS["embedded"]
    if not embedded.is_installed:
        raise VmsPhError(
            "the demo uses the wing 'embedded', which this installation lacks; with ROS 2 use "
            f"ros2 launch vms_ph {robot}.launch.xml rviz:=true push_period:=5.0; without it, "
            f"{embedded.remedy}"
        )
    from .demo_run import Demo

    folder = out or Path("vms_ph_runs") / datetime.now().strftime("%Y-%m-%d_%H-%M-%S")
    robot_arguments = {name: text for name in _ROBOT_OPTIONS if (text := context.params[name])}
    arguments: dict[str, Any] = {"task": task} if task else {**robot_arguments, "push_period": push}
    arguments |= {"rate": rate, "real_time_factor": speed, "web": not headless, "port": port}
    arguments |= {"token": token, "record": bag}
    sys.exit(Demo(arguments, seconds, folder).run())


def _explicit_options(context: typer.Context) -> set[str]:
    """Return the names of the options in the command line."""
    sources = {name: context.get_parameter_source(name) for name in context.params}
    return {name for name, source in sources.items() if source and source.name == "COMMANDLINE"}


def _check_options(context: typer.Context, accepted: tuple[str, ...]) -> None:
    """Reject options that a task does not have.

    Raises:
        OptionError: naming one.
    """
    for name in sorted(_explicit_options(context) - {*accepted}):
        options = " ".join(f"--{name}" for name in accepted[1:]).replace("as_", "")
        raise OptionError(
            f"a task has no option --{name.replace('_', '-')}: its file states the robot; "
            f"accepted are {options}"
        )


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

        outcome, min_duration = run_scene(name, seconds=seconds, controller=controller), 0.0
    elif robot_tasks.is_of_leg(name):
        outcome, min_duration = _leg_outcome(name, seconds, controller)
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
        min_duration = task.min_duration
    typer.echo(json.dumps(outcome, indent=2) if as_json else outcome_text(outcome, min_duration))
    if not outcome["met"]:
        raise typer.Exit(1)


def _is_scene(name: str) -> bool:
    """Return whether a name is that of a bundled scene, or a file is about one."""
    from vms_ph_io.settings import scenes
    from vms_ph_io.settings.yaml_files import user_mapping

    content = user_mapping(name)
    return name in scenes.names() if content is None else "task" in content


def _leg_outcome(name: str, seconds: float, controller: str) -> tuple[dict[str, Any], float]:
    if controller:
        raise OptionError(f"'{name}' has no option --controller: a leg hops by HoppingController")
    user = f"the task '{name}'"
    task = hook("hopping", "hopping_tasks", user=user).load(name)
    run_hops = hook("hopping", "hopping_run", user=user).run_hops
    return run_hops(task, seconds=seconds or 60.0), task.shortest


def outcome_text(outcome: dict[str, Any], shortest_duration: float) -> str:
    """Return the outcome of a task or of a scene as lines of text."""
    lines = [
        f"{outcome.get('task') or outcome['scene']}: {outcome['robot']} with "
        f"{outcome['controller']}, {outcome['seconds']:g} s, "
        f"{outcome['real_time_factor']:.1f} times real time"
    ]
    if outcome.get("failure"):
        lines.append(f"  the motion ended: {outcome['failure']}")
    from vms_ph_io.tasks.task_goals import goal_lines  # it needs Pinocchio

    lines += goal_lines(outcome["goals"], shortest_duration)
    if "port_energy" in outcome:
        energies = _energies_text(outcome["port_energy"])
        lines.append(f"  energy supplied (J): {energies}; dissipated {outcome['dissipated']:.4f}")
        lines.append(f"  unaccounted, an error of MuJoCo's steps (J): {outcome['unaccounted']:.3g}")
    else:
        lines.append(f"  energy (J): {_energies_text(outcome['energy'])}")
    return "\n".join(lines)


def _energies_text(energies: dict[str, float]) -> str:
    # With equal digits after the point they add up by hand.
    return ", ".join(f"{name} {energy:.4f}" for name, energy in energies.items())

# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Tasks of robots with their own actuators, read from files in config/tasks."""

import warnings
from dataclasses import fields
from itertools import pairwise
from typing import Any

from vms_ph_dynamics import ModelError, VMSModel
from vms_ph_dynamics.errors import InertiaWarning
from vms_ph_dynamics.simulation import Mechanism, Payload, Pushes, Wind
from vms_ph_dynamics.simulation.robot_task import ERRORS, ErrorGoal, RobotTask, Target

from .. import robots
from ..installation import share_directory
from ..robots.robot_settings import RobotSettings, assignments
from ..settings.bounded_text import read_yaml
from ..settings.plugin_tags import numbers
from ..settings.yaml_files import (
    Reader,
    bundled_names,
    fields_of,
    items,
    key_of,
    load_named,
    mapping,
    positive_number,
    user_mapping,
)

_FOLDER = "config/tasks"
_LEG_FOLDER = "config/hops"


def names() -> tuple[str, ...]:
    """Return the names of the bundled tasks."""
    return bundled_names(_FOLDER)


def load(name: str, hint: str = "") -> RobotTask:
    """Return a task by its name, or by the path of its file.

    Args:
        name: one of :func:`names`, or a path.
        hint: added to the message about an unknown name.

    Raises:
        OptionError: there is no such task.
        ModelError: the file does not have the format of those in config/tasks.
    """
    return load_named(name, _FOLDER, "task", _task, hint)


def demos() -> tuple[str, ...]:
    """Return the names of the bundled tasks that are demos: they begin anew again and again."""
    return (*(name for name in names() if load(name).repeat),)


def names_of_legs() -> tuple[str, ...]:
    """Return the names of the bundled tasks of legs, which the wing ``hopping`` reads and runs."""
    return bundled_names(_LEG_FOLDER)


def is_of_leg(name: str) -> bool:
    """Return whether a name is that of a bundled task of a leg, or a file is about a leg."""
    if (content := user_mapping(name)) is None:
        return name in names_of_legs()
    robot = content.get("robot")
    return isinstance(robot, str) and robots.is_on_floor(robot)


def titles() -> dict[str, tuple[str, str]]:
    """Return title and robot of every bundled task by its name, of legs too."""
    titles_by_name = {}
    for folder, task_names in ((_FOLDER, names()), (_LEG_FOLDER, names_of_legs())):
        for name in task_names:
            content = read_yaml(share_directory() / folder / f"{name}.yaml")
            titles_by_name[name] = (str(content["title"]), str(content["robot"]))
    return titles_by_name


def settings_of(task: RobotTask) -> RobotSettings:
    """Return the settings of the robot of a task, with what surrounds and carries it."""
    return RobotSettings(
        task.robot,
        task.base,
        task.end_effector,
        inertia=task.inertia,
        gravity="" if task.gravity is None else numbers(task.gravity),
        locked_joints=assignments(task.locked_joints),
        initial_positions=assignments(task.initial_positions),
        actuators=task.actuators,
        current=numbers(task.current) if task.current.any() else "",
        wheels=assignments(task.wheels),
    )


def model_of(settings: RobotSettings, description: str) -> VMSModel:
    """Return the model of a task's robot; repairs that the task asks for are no warnings."""
    with warnings.catch_warnings():
        if settings.inertia == "repair":
            warnings.simplefilter("ignore", InertiaWarning)
        return settings.model(description)


def _task(name: str, content: Any) -> RobotTask:
    above_zero = dict.fromkeys(("period", "drag_area", "density"), positive_number)
    readers: dict[str, Reader] = {
        "wind": lambda item, _: Wind(**fields_of(Wind, item, "the wind", above_zero)),
        "push": lambda item, _: Pushes(**fields_of(Pushes, item, "the push")),
        "mechanism": lambda item, _: Mechanism(**fields_of(Mechanism, item, "a mechanism")),
        "payload": lambda item, _: Payload(**fields_of(Payload, item, "a payload")),
        "targets": _targets,
        "goals": _goals,
        **dict.fromkeys(("step", "unaccounted", "shortest", "repeat"), positive_number),
    }
    names = [key_of(field) for field in fields(RobotTask) if field.name != "name"]
    needed_keys = ("title", "robot", "goals")
    return RobotTask(name, **fields_of(RobotTask, content, "the task", readers, needed_keys, names))


def _targets(value: Any, _: str) -> tuple[Target, ...]:
    targets = tuple(_target(item, f"target {i}") for i, item in enumerate(items(value, "targets")))
    times = [target.time for target in targets]
    if any(b < a for a, b in pairwise(times)) or times[0] < 0.0:
        raise ModelError(f"targets must follow each other in time, from 0 on; given at: {times}")
    return targets


def _target(item: Any, label: str) -> Target:
    target = Target(**fields_of(Target, item, label, {"over": positive_number}))
    if not item.keys() - {"at", "over"}:
        raise ModelError(f"{label} needs one of base, turn, end_effector, joints, mechanism")
    return target


def _goals(value: Any, _: str) -> dict[str, ErrorGoal]:
    goals = mapping(value, "goals", "goals")
    if not goals:
        raise ModelError("goals must be a mapping from names to goals; given: none")
    return {str(key): _goal(goal, f"the goal '{key}'") for key, goal in goals.items()}


def _goal(item: Any, label: str) -> ErrorGoal:
    goal = ErrorGoal(**fields_of(ErrorGoal, item, label, {"within": positive_number}))
    if goal.error not in ERRORS:
        raise ModelError(f"'of' of {label} must be one of {', '.join(ERRORS)}, not '{goal.error}'")
    if goal.settling_time < 0.0:
        raise ModelError(f"after of {label} must not be negative; given: {goal.settling_time:g} s")
    return goal

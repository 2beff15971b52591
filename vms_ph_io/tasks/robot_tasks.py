# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Tasks of robots with their own actuators, read from files in config/tasks."""

from collections.abc import Mapping
from dataclasses import fields
from itertools import pairwise
from pathlib import Path
from typing import Any

from vms_ph_dynamics.arrays import Array, vector
from vms_ph_dynamics.errors import ModelError
from vms_ph_dynamics.simulation import Mechanism, Payload, Wind
from vms_ph_dynamics.simulation.robot_task import ERRORS, ErrorGoal, RobotTask, Target

from .. import robots
from ..installation import share_directory
from ..robots.robot_settings import RobotSettings
from ..settings.bounded_text import YamlError, read_yaml
from ..settings.yaml_files import bundled_names, check_keys, items, load_named, moderate, number

_FOLDER = "config/tasks"
_LEGS = "config/hops"
_TEXTS = ("base", "actuators", "controller", "end_effector", "inertia")
_POSITIVE = ("step", "unaccounted", "shortest")


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


def names_of_legs() -> tuple[str, ...]:
    """Return the names of the bundled tasks of legs, which the wing ``hopping`` reads and runs."""
    return bundled_names(_LEGS)


def is_of_leg(name: str) -> bool:
    """Return whether a name is that of a bundled task of a leg, or a file is about a leg."""
    path = Path(name).expanduser()
    if path.suffix not in (".yaml", ".yml") or not path.is_file():
        return name in names_of_legs()
    try:
        content = read_yaml(path)
    except YamlError:
        return False
    robot = content.get("robot") if isinstance(content, Mapping) else None
    return isinstance(robot, str) and robots.is_on_floor(robot)


def titles() -> dict[str, tuple[str, str]]:
    """Return title and robot of every bundled task by its name, of legs too."""
    listed_titles = {}
    for folder, listed in ((_FOLDER, names()), (_LEGS, names_of_legs())):
        for name in listed:
            content = read_yaml(share_directory() / folder / f"{name}.yaml")
            listed_titles[name] = (str(content["title"]), str(content["robot"]))
    return listed_titles


def settings_of(task: RobotTask) -> RobotSettings:
    """Return the settings of the robot of a task, with what surrounds and carries it."""
    return RobotSettings(
        task.robot,
        task.base,
        task.end_effector,
        inertia=task.inertia,
        gravity=_three_words(task.gravity),
        locked_joints=_named(task.locked_joints),
        initial_positions=_named(task.initial_positions),
        actuators=task.actuators,
        current=_three_words(task.current if task.current.any() else None),
        wheels=_named(task.wheels),
    )


def _task(name: str, content: Any) -> RobotTask:
    possible = [f.name for f in fields(RobotTask) if f.name not in ("name", "title", "robot")]
    check_keys(content, "the task", ("title", "robot", "goals"), possible)
    entries: dict[str, Any] = {key: str(content[key]) for key in _TEXTS if key in content}
    entries |= {key: _positive(content[key], key) for key in _POSITIVE if key in content}
    for key in ("gains", "initial_positions", "locked_joints", "wheels"):
        if key in content:
            entries[key] = _numbers(content[key], key)
    if "joint_friction" in content:
        entries["joint_friction"] = content["joint_friction"] is not False
    for key in ("current", "gravity"):
        if key in content:
            entries[key] = _three(content[key], key)
    if content.get("wind") is not None:
        entries["wind"] = _wind(content["wind"])
    if content.get("mechanism") is not None:
        entries["mechanism"] = _mechanism(content["mechanism"])
    if content.get("payload") is not None:
        entries["payload"] = _payload(content["payload"])
    if "targets" in content:
        entries["targets"] = _targets(content["targets"])
    goals = content["goals"]
    if not isinstance(goals, Mapping) or not goals:
        raise ModelError(f"goals must be a mapping from names to goals; given: {goals!r}")
    entries["goals"] = {str(key): _goal(goal, f"the goal '{key}'") for key, goal in goals.items()}
    return RobotTask(name, str(content["title"]), str(content["robot"]), **entries)


def _targets(value: Any) -> tuple[Target, ...]:
    targets = tuple(_target(item, f"target {i}") for i, item in enumerate(items(value, "targets")))
    times = [target.at for target in targets]
    if any(b < a for a, b in pairwise(times)) or times[0] < 0.0:
        raise ModelError(f"targets must follow each other in time, from 0 on; given at: {times}")
    return targets


def _target(item: Any, label: str) -> Target:
    places = ("base", "turn", "end_effector")
    check_keys(item, label, ("at",), (*places, "joints", "mechanism", "over"))
    if len(item.keys() - {"at", "over"}) < 1:
        raise ModelError(f"{label} needs one of {', '.join(places)}, joints, mechanism")
    entries: dict[str, Any] = {k: _three(item[k], f"{k} of {label}") for k in places if k in item}
    if "joints" in item:
        entries["joints"] = _numbers(item["joints"], f"joints of {label}")
    if "mechanism" in item:
        entries["mechanism"] = number(item["mechanism"], f"mechanism of {label}")
    if "over" in item:
        entries["over"] = _positive(item["over"], f"over of {label}")
    return Target(number(item["at"], f"at of {label}"), **entries)


def _wind(item: Any) -> Wind:
    check_keys(item, "wind", ("velocity",), ("gust", "period", "drag_area", "density"))
    entries = {key: number(item[key], f"{key} of the wind") for key in item if key != "velocity"}
    for key in entries.keys() - {"gust"}:
        _positive(item[key], f"{key} of the wind")
    return Wind(_three(item["velocity"], "velocity of the wind"), **entries)


def _mechanism(item: Any) -> Mechanism:
    needed, numbers = ("hinge", "axis", "inertia"), [f.name for f in fields(Mechanism)[3:]]
    check_keys(item, "mechanism", needed, numbers)
    entries: dict[str, Any] = {
        key: _three(item[key], f"{key} of a mechanism") for key in needed[:2]
    }
    entries |= {
        key: number(item[key], f"{key} of a mechanism") for key in item if key not in needed[:2]
    }
    return Mechanism(**entries)


def _payload(item: Any) -> Payload:
    needed, vectors = ("mass", "moments", "at"), ("moments", "place", "centre", "velocity", "spin")
    check_keys(item, "payload", needed, [f.name for f in fields(Payload)[2:] if f.name != "at"])
    entries: dict[str, Any] = {
        key: _three(value, f"{key} of a payload")
        if key in (*vectors, "to")
        else number(value, f"{key} of a payload")
        for key, value in item.items()
        if key != "told"
    }
    return Payload(**entries, told=item.get("told") is not False)


def _goal(item: Any, label: str) -> ErrorGoal:
    check_keys(item, label, ("of", "within"), ("after",))
    of = str(item["of"])
    if of not in ERRORS:
        raise ModelError(f"'of' of {label} must be one of {', '.join(ERRORS)}; given: '{of}'")
    after = number(item.get("after", 0.0), f"after of {label}")
    if after < 0.0:
        raise ModelError(f"after of {label} must not be negative; given: {after:g} s")
    return ErrorGoal(of, _positive(item["within"], f"within of {label}"), after)


def _numbers(value: Any, label: str) -> dict[str, float]:
    if not isinstance(value, Mapping):
        raise ModelError(f"{label} must be a mapping from names to numbers; given: {value!r}")
    return {str(key): number(entry, f"{label}: {key}") for key, entry in value.items()}


def _three(value: Any, label: str) -> Array:
    return moderate(vector(value, 3, label), label)


def _positive(value: Any, label: str) -> float:
    positive = number(value, label)
    if positive <= 0.0:
        raise ModelError(f"{label} must be above zero; given: {positive:g}")
    return positive


def _named(positions: Mapping[str, float]) -> str:
    return " ".join(f"{name}={value!r}" for name, value in positions.items())


def _three_words(values: Array | None) -> str:
    return "" if values is None else " ".join(map(repr, values.tolist()))

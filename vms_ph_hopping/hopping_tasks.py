# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Tasks of hopping legs: law, floor, start and hops, read from files."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from vms_ph_dynamics import ModelError
from vms_ph_dynamics.arrays import vector
from vms_ph_io.settings.yaml_files import bundled_names, check_keys, load_named, moderate, number

HOP_ERRORS: Mapping[str, str] = {
    "apex": "height of the centre of mass at the top of a hop, from what is wanted (m)",
    "speed": "forward speed of a hop, from what is wanted (m/s)",
}
"""The errors of hops that goals bound, with their descriptions."""


@dataclass(frozen=True)
class HopGoal:
    """A quantity of every hop stays near a number.

    Attributes:
        of: one of :data:`HOP_ERRORS`.
        at: the number, m or m/s.
        within: largest distance from it.
        after: time from which hops count, s.
    """

    of: str
    at: float
    within: float
    after: float = 0.0


@dataclass(frozen=True)
class HoppingTask:
    """A leg with its law and floor, its start, and goals.

    Attributes:
        name: of the task.
        title: description in one line.
        robot: name of a bundled leg.
        goals: bounds of errors of hops, by name.
        law: kind of the :class:`.HoppingController`: I, II or III.
        gains: of the law, by name.
        friction: of the floor; None for one that holds the foot while it is below zero.
        start: x, y (m), theta (rad) and joint (rad or m); those of the robot if empty.
        velocity: twist of the base in its axes and rate of the joint at the start, m/s and rad/s.
        tolerance: of a step of the integrator.
        unaccounted: largest residual of the energy balance, J.
        shortest: duration after which all goals have been judged, s.
    """

    name: str
    title: str
    robot: str
    goals: Mapping[str, HopGoal]
    law: str = "II"
    gains: Mapping[str, float] = field(default_factory=dict)
    friction: float | None = None
    start: tuple[float, ...] = ()
    velocity: tuple[float, ...] = ()
    tolerance: float = 1e-7
    unaccounted: float = 1e-6
    shortest: float = 2.0


_FOLDER = "config/hops"
_POSITIVE_FIELDS = ("tolerance", "unaccounted", "shortest")


def names() -> tuple[str, ...]:
    """Return the names of the bundled tasks of legs."""
    return bundled_names(_FOLDER)


def load(name: str) -> HoppingTask:
    """Return a task of a leg by its name, or by the path of its file.

    Raises:
        OptionError: there is no such task.
        ModelError: the file does not have the format of those in config/hops.
    """
    return load_named(name, _FOLDER, "task of a leg", _read_task)


def _read_task(name: str, content: Any) -> HoppingTask:
    allowed_keys = [f.name for f in fields(HoppingTask) if f.name not in ("name", "title", "robot")]
    check_keys(content, "the task", ("title", "robot", "goals"), allowed_keys)
    options: dict[str, Any] = {}
    for key in _POSITIVE_FIELDS:
        if key in content:
            options[key] = _positive_number(content[key], key)
    for key in ("start", "velocity"):
        if key in content:
            options[key] = tuple(moderate(vector(content[key], 4, key), key).tolist())
    if "law" in content:
        options["law"] = str(content["law"])
    if "friction" in content:
        options["friction"] = _positive_number(content["friction"], "friction")
    gains = content.get("gains", {})
    if not isinstance(gains, Mapping):
        raise ModelError(f"gains must be a mapping from names to numbers; given: {gains!r}")
    options["gains"] = {str(key): number(gain, f"gains: {key}") for key, gain in gains.items()}
    goals = content["goals"]
    if not isinstance(goals, Mapping) or not goals:
        raise ModelError(f"goals must be a mapping from names to goals; given: {goals!r}")
    goals_by_name = {str(key): _read_goal(goal, f"the goal '{key}'") for key, goal in goals.items()}
    return HoppingTask(name, str(content["title"]), str(content["robot"]), goals_by_name, **options)


def _read_goal(settings: Any, label: str) -> HopGoal:
    check_keys(settings, label, ("of", "at", "within"), ("after",))
    quantity = str(settings["of"])
    if quantity not in HOP_ERRORS:
        raise ModelError(
            f"'of' of {label} must be one of {', '.join(HOP_ERRORS)}; given: '{quantity}'"
        )
    return HopGoal(
        quantity,
        number(settings["at"], f"at of {label}"),
        _positive_number(settings["within"], f"within of {label}"),
        number(settings.get("after", 0.0), f"after of {label}"),
    )


def _positive_number(value: Any, label: str) -> float:
    positive = number(value, label)
    if positive <= 0.0:
        raise ModelError(f"{label} must be above zero; given: {positive:g}")
    return positive

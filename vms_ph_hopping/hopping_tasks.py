# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Tasks of hopping legs, read from files in config/hops."""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from vms_ph_dynamics.arrays import vector
from vms_ph_dynamics.errors import ModelError
from vms_ph_io.settings.yaml_files import bundled_names, check_keys, load_named, moderate, number

from .task import HOP_ERRORS, HopGoal, HoppingTask

_FOLDER = "config/hops"
_POSITIVE = ("tolerance", "unaccounted", "shortest")


def names() -> tuple[str, ...]:
    """Return the names of the bundled tasks of legs."""
    return bundled_names(_FOLDER)


def load(name: str) -> HoppingTask:
    """Return a task of a leg by its name, or by the path of its file.

    Raises:
        OptionError: there is no such task.
        ModelError: the file does not have the format of those in config/hops.
    """
    return load_named(name, _FOLDER, "task of a leg", _task)


def _task(name: str, content: Any) -> HoppingTask:
    possible = [f.name for f in fields(HoppingTask) if f.name not in ("name", "title", "robot")]
    check_keys(content, "the task", ("title", "robot", "goals"), possible)
    given: dict[str, Any] = {}
    for key in _POSITIVE:
        if key in content:
            given[key] = _positive(content[key], key)
    for key in ("start", "velocity"):
        if key in content:
            given[key] = tuple(moderate(vector(content[key], 4, key), key).tolist())
    if "law" in content:
        given["law"] = str(content["law"])
    if "friction" in content:
        given["friction"] = _positive(content["friction"], "friction")
    gains = content.get("gains", {})
    if not isinstance(gains, Mapping):
        raise ModelError(f"gains must be a mapping from names to numbers; given: {gains!r}")
    given["gains"] = {str(key): number(each, f"gains: {key}") for key, each in gains.items()}
    goals = content["goals"]
    if not isinstance(goals, Mapping) or not goals:
        raise ModelError(f"goals must be a mapping from names to goals; given: {goals!r}")
    found = {str(key): _goal(goal, f"the goal '{key}'") for key, goal in goals.items()}
    return HoppingTask(name, str(content["title"]), str(content["robot"]), found, **given)


def _goal(item: Any, what: str) -> HopGoal:
    check_keys(item, what, ("of", "at", "within"), ("after",))
    of = str(item["of"])
    if of not in HOP_ERRORS:
        raise ModelError(f"'of' of {what} must be one of {', '.join(HOP_ERRORS)}; given: '{of}'")
    return HopGoal(
        of,
        number(item["at"], f"at of {what}"),
        _positive(item["within"], f"within of {what}"),
        number(item.get("after", 0.0), f"after of {what}"),
    )


def _positive(value: Any, what: str) -> float:
    found = number(value, what)
    if found <= 0.0:
        raise ModelError(f"{what} must be above zero; given: {found:g}")
    return found

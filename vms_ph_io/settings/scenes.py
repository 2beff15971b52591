# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Scenes and their tasks, read from files in config/scenes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pinocchio as pin

from vms_ph_dynamics.arrays import Array, frozen, vector
from vms_ph_dynamics.errors import ModelError
from vms_ph_dynamics.simulation.contact.scene import SIZES, Body, Scene, Shape, Surface
from vms_ph_dynamics.simulation.contact.task import ForceGoal, Goal, Move, PlaceGoal, RestGoal, Task

from .yaml_files import bundled_names, check_keys, load_named

_FOLDER = "config/scenes"
_LARGEST = 1e6  # in SI units
_PLACED = ("position", "rpy")
_OF_A_LAW = ("initial_positions", "gains", "moves", "point")


@dataclass(frozen=True)
class SceneFile:
    """A scene, and what a robot is to do in it; None where the file has no task."""

    scene: Scene
    task: Task | None


def names() -> tuple[str, ...]:
    """Return the names of the bundled scenes."""
    return bundled_names(_FOLDER)


def load(name: str) -> SceneFile:
    """Return a scene by its name, or by the path of its file.

    Raises:
        OptionError: there is no such scene.
        ModelError: the file does not have the format of those in config/scenes.
    """
    return load_named(name, _FOLDER, "scene", _scene_file)


def _scene_file(name: str, content: Any) -> SceneFile:
    check_keys(content, "the scene", ("title",), ("bodies", "tool", "surface", "task"))
    bodies = content.get("bodies", {})
    if not isinstance(bodies, Mapping):
        raise ModelError(f"bodies must be a mapping from names to bodies; given: {bodies!r}")
    surface = content.get("surface", {})
    check_keys(surface, "the surface", (), ("friction", "time", "damping_ratio"))
    properties = {key: _positive(value, f"{key} of the surface") for key, value in surface.items()}
    scene = Scene(
        name,
        str(content["title"]),
        tuple(_body(str(key), item) for key, item in bodies.items()),
        _shapes(content.get("tool", []), "the tool"),
        Surface(**properties),
    )
    task = content.get("task")
    return SceneFile(scene, None if task is None else _task(task, scene))


def _body(name: str, item: Any) -> Body:
    subject = f"the body '{name}'"
    check_keys(item, subject, ("shapes",), (*_PLACED, "mass"))
    mass = _number(item.get("mass", 0.0), f"mass of {subject}")
    if mass < 0.0:
        raise ModelError(f"mass of {subject} must not be negative; given: {mass:g} kg")
    if mass and any("plane" in shape for shape in item["shapes"]):
        raise ModelError(f"{subject} has a mass, so it cannot contain a plane")
    return Body(name, _shapes(item["shapes"], subject), _pose(item, subject), mass)


def _shapes(items: Any, owner: str) -> tuple[Shape, ...]:
    if not isinstance(items, Sequence) or isinstance(items, str):
        raise ModelError(f"the shapes of {owner} must be a list; given: {items!r}")
    return tuple(_shape(item, f"shape {i} of {owner}") for i, item in enumerate(items))


def _shape(item: Any, subject: str) -> Shape:
    kinds = [kind for kind in SIZES if kind != "mesh"]
    check_keys(item, subject, (), (*kinds, *_PLACED, "colour"))
    named = [kind for kind in kinds if kind in item]
    if len(named) != 1:
        raise ModelError(f"{subject} must be one of {', '.join(kinds)}; given: {named or 'none'}")
    size = item[named[0]] or []
    count = len(SIZES[named[0]])
    lengths = tuple(vector(size, count, f"{named[0]} of {subject}").tolist())
    shape = Shape(named[0], lengths, _pose(item, subject))
    if "colour" not in item:
        return shape
    red, green, blue, alpha = vector(item["colour"], 4, f"colour of {subject}").tolist()
    return replace(shape, rgba=(red, green, blue, alpha))


def _pose(item: Mapping[str, Any], owner: str) -> Array:
    pose = np.eye(4)
    pose[:3, 3] = _vector(item.get("position", [0.0, 0.0, 0.0]), f"position of {owner}")
    pose[:3, :3] = pin.rpy.rpyToMatrix(_vector(item.get("rpy", [0.0, 0.0, 0.0]), f"rpy of {owner}"))
    return frozen(pose)


def _task(item: Any, scene: Scene) -> Task:
    possible = (
        *("controller", "period", "window", "goals", "shortest", "joint_friction", "laws"),
        *_OF_A_LAW,
    )
    check_keys(item, "the task", ("robot",), possible)
    fields: dict[str, Any] = {"robot": str(item["robot"]), **_of_a_law(item, "the task")}
    fields["controller"] = str(item.get("controller", ""))
    fields["joint_friction"] = item.get("joint_friction", True) is not False
    for key in ("period", "shortest"):
        if key in item:
            fields[key] = _positive(item[key], f"{key} of the task")
    if "window" in item:
        start, end = vector(item["window"], 2, "window of the task").tolist()
        fields["window"] = (start, end)
    goals = item.get("goals", {})
    if not isinstance(goals, Mapping):
        raise ModelError(f"goals must be a mapping from names to goals; given: {goals!r}")
    fields["goals"] = {str(name): _goal(goal, str(name), scene) for name, goal in goals.items()}
    task = Task(**fields)
    others = item.get("laws", {})
    if not isinstance(others, Mapping):
        raise ModelError(f"laws must be a mapping from names to what differs; given: {others!r}")
    laws = {}
    for law, differing in others.items():
        check_keys(differing, f"the law '{law}'", (), _OF_A_LAW)
        changed = _of_a_law(differing, f"the law '{law}'")
        laws[str(law)] = replace(task, controller=str(law), **changed)
    return replace(task, laws=laws)


def _of_a_law(item: Mapping[str, Any], subject: str) -> dict[str, Any]:
    """Return what a task says for one law."""
    fields: dict[str, Any] = {}
    for key in ("initial_positions", "gains"):
        if key in item:
            values = item[key]
            names = tuple(values) if isinstance(values, dict) else ()
            check_keys(values, f"{key} of {subject}", (), names)
            fields[key] = {str(k): _number(v, f"{key}: {k}") for k, v in values.items()}
    if "moves" in item:
        fields["moves"] = tuple(_move(m, f"move {i}") for i, m in enumerate(item["moves"]))
    if "point" in item:
        fields["point"] = _vector(item["point"], f"point of {subject}")
    return fields


def _move(item: Any, subject: str) -> Move:
    check_keys(item, subject, ("at", "to"), ("push",))
    push = _vector(item.get("push", [0.0, 0.0, 0.0]), f"push of {subject}")
    return Move(
        _number(item["at"], f"at of {subject}"), _vector(item["to"], f"to of {subject}"), push
    )


def _goal(item: Any, name: str, scene: Scene) -> Goal:
    subject = f"the goal '{name}'"
    if isinstance(item, Mapping) and "force" in item:
        check_keys(item, subject, ("force", "body"), ("share",))
        body = scene.body(str(item["body"])).name
        share = _positive(item.get("share", 0.05), f"share of {subject}")
        return ForceGoal(body, _vector(item["force"], f"force of {subject}"), share)
    if isinstance(item, Mapping) and "at" in item:
        check_keys(item, subject, ("at", "of", "within"), ("axes",))
        of = str(item["of"])
        if of != "end_effector":
            scene.body(of)
        axes = str(item.get("axes", "xyz"))
        if not axes or set(axes) - set("xyz"):
            raise ModelError(f"axes of {subject} must be some of xyz; given: '{axes}'")
        return PlaceGoal(
            of,
            _vector(item["at"], f"at of {subject}"),
            _positive(item["within"], f"within of {subject}"),
            tuple("xyz".index(axis) for axis in axes),
        )
    check_keys(item, subject, ("speed",))
    return RestGoal(_positive(item["speed"], f"speed of {subject}"))


def _vector(value: Any, name: str) -> Array:
    components = vector(value, 3, name)
    if (abs(components) > _LARGEST).any():
        raise ModelError(f"{name} must be at most {_LARGEST:g}; given: {components.tolist()}")
    return components


def _number(value: Any, name: str) -> float:
    number = float(vector([value], 1, name)[0])
    if abs(number) > _LARGEST:
        raise ModelError(f"{name} must be at most {_LARGEST:g}; given: {number:g}")
    return number


def _positive(value: Any, name: str) -> float:
    number = _number(value, name)
    if number <= 0.0:
        raise ModelError(f"{name} must be above zero; given: {number:g}")
    return number

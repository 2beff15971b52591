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

from .bundled_yaml import bundled_names, load_named
from .yaml_items import check_keys

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
    given = {key: _positive(value, f"{key} of the surface") for key, value in surface.items()}
    scene = Scene(
        name,
        str(content["title"]),
        tuple(_body(str(key), item) for key, item in bodies.items()),
        _shapes(content.get("tool", []), "the tool"),
        Surface(**given),
    )
    task = content.get("task")
    return SceneFile(scene, None if task is None else _task(task, scene))


def _body(name: str, item: Any) -> Body:
    what = f"the body '{name}'"
    check_keys(item, what, ("shapes",), (*_PLACED, "mass"))
    mass = _number(item.get("mass", 0.0), f"mass of {what}")
    if mass < 0.0:
        raise ModelError(f"mass of {what} must not be negative; given: {mass:g} kg")
    if mass and any("plane" in shape for shape in item["shapes"]):
        raise ModelError(f"{what} has a mass, so it cannot contain a plane")
    return Body(name, _shapes(item["shapes"], what), _pose(item, what), mass)


def _shapes(items: Any, what: str) -> tuple[Shape, ...]:
    if not isinstance(items, Sequence) or isinstance(items, str):
        raise ModelError(f"the shapes of {what} must be a list; given: {items!r}")
    return tuple(_shape(item, f"shape {i} of {what}") for i, item in enumerate(items))


def _shape(item: Any, what: str) -> Shape:
    kinds = [kind for kind in SIZES if kind != "mesh"]
    check_keys(item, what, (), (*kinds, *_PLACED, "colour"))
    found = [kind for kind in kinds if kind in item]
    if len(found) != 1:
        raise ModelError(f"{what} must be one of {', '.join(kinds)}; given: {found or 'none'}")
    size = item[found[0]] or []
    count = len(SIZES[found[0]])
    lengths = tuple(vector(size, count, f"{found[0]} of {what}").tolist())
    shape = Shape(found[0], lengths, _pose(item, what))
    if "colour" not in item:
        return shape
    red, green, blue, alpha = vector(item["colour"], 4, f"colour of {what}").tolist()
    return replace(shape, rgba=(red, green, blue, alpha))


def _pose(item: Mapping[str, Any], what: str) -> Array:
    pose = np.eye(4)
    pose[:3, 3] = _vector(item.get("position", [0.0, 0.0, 0.0]), f"position of {what}")
    pose[:3, :3] = pin.rpy.rpyToMatrix(_vector(item.get("rpy", [0.0, 0.0, 0.0]), f"rpy of {what}"))
    return frozen(pose)


def _task(item: Any, scene: Scene) -> Task:
    possible = (
        *("controller", "period", "window", "goals", "shortest", "joint_friction", "laws"),
        *_OF_A_LAW,
    )
    check_keys(item, "the task", ("robot",), possible)
    given: dict[str, Any] = {"robot": str(item["robot"]), **_of_a_law(item, "the task")}
    given["controller"] = str(item.get("controller", ""))
    given["joint_friction"] = item.get("joint_friction", True) is not False
    for key in ("period", "shortest"):
        if key in item:
            given[key] = _positive(item[key], f"{key} of the task")
    if "window" in item:
        start, end = vector(item["window"], 2, "window of the task").tolist()
        given["window"] = (start, end)
    goals = item.get("goals", {})
    if not isinstance(goals, Mapping):
        raise ModelError(f"goals must be a mapping from names to goals; given: {goals!r}")
    given["goals"] = {str(name): _goal(goal, str(name), scene) for name, goal in goals.items()}
    task = Task(**given)
    others = item.get("laws", {})
    if not isinstance(others, Mapping):
        raise ModelError(f"laws must be a mapping from names to what differs; given: {others!r}")
    laws = {}
    for law, differing in others.items():
        check_keys(differing, f"the law '{law}'", (), _OF_A_LAW)
        changed = _of_a_law(differing, f"the law '{law}'")
        laws[str(law)] = replace(task, controller=str(law), **changed)
    return replace(task, laws=laws)


def _of_a_law(item: Mapping[str, Any], what: str) -> dict[str, Any]:
    """Return what a task says for one law."""
    given: dict[str, Any] = {}
    for key in ("initial_positions", "gains"):
        if key in item:
            values = item[key]
            known = tuple(values) if isinstance(values, dict) else ()
            check_keys(values, f"{key} of {what}", (), known)
            given[key] = {str(k): _number(v, f"{key}: {k}") for k, v in values.items()}
    if "moves" in item:
        given["moves"] = tuple(_move(m, f"move {i}") for i, m in enumerate(item["moves"]))
    if "point" in item:
        given["point"] = _vector(item["point"], f"point of {what}")
    return given


def _move(item: Any, what: str) -> Move:
    check_keys(item, what, ("at", "to"), ("push",))
    push = _vector(item.get("push", [0.0, 0.0, 0.0]), f"push of {what}")
    return Move(_number(item["at"], f"at of {what}"), _vector(item["to"], f"to of {what}"), push)


def _goal(item: Any, name: str, scene: Scene) -> Goal:
    what = f"the goal '{name}'"
    if isinstance(item, Mapping) and "force" in item:
        check_keys(item, what, ("force", "body"), ("share",))
        body = scene.body(str(item["body"])).name
        share = _positive(item.get("share", 0.05), f"share of {what}")
        return ForceGoal(body, _vector(item["force"], f"force of {what}"), share)
    if isinstance(item, Mapping) and "at" in item:
        check_keys(item, what, ("at", "of", "within"), ("axes",))
        of = str(item["of"])
        if of != "end_effector":
            scene.body(of)
        axes = str(item.get("axes", "xyz"))
        if not axes or set(axes) - set("xyz"):
            raise ModelError(f"axes of {what} must be some of xyz; given: '{axes}'")
        return PlaceGoal(
            of,
            _vector(item["at"], f"at of {what}"),
            _positive(item["within"], f"within of {what}"),
            tuple("xyz".index(axis) for axis in axes),
        )
    check_keys(item, what, ("speed",))
    return RestGoal(_positive(item["speed"], f"speed of {what}"))


def _vector(value: Any, name: str) -> Array:
    found = vector(value, 3, name)
    if (abs(found) > _LARGEST).any():
        raise ModelError(f"{name} must be at most {_LARGEST:g}; given: {found.tolist()}")
    return found


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

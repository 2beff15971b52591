# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Scenes and their tasks, read from files in config/scenes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import pinocchio as pin

from vms_ph_dynamics import Array, ModelError
from vms_ph_dynamics.arrays import frozen, vector
from vms_ph_dynamics.simulation.contact.scene import SIZES, Body, Scene, Shape, Surface
from vms_ph_dynamics.simulation.contact.task import ForceGoal, Goal, Move, PlaceGoal, RestGoal, Task

from .yaml_files import (
    Reader,
    bundled_names,
    check_keys,
    fields_of,
    load_named,
    mapping,
    number,
    positive_number,
    vector_of,
)

_FOLDER = "config/scenes"
_POSE_KEYS, _MOVE_KEYS = ("position", "rpy"), ("to", "push")
_LAW_KEYS = ("initial_positions", "gains", "moves", "point")
_vec3 = vector_of(3)


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
    bodies = mapping(content.get("bodies", {}), "bodies", "bodies")
    positive_readers = {field.name: positive_number for field in fields(Surface)}
    scene = Scene(
        name,
        str(content["title"]),
        tuple(_body(str(key), item) for key, item in bodies.items()),
        _shapes(content.get("tool", []), "the tool"),
        Surface(**fields_of(Surface, content.get("surface", {}), "the surface", positive_readers)),
    )
    task = content.get("task")
    return SceneFile(scene, None if task is None else _task(task, scene))


def _body(name: str, item: Any) -> Body:
    subject = f"the body '{name}'"
    check_keys(item, subject, ("shapes",), (*_POSE_KEYS, "mass"))
    mass = number(item.get("mass", 0.0), f"mass of {subject}")
    if mass < 0.0:
        raise ModelError(f"mass of {subject} must not be negative; given: {mass:g} kg")
    shapes = _shapes(item["shapes"], subject)
    if mass and any(shape.kind == "plane" for shape in shapes):
        raise ModelError(f"{subject} has a mass, so it cannot contain a plane")
    return Body(name, shapes, _pose(item, subject), mass)


def _shapes(entries: Any, owner: str) -> tuple[Shape, ...]:
    if not isinstance(entries, Sequence) or isinstance(entries, str):
        raise ModelError(f"the shapes of {owner} must be a list; given: {entries!r}")
    return tuple(_shape(item, f"shape {i} of {owner}") for i, item in enumerate(entries))


def _shape(item: Any, subject: str) -> Shape:
    kinds = [kind for kind in SIZES if kind != "mesh"]
    check_keys(item, subject, (), (*kinds, *_POSE_KEYS, "colour"))
    matches = [kind for kind in kinds if kind in item]
    if len(matches) != 1:
        raise ModelError(f"{subject} must be one of {', '.join(kinds)}; given: {matches or 'none'}")
    (kind,) = matches
    lengths = vector(item[kind] or [], len(SIZES[kind]), f"{kind} of {subject}").tolist()
    colour = vector(item.get("colour", Shape.rgba), 4, f"colour of {subject}").tolist()
    return Shape(kind, tuple(lengths), _pose(item, subject), tuple(colour))


def _pose(item: Mapping[str, Any], owner: str) -> Array:
    """Return the pose (4,4) of an entry with ``position`` and ``rpy``; both zero if left out."""
    position, rpy = (_vec3(item.get(key, [0.0] * 3), f"{key} of {owner}") for key in _POSE_KEYS)
    return frozen(pin.SE3(pin.rpy.rpyToMatrix(rpy), position).homogeneous)


def _task(item: Any, scene: Scene) -> Task:
    readers: dict[str, Reader] = {
        "period": positive_number,
        "shortest": positive_number,
        "window": lambda value, name: tuple(vector_of(2)(value, name).tolist()),
        "moves": lambda value, _: tuple(_move(item, f"move {i}") for i, item in enumerate(value)),
        "goals": lambda value, name: {
            str(key): _goal(goal, f"the goal '{key}'", scene)
            for key, goal in mapping(value, "goals", "goals").items()
        },
        "laws": lambda value, name: mapping(value, "laws", "what differs"),
    }
    values = fields_of(Task, item, "the task", readers)
    entries = values.pop("laws", {})
    task = Task(**values)
    laws = {
        str(law): replace(
            task,
            controller=str(law),
            **fields_of(Task, own_entries, f"the law '{law}'", readers, names=_LAW_KEYS),
        )
        for law, own_entries in entries.items()
    }
    return replace(task, laws=laws)


def _move(item: Any, subject: str) -> Move:
    check_keys(item, subject, ("at", "to"), ("push",))
    position, push = (_vec3(item.get(key, [0.0] * 3), f"{key} of {subject}") for key in _MOVE_KEYS)
    return Move(number(item["at"], f"at of {subject}"), position, push)


def _goal(item: Any, subject: str, scene: Scene) -> Goal:
    kinds = {"force": ForceGoal, "at": PlaceGoal}
    keys = item if isinstance(item, Mapping) else {}
    kind = next((kind for key, kind in kinds.items() if key in keys), RestGoal)
    readers = {"axes": _axes, **dict.fromkeys(("share", "within", "speed"), positive_number)}
    goal: Goal = kind(**fields_of(kind, item, subject, readers))
    body = getattr(goal, "body", "end_effector")
    if body != "end_effector":
        scene.body(body)
    return goal


def _axes(value: Any, name: str) -> tuple[int, ...]:
    axes = str(value)
    if not axes or set(axes) - set("xyz"):
        raise ModelError(f"{name} must be some of xyz; given: '{axes}'")
    return tuple("xyz".index(axis) for axis in axes)

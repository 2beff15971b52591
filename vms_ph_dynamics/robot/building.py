# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""From URDF text to a Pinocchio model, with what a description may give beyond the standard.

    <dynamics damping="0.1" friction="0" armature="0.02"/>             in a joint: its rotor
    <mjcf base="floating" gravity="0 0 -1.62" end_effector="tcp">      in the robot: of its MJCF,
      <home base="0 0 1 0 0 0 1"><joint name="elbow" position="1"/>    where it starts

Other readers ignore both.
"""

import xml.etree.ElementTree as ET
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pinocchio as pin

from ..arrays import Array, vector
from ..errors import ModelError
from .description import (
    LARGEST_NUMBER,
    NUMBERS,
    PRODUCTS,
    dynamics_text,
    has_content,
    number_errors,
    parse_description,
    tree_errors,
)
from .inertia import InertiaDefect, LinkInertia, check_size
from .inertia_repair import repair
from .joints import BASE_DIMENSION, base_of, check_joints, make_root_joint
from .mimic import Mimic, Projection, read_mimics, resolve_mimics


class Inertial(NamedTuple):
    """The inertia of a link.

    Attributes:
        mass: kg.
        centre: (3,) centre of mass in the link, m.
        inertia: (3,3) about the centre of mass, in the axes of the link, kg m^2.
    """

    mass: float
    centre: Array
    inertia: Array


def inertial_errors(description: ET.Element) -> Iterator[str]:
    """Yield an error for every number that an inertial lacks; the URDF parser drops such ones."""
    for link in description.findall("link"):
        inertial, name = link.find("inertial"), link.get("name")
        if inertial is None or not has_content(inertial):
            continue
        for tag in ("mass", "inertia"):
            element = inertial.find(tag)
            keys = [key for key in NUMBERS[tag] if element is None or element.get(key) is None]
            if keys and tuple(keys) != PRODUCTS:
                yield (
                    f"the <inertial> of link '{name}' must give {', '.join(keys)} of its <{tag}>"
                )


def description_errors(description: ET.Element) -> tuple[str, ...]:
    """Return all errors of the links, joints, numbers and inertials of a URDF."""
    checks = (tree_errors, number_errors, inertial_errors)
    return tuple(error for errors in checks for error in errors(description))


def read_inertials(description: ET.Element) -> dict[str, Inertial]:
    """Return the inertias of the links that have one, by name, without those in error."""
    inertials = {}
    for link in description.findall("link"):
        element = link.find("inertial")
        inertial = None if element is None else _read_inertial(element)
        if inertial is not None:
            inertials[str(link.get("name"))] = inertial
    return inertials


def _read_inertial(element: ET.Element) -> Inertial | None:
    attributes = {part.tag: part.attrib for part in reversed(element)}
    origin_attributes = attributes.get("origin", {})
    inertia = dict.fromkeys(PRODUCTS, "0") | attributes.get("inertia", {})
    try:
        mass = float(attributes["mass"]["value"])
        tensor = np.array(
            [[float(inertia[f"i{min(a, b)}{max(a, b)}"]) for a in "xyz"] for b in "xyz"]
        )
        centre, angles = (
            np.array([float(word) for word in origin_attributes.get(key, "0 0 0").split()])
            for key in ("xyz", "rpy")
        )
    except (KeyError, ValueError):
        return None
    entries = np.concatenate([centre, angles, tensor.ravel(), [mass]])
    if not len(centre) == len(angles) == 3 or not (np.abs(entries) <= LARGEST_NUMBER).all():
        return None
    R = pin.rpy.rpyToMatrix(angles)
    tensor = R @ tensor @ R.T
    return Inertial(mass, centre, 0.5 * (tensor + tensor.T))


def links_of_urdf(description: ET.Element, model: Any) -> list[LinkInertia]:
    """Return the inertias of the links of a URDF, with their places in its Pinocchio model."""
    inertials = read_inertials(description)
    return [
        LinkInertia(frame.name, frame.parentJoint, frame.placement, *inertials[frame.name])
        for frame in model.frames
        if frame.type == pin.FrameType.BODY and frame.name in inertials
    ]


GRAVITY = (0.0, 0.0, -9.81)
"""Gravity where nothing else is given, m/s^2."""


def mjcf_attributes(description: ET.Element) -> Mapping[str, str]:
    """Return what a description gives of its MJCF, by the names of attributes; numbers as text."""
    mjcf = description.find("mjcf")
    return {} if mjcf is None else mjcf.attrib


def end_effector_of(xml: str) -> str | None:
    """Return the end effector that a description gives, or None."""
    return mjcf_attributes(parse_description(xml)).get("end_effector") if "<mjcf" in xml else None


def add_armature(model: Any, description: ET.Element) -> None:
    """Set the armature of the joints of a ``pinocchio.Model`` that move."""
    armature = model.armature.copy()
    for joint in description.findall("joint"):
        dynamics, name = joint.find("dynamics"), str(joint.get("name"))
        value = 0.0 if dynamics is None else float(dynamics.get("armature", 0.0))
        if value and model.existJointName(name):
            i = model.getJointId(name)
            armature[model.idx_vs[i] : model.idx_vs[i] + model.nvs[i]] = value
    model.armature = armature


class BuiltRobot(NamedTuple):
    """The content of a URDF.

    Attributes:
        pinocchio: a ``pinocchio.Model``.
        mimics: the joints that mimic others, by name.
        link_inertias: the inertias of its links as given.
        home: joint positions in which its MJCF starts, rad or m, by name; those at zero are not
            listed.
        home_base: pose of a floating base there, [x y z qx qy qz qw].
    """

    pinocchio: Any
    mimics: dict[str, Mimic]
    link_inertias: list[LinkInertia]
    home: dict[str, float]
    home_base: list[float]


def build(
    xml: str,
    base: str,
    gravity: Sequence[float] | None,
    locked_joints: Iterable[str] | Mapping[str, float],
) -> BuiltRobot:
    """Return a Pinocchio model and the mimics among its joints.

    The arguments are those of :meth:`VMSModel.from_urdf`.

    Raises:
        ModelError: the text is not a URDF, does not have the requested base, or lacks a joint.
    """
    check_base(base)
    try:
        description = parse_description(xml)
        if errors := description_errors(description):
            raise ModelError("; ".join(errors))
        mjcf, home = mjcf_attributes(description), description.findall("mjcf/home/joint")
        positions = {str(joint.get("name")): float(joint.get("position", "")) for joint in home}
        poses = [element.get("base", "").split() for element in description.findall("mjcf/home")]
        can_move = any(joint.get("type") != "fixed" for joint in description.findall("joint"))
        if base == "auto" and (mjcf.get("base") == "floating" or not can_move):
            base = "floating"  # the free joint of an MJCF, or a single body
        root, text = make_root_joint(base), dynamics_text(description)
        model = pin.buildModelFromXML(text) if root is None else pin.buildModelFromXML(text, root)
    except (ValueError, RuntimeError) as error:
        hint = (
            "" if "<" in xml else "; from_urdf takes the text itself, load_urdf the path of a file"
        )
        raise ModelError(f"the text is not a URDF that can be built: {error}{hint}") from None
    base_kind = base_of(model)
    if base == "fixed" and base_kind != "fixed":
        raise ModelError(
            f"base='fixed' was requested, but the first joint '{model.names[1]}' of "
            f"'{model.name}' is {base_kind}; use base='auto', or make that joint fixed"
        )
    if gravity is None:
        gravity = [float(word) for word in mjcf.get("gravity", "").split()] or GRAVITY
    model.gravity.linear = vector(gravity, 3, "gravity")
    add_armature(model, description)
    locked_positions = _locked_positions(locked_joints)
    mimics, locked_positions = resolve_mimics(read_mimics(description), locked_positions)
    model = _lock_joints(model, locked_positions)
    home_base = [float(word) for pose in poses for word in pose]
    return BuiltRobot(model, mimics, links_of_urdf(description, model), positions, home_base)


def check_base(base: str) -> None:
    """Raise a :exc:`.ModelError` for a kind of base that does not exist."""
    if base not in ("auto", *BASE_DIMENSION):
        raise ModelError(f"base must be auto, fixed, planar or floating; given: {base!r}")


def inertia_defects(xml: str, base: str = "auto") -> tuple[InertiaDefect, ...]:
    """Return all defects of the inertias of a URDF, graded, also the harmless ones.

    The arguments are those of :meth:`VMSModel.from_urdf`.

    Raises:
        ModelError: no robot can be built to grade them.
    """
    model, mimics, links, *_ = build(xml, base, (0.0, 0.0, 0.0), ())
    check_joints(model)
    if model.nv == 0:
        return ()
    check_size(model)
    return repair(model, links, Projection(model, mimics).matrix if mimics else None).defects


def _locked_positions(joints: Iterable[str] | Mapping[str, float]) -> dict[str, float]:
    if isinstance(joints, str):
        joints = (joints,)
    positions = joints if isinstance(joints, Mapping) else dict.fromkeys(joints, 0.0)
    return {
        name: float(vector([position], 1, f"the position of the locked joint '{name}'")[0])
        for name, position in positions.items()
    }


def _lock_joints(model: Any, positions: Mapping[str, float]) -> Any:
    if not positions:
        return model
    v = np.zeros(model.nv)
    for name, position in positions.items():
        joint = model.getJointId(name) if model.existJointName(name) else 0
        if joint == 0:
            raise ModelError(
                f"'{name}' cannot be locked: the joints of '{model.name}' are "
                f"{', '.join(list(model.names)[1:])}"
            )
        if model.nvs[joint] != 1:
            raise ModelError(
                f"'{name}' cannot be locked: it has {model.nvs[joint]} degrees of freedom; "
                "for a base that does not move give the URDF without it, or base='fixed'"
            )
        v[model.idx_vs[joint]] = position
    ids = [model.getJointId(name) for name in positions]
    reduced_model = pin.buildReducedModel(model, ids, pin.integrate(model, pin.neutral(model), v))
    _restore_parents(reduced_model, model)
    return reduced_model


def _restore_parents(reduced_model: Any, model: Any) -> None:
    """Give the frames of locked joints the parents that they had.

    Pinocchio 4.1 makes such a frame its own parent, so that a path to the root never ends.
    """
    kinds = (pin.FrameType.JOINT, pin.FrameType.FIXED_JOINT)
    for index, frame in enumerate(reduced_model.frames):
        if index and frame.parentFrame == index:
            full_frame = next(f for f in model.frames if f.name == frame.name and f.type in kinds)
            parent = model.frames[full_frame.parentFrame]
            candidates = (
                k
                for k, other in enumerate(reduced_model.frames)
                if other.name == parent.name
                and (other.type == parent.type or {other.type, parent.type} <= set(kinds))
            )
            frame.parentFrame = next(candidates)

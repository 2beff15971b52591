# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Mechanisms of bodies and joints, with the springs that a description gives.

<dynamics stiffness="20" rest="0.1"/>        in a joint: its spring, N m/rad, rad
"""

import math
import xml.etree.ElementTree as ET
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from vms_ph_dynamics import Array, ModelError

from ..components import Component, Reversible
from ..errors import PatternError
from ..systems import System, compose
from .body import Ground
from .joint import Offset


@dataclass(frozen=True)
class Tool:
    """A frame that is fixed to a body and has a port of its own.

    The port takes a wrench at the origin of the frame, in its axes, and gives the twist of the
    frame in its axes.

    Attributes:
        body: its name in the mechanism.
        pose: (4,4) of the frame in the frame of the body, which is at its centre of mass.
    """

    body: str
    pose: Array


GROUND = "ground"


@dataclass(frozen=True)
class Between:
    """A joint and the two bodies it connects.

    Attributes:
        first: a body, or ``"ground"``; q_r is the pose of the second relative to it.
        second: a body.
        joint: made by :func:`.joint`.
    """

    first: str
    second: str
    joint: System


@dataclass(frozen=True)
class Gear:
    """A gear between two driven joints: ``u_r = ratio * u_r of the other``.

    Attributes:
        follower, leader: names of joints of one degree of freedom.
        ratio: of their velocities.
    """

    follower: str
    leader: str
    ratio: float


def mechanism(
    bodies: Mapping[str, System],
    joints: Mapping[str, Between],
    *,
    open_bodies: Iterable[str] = (),
    gears: Mapping[str, Gear] | None = None,
    tools: Mapping[str, Tool] | None = None,
) -> System:
    """Return the system of bodies and the joints between them.

    Its outer ports are those of the open bodies, under their names, for wrenches at the
    centre of mass in body axes, those of the tools, at their frames in their axes, and those of the
    driven joints, under theirs. States are named ``body.q``, ``body.p``, ``joint.q_r`` and
    ``joint.s``.

    Args:
        bodies: made by :func:`.rigid_body`.
        joints: with the names of the bodies they connect.
        open_bodies: names of the bodies with a port for external wrenches.
        gears: the gears between joints.
        tools: frames of bodies with a port for wrenches.

    Raises:
        PatternError: a joint, gear or tool names a body or joint that does not exist, or
            has a name that is taken.
    """
    boxes: dict[str, System | Component] = dict(bodies)
    junctions: dict[str, tuple[str, ...]] = {f"{name}.p": (f"{name}.p",) for name in bodies}
    outer_ports = list(open_bodies)
    for name in outer_ports:
        if name not in bodies:
            raise PatternError(f"there is no body '{name}' to open; bodies: {', '.join(bodies)}")
        junctions[f"{name}.p"] += (name,)
    for name, connection in joints.items():
        if name in boxes or name == GROUND:
            raise PatternError(f"'{name}' is the name of a joint and of a body; rename one")
        boxes[name] = connection.joint
        for port, body in (("p_1", connection.first), ("p_2", connection.second)):
            if body == GROUND and GROUND not in boxes:
                boxes[GROUND] = Ground()
                junctions[f"{GROUND}.p"] = (f"{GROUND}.p",)
            if f"{body}.p" not in junctions:
                raise PatternError(
                    f"joint '{name}' connects '{body}', which is not a body; there are "
                    f"{', '.join(bodies)} and {GROUND}"
                )
            junctions[f"{body}.p"] += (f"{name}.{port}",)
        if "p_r" in connection.joint.interface:
            junctions[name] = (f"{name}.p_r", name)
            outer_ports.append(name)
    for name, gear in (gears or {}).items():
        _add_gear(name, gear, joints, boxes, junctions)
    for name, tool in (tools or {}).items():
        _add_tool(name, tool, bodies, boxes, junctions)
        outer_ports.append(name)
    for gear in (gears or {}).values():
        outer_ports = [port for port in outer_ports if port != gear.follower]
        junctions[gear.follower] = tuple(p for p in junctions[gear.follower] if p != gear.follower)
    return compose(boxes, junctions, outer_ports)


def _add_gear(
    name: str,
    gear: Gear,
    joints: Mapping[str, Between],
    boxes: dict[str, System | Component],
    junctions: dict[str, tuple[str, ...]],
) -> None:
    ports = {}
    for role, joint in (("follower", gear.follower), ("leader", gear.leader)):
        if joint not in joints or "p_r" not in joints[joint].joint.interface:
            raise PatternError(
                f"gear '{name}' needs a driven joint '{joint}'; make it with driven=True"
            )
        ports[role] = joints[joint].joint.interface["p_r"]
        junctions[joint] += (f"{name}.{role}",)
    boxes[name] = Reversible(ports, constraint=np.array([[-1.0, gear.ratio]]))


def _add_tool(
    name: str,
    tool: Tool,
    bodies: Mapping[str, System],
    boxes: dict[str, System | Component],
    junctions: dict[str, tuple[str, ...]],
) -> None:
    if tool.body not in bodies:
        raise PatternError(
            f"the tool '{name}' is at '{tool.body}', which is not a body that moves; there are "
            f"{', '.join(bodies)}"
        )
    box = f"{name}_frame"
    if name in junctions or name in boxes or box in boxes:
        raise PatternError(f"'{name}' is the name of a tool and of another port or box; rename one")
    boxes[box] = Offset(tool.pose, "p", "tool")
    junctions[f"{tool.body}.p"] += (f"{box}.p",)
    junctions[name] = (f"{box}.tool", name)


def springs_of(root: ET.Element) -> dict[str, tuple[float, float]]:
    """Return stiffness and rest of the joints that have a spring.

    Raises:
        ModelError: a number is not one, or a stiffness is negative.
    """
    springs: dict[str, tuple[float, float]] = {}
    for joint in root.findall("joint"):
        dynamics_tag = joint.find("dynamics")
        if dynamics_tag is None or dynamics_tag.get("stiffness") is None:
            continue
        name = str(joint.get("name"))
        stiffness = _parse_number(dynamics_tag.get("stiffness"), f"the stiffness of joint '{name}'")
        rest_position = _parse_number(dynamics_tag.get("rest", "0"), f"the rest of joint '{name}'")
        if stiffness < 0.0:
            raise ModelError(
                f"the stiffness of joint '{name}' must not be negative; given: {stiffness:g}"
            )
        if stiffness:
            springs[name] = (stiffness, rest_position)
    return springs


def _parse_number(text: Any, label: str) -> float:
    try:
        value = float(str(text))
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise ModelError(f"{label} must be a finite number; given: {text!r}")
    return value

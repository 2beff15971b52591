# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""What a robot description says about springs and transmissions of joints, and what it has besides.

<dynamics stiffness="20" rest="0.1"/>        in a joint: its spring, N m/rad, rad
<transmission><joint name="elbow"/><actuator name="m">
  <mechanicalReduction>100</mechanicalReduction></actuator></transmission>
"""

import math
import xml.etree.ElementTree as ET
from typing import Any

from vms_ph_dynamics.errors import ModelError
from vms_ph_dynamics.robot.description import parse_description


def springs_of(root: ET.Element) -> dict[str, tuple[float, float]]:
    """Return stiffness and rest of the joints that have a spring.

    Raises:
        ModelError: a number is not one, or a stiffness is negative.
    """
    found: dict[str, tuple[float, float]] = {}
    for joint in root.findall("joint"):
        tag = joint.find("dynamics")
        if tag is None or tag.get("stiffness") is None:
            continue
        name = str(joint.get("name"))
        stiffness = _number(tag.get("stiffness"), f"the stiffness of joint '{name}'")
        rest = _number(tag.get("rest", "0"), f"the rest of joint '{name}'")
        if stiffness < 0.0:
            raise ModelError(
                f"the stiffness of joint '{name}' must not be negative; given: {stiffness:g}"
            )
        if stiffness:
            found[name] = (stiffness, rest)
    return found


def reductions_of(xml: str) -> dict[str, float]:
    """Return the reduction of every joint with a transmission, motor rate by joint rate.

    Both forms are read: that of ``<transmission>``, where the reduction stands at the actuator or
    the joint, and ``mechanical_reduction`` of ros2_control.

    Raises:
        ModelError: the text is not a URDF, or a reduction is no number or zero.
    """
    found: dict[str, float] = {}
    for transmission in parse_description(xml).iter("transmission"):
        tags = [*transmission.findall("actuator"), *transmission.findall("joint")]
        texts: list[Any] = [tag.findtext("mechanicalReduction") for tag in tags]
        texts += [tag.findtext("mechanical_reduction") for tag in tags]
        text = next((each for each in texts if each is not None), "1")
        for joint in transmission.findall("joint"):
            name = str(joint.get("name"))
            found[name] = _number(text, f"the reduction of joint '{name}'")
            if not found[name]:
                raise ModelError(f"the reduction of joint '{name}' must not be zero")
    return found


def left_out(xml: str) -> tuple[str, ...]:
    """Return what a description has and bodies and joints do not carry, one text for each kind.

    Raises:
        ModelError: the text is not a URDF.
    """
    root = parse_description(xml)
    stops, efforts = [], []
    for joint in root.findall("joint"):
        limit = joint.find("limit")
        if limit is None or joint.get("type") == "fixed":
            continue
        if joint.get("type") in ("revolute", "prismatic"):
            stops.append(str(joint.get("name")))
        if limit.get("effort") is not None or limit.get("velocity") is not None:
            efforts.append(str(joint.get("name")))
    found = []
    if stops:
        found.append(f"stops at the position limits of {', '.join(stops)}")
    if efforts:
        found.append(f"largest efforts and rates of {', '.join(efforts)}")
    if reductions := reductions_of(xml):
        found.append(f"transmissions of {', '.join(reductions)} (drives= has motors for them)")
    colliding = [
        str(e.get("name")) for e in root.findall("link") if e.find("collision") is not None
    ]
    if colliding:
        found.append(f"contacts of {', '.join(colliding)}")
    notes = root.find("mjcf")
    texts = [] if notes is None else [(e.text or "").strip() for e in notes.findall("left_out")]
    return (*found, *(t for t in texts if t and not t.startswith("springs of joints")))


def _number(text: Any, what: str) -> float:
    try:
        value = float(str(text))
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise ModelError(f"{what} must be a finite number; given: {text!r}")
    return value

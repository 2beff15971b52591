# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""What a robot description may give beyond the URDF standard.

    <dynamics damping="0.1" friction="0" armature="0.02"/>             in a joint: its rotor
    <mjcf base="floating" gravity="0 0 -1.62" end_effector="tcp"/>     in the robot: of its MJCF

Other readers ignore both.
"""

import xml.etree.ElementTree as ET
from collections.abc import Sequence
from typing import Any

from .description import parse_description

GRAVITY = (0.0, 0.0, -9.81)
"""Gravity where nothing else is given, m/s^2."""


def given_base(description: ET.Element) -> str:
    """Return the base that a description gives: ``floating`` for an MJCF with a free joint."""
    given = description.find("mjcf")
    return "floating" if given is not None and given.get("base") == "floating" else "auto"


def gravity_of(description: ET.Element) -> Sequence[float]:
    """Return the gravity that a description gives, whose numbers were checked, or the default."""
    given = description.find("mjcf")
    text = None if given is None else given.get("gravity")
    return GRAVITY if text is None else [float(word) for word in text.split()]


def end_effector_of(xml: str) -> str | None:
    """Return the end effector that a description gives, or None."""
    if "<mjcf" not in xml:
        return None
    given = parse_description(xml).find("mjcf")
    return None if given is None else given.get("end_effector")


def add_armature(model: Any, description: ET.Element) -> None:
    """Set the armature of the joints of a ``pinocchio.Model`` that move."""
    armature = model.armature.copy()
    for joint in description.findall("joint"):
        tag, name = joint.find("dynamics"), str(joint.get("name"))
        value = 0.0 if tag is None else float(tag.get("armature", 0.0))
        if value and model.existJointName(name):
            i = model.getJointId(name)
            armature[model.idx_vs[i] : model.idx_vs[i] + model.nvs[i]] = value
    model.armature = armature

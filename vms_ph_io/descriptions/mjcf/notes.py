# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""What an MJCF says beyond a URDF: gravity, a home posture, and what the model leaves out.

The URDF equivalent has it as an element of its own, which other readers ignore::

    <mjcf base="floating" gravity="0 0 -9.81" end_effector="tcp">
      <home base="0 0 0.3 0 0 0 1"><joint name="knee" position="-1.8"/></home>
      <left_out>tendons: tendon 'flexor'</left_out>
    </mjcf>
"""

import xml.etree.ElementTree as ET
from collections.abc import Mapping
from dataclasses import dataclass, field

from vms_ph_dynamics.errors import ModelError
from vms_ph_dynamics.robot.description import parse_description

TAG = "mjcf"


@dataclass(frozen=True)
class MjcfNotes:
    """What an MJCF says beyond a URDF.

    Attributes:
        gravity: (3,) m/s^2.
        home: initial joint positions, rad or m: those of the keyframe ``home``, of the first
            keyframe, or the reference positions. Joints at zero are not listed.
        home_base: initial pose of a free base, [x y z qx qy qz qw]; empty for a fixed one, which
            it tells apart.
        end_effector: the link that is the end effector unless another is chosen.
        left_out: what the file has and the model has not, one text for each kind.
    """

    gravity: tuple[float, float, float]
    home: Mapping[str, float] = field(default_factory=dict)
    home_base: tuple[float, ...] = ()
    left_out: tuple[str, ...] = ()
    end_effector: str = ""

    @property
    def base(self) -> str:
        """The kind of base: fixed, or floating for a robot with a free joint."""
        return "floating" if self.home_base else "fixed"

    def element(self) -> ET.Element:
        """Return the element of the URDF equivalent."""
        root = ET.Element(TAG, base=self.base, gravity=numbers(self.gravity))
        if self.end_effector:
            root.set("end_effector", self.end_effector)
        home = ET.SubElement(root, "home")
        if self.home_base:
            home.set("base", numbers(self.home_base))
        for name, position in self.home.items():
            ET.SubElement(home, "joint", name=name, position=repr(float(position)))
        for text in self.left_out:
            ET.SubElement(root, "left_out").text = text
        return root


def numbers(values: object) -> str:
    """Return numbers as text that is read as the same numbers."""
    return " ".join(repr(float(x)) for x in values)  # type: ignore[attr-defined]


def notes_of(urdf: str) -> MjcfNotes | None:
    """Return the notes in the URDF equivalent of an MJCF; None for any other URDF.

    Raises:
        ModelError: the text is not well-formed, or has a number that is none.
    """
    root = parse_description(urdf).find(TAG)
    if root is None:
        return None
    try:
        x, y, z = (float(word) for word in root.get("gravity", "").split())
        home = root.find("home")
        joints = () if home is None else home.findall("joint")
        base = "" if home is None else home.get("base", "")
        return MjcfNotes(
            (x, y, z),
            {str(j.get("name")): float(j.get("position", "")) for j in joints},
            tuple(float(word) for word in base.split()),
            tuple(text.text or "" for text in root.findall("left_out")),
            root.get("end_effector", ""),
        )
    except ValueError as error:
        raise ModelError(f"the element <{TAG}> is not the one that was written: {error}") from None

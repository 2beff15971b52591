# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The visual shapes of a URDF."""

import xml.etree.ElementTree as ET
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass

import numpy as np
import pinocchio as pin

from vms_ph_dynamics import Array
from vms_ph_dynamics.robot.description import parse_description

Rgba = tuple[float, float, float, float]

_GREY: Rgba = (0.75, 0.75, 0.78, 1.0)


@dataclass(frozen=True)
class Visual:
    """One visual shape of a link.

    Attributes:
        link: name of its link.
        pose: (4,4) pose of the shape in the link frame.
        shape: ``"mesh"``, ``"box"``, ``"cylinder"``, ``"sphere"`` or ``"capsule"``.
        size: scale of a mesh (3,), edges of a box (3,), radius and length, or radius, m.
        mesh: URI of the mesh; empty for other shapes.
        colour: (4,) rgba from 0 to 1; used for a mesh only if ``has_colour``.
        has_colour: whether the URDF defines a colour.
    """

    link: str
    pose: Array
    shape: str
    size: tuple[float, ...]
    mesh: str = ""
    colour: Rgba = _GREY
    has_colour: bool = False


def visuals(xml: str) -> list[Visual]:
    """Return all visual shapes of the robot in a URDF text that can be drawn.

    Raises:
        ModelError: the text is not well-formed, or exceeds a bound.
    """
    root = parse_description(xml)
    materials = {m.get("name"): m for m in root.findall("material") if m.find("color") is not None}
    robot_visuals: list[Visual] = []
    for link in root.findall("link"):
        for visual_element in link.findall("visual"):
            # What cannot be drawn does not concern the dynamics.
            with suppress(ValueError):
                robot_visuals += _visual(str(link.get("name")), visual_element, materials)
    return robot_visuals


def _visual(
    link: str, visual_element: ET.Element, materials: Mapping[str | None, ET.Element]
) -> Iterator[Visual]:
    geometry = visual_element.find("geometry")
    shape = None if geometry is None else next(iter(geometry), None)
    if shape is None or shape.tag not in _SIZE_READERS:
        return
    material = visual_element.find("material")
    if material is not None and material.find("color") is None:
        material = materials.get(material.get("name"))
    colour = None if material is None else material.find("color")
    yield Visual(
        link,
        _pose(visual_element.find("origin")),
        shape.tag,
        _SIZE_READERS[shape.tag](shape),
        shape.get("filename", ""),
        _GREY if colour is None else _rgba(colour),
        colour is not None,
    )


def _numbers(text: str | None, default: tuple[float, ...]) -> tuple[float, ...]:
    """Return as many finite numbers as the default has; a ValueError says that there are none."""
    numbers = tuple(float(x) for x in text.split()) if text else default
    if len(numbers) != len(default) or not np.isfinite(numbers).all():
        raise ValueError(text)
    return numbers


def _radius_and_length(shape: ET.Element) -> tuple[float, ...]:
    return (*_numbers(shape.get("radius"), (0.0,)), *_numbers(shape.get("length"), (0.0,)))


_SIZE_READERS = {
    "mesh": lambda shape: _numbers(shape.get("scale"), (1.0, 1.0, 1.0)),
    "box": lambda shape: _numbers(shape.get("size"), (0.0, 0.0, 0.0)),
    "sphere": lambda shape: _numbers(shape.get("radius"), (0.0,)),
    "cylinder": _radius_and_length,
    "capsule": _radius_and_length,
}


def _rgba(colour: ET.Element) -> Rgba:
    text = colour.get("rgba") or ""
    alpha = " 1" if len(text.split()) == 3 else ""
    r, g, b, a = _numbers(text + alpha, _GREY)
    return r, g, b, a


def _pose(origin: ET.Element | None) -> Array:
    pose = np.eye(4)
    if origin is not None:
        pose[:3, 3] = _numbers(origin.get("xyz"), (0.0, 0.0, 0.0))
        roll, pitch, yaw = _numbers(origin.get("rpy"), (0.0, 0.0, 0.0))
        pose[:3, :3] = pin.rpy.rpyToMatrix(roll, pitch, yaw)
    return pose

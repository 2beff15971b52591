"""The visual shapes of a URDF."""

import xml.etree.ElementTree as ET
from dataclasses import dataclass

import numpy as np
import pinocchio as pin

from vms_ph_dynamics.arrays import Array

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
        colour: (4,) rgba from 0 to 1; used for a mesh only if ``coloured``.
        coloured: whether the URDF defines a colour.
    """

    link: str
    pose: Array
    shape: str
    size: tuple[float, ...]
    mesh: str = ""
    colour: Rgba = _GREY
    coloured: bool = False


def visuals(xml: str) -> list[Visual]:
    """Return all visual shapes of the robot in a URDF text."""
    root = ET.fromstring(xml)
    materials = {m.get("name"): m for m in root.findall("material") if m.find("color") is not None}
    found = []
    for link in root.findall("link"):
        for visual in link.findall("visual"):
            geometry = visual.find("geometry")
            shape = None if geometry is None else next(iter(geometry), None)
            if shape is None or shape.tag not in _SIZES:
                continue
            material = visual.find("material")
            if material is not None and material.find("color") is None:
                material = materials.get(material.get("name"))
            colour = None if material is None else material.find("color")
            found.append(
                Visual(
                    str(link.get("name")),
                    _pose(visual.find("origin")),
                    shape.tag,
                    _SIZES[shape.tag](shape),
                    shape.get("filename", ""),
                    _GREY if colour is None else _rgba(colour),
                    colour is not None,
                )
            )
    return found


def _numbers(text: str | None, default: tuple[float, ...]) -> tuple[float, ...]:
    return default if not text else tuple(float(x) for x in text.split())


def _radius_and_length(shape: ET.Element) -> tuple[float, ...]:
    return float(shape.get("radius", 0)), float(shape.get("length", 0))


_SIZES = {
    "mesh": lambda shape: _numbers(shape.get("scale"), (1.0, 1.0, 1.0)),
    "box": lambda shape: _numbers(shape.get("size"), (0.0, 0.0, 0.0)),
    "sphere": lambda shape: (float(shape.get("radius", 0)),),
    "cylinder": _radius_and_length,
    "capsule": _radius_and_length,
}


def _rgba(colour: ET.Element) -> Rgba:
    r, g, b, a = (*_numbers(colour.get("rgba"), _GREY), 1.0)[:4]
    return r, g, b, a


def _pose(origin: ET.Element | None) -> Array:
    pose = np.eye(4)
    if origin is not None:
        pose[:3, 3] = _numbers(origin.get("xyz"), (0.0, 0.0, 0.0))
        roll, pitch, yaw = _numbers(origin.get("rpy"), (0.0, 0.0, 0.0))
        pose[:3, :3] = pin.rpy.rpyToMatrix(roll, pitch, yaw)
    return pose

# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Writes the simplified descriptions beside this file from those of example-robot-data.

Every mesh is replaced by the smallest of the boxes, cylinders and spheres around it, rounded to
millimetres, or, where that would be mostly empty, as of a frame with rotor arms, by boxes around
its parts. Links, joints, inertias and limits are taken over. It requires the packages
example-robot-data, trimesh, pycollada, networkx and scipy.
"""

import copy
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import trimesh
from scipy.cluster.vq import kmeans2

from vms_ph_io.descriptions.packages import resolve

SOURCES = {
    "panda": "panda_description/urdf/panda.urdf",
    "hextilt_flying_arm_5": "hextilt_description/urdf/hextilt_flying_arm_5.urdf",
    "borinot_flying_arm_2": "borinot_description/urdf/borinot_flying_arm_2.urdf",
    "baxter": "baxter_description/urdf/baxter.urdf",
}

# A mesh of this size, m, becomes this number of boxes if they have at most this share of the volume
# of the one shape.
_LARGE, _PARTS, _EMPTY = 0.3, 31, 0.2

NOTE = " Meshes replaced by simple shapes: see NOTICE. Written by generate.py; do not edit. "


def simplified(file: Path) -> str:
    """Return a URDF without meshes."""
    root = ET.fromstring(file.read_text())
    for name in ("gazebo", "transmission"):
        for element in root.findall(name):
            root.remove(element)
    for link in root.iterfind("link"):
        for part in list(link):
            mesh = part.find("geometry/mesh")
            if mesh is not None:
                body = _body(mesh)
                if part.tag == "visual":
                    _colour(part)
                    _replace_visual(link, part, body)
                else:
                    _replace(part, body.bounding_primitive)
    ET.indent(root)
    return f'<?xml version="1.0"?>\n<!--{NOTE}-->\n{ET.tostring(root, encoding="unicode")}\n'


def _body(mesh: ET.Element) -> trimesh.Trimesh:
    file = resolve(mesh.get("filename", ""))
    assert file is not None
    body = trimesh.load(file, force="mesh")
    body.apply_scale([float(x) for x in mesh.get("scale", "1 1 1").split()])
    return body


def _colour(visual: ET.Element) -> None:
    """Give a visual without a material one; RViz paints it red else."""
    if visual.find("material") is None:
        material = ET.SubElement(visual, "material", {"name": "simple_grey"})
        ET.SubElement(material, "color", {"rgba": "0.72 0.74 0.77 1"})


def _replace_visual(link: ET.Element, visual: ET.Element, body: trimesh.Trimesh) -> None:
    """Replace a mesh by one shape, or a large one by boxes if these have much less volume."""
    whole = body.bounding_primitive
    if max(body.extents) > _LARGE:
        points, _ = trimesh.sample.sample_surface(body, 6000, seed=1)
        boxes = min((_boxes(points, seed) for seed in range(8)), key=_volume)
        if _volume(boxes) < _EMPTY * whole.volume:
            place = list(link).index(visual)
            link.remove(visual)
            for box in reversed(boxes):
                part = copy.deepcopy(visual)
                _replace(part, box)
                link.insert(place, part)
            return
    _replace(visual, whole)


def _boxes(points: np.ndarray, seed: int) -> list[trimesh.primitives.Box]:
    """Return boxes around points that are near to each other."""
    _, labels = kmeans2(points, _PARTS, seed=seed, minit="++")
    parts = [points[labels == k] for k in range(_PARTS)]
    return [trimesh.PointCloud(part).bounding_box_oriented for part in parts if len(part) > 3]


def _volume(boxes: list[trimesh.primitives.Box]) -> float:
    return sum(float(box.volume) for box in boxes)


def _replace(part: ET.Element, bound: trimesh.primitives.Primitive) -> None:
    """Replace the mesh of a visual or collision by a shape in the frame of the mesh."""
    pose = _pose(part.find("origin")) @ bound.primitive.transform
    sizes = {
        name: " ".join(f"{max(x, 1e-3):.3f}" for x in np.atleast_1d(value))
        for name, value in _sizes(bound).items()
    }
    geometry = part.find("geometry")
    assert geometry is not None
    geometry.clear()
    ET.SubElement(geometry, type(bound).__name__.lower(), sizes)
    for origin in part.findall("origin"):
        part.remove(origin)
    angles = trimesh.transformations.euler_from_matrix(pose, "sxyz")
    place = {"xyz": _text(pose[:3, 3]), "rpy": _text(angles)}
    part.insert(0, ET.Element("origin", place))


def _sizes(bound: trimesh.primitives.Primitive) -> dict[str, object]:
    match bound:
        case trimesh.primitives.Box():
            return {"size": bound.primitive.extents}
        case trimesh.primitives.Cylinder():
            return {"radius": bound.primitive.radius, "length": bound.primitive.height}
    return {"radius": bound.primitive.radius}


def _pose(origin: ET.Element | None) -> np.ndarray:
    place = {} if origin is None else origin.attrib
    xyz, rpy = ([float(x) for x in place.get(k, "0 0 0").split()] for k in ("xyz", "rpy"))
    pose = trimesh.transformations.euler_matrix(*rpy, "sxyz")
    pose[:3, 3] = xyz
    return pose


def _text(values: object) -> str:
    return " ".join(f"{x + 0.0:.3f}".replace("-0.000", "0.000") for x in values)


if __name__ == "__main__":
    for name, source in SOURCES.items():
        found = resolve(f"package://example-robot-data/robots/{source}")
        if found is None or not found.is_file():
            sys.exit("example-robot-data is not installed")
        (Path(__file__).parent / f"{name}.urdf").write_text(simplified(found))

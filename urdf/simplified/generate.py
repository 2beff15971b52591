# Copyright 2026 The vms_ph authors
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.

"""Writes the simplified descriptions beside this file from those of example-robot-data.

Every mesh is replaced by the smallest of the boxes, cylinders and spheres around it, rounded to
millimetres; links, joints, inertias and limits are taken over. It requires the packages
example-robot-data, trimesh, pycollada, networkx and scipy.
"""

import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import trimesh

from vms_ph_io.packages import resolve

SOURCES = {
    "panda": "panda_description/urdf/panda.urdf",
    "hextilt_flying_arm_5": "hextilt_description/urdf/hextilt_flying_arm_5.urdf",
    "borinot_flying_arm_2": "borinot_description/urdf/borinot_flying_arm_2.urdf",
    "baxter": "baxter_description/urdf/baxter.urdf",
}
NOTE = " Meshes replaced by simple shapes: see NOTICE. Written by generate.py; do not edit. "


def simplified(file: Path) -> str:
    """Return a URDF without meshes."""
    root = ET.fromstring(file.read_text())
    for name in ("gazebo", "transmission"):
        for element in root.findall(name):
            root.remove(element)
    for part in root.iterfind("link/*"):
        mesh = part.find("geometry/mesh")
        if mesh is not None:
            _replace(part, mesh)
    ET.indent(root)
    return f'<?xml version="1.0"?>\n<!--{NOTE}-->\n{ET.tostring(root, encoding="unicode")}\n'


def _replace(part: ET.Element, mesh: ET.Element) -> None:
    file = resolve(mesh.get("filename", ""))
    assert file is not None
    body = trimesh.load(file, force="mesh")
    body.apply_scale([float(x) for x in mesh.get("scale", "1 1 1").split()])
    bound = body.bounding_primitive
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

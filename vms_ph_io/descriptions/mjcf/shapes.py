# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The geoms of an MJCF as the visual shapes of a URDF."""

import xml.etree.ElementTree as ET
from collections.abc import Iterator
from typing import Any

import numpy as np

from .compiling import Appearance, Compiled
from .notes import numbers
from .poses import origin, pose_of, shift

LAST_VISIBLE_GROUP = 2
"""Last group of geoms that MuJoCo's viewer shows at first; shapes for collisions come after it."""


def add_visuals(link: ET.Element, mujoco: Any, compiled: Compiled, body: int) -> None:
    """Add the visible geoms of a body to its link; ellipsoids have no equivalent in a URDF."""
    m = compiled.model
    first = int(m.body_geomadr[body])
    for k in range(first, first + int(m.body_geomnum[body])):
        appearance = compiled.appearances.get(m.geom(k).name)
        if appearance is None or m.geom_group[k] > LAST_VISIBLE_GROUP or not appearance.rgba[3]:
            continue
        pose = pose_of(m.geom_pos[k], m.geom_quat[k])
        for shape_pose, shape in _shapes(mujoco, m, k, pose, appearance):
            visual = ET.SubElement(link, "visual")
            visual.append(origin(shape_pose))
            ET.SubElement(visual, "geometry").append(shape)
            material = ET.SubElement(visual, "material", name=_material(appearance.rgba))
            ET.SubElement(material, "color", rgba=numbers(appearance.rgba))


def _shapes(
    mujoco: Any, m: Any, k: int, pose: Any, appearance: Appearance
) -> Iterator[tuple[Any, ET.Element]]:
    if appearance.mesh:
        if appearance.centred:
            mesh = int(m.geom_dataid[k])
            pose = pose * pose_of(m.mesh_pos[mesh], m.mesh_quat[mesh]).inverse()
        yield (
            pose,
            ET.Element(
                "mesh", filename=f"file://{appearance.mesh}", scale=numbers(appearance.scale)
            ),
        )
        return
    kind, size = int(m.geom_type[k]), m.geom_size[k]
    radius = repr(float(size[0]))
    shapes = mujoco.mjtGeom
    if kind == int(shapes.mjGEOM_BOX):
        yield pose, ET.Element("box", size=numbers(2.0 * size))
    elif kind == int(shapes.mjGEOM_SPHERE):
        yield pose, ET.Element("sphere", radius=radius)
    elif kind in (int(shapes.mjGEOM_CYLINDER), int(shapes.mjGEOM_CAPSULE)):
        yield pose, ET.Element("cylinder", radius=radius, length=repr(2.0 * float(size[1])))
        if kind == int(shapes.mjGEOM_CAPSULE):  # not a shape of the standard
            for end in (-size[1], size[1]):
                offset = shift(np.array([0.0, 0.0, end]))
                yield pose * offset, ET.Element("sphere", radius=radius)


def _material(rgba: tuple[float, ...]) -> str:
    return "rgba_" + "_".join(f"{x:g}" for x in rgba)

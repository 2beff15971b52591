# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The geoms of an MJCF as the visual shapes of a URDF."""

import xml.etree.ElementTree as ET
from collections.abc import Iterator
from typing import Any

import numpy as np
import pinocchio as pin

from vms_ph_dynamics import Array

from .compiling import Appearance, Compiled
from .notes import numbers


def origin(pose: Any) -> ET.Element:
    """Return the element <origin> of a ``pinocchio.SE3``."""
    return ET.Element(
        "origin", xyz=numbers(pose.translation), rpy=numbers(roll_pitch_yaw(pose.rotation))
    )


def roll_pitch_yaw(rotation: Array) -> Array:
    """Return the angles of ``Rz(yaw) Ry(pitch) Rx(roll)``, rad, (3,).

    At a pitch of 90 degrees yaw is noise; roll and pitch then are those that belong to it, so that
    the rotation has full precision everywhere.
    """
    yaw = np.arctan2(rotation[1, 0], rotation[0, 0])
    c, s = np.cos(yaw), np.sin(yaw)
    rest = np.array([[c, s, 0.0], [-s, c, 0.0], [0.0, 0.0, 1.0]]) @ rotation
    return np.array([np.arctan2(-rest[1, 2], rest[1, 1]), np.arctan2(-rest[2, 0], rest[0, 0]), yaw])


def pose_of(position: Array, quaternion: Array) -> Any:
    """Return the pose of a position and a quaternion [w x y z] of MuJoCo."""
    w, x, y, z = (quaternion / np.linalg.norm(quaternion)).tolist()
    return pin.SE3(pin.Quaternion(w, x, y, z).matrix(), np.array(position))


def shift(offset: Array) -> Any:
    """Return a translation by (3,)."""
    return pin.SE3(np.eye(3), np.array(offset))


def turn(axis: Array, angle: float) -> Any:
    """Return a rotation by an angle about an axis of length one, (3,)."""
    return pin.SE3(pin.exp3(axis * angle), np.zeros(3))


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

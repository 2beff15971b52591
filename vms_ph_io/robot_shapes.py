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

"""The collision shapes of a robot, from Pinocchio's geometry of its description."""

import os
import xml.etree.ElementTree as ET
from typing import Any

import numpy as np
import pinocchio as pin

from vms_ph_dynamics import VMSModel
from vms_ph_dynamics.arrays import Array
from vms_ph_dynamics.contact.mujoco_robot import RobotShape
from vms_ph_dynamics.contact.scene import Shape
from vms_ph_dynamics.errors import ModelError

_ROBOT = (0.85, 0.85, 0.88, 1.0)


def robot_shapes(robot: VMSModel, description: str) -> list[RobotShape]:
    """Return the collision shapes of the links that move; of meshes the convex hulls touch.

    A mesh whose file does not exist is left out, as are links that stand still: these may touch
    what the robot is mounted on.

    Args:
        robot: the robot.
        description: its URDF text, meshes with file addresses.

    Raises:
        ModelError: a mesh cannot be read.
    """
    text = _without_missing_meshes(description)
    whole, geometry = pin.buildModelFromXML(text), pin.GeometryModel()
    try:
        pin.buildGeomFromUrdfString(whole, text, pin.GeometryType.COLLISION, geometry, [])
    except ValueError as error:
        raise ModelError(
            f"the collision geometry of '{robot.name}' cannot be read: {error}"
        ) from None
    tree, found = robot.tree, []
    for item in geometry.geometryObjects:
        link = whole.frames[item.parentFrame]
        if not tree.has_frame(link.name):
            continue
        at = tree.pinocchio.frames[tree.frame_id(link.name)]
        if at.parentJoint == 0:
            continue
        in_link = link.placement.homogeneous
        pose = at.placement.homogeneous @ np.linalg.solve(in_link, item.placement.homogeneous)
        shape = _shape(item.geometry, pose)
        if shape is not None:
            found.append(RobotShape(at.parentJoint, shape))
    return found


def _shape(geometry: Any, pose: Array) -> Shape | None:
    kind = type(geometry).__name__
    if kind == "Box":
        return Shape("box", tuple(2.0 * np.asarray(geometry.halfSide)), pose, _ROBOT)
    if kind == "Sphere":
        return Shape("sphere", (geometry.radius,), pose, _ROBOT)
    if kind in ("Cylinder", "Capsule"):
        size = (geometry.radius, 2.0 * geometry.halfLength)
        return Shape(kind.lower(), size, pose, _ROBOT)
    if hasattr(geometry, "vertices"):
        return Shape("mesh", (), pose, _ROBOT, np.array(geometry.vertices()))
    return None


def _without_missing_meshes(description: str) -> str:
    root = ET.fromstring(description)
    for link in root.findall("link"):
        for collision in link.findall("collision"):
            mesh = collision.find("geometry/mesh")
            name = "" if mesh is None else str(mesh.get("filename"))
            if mesh is not None and not os.path.isfile(name.removeprefix("file://")):
                link.remove(collision)
    return ET.tostring(root, encoding="unicode")

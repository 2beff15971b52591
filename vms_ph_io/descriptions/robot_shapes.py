# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The collision shapes of a robot, from Pinocchio's geometry of its description."""

import os
import xml.etree.ElementTree as ET
from typing import Any

import numpy as np
import pinocchio as pin

from vms_ph_dynamics import Array, ModelError, VMSModel
from vms_ph_dynamics.simulation.contact.mujoco_robot import RobotShape
from vms_ph_dynamics.simulation.contact.scene import Shape

from .mesh_files import check_mesh

_COLOUR = (0.85, 0.85, 0.88, 1.0)


def robot_shapes(robot: VMSModel, description: str) -> list[RobotShape]:
    """Return the collision shapes of the links that move, meshes as their convex hulls.

    A mesh whose file does not exist is left out, as are links that stand still: these may touch
    what the robot is mounted on.

    Args:
        robot: the robot.
        description: its URDF text, meshes with file addresses.

    Raises:
        ModelError: a mesh cannot be read.
    """
    text = _without_missing_meshes(description)
    geometry = pin.GeometryModel()
    try:
        full_model = pin.buildModelFromXML(text)
        pin.buildGeomFromUrdfString(full_model, text, pin.GeometryType.COLLISION, geometry, [])
    except ValueError as error:
        raise ModelError(
            f"the collision geometry of '{robot.name}' cannot be read: {error}"
        ) from None
    tree, shapes = robot.tree, []
    for solid in geometry.geometryObjects:
        urdf_frame = full_model.frames[solid.parentFrame]
        if not tree.has_frame(urdf_frame.name):
            continue
        link_frame = tree.pinocchio.frames[tree.frame_id(urdf_frame.name)]
        if link_frame.parentJoint == 0:
            continue
        pose = (link_frame.placement * urdf_frame.placement.actInv(solid.placement)).homogeneous
        if (shape := _shape(solid.geometry, pose)) is not None:
            shapes.append(RobotShape(link_frame.parentJoint, shape))
    return shapes


def _shape(geometry: Any, pose: Array) -> Shape | None:
    kind = type(geometry).__name__
    if kind == "Box":
        return Shape("box", tuple(2.0 * np.asarray(geometry.halfSide)), pose, _COLOUR)
    if kind == "Sphere":
        return Shape("sphere", (geometry.radius,), pose, _COLOUR)
    if kind in ("Cylinder", "Capsule"):
        return Shape(kind.lower(), (geometry.radius, 2.0 * geometry.halfLength), pose, _COLOUR)
    if hasattr(geometry, "vertices"):
        return Shape("mesh", (), pose, _COLOUR, np.array(geometry.vertices()))
    return None


def _without_missing_meshes(description: str) -> str:
    root = ET.fromstring(description)
    for link in root.findall("link"):
        for collision in link.findall("collision"):
            mesh = collision.find("geometry/mesh")
            name = "" if mesh is None else str(mesh.get("filename"))
            if mesh is not None and not os.path.isfile(name.removeprefix("file://")):
                link.remove(collision)
            elif mesh is not None:
                check_mesh(name.removeprefix("file://"))
    return ET.tostring(root, encoding="unicode")

# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The topics of a scene: markers of its bodies, and the wrench of all contacts."""

from typing import Any

import numpy as np
from builtin_interfaces.msg import Time
from geometry_msgs.msg import WrenchStamped
from rclpy.node import Node
from std_msgs.msg import ColorRGBA, Header
from visualization_msgs.msg import Marker, MarkerArray

from vms_ph_dynamics import Array
from vms_ph_dynamics.simulation.contact import Scene, Shape

from ..messages.conversions import to_pose, to_vector, to_wrench
from ..messages.frames import Frames
from ..node.robot_parameters import LATCHED

# Edges of the plate that stands for a plane, m.
_PLATE = (6.0, 6.0, 0.002)

# Free bodies are drawn anew at every so many samples.
_EVERY = 4


class ScenePublishers:
    """Publishes ``vms_ph/scene``, latched, and ``vms_ph/contact_wrench``."""

    def __init__(self, node: Node, frames: Frames, scene: Scene) -> None:
        """Create the topics; those of a scene without free bodies are drawn once."""
        self._scene, self._frames, self._count = scene, frames, 0
        self._markers = node.create_publisher(MarkerArray, "vms_ph/scene", LATCHED)
        self._wrenches = node.create_publisher(WrenchStamped, "vms_ph/contact_wrench", 10)

    def publish(self, simulation: Any, stamp: Time) -> None:
        """Publish the contacts, and the bodies where they may have moved."""
        tool = self._frames.header(self._frames.tool, stamp)
        self._wrenches.publish(to_wrench(tool, simulation.engine.contact_wrench()))
        moves = any(body.is_free for body in self._scene.bodies)
        if self._count == 0 or (moves and self._count % _EVERY == 0):
            self._markers.publish(MarkerArray(markers=self._body_markers(simulation, stamp)))
        self._count += 1

    def _body_markers(self, simulation: Any, stamp: Time) -> list[Marker]:
        markers = []
        here = self._frames.header(self._frames.inertial, stamp)
        for body in self._scene.bodies:
            pose = simulation.engine.pose_of(body.name)
            markers += [
                marker_of(here, body.name, i, shape, pose) for i, shape in enumerate(body.shapes)
            ]
        for i, shape in enumerate(self._scene.tool):
            # Without a stamp: it moves with the frame of the end effector.
            header = self._frames.header(self._frames.tool, Time())
            marker = marker_of(header, "tool", i, shape, np.eye(4))
            marker.frame_locked = True
            markers.append(marker)
        return markers


def marker_of(header: Header, name: str, number: int, shape: Shape, pose: Array) -> Marker:
    """Return a shape of a body at a pose (4,4) as a marker; a capsule as a cylinder."""
    placed = pose @ shape.pose
    kinds = {"box": Marker.CUBE, "sphere": Marker.SPHERE, "plane": Marker.CUBE}
    r, g, b, a = shape.rgba
    if shape.kind == "plane":
        x, y, z = _PLATE
        placed = placed.copy()
        placed[:3, 3] -= 0.5 * z * placed[:3, 2]
    elif shape.kind == "box":
        x, y, z = shape.size
    elif shape.kind == "sphere":
        x = y = z = 2.0 * shape.size[0]
    else:
        radius, length = shape.size
        x = y = 2.0 * radius
        z = length + (2.0 * radius if shape.kind == "capsule" else 0.0)
    return Marker(
        header=header,
        ns=name,
        id=number,
        type=kinds.get(shape.kind, Marker.CYLINDER),
        action=Marker.ADD,
        pose=to_pose(placed),
        scale=to_vector((x, y, z)),
        color=ColorRGBA(r=r, g=g, b=b, a=a),
    )

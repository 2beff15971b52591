# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Markers of a payload or a mechanism beside a robot, on the topic of scenes."""

import numpy as np
from builtin_interfaces.msg import Time
from rclpy.node import Node
from std_msgs.msg import Header
from visualization_msgs.msg import MarkerArray

from vms_ph_dynamics.arrays import Array
from vms_ph_dynamics.simulation import Mechanism, Payload
from vms_ph_dynamics.simulation.contact import Shape

from ..node.robot_parameters import LATCHED
from .scene_publishers import marker_of

_PAYLOAD = (0.85, 0.55, 0.2, 1.0)
_BODY = (0.45, 0.55, 0.7, 1.0)
_HANDLE = (0.85, 0.55, 0.2, 1.0)

# Least edge that is drawn, m.
_THIN = 0.01


def payload_shapes(payload: Payload) -> tuple[Shape, ...]:
    """Return the uniform box of its mass and moments, in the axes of its handle."""
    x, y, z = payload.moments
    squares = 6.0 / payload.mass * np.array([y + z - x, z + x - y, x + y - z])
    edges = np.maximum(np.sqrt(np.maximum(squares, 0.0)), _THIN)
    pose = np.eye(4)
    pose[:3, 3] = payload.centre
    return (Shape("box", tuple(edges.tolist()), pose, _PAYLOAD),)


def mechanism_shapes(mechanism: Mechanism) -> tuple[Shape, ...]:
    """Return its axis, its arm and its handle, in the axes of :func:`mechanism_pose`."""
    length = float(np.linalg.norm(mechanism.arm(0.0)))
    middle, end = np.eye(4), np.eye(4)
    middle[0, 3], end[0, 3] = 0.5 * length, length
    thick = max(0.06 * length, _THIN)
    return (
        Shape("cylinder", (0.5 * thick, 0.5 * length), np.eye(4), _BODY),
        Shape("box", (length, 0.5 * thick, thick), middle, _BODY),
        Shape("sphere", (thick,), end, _HANDLE),
    )


def mechanism_pose(mechanism: Mechanism, handle: Array, angle: float) -> Array:
    """Return the pose of a mechanism, (4,4): x along its arm, z along its axis.

    Args:
        mechanism: the mechanism.
        handle: (3,) place of its handle at angle zero, m.
        angle: rad.
    """
    pose, arm = np.eye(4), mechanism.arm(angle)
    x = arm / np.linalg.norm(arm)
    pose[:3, :3] = np.column_stack([x, np.cross(mechanism.axis, x), mechanism.axis])
    pose[:3, 3] = handle - mechanism.arm(0.0)
    return pose


# Drawn anew at every so many samples.
_EVERY = 4


class BodyMarkers:
    """Publishes a body on ``vms_ph/scene``, latched."""

    def __init__(self, node: Node, frame: str, name: str, shapes: tuple[Shape, ...]) -> None:
        """Create the topic.

        Args:
            node: of the publisher.
            frame: the inertial frame, with its prefix.
            name: of the body.
            shapes: of it, in its axes.
        """
        self._frame, self._name, self._shapes, self._count = frame, name, shapes, 0
        self._markers = node.create_publisher(MarkerArray, "vms_ph/scene", LATCHED)

    def publish(self, pose: Array, stamp: Time) -> None:
        """Publish the body at a pose, (4,4)."""
        if self._count % _EVERY == 0:
            header = Header(stamp=stamp, frame_id=self._frame)
            numbered_shapes = enumerate(self._shapes)
            markers = [
                marker_of(header, self._name, i, shape, pose) for i, shape in numbered_shapes
            ]
            self._markers.publish(MarkerArray(markers=markers))
        self._count += 1

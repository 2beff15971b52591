# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Markers of a body that moves beside a robot, on the topic of scenes."""

from builtin_interfaces.msg import Time
from rclpy.node import Node
from std_msgs.msg import Header
from visualization_msgs.msg import MarkerArray

from vms_ph_dynamics.arrays import Array
from vms_ph_dynamics.simulation.contact import Shape

from .robot_parameters import LATCHED
from .scene_publishers import marker_of

# Drawn anew at every so many samples.
_EVERY = 4


class HeldScene:
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
            drawn = enumerate(self._shapes)
            markers = [marker_of(header, self._name, i, shape, pose) for i, shape in drawn]
            self._markers.publish(MarkerArray(markers=markers))
        self._count += 1

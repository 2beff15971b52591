# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The references of a controller, published on the topics on which it takes them."""

from collections.abc import Collection
from typing import Any

from geometry_msgs.msg import PointStamped, PoseStamped
from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_msgs.msg import Header

from vms_ph_controllers import Reference
from vms_ph_dynamics import VMSModel

from ..messages.conversions import to_point, to_pose


class ReferencePublishers:
    """Publishes references, and the last of each again for a controller that comes later."""

    def __init__(
        self, node: Node, controller: str, model: VMSModel, frame: str, kinds: Collection[str]
    ) -> None:
        """Create publishers.

        Args:
            node: of the publishers.
            controller: name of the controller's node.
            model: the robot.
            frame: the inertial frame, with its prefix.
            kinds: of ``pose``, ``position`` and ``joints`` those that will be published.
        """
        self._node, self._joint_names, self._frame = node, list(model.joint_names), frame
        types = {"pose": PoseStamped, "position": PointStamped, "joints": JointState}
        self._publishers = {
            kind: node.create_publisher(types[kind], f"{controller}/reference_{kind}", 10)
            for kind in types
            if kind in kinds
        }
        self._subscriber_counts = dict.fromkeys(self._publishers, 0)
        self._last: dict[str, Any] = {}

    @property
    def have_subscribers(self) -> bool:
        """Whether somebody listens to each of them."""
        return all(p.get_subscription_count() > 0 for p in self._publishers.values())

    def publish(self, reference: Reference) -> None:
        """Publish the fields of a reference that are not None."""
        header = Header(stamp=self._node.get_clock().now().to_msg(), frame_id=self._frame)
        if reference.pose is not None:
            pose = PoseStamped(header=header, pose=to_pose(reference.pose))
            self._send("pose", pose)
        if reference.position is not None:
            point = to_point(reference.position)
            self._send("position", PointStamped(header=header, point=point))
        if reference.joints is not None:
            inertial_header = Header(stamp=header.stamp)
            names, positions = self._joint_names, reference.joints.tolist()
            self._send("joints", JointState(header=inertial_header, name=names, position=positions))

    def repeat_for_new_subscribers(self) -> None:
        """Publish the last references again where the number of listeners has grown."""
        for kind, publisher in self._publishers.items():
            count, before = publisher.get_subscription_count(), self._subscriber_counts[kind]
            self._subscriber_counts[kind] = count
            if count > before and kind in self._last:
                publisher.publish(self._last[kind])

    def forget(self) -> None:
        """Discard what was published; nothing of it is repeated."""
        self._last.clear()

    def _send(self, kind: str, message: Any) -> None:
        self._last[kind] = message
        self._publishers[kind].publish(message)

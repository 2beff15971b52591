# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Broadcasting transforms."""

from __future__ import annotations

from typing import Any

from geometry_msgs.msg import TransformStamped
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile
from tf2_msgs.msg import TFMessage

from vms_ph_embedded import subset

__all__ = ["StaticTransformBroadcaster", "TransformBroadcaster"]
__getattr__ = subset.make_module_getattr(__name__)


class TransformBroadcaster:
    """Publishes transforms on /tf."""

    def __init__(self, node: Node, qos: QoSProfile | int | None = None) -> None:
        self.pub_tf = node.create_publisher(
            TFMessage, "/tf", QoSProfile(depth=100) if qos is None else qos
        )

    def sendTransform(self, transform: Any) -> None:
        """Publish a transform, or several."""
        self.pub_tf.publish(TFMessage(transforms=_as_list(transform)))


class StaticTransformBroadcaster:
    """Publishes transforms that never change on /tf_static."""

    def __init__(self, node: Node, qos: QoSProfile | int | None = None) -> None:
        latched = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
        self.pub_tf = node.create_publisher(
            TFMessage, "/tf_static", latched if qos is None else qos
        )
        self.net_message = TFMessage()

    def sendTransform(self, transform: Any) -> None:
        """Publish a transform, or several, together with those published before."""
        transforms = [*self.net_message.transforms, *_as_list(transform)]
        by_child_frame = {t.child_frame_id: t for t in transforms}
        self.net_message = TFMessage(transforms=list(by_child_frame.values()))
        self.pub_tf.publish(self.net_message)


def _as_list(transform: Any) -> list[Any]:
    return [transform] if isinstance(transform, TransformStamped) else list(transform)

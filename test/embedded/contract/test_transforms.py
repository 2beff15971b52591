# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Broadcasting transforms."""

from geometry_msgs.msg import TransformStamped
from rclpy.qos import DurabilityPolicy, QoSProfile
from tf2_msgs.msg import TFMessage
from tf2_ros import StaticTransformBroadcaster, TransformBroadcaster


def transform(child):
    made = TransformStamped(child_frame_id=child)
    made.header.frame_id = "odom"
    return made


def test_transforms_are_published(ros):
    node, got = ros.node(), []
    broadcaster = TransformBroadcaster(node)
    subscription = node.create_subscription(TFMessage, "/tf", got.append, 10)
    assert ros.spin_until(lambda: subscription.get_publisher_count() == 1)
    broadcaster.sendTransform(transform("base"))
    broadcaster.sendTransform([transform("a"), transform("b")])
    assert ros.spin_until(lambda: len(got) == 2)
    children = [[each.child_frame_id for each in message.transforms] for message in got]
    assert children == [["base"], ["a", "b"]]


def test_a_late_listener_gets_all_static_transforms(ros):
    node, got = ros.node(), []
    broadcaster = StaticTransformBroadcaster(node)
    broadcaster.sendTransform(transform("camera"))
    broadcaster.sendTransform([transform("tool"), transform("camera")])
    latched = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
    node.create_subscription(TFMessage, "/tf_static", got.append, latched)
    assert ros.spin_until(lambda: got)
    assert sorted(each.child_frame_id for each in got[0].transforms) == ["camera", "tool"]

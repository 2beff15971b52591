# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""References of a controller from topics."""

import time
from collections.abc import Iterator

import numpy as np
import pytest
import rclpy
from geometry_msgs.msg import PointStamped, PoseStamped, TwistStamped, WrenchStamped
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from sensor_msgs.msg import JointState

from vms_ph_dynamics import VMSModel
from vms_ph_io import robots
from vms_ph_nodes.messages.frames import Frames
from vms_ph_nodes.topics.references import ReferenceTopics


@pytest.fixture
def node() -> Iterator[Node]:
    context = rclpy.Context()
    rclpy.init(context=context, args=["--ros-args", "--disable-rosout-logs"], domain_id=77)
    made = Node("controller", context=context, start_parameter_services=False)
    yield made
    made.destroy_node()
    rclpy.shutdown(context=context)


def topics(node: Node, model: VMSModel) -> ReferenceTopics:
    made = ReferenceTopics(node, 0.25)
    made.serve(model, Frames.from_model(model))
    return made


def pose(frame: str, x: float = 1.0, w: float = 1.0, z: float = 0.0) -> PoseStamped:
    message = PoseStamped()
    message.header.frame_id = frame
    message.pose.position.x = x
    message.pose.orientation.z, message.pose.orientation.w = z, w
    return message


def twist(frame: str) -> TwistStamped:
    message = TwistStamped()
    message.header.frame_id = frame
    message.twist.linear.x, message.twist.angular.z = 0.1, 0.2
    return message


def test_a_pose_is_returned_once_and_also_applies_to_a_moving_base(node: Node) -> None:
    model = robots.load("omnidirectional_panda")
    listening = topics(node, model)
    half = np.sqrt(0.5)
    listening._on_pose(pose("odom", 2.0, half, half))
    told = listening.take(model.neutral_configuration())
    assert told.position == pytest.approx([2.0, 0.0, 0.0])
    expected = [[0, -1, 0, 2], [1, 0, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]]
    np.testing.assert_allclose(told.pose, expected, atol=1e-12)
    again = listening.take(model.neutral_configuration())
    assert again.position is None
    assert again.pose is None


def test_on_a_fixed_base_a_pose_is_expressed_in_the_root_link(node: Node, panda: VMSModel) -> None:
    listening = topics(node, panda)
    listening._on_pose(pose("panda_link0"))
    told = listening.take(panda.neutral_configuration())
    assert told.position == pytest.approx([1.0, 0.0, 0.0])
    assert told.pose is not None


def test_a_twist_is_rotated_into_the_axes_of_each_reference(node: Node) -> None:
    model = robots.load("omnidirectional_panda")
    quarter = model.configuration({}, [0.0, 0.0, 0.0, 1.0])  # the base x axis points along y
    listening = topics(node, model)
    listening._on_twist(twist("base_link"))
    told = listening.take(quarter)
    assert told.twist == pytest.approx([0.1, 0, 0, 0, 0, 0.2])
    assert told.velocity == pytest.approx([0.0, 0.1, 0.0])
    listening._on_twist(twist("odom"))
    told = listening.take(quarter)
    assert told.twist == pytest.approx([0.0, -0.1, 0, 0, 0, 0.2])
    assert told.velocity == pytest.approx([0.1, 0.0, 0.0])


def test_a_position_leads_the_end_effector_beside_a_pose_of_the_base(node: Node) -> None:
    model = robots.load("omnidirectional_panda")
    home, place = model.neutral_configuration(), PointStamped()
    place.point.x = 0.7
    listening = ReferenceTopics(node, 0.25)
    # A law that leads both takes no position from a pose.
    for takes_base_and_tool, position in ((True, None), (False, 2.0)):
        listening.serve(model, Frames.from_model(model), takes_base_and_tool)
        listening._on_pose(pose("odom", 2.0))
        told = listening.take(home)
        assert told.pose[0, 3] == pytest.approx(2.0)
        assert (told.position is None) if position is None else told.position[0] == position
        listening._on_position(place)
        listening._on_pose(pose("odom", 2.0))
        told = listening.take(home)
        assert told.position == pytest.approx([0.7, 0.0, 0.0])
        assert told.pose is not None
        assert listening.take(home).position is None
    place.header.frame_id = "tool"
    listening._on_position(place)
    assert listening.take(home).position is None


def test_joints_are_matched_by_name_and_must_be_complete(node: Node) -> None:
    model = robots.load("borinot")
    listening = topics(node, model)
    names = list(model.joint_names)
    listening._on_joints(JointState(name=names[::-1], position=[0.2, 0.1]))
    assert listening.take(model.neutral_configuration()).joints == pytest.approx([0.1, 0.2])
    listening._on_joints(JointState(name=names[:1], position=[0.3]))
    assert listening.take(model.neutral_configuration()).joints is None


@pytest.mark.parametrize(
    "message",
    [pose("moon"), pose("odom", float("nan")), pose("odom", 1.0, 0.0), pose("base_link")],
    ids=["unknown frame", "not finite", "invalid orientation", "a moving frame"],
)
def test_an_invalid_pose_is_ignored(node: Node, message: PoseStamped) -> None:
    model = robots.load("omnidirectional_panda")
    listening = topics(node, model)
    listening._on_pose(message)
    assert listening.take(model.neutral_configuration()).pose is None


def test_a_wrench_ends_once_with_zero_after_its_timeout(node: Node, panda: VMSModel) -> None:
    q = panda.neutral_configuration()
    listening = topics(node, panda)
    assert listening.take(q).wrench is None
    message = WrenchStamped()
    message.wrench.force.z = -10.0
    listening._on_wrench(message)
    for _ in range(2):
        assert listening.take(q).wrench == pytest.approx([0, 0, -10, 0, 0, 0])
    time.sleep(0.3)
    assert listening.take(q).wrench == pytest.approx(np.zeros(6))
    assert listening.take(q).wrench is None
    message.wrench.force.z = float("inf")
    listening._on_wrench(message)
    assert listening.take(q).wrench is None


def test_a_node_that_was_busy_takes_the_last_reference_and_not_those_before(
    node: Node, panda: VMSModel
) -> None:
    listening = topics(node, panda)
    publisher = node.create_publisher(PoseStamped, "~/reference_pose", 10)
    end = time.monotonic() + 30.0
    while publisher.get_subscription_count() == 0:
        assert time.monotonic() < end
        time.sleep(0.01)
    for x in range(1, 9):
        publisher.publish(pose("panda_link0", 0.1 * x))
    time.sleep(0.5)
    executor = SingleThreadedExecutor(context=node.context)
    executor.add_node(node)
    told = listening.take(panda.neutral_configuration())
    while told.position is None:
        assert time.monotonic() < end
        executor.spin_once(timeout_sec=0.1)
        told = listening.take(panda.neutral_configuration())
    executor.remove_node(node)
    executor.shutdown()
    assert told.position == pytest.approx([0.8, 0.0, 0.0])

# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The interactive marker for RViz, where a real ROS 2 has its package."""

import importlib.util
import subprocess
import sys
import time
from collections.abc import Iterator

import pytest
import rclpy
from geometry_msgs.msg import PoseStamped
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from sensor_msgs.msg import JointState

from vms_ph_io import robots
from vms_ph_io.robots.robot_settings import RobotSettings
from vms_ph_nodes.reference_marker import ReferenceMarker

HAS_MARKERS = importlib.util.find_spec("interactive_markers") is not None


def test_the_node_says_in_one_sentence_what_it_lacks() -> None:
    if HAS_MARKERS:
        pytest.skip("the package interactive_markers is installed")
    done = subprocess.run(
        [sys.executable, "-m", "vms_ph_nodes", "reference_marker"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert done.stderr.startswith("error: reference_marker needs the ROS package")
    assert len(done.stderr.splitlines()) == 1


@pytest.fixture
def marker() -> Iterator[ReferenceMarker]:
    rclpy.init(args=["--ros-args", "-p", "robot:=panda"])
    made = ReferenceMarker()
    yield made
    made.destroy_node()
    rclpy.shutdown()


@pytest.mark.skipif(not HAS_MARKERS, reason="the package interactive_markers is not installed")
def test_the_marker_begins_at_the_end_effector_and_moves_the_reference(
    marker: ReferenceMarker,
) -> None:
    from visualization_msgs.msg import InteractiveMarkerFeedback
    from visualization_msgs.srv import GetInteractiveMarkers

    node, executor = Node("rviz"), SingleThreadedExecutor()
    for each in (marker, node):
        executor.add_node(each)
    states = node.create_publisher(JointState, "joint_states", 10)
    poses: list[PoseStamped] = []
    node.create_subscription(PoseStamped, "controller/reference_pose", poses.append, 10)
    feedback = node.create_publisher(InteractiveMarkerFeedback, "vms_ph/reference/feedback", 10)
    client = node.create_client(GetInteractiveMarkers, "vms_ph/reference/get_interactive_markers")
    assert client.wait_for_service(10.0)
    model = robots.load("panda")
    q = RobotSettings(robot="panda").initial_configuration(model)
    message = JointState(name=list(model.joint_names), position=q.tolist(), velocity=[0.0] * 7)
    message.effort = [0.0] * 7
    shown = None
    end = time.monotonic() + 20.0
    while shown is None and time.monotonic() < end:
        message.header.stamp.sec += 1
        states.publish(message)
        future = client.call_async(GetInteractiveMarkers.Request())
        executor.spin_until_future_complete(future, 1.0)
        if future.result().markers:
            (shown,) = future.result().markers
    assert shown is not None
    tool = model.evaluate(q, 0.0 * q).placement(model.end_effector)[:3, 3]
    p = shown.pose.position
    assert [p.x, p.y, p.z] == pytest.approx(tool.tolist())
    assert shown.header.frame_id == "panda_link0"
    assert len(shown.controls) == 7
    dragged = InteractiveMarkerFeedback(marker_name=shown.name, header=shown.header)
    dragged.event_type, dragged.pose = InteractiveMarkerFeedback.POSE_UPDATE, shown.pose
    dragged.pose.position.z += 0.1
    end = time.monotonic() + 20.0
    while not poses and time.monotonic() < end:
        feedback.publish(dragged)
        executor.spin_once(0.1)
    assert poses[0].pose.position.z == pytest.approx(tool[2] + 0.1)
    assert poses[0].header.frame_id == "panda_link0"
    node.destroy_node()

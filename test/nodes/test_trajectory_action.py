# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The action FollowJointTrajectory of the controller node, where a ROS 2 has actions."""

import importlib
from collections.abc import Iterator
from typing import Any

import pytest
import rclpy
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node

from vms_ph_nodes.closed_loop import make

try:
    action = importlib.import_module("rclpy.action")
    FollowJointTrajectory = importlib.import_module("control_msgs.action").FollowJointTrajectory
except ImportError as missing:
    pytest.skip(f"no actions here: {missing}", allow_module_level=True)

GOAL = [0.2, -0.5, 0.1, -2.0, 0.1, 1.8, 0.6]


class Session:
    """A closed loop and a client in one executor."""

    def __init__(self, robot: str) -> None:
        rclpy.init(args=["--ros-args", "-p", f"robot:={robot}"])
        self.nodes = [*make(), Node("client")]
        self.model = self.nodes[0].model  # type: ignore[attr-defined]
        self.executor = SingleThreadedExecutor()
        for node in self.nodes:
            self.executor.add_node(node)
        self.client = action.ActionClient(
            self.nodes[-1], FollowJointTrajectory, "controller/follow_joint_trajectory"
        )
        self.feedback: list[Any] = []

    def wait(self, future: Any) -> Any:
        self.executor.spin_until_future_complete(future, 60.0)
        return future.result()

    def send(self, goal: list[float], seconds: int, tolerance: float = 0.0) -> Any:
        tolerances = importlib.import_module("control_msgs.msg")
        trajectories = importlib.import_module("trajectory_msgs.msg")
        request = FollowJointTrajectory.Goal()
        request.trajectory.joint_names = list(self.model.joint_names)
        point = trajectories.JointTrajectoryPoint(positions=goal)
        point.time_from_start.sec = seconds
        request.trajectory.points = [point]
        if tolerance:
            names = self.model.joint_names
            request.path_tolerance = [
                tolerances.JointTolerance(name=n, position=tolerance) for n in names
            ]
        while not self.client.server_is_ready():
            self.executor.spin_once(0.1)
        return self.wait(self.client.send_goal_async(request, self.feedback.append))

    def end(self) -> None:
        for node in self.nodes:
            node.destroy_node()
        rclpy.shutdown()


@pytest.fixture
def session(request: pytest.FixtureRequest) -> Iterator[Session]:
    made = Session(request.param)
    for _ in range(50):
        made.executor.spin_once(0.02)
    yield made
    made.end()


@pytest.mark.parametrize("session", ["omnidirectional_panda"], indirect=True)
def test_the_joints_follow_a_trajectory_to_its_goal(session: Session) -> None:
    handle = session.send(GOAL, 2)
    assert handle.accepted
    answer = session.wait(handle.get_result_async())
    assert answer.result.error_code == 0, answer.result.error_string
    joints = session.nodes[0].simulation.sample().q[-7:]  # type: ignore[attr-defined]
    assert joints == pytest.approx(GOAL, abs=0.011)
    assert len(session.feedback) > 5
    # Another is cancelled on its way, and one with too narrow a tolerance fails.
    handle = session.send([0.0] * 7, 20)
    assert len(session.wait(handle.cancel_goal_async()).goals_canceling) == 1
    assert session.wait(handle.get_result_async()).status == 5  # CANCELED
    handle = session.send([0.0] * 7, 1, tolerance=1e-3)
    answer = session.wait(handle.get_result_async())
    assert answer.result.error_code == FollowJointTrajectory.Result.PATH_TOLERANCE_VIOLATED
    assert "is off by" in answer.result.error_string


@pytest.mark.parametrize("session", ["panda"], indirect=True)
def test_a_law_without_joint_references_rejects_trajectories(session: Session) -> None:
    assert not session.send(GOAL, 2).accepted

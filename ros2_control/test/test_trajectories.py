# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Trajectories of the Panda, of joints and of its hand, in a namespace of its own."""

import copy
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from action_msgs.msg import GoalStatus
from control_session import Session
from geometry_msgs.msg import PoseStamped
from rclpy.action import ActionClient
from rclpy.duration import Duration
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState
from std_msgs.msg import Header
from tf2_msgs.msg import TFMessage
from vms_ph.action import FollowCartesianTrajectory
from vms_ph.msg import ControllerState, Power

JOINTS = [f"panda_joint{i}" for i in range(1, 8)]
GOAL = [0.3, -0.2, 0.2, -1.3, 0.1, 1.4, 0.2]


@pytest.fixture(scope="module")
def session() -> Iterator[Session]:
    started = Session(
        "panda_ros2_control.launch.xml", "namespace:=/left", "prefix:=left/", "use_sim_time:=true"
    )
    try:
        started.await_states(
            robot_broadcaster="active",
            python_controller="active",
            joint_trajectory_controller="inactive",
        )
        yield started
    finally:
        started.end()


def positions(message: JointState) -> list[float]:
    found = dict(zip(message.name, message.position, strict=True))
    return [found[name] for name in JOINTS]


def test_the_servos_of_the_hardware_follow_a_trajectory(session: Session) -> None:
    assert session.switch(["joint_trajectory_controller"], ["python_controller"])
    session.follow("joint_trajectory_controller", JOINTS, GOAL, 2.0)
    session.until_topic(
        JointState, "joint_states", lambda m: positions(m) == pytest.approx(GOAL, abs=1e-4)
    )
    assert abs(session.one(Power, "vms_ph/power").unaccounted_energy) < 1e-6
    assert session.switch(["python_controller"], ["joint_trajectory_controller"])


class HandTrajectories:
    """Sends trajectories of the hand to pose_ida_pbc, of steps (m) along x from where it is."""

    def __init__(self, session: Session) -> None:
        self.session, self.feedback = session, []
        self._client = ActionClient(
            session.node, FollowCartesianTrajectory, "pose_ida_pbc/follow_cartesian_trajectory"
        )
        assert self._client.wait_for_server(20.0)

    def pose(self) -> PoseStamped:
        return self.session.one(PoseStamped, "pose_ida_pbc/pose")

    def send(self, steps: dict[float, float], **fields: Any) -> Any:
        """Send a goal with a pose for each time, s."""
        start, goal = self.pose().pose, FollowCartesianTrajectory.Goal(**fields)
        for time, step in steps.items():
            pose = copy.deepcopy(start)
            pose.position.x += step
            goal.poses.append(pose)
            goal.time_from_start.append(Duration(seconds=time).to_msg())
        return self._finish(self._client.send_goal_async(goal, lambda m: self.feedback.append(m)))

    def outcome(self, handle: Any) -> tuple[int, Any]:
        answer = self._finish(handle.get_result_async())
        return answer.status, answer.result

    def cancel(self, handle: Any) -> None:
        self._finish(handle.cancel_goal_async())

    def _finish(self, future: Any) -> Any:
        self.session.until(future.done, "an answer of the action")
        return future.result()


@pytest.fixture
def hand(session: Session) -> Iterator[HandTrajectories]:
    assert session.switch(["pose_ida_pbc"], ["python_controller"])
    yield HandTrajectories(session)
    assert session.switch(["python_controller"], ["pose_ida_pbc"])


def test_the_hand_follows_a_trajectory_of_poses(hand: HandTrajectories) -> None:
    start = hand.pose().pose.position.x
    handle = hand.send({1.0: 0.0, 3.0: -0.06})
    status, result = hand.outcome(handle)
    print(result.error_string)
    assert (status, result.error_code) == (GoalStatus.STATUS_SUCCEEDED, result.SUCCESSFUL)
    assert hand.pose().pose.position.x == pytest.approx(start - 0.06, abs=0.02)
    desired = [m.feedback.desired.position.x - start for m in hand.feedback]
    errors = [m.feedback.position_error for m in hand.feedback]
    assert len(desired) > 20
    assert np.diff(desired).max() < 1e-3  # never back
    assert -0.06 <= min(desired) < -0.05  # feedback comes 20 times a second
    assert 0.0 < max(errors) < 0.03


def test_another_trajectory_or_reference_replaces_one_and_a_cancelled_one_ends(
    hand: HandTrajectories,
) -> None:
    first = hand.send({20.0: -0.05})
    second = hand.send({20.0: 0.02})
    status, result = hand.outcome(first)
    assert (status, result.error_code) == (GoalStatus.STATUS_ABORTED, result.INVALID_GOAL)
    assert "another trajectory" in result.error_string
    hand.cancel(second)
    status, result = hand.outcome(second)
    assert (status, "cancelled" in result.error_string) == (GoalStatus.STATUS_CANCELED, True)
    fast = hand.send({2.0: 0.1})
    hand.session.until(
        lambda: bool(hand.feedback) and hand.feedback[-1].feedback.position_error > 2e-3, "motion"
    )
    hand.cancel(fast)
    hand.outcome(fast)
    stopped = hand.pose().pose.position.x
    hand.session.collect(1.0, pose=(PoseStamped, "pose_ida_pbc/pose"))
    assert hand.pose().pose.position.x == pytest.approx(stopped, abs=0.02)  # not 0.1 on
    third = hand.send({20.0: 0.02})
    hand.session.tell(
        PoseStamped, "pose_ida_pbc/reference_pose", PoseStamped(pose=hand.pose().pose)
    )
    status, result = hand.outcome(third)
    assert "another reference" in result.error_string


def test_a_trajectory_that_cannot_be_kept_says_which_tolerance_is_violated(
    hand: HandTrajectories,
) -> None:
    jump = hand.send({0.1: -0.2}, path_position_tolerance=0.05)
    status, result = hand.outcome(jump)
    assert (status, result.error_code) == (
        GoalStatus.STATUS_ABORTED,
        result.PATH_TOLERANCE_VIOLATED,
    )
    far = hand.send({0.1: 1.0}, goal_time_tolerance=Duration(seconds=1.0).to_msg())
    status, result = hand.outcome(far)
    assert result.error_code == result.GOAL_TOLERANCE_VIOLATED
    print(result.error_string)


def test_trajectories_that_are_none_are_refused(hand: HandTrajectories) -> None:
    for steps, fields in (
        ({}, {}),
        ({1.0: 0.0, 0.5: 0.0}, {}),
        ({1e-9: 0.01, 1.0: 0.0}, {}),  # 1 ns from now
        ({1.0: 0.0, 1.00005: 0.0}, {}),  # 0.05 ms apart
        ({1e-3 * k: 0.0 for k in range(100_001)}, {}),
        ({1.0: float("nan")}, {}),
        ({1.0: 0.0}, {"goal_position_tolerance": -1.0}),
        ({1.0: 0.0}, {"header": Header(frame_id="camera")}),
    ):
        assert not hand.send(steps, **fields).accepted


def test_its_frames_have_the_prefix(session: Session) -> None:
    edges = session.one(TFMessage, "/tf").transforms
    assert {edge.child_frame_id for edge in edges} >= {f"left/panda_link{i}" for i in range(1, 8)}
    state = session.one(ControllerState, "python_controller/state")
    assert state.header.frame_id == "left/panda_link0"


def test_its_topics_are_in_the_namespace(session: Session) -> None:
    names = {name for name, _ in session.node.get_topic_names_and_types()}
    assert {"/left/python_controller/reference_pose", "/left/vms_ph/markers"} <= names
    ours = {name for name in names if not name.startswith("/left/")}
    assert ours <= {"/clock", "/tf", "/tf_static", "/rosout", "/parameter_events", "/diagnostics"}


def test_the_clock_is_that_of_the_simulated_robot(session: Session) -> None:
    found = session.collect(1.0, clock=(Clock, "/clock"), states=(JointState, "joint_states"))
    times = [m.clock.sec + 1e-9 * m.clock.nanosec for m in found["clock"]]
    assert times == sorted(times)
    # The joint states have stamps that the clock shows, but for those at both ends and those whose
    # clock was lost on a busy machine. Stamps of another clock would be in none.
    shown = {(m.clock.sec, m.clock.nanosec) for m in found["clock"]}
    stamps = [(m.header.stamp.sec, m.header.stamp.nanosec) for m in found["states"]]
    assert len(shown.intersection(stamps)) > 0.5 * len(stamps)

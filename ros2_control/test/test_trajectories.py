# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""A trajectory of the Panda from a JointTrajectoryController, in a namespace of its own."""

from collections.abc import Iterator

import pytest
from control_session import Session
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState
from tf2_msgs.msg import TFMessage
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

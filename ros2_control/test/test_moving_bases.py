# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Robots on moving bases under a real controller manager: holding, moving, audited, ended."""

from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from control_session import Session, differences, pairs
from geometry_msgs.msg import PoseStamped
from nav_msgs.msg import Odometry
from sensor_msgs.msg import JointState
from vms_ph.msg import ControllerState, Energy, Power

OURS = "decoupled_vms_controller"
ENERGIES = ["total", "kinetic", "potential", "kinetic_base", "kinetic_shape"]


@dataclass
class Robot:
    session: Session
    root: str
    joints: int
    goal: tuple[float, float, float]


@pytest.fixture(
    scope="module",
    params=[
        ("omnidirectional_panda", "base_link", 7, (0.3, 0.2, 0.0)),
        ("borinot", "borinot__base_link", 2, (0.2, 0.1, 0.3)),
    ],
    ids=lambda p: p[0],
)
def robot(request: pytest.FixtureRequest) -> Iterator[Robot]:
    name, root, joints, goal = request.param
    session = Session(f"{name}_ros2_control.launch.xml")
    try:
        session.await_states(
            **{"robot_broadcaster": "active", OURS: "active", "python_controller": "inactive"}
        )
        yield Robot(session, root, joints, goal)
    finally:
        session.end()


def place(message: Odometry) -> tuple[float, float, float]:
    p = message.pose.pose.position
    return p.x, p.y, p.z


def is_at_rest(message: Odometry) -> bool:
    v = message.twist.twist.linear
    return max(abs(v.x), abs(v.y), abs(v.z)) < 5e-4


def test_its_base_holds_the_pose_it_began_in(robot: Robot) -> None:
    found = robot.session.collect(
        1.0, odom=(Odometry, "/odom"), state=(ControllerState, f"/{OURS}/state")
    )
    last = found["odom"][-1]
    assert (last.header.frame_id, last.child_frame_id) == ("odom", robot.root)
    assert place(last) == pytest.approx((0.0, 0.0, 0.0), abs=1e-3)
    assert found["state"][-1].status == ControllerState.OK, found["state"][-1].reason
    assert found["state"][-1].task_error < 1e-3
    assert len(robot.session.one(JointState, "/joint_states").name) == robot.joints


def test_its_base_is_actuated_through_interfaces_that_are_claimed(robot: Robot) -> None:
    commands, states = robot.session.interfaces()
    wrench = {name: claimed for name, claimed in commands.items() if name.startswith("base/")}
    assert len(wrench) in (3, 6)
    assert all(wrench.values())
    assert {"base/position.x", "base/angular_velocity.z", "clock/sec"} <= states


def test_on_the_way_to_another_pose_the_energies_are_those_of_the_energy_monitor(
    robot: Robot,
) -> None:
    target = PoseStamped()
    target.header.frame_id = "odom"
    p = target.pose.position
    p.x, p.y, p.z = robot.goal
    robot.session.tell(PoseStamped, f"/{OURS}/reference_pose", target)
    found = robot.session.collect(
        8.0,
        ours=(Energy, f"/{OURS}/energy"),
        theirs=(Energy, "/vms_ph/energy"),
        odom=(Odometry, "/odom"),
        power=(Power, "/vms_ph/power"),
    )
    # On a busy machine the monitor loses odometry, which is best effort, and predicts the base.
    worst = differences(found["ours"], found["theirs"], ENERGIES, share=0.8)
    matched = len(pairs(found["ours"], found["theirs"]))
    moving = max(message.kinetic for message in found["ours"])
    print(f"{matched} equal stamps, kinetic energy up to {moving:.3g} J, off by {worst}")
    assert matched > 100
    assert moving > 1e-3
    assert max(worst.values()) < 1e-6
    assert found["power"][-1].exact_energies
    assert abs(found["power"][-1].unaccounted_energy) < 1e-6
    assert place(found["odom"][-1]) == pytest.approx(robot.goal, abs=1e-2)


def test_its_joints_follow_a_trajectory_and_its_base_the_topic(robot: Robot) -> None:
    session = robot.session
    assert session.switch([], [OURS])
    assert session.switch(["chained_trajectory_controller", OURS], [])
    now = session.one(JointState, "/joint_states")
    goal = [position + 0.2 for position in now.position]
    session.follow("chained_trajectory_controller", list(now.name), goal, 2.0)
    target = PoseStamped()
    target.header.frame_id = "odom"
    p = target.pose.position
    p.x, p.y, p.z = (0.5 * x for x in robot.goal)
    session.tell(PoseStamped, f"/{OURS}/reference_pose", target)
    session.until_topic(
        JointState, "/joint_states", lambda m: list(m.position) == pytest.approx(goal, abs=2e-3)
    )
    session.until_topic(
        Odometry, "/odom", lambda m: place(m) == pytest.approx((p.x, p.y, p.z), abs=3e-4)
    )
    assert session.one(ControllerState, f"/{OURS}/state").header.frame_id == "odom"
    assert session.switch([], ["chained_trajectory_controller"])


def test_the_law_in_python_takes_over_and_holds_what_it_finds(robot: Robot) -> None:
    robot.session.until_topic(Odometry, "/odom", is_at_rest)
    before = place(robot.session.one(Odometry, "/odom"))
    assert robot.session.switch(["python_controller"], [OURS])
    found = robot.session.collect(
        2.0, odom=(Odometry, "/odom"), state=(ControllerState, "/python_controller/state")
    )
    assert found["state"][0].task_error < 1e-3
    for message in found["odom"]:
        assert place(message) == pytest.approx(before, abs=1e-3)


def test_the_stand_holds_the_base_when_no_controller_is_active(robot: Robot) -> None:
    active = [n for n, s in robot.session.states().items() if s == "active" and "broad" not in n]
    assert robot.session.switch([], active)
    found = robot.session.collect(2.0, odom=(Odometry, "/odom"))["odom"]
    half = len(found) // 2
    assert place(found[-1]) == pytest.approx(place(found[half]), abs=1e-4)
    assert robot.session.switch([OURS], [])


def test_ctrl_c_ends_everything(robot: Robot) -> None:
    assert robot.session.interrupt() == 0
    assert robot.session.processes() == []

# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""A robot on wheels that do not slip, under a real controller manager: it drives and reaches."""

import math
from collections.abc import Iterator
from typing import Any

import pytest
from control_session import Session, differences, pairs
from geometry_msgs.msg import PoseStamped
from nav_msgs.msg import Odometry
from sensor_msgs.msg import JointState
from vms_ph.msg import ControllerState

OURS, OTHER = "differential_drive", "wheeled_impedance"
ENERGIES = ["total", "kinetic", "potential", "kinetic_base", "kinetic_shape"]
WHEELS = ["wheel_left_joint", "wheel_right_joint"]

# Of TIAGo's description, and the maker's data: radius of a wheel, half the way between both, m.
RADIUS, HALF_TRACK = 0.0985, 0.2022


@pytest.fixture(scope="module")
def session() -> Iterator[Session]:
    session = Session("tiago_ros2_control.launch.xml")
    try:
        session.await_states(robot_broadcaster="active", **{OURS: "active", OTHER: "inactive"})
        yield session
    finally:
        session.end()


def place(message: Odometry) -> tuple[float, float, float]:
    """The place of the base, m, and its heading, rad."""
    p, o = message.pose.pose.position, message.pose.pose.orientation
    return p.x, p.y, 2.0 * math.atan2(o.z, o.w)


def joints(message: JointState, what: str = "position") -> dict[str, float]:
    return dict(zip(message.name, getattr(message, what), strict=True))


def slip(base: Odometry, state: JointState) -> float:
    """The largest speed over the ground of a point at which a wheel touches it, m/s."""
    twist, rates = base.twist.twist, joints(state, "velocity")
    ahead, aside, turn = twist.linear.x, twist.linear.y, twist.angular.z
    left, right = (RADIUS * rates[name] for name in WHEELS)
    along = left - (ahead - HALF_TRACK * turn), right - (ahead + HALF_TRACK * turn)
    return max(abs(each) for each in (*along, aside))


def go_to(session: Session, x: float, y: float, heading: float) -> bool:
    target = PoseStamped()
    target.header.frame_id = "odom"
    target.pose.position.x, target.pose.position.y = x, y
    target.pose.orientation.z = math.sin(0.5 * heading)
    target.pose.orientation.w = math.cos(0.5 * heading)
    session.tell(PoseStamped, f"/{OURS}/reference_pose", target)
    return True


def watch(session: Session, seconds: float, action: Any, law: str = OURS) -> dict[str, list[Any]]:
    return session.watch_base(law, seconds, action, joints=(JointState, "/joint_states"))


def expect_energy_balance(found: dict[str, list[Any]]) -> None:
    """The wheels roll, and the energies of plugin, hardware and energy_monitor agree."""
    rolling = pairs(found["odom"], found["joints"])
    worst = max(slip(base, state) for base, state in rolling)
    # On a busy machine the monitor loses odometry, which is best effort, and predicts the base.
    off = differences(found["ours"], found["theirs"], ENERGIES, share=0.8)
    power, moving = found["power"][-1], max(message.kinetic for message in found["ours"])
    print(
        f"{len(rolling)} equal stamps; slip {worst:.1e} m/s; kinetic energy up to {moving:.2g} J, "
        f"off by {max(off.values()):.1e} J; dissipated {power.dissipated_energy:.3g} J, "
        f"unaccounted {power.unaccounted_energy:.1e} J"
    )
    assert len(rolling) > 20
    assert len(pairs(found["ours"], found["theirs"])) > 20
    assert worst < 1e-9
    assert max(off.values()) < 1e-9
    assert power.exact_energies
    assert abs(power.unaccounted_energy) < 1e-6
    assert found["ports"][-1].wrench_base == 0.0
    assert found["state"][-1].status == ControllerState.OK, found["state"][-1].reason


def test_it_stands_where_it_began(session: Session) -> None:
    found = watch(session, 2.0, lambda: True)
    assert found["odom"][-1].child_frame_id == "base_footprint"
    assert place(found["odom"][-1]) == pytest.approx((0.0, 0.0, 0.0), abs=1e-3)
    assert len(found["joints"][-1].name) == 7
    expect_energy_balance(found)


def test_its_base_has_no_commands_and_its_joints_are_claimed(session: Session) -> None:
    commands, states = session.interfaces()
    assert not [name for name in commands if name.startswith("base/")]
    claimed = [name for name, is_claimed in commands.items() if is_claimed]
    assert len(claimed) == 7
    assert {f"{name}/effort" for name in WHEELS} <= set(claimed)
    assert {"base/position.x", "base/angular_velocity.z", "clock/sec"} <= states


def test_it_drives_to_a_place_without_slip_and_turns_there_while_its_arm_reaches(
    session: Session,
) -> None:
    before = session.one(JointState, "/joint_states")
    start, goal = joints(before), (0.4, 0.3, 1.2)
    wanted = {**start, "arm_1_joint": 0.9, "arm_4_joint": 1.2}

    def command() -> bool:
        message = JointState(name=list(wanted), position=list(wanted.values()))
        session.tell(JointState, f"/{OURS}/reference_joints", message)
        return go_to(session, *goal)

    found = watch(session, 15.0, command)
    expect_energy_balance(found)
    reached, now = place(found["odom"][-1]), joints(found["joints"][-1])
    print(f"at {reached}, {now}")
    assert max(message.kinetic for message in found["ours"]) > 0.1
    assert found["power"][-1].dissipated_energy > 0.1
    assert reached == pytest.approx(goal, abs=1e-2)
    for name in set(now) - set(WHEELS):
        assert now[name] == pytest.approx(wanted[name], abs=1e-2)
    # The heading is where the wheels have turned the base.
    left, right = (now[name] - start[name] for name in WHEELS)
    assert 0.5 * RADIUS * (right - left) / HALF_TRACK == pytest.approx(reached[2], abs=1e-6)


def test_the_other_law_takes_over_and_holds_what_it_finds(session: Session) -> None:
    before = place(session.one(Odometry, "/odom"))
    found = watch(session, 3.0, lambda: session.switch([OTHER], [OURS]), OTHER)
    expect_energy_balance(found)
    assert place(found["odom"][-1]) == pytest.approx(before, abs=5e-3)


def test_the_servos_of_the_hardware_hold_it_and_lead_its_arm(session: Session) -> None:
    assert session.switch(["joint_trajectory_controller"], [OTHER])
    before = place(session.one(Odometry, "/odom"))
    names = ["torso_lift_joint", *(f"arm_{i}_joint" for i in range(1, 5))]
    now = joints(session.one(JointState, "/joint_states"))
    goal = [now[name] + 0.05 for name in names]
    session.follow("joint_trajectory_controller", names, goal, 3.0)
    session.until_topic(
        JointState,
        "/joint_states",
        lambda m: [joints(m)[name] for name in names] == pytest.approx(goal, abs=2e-3),
    )
    assert place(session.one(Odometry, "/odom")) == pytest.approx(before, abs=2e-3)


def test_ctrl_c_ends_everything(session: Session) -> None:
    assert session.interrupt() == 0
    assert session.processes() == []

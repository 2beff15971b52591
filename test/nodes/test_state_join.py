# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""States of a robot from messages that each name some of its joints."""

from collections.abc import Sequence

import numpy as np
import pytest
from sensor_msgs.msg import JointState
from std_msgs.msg import Header

from vms_ph_dynamics import VMSModel
from vms_ph_io import robots
from vms_ph_nodes.messages.conversions import NS_PER_SEC, BaseMotion, to_stamp
from vms_ph_nodes.messages.state_join import JoinedState, StateJoin

NOW = 1_700_000_000 * NS_PER_SEC
MS = NS_PER_SEC // 1000
ARM, HAND = ("a", "b"), ("c",)


def _model(base: str = "fixed") -> VMSModel:
    links = "".join(
        f'<link name="l{i}"><inertial><origin xyz="0.1 0 0"/><mass value="1"/>'
        '<inertia ixx=".01" iyy=".01" izz=".01" ixy="0" ixz="0" iyz="0"/></inertial></link>'
        for i in range(4)
    )
    joints = "".join(
        f'<joint name="{name}" type="revolute"><parent link="l{i}"/><child link="l{i + 1}"/>'
        '<axis xyz="0 1 0"/><limit lower="-3" upper="3" effort="9" velocity="9"/></joint>'
        for i, name in enumerate("abc")
    )
    return VMSModel.from_urdf(f'<robot name="r">{links}{joints}</robot>', base)


def _at(name: str, t: float) -> tuple[float, float]:
    """Position and velocity of a joint at a time, s; both are exact between messages."""
    rate = {"a": 1.0, "b": -2.0, "c": 3.0}[name]
    return 0.1 + rate * t, rate


class Robot:
    """Gives messages to a join, and checks every state against the motion of the joints."""

    def __init__(self, base: str = "fixed", spread: float = 0.1, age: float = 10.0) -> None:
        self.states: list[JoinedState] = []
        self.refused: list[str] = []
        self.model = _model(base)
        self.join = StateJoin(
            self.model, spread, self.states.append, self.refused.append, age, base != "fixed"
        )

    def say(
        self,
        ms: float,
        names: Sequence[str],
        clock: float = 0.0,
        late: float = 0.0,
        **fields: list[float],
    ) -> None:
        """Publish joints at a time, ms, with a clock that is ahead and a delay, ms."""
        read = [_at(name, 1e-3 * ms) if name in "abc" else (0.0, 0.0) for name in names]
        given = {"position": [p for p, _ in read], "velocity": [v for _, v in read],
                 "effort": [1.0] * len(names), **fields}  # fmt: skip
        stamp = NOW + round((ms + clock) * MS)
        message = JointState(header=Header(stamp=to_stamp(stamp)), name=list(names), **given)
        self.join.add(message, NOW + round((ms + late) * MS))

    def check(self, clock_error: float = 0.0) -> None:
        """Compare all states with the motion; a clock that is wrong by a time, ms, may show."""
        assert all(np.diff([s.stamp for s in self.states]) > 0)
        for state in self.states:
            t = (state.stamp - NOW) / NS_PER_SEC
            wanted, rates = np.array([_at(name, t) for name in "abc"]).T
            bound = 1e-12 + 3e-3 * clock_error
            np.testing.assert_allclose(state.q[-3:], wanted, rtol=0, atol=bound)
            np.testing.assert_array_equal(state.v[-3:], rates)


def test_one_message_is_a_state_at_once() -> None:
    robot = Robot()
    for k in range(100):
        robot.say(10 * k, "cab")
        assert len(robot.states) == k + 1
    robot.check()
    assert robot.refused == []
    assert {s.age for s in robot.states} == {0.0}


@pytest.mark.parametrize("parts", [("ab", "c"), ("c", "ab"), ("b", "c", "a")])
@pytest.mark.parametrize("apart", [0, 3, 7])
def test_a_robot_in_several_messages_has_one_state_a_cycle(
    parts: tuple[str, ...], apart: int
) -> None:
    robot = Robot()
    for k in range(200):
        for i, part in enumerate(parts):
            robot.say(10 * k + apart * (i == 1), part)
    robot.check()
    assert robot.refused == []
    assert 198 <= len(robot.states) <= 201
    assert all(s.age <= 5e-3 for s in robot.states[6:])
    if not apart:
        assert len(robot.states) == 200
        assert {s.age for s in robot.states} == {0.0}


@pytest.mark.parametrize("clock", [-40, -4, 4, 40])
@pytest.mark.parametrize("every", [1, 2, 7])
@pytest.mark.parametrize("first", [False, True])
def test_a_hand_with_another_clock_or_rate_delays_no_state_of_the_arm(
    clock: int, every: int, first: bool
) -> None:
    robot = Robot(spread=0.2)
    for k in range(200):
        order = (HAND, ARM) if first else (ARM, HAND)
        for names in order:
            if names is ARM or k % every == 0:
                robot.say(10 * k, names, clock=clock if names is HAND else 0.0)
    robot.check(clock_error=abs(clock))
    assert robot.refused == []
    assert 190 <= len(robot.states) <= 205


def test_a_lost_message_is_predicted_and_the_next_ones_are_in_step_again() -> None:
    robot = Robot()
    for k in range(100):
        robot.say(10 * k, ARM)
        if k not in (20, 21, 50):
            robot.say(10 * k, HAND)
    robot.check()
    assert len(robot.states) == 100
    old = [k for k, s in enumerate(robot.states) if s.age]
    assert set(old) <= {*range(20, 27), *range(50, 56)}
    assert max(s.age for s in robot.states) == pytest.approx(0.03)


def test_joints_that_are_not_of_the_robot_change_nothing() -> None:
    robot = Robot()
    for k in range(100):
        robot.say(10 * k, ["left", "left"], clock=20.0)
        robot.say(10 * k, ["left", "right"], clock=-9000.0, position=[np.nan])
        robot.say(10 * k, ["left", *"abc", "left"])
    robot.check()
    assert len(robot.states) == 100
    assert robot.refused == []


def test_a_joint_that_two_drivers_publish_is_that_of_the_clock_ahead() -> None:
    robot = Robot()
    for k in range(100):
        robot.say(10 * k, "abc")
        robot.say(10 * k, "c", clock=4.0)
    assert len(robot.states) >= 99
    assert all("the joint state of c is 0.004 s older" not in why for why in robot.refused)
    robot.say(1000, "abc")
    robot.say(1000, "abc")
    assert "the joint state repeats the last stamp" in robot.refused


@pytest.mark.parametrize(
    ("fields", "names", "why"),
    [
        ({"velocity": []}, "abc", "no velocity of a, b, c; without it"),
        ({"velocity": [0.0, np.nan, np.inf]}, "abc", "no velocity of b, c"),
        ({"velocity": [0.0]}, "abc", "velocity has 1 entries for 3 joint names"),
        ({"position": []}, "abc", "position has 0 entries for 3"),
        ({"position": [0.0, np.nan, 1e30]}, "abc", "of b, c needs positions that are finite"),
        ({}, "abca", "every joint must be named once; a is repeated"),
        ({}, "ab", "the joint state lacks c; received are a, b"),
    ],
)
def test_what_is_missing_is_said(fields: dict[str, list[float]], names: str, why: str) -> None:
    robot = Robot()
    for k in range(5):
        robot.say(10 * k, names, **fields)
    assert robot.states == []
    assert any(why in told for told in robot.refused)


@pytest.mark.parametrize("effort", [[], [np.nan] * 3, [np.inf] * 3, [1e30] * 3])
def test_a_driver_without_efforts_has_states(effort: list[float]) -> None:
    robot = Robot()
    for k in range(5):
        robot.say(10 * k, "abc", effort=effort)
    robot.check()
    assert len(robot.states) == 5
    assert all(np.isnan(s.effort).all() for s in robot.states)
    robot.say(60, "abc", effort=[1.0, np.nan, 2.0])
    np.testing.assert_array_equal(robot.states[-1].effort, [1.0, np.nan, 2.0])


def test_a_joint_that_falls_silent_is_used_within_the_spread_and_then_named() -> None:
    robot = Robot(spread=0.1)
    for k in range(100):
        robot.say(10 * k, "abc" if k < 50 else "ab")
    robot.check()
    assert 58 <= len(robot.states) <= 60
    assert robot.refused[-1].startswith("c is 0.5 s older than the other joints; at most 0.1 s")


def test_stamps_of_zero_are_told() -> None:
    robot = Robot(age=0.0)
    message = JointState(name=list("abc"), position=[0.0] * 3, velocity=[0.0] * 3)
    for k in range(10):
        robot.join.add(message, NOW + k * MS)
    assert len(robot.states) == 1
    assert robot.refused == ["the joint state has no stamp (header.stamp is zero); its driver must "
                             "set it"] * 9  # fmt: skip


def test_a_clock_set_back_is_believed_after_five_messages() -> None:
    robot = Robot()
    for k in range(50):
        for part in (ARM, HAND):
            robot.say(10 * k, part, clock=-5000.0 * (k >= 20))
    assert len(robot.states) > 40
    assert robot.states[-1].stamp == NOW + 490 * MS - 5000 * MS


@pytest.mark.parametrize("base", ["floating", "planar"])
@pytest.mark.parametrize(("clock", "every"), [(0, 1), (4, 2), (-30, 1), (-4, 5), (0, 3)])
def test_a_base_is_predicted_to_the_stamp_of_the_joints(base: str, clock: int, every: int) -> None:
    robot = Robot(base)
    model, b = robot.model, robot.model.b
    start = model.neutral_configuration()
    twist = np.zeros(model.nv)
    twist[:b] = [0.3, -0.2, 0.5][:b] if b == 3 else [0.3, -0.2, 0.1, 0.4, 0.5, -0.6]

    def pose(stamp: int) -> np.ndarray:
        # The same twist in the axes of the base all the time: the prediction is exact.
        return model.integrate(start, twist * (stamp - NOW) / NS_PER_SEC)

    for k in range(100):
        stamp = NOW + (10 * k + clock) * MS
        motion = BaseMotion(pose(stamp)[: model.nq_base], twist[:b])
        robot.say(10 * k, "abc")
        if k % every == 0:
            robot.join.add_base(stamp, motion, NOW + 10 * k * MS)
    robot.check()
    assert len(robot.states) >= 97
    for state in robot.states:
        wanted = pose(state.stamp)[: model.nq_base]
        np.testing.assert_allclose(state.q[: model.nq_base], wanted, atol=1e-12)
        np.testing.assert_array_equal(state.v[:b], twist[:b])
    if (clock, every) == (0, 1):
        assert len(robot.states) == 100
        assert {s.age for s in robot.states} == {0.0}


def test_odometry_that_is_missing_or_stops_is_told() -> None:
    robot = Robot("floating")
    for k in range(40):
        robot.say(10 * k, "abc")
        if k == 5:
            q = robot.model.neutral_configuration()[:7]
            robot.join.add_base(NOW + 10 * k * MS, BaseMotion(q, np.zeros(6)), NOW + 10 * k * MS)
    assert "there is no odometry of the base yet" in robot.refused
    assert 9 <= len(robot.states) <= 12
    assert "the odometry is 0.34 s older than the other joints" in robot.refused[-1]


def test_the_states_of_a_bundled_robot_are_those_of_its_messages() -> None:
    model = robots.load("panda")
    states: list[JoinedState] = []
    join = StateJoin(model, 0.1, states.append, pytest.fail)
    rng = np.random.default_rng(5)
    q, v = model.random_configuration(rng), rng.normal(size=model.nv)
    message = JointState(
        header=Header(stamp=to_stamp(NOW)), name=list(model.joint_names),
        position=q.tolist(), velocity=v.tolist(), effort=v.tolist(),
    )  # fmt: skip
    join.add(message, NOW)
    np.testing.assert_array_equal(states[0].q, q)
    np.testing.assert_array_equal(states[0].v, v)
    np.testing.assert_array_equal(states[0].effort, v)

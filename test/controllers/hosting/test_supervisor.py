# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""A guarded law in closed loop with a simulated robot whose measurements or references fail."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest

from vms_ph_controllers import Command, Controller, Reference, RobotState, Status
from vms_ph_controllers.hosting.supervisor import Supervisor
from vms_ph_controllers.safety.plausibility import PlausibilityBounds
from vms_ph_dynamics import Array, OptionError, VMSModel
from vms_ph_io import robots

from ..support.guarded_robots import Fault, Guarded

ROBOTS = ["panda", "hextilt", "satellite_panda", "omnidirectional_panda"]

Measured = tuple[Array, Array, float]


def _nan(q: Array, v: Array, dt: float) -> Measured:
    return np.full_like(q, np.nan), v, dt


def _one_infinite(q: Array, v: Array, dt: float) -> Measured:
    v[-1] = np.inf
    return q, v, dt


def _fast(q: Array, v: Array, dt: float) -> Measured:
    return q, np.full_like(v, 1e6), dt


def _glitch(q: Array, v: Array, dt: float) -> Measured:
    q[-1] += 3.0
    return q, v, dt


def _swapped(q: Array, v: Array, dt: float) -> Measured:
    q[-1], q[-2] = q[-2] - 1.0, q[-1]
    return q, v, dt


def _short(q: Array, v: Array, dt: float) -> Measured:
    return q[:-1], v, dt


def _an_hour_later(q: Array, v: Array, dt: float) -> Measured:
    return q, v, 3600.0


def _backwards(q: Array, v: Array, dt: float) -> Measured:
    return q, v, -3600.0


def _endless(q: Array, v: Array, dt: float) -> Measured:
    return q, v, np.inf


def _no_time(q: Array, v: Array, dt: float) -> Measured:
    return q, v, np.nan


FAULTS = [
    _nan,
    _one_infinite,
    _fast,
    _glitch,
    _swapped,
    _short,
    _an_hour_later,
    _backwards,
    _endless,
    _no_time,
]
OF_A_BASE = {
    "quaternion of length 1.1": lambda q: np.concatenate([q[:3], 1.1 * q[3:7], q[7:]]),
    "zero quaternion": lambda q: np.concatenate([q[:3], np.zeros(4), q[7:]]),
    "1e155 m away": lambda q: np.concatenate([[1e155], q[1:]]),
    "teleported by 5 m": lambda q: np.concatenate([[q[0] + 5.0], q[1:]]),
}


def _during(fault: Callable[[Array, Array, float], Measured], first: int, last: int) -> Fault:
    return lambda k, q, v, dt: fault(q, v, dt) if first <= k < last else (q, v, dt)


@pytest.mark.usefixtures("core")
@pytest.mark.parametrize("name", ROBOTS)
@pytest.mark.parametrize("fault", FAULTS)
def test_the_safe_output_acts_at_once_and_the_law_acts_again_afterwards(
    name: str, fault: object
) -> None:
    robot = Guarded(name, fault=_during(fault, 20, 30))
    before = robot.run(20)
    during, after = robot.run(10), robot.run(30)
    assert {c.status for c in before} == {Status.OK}
    assert {c.status for c in during} == {Status.HOLDING}
    assert all("implausible state" in c.reason and "holding" in c.reason for c in during)
    # Five plausible samples, the last of which the law answers already.
    assert [c.status is Status.HOLDING for c in after[:6]] == [True] * 4 + [False] * 2
    assert after[-1].status is Status.OK
    # It was at rest, and hardly moves: gravity is compensated, a glitch is not braked.
    assert robot.speed < 0.02


@pytest.mark.usefixtures("core")
@pytest.mark.parametrize("wrong", OF_A_BASE)
def test_an_implausible_pose_of_a_base_is_refused(wrong: str) -> None:
    robot = Guarded("hextilt", fault=_during(lambda q, v, dt: (OF_A_BASE[wrong](q), v, dt), 5, 15))
    robot.run(5)
    assert {c.status for c in robot.run(10)} == {Status.HOLDING}
    assert robot.run(10)[-1].status is Status.OK
    assert robot.speed < 0.02


@pytest.mark.usefixtures("core")
@pytest.mark.parametrize("name", ROBOTS)
def test_a_pushed_robot_whose_measurements_fail_is_braked(name: str) -> None:
    """With measured motion (jumping stamps) to rest; without any, by the expected motion."""
    push = np.array([20.0, 0, 0, 0, 0, 0]) if name != "hextilt" else np.array([0.5, 0, 0, 0, 0, 0])
    for fault, left in ((_an_hour_later, 0.1), (_nan, 0.7)):
        robot = Guarded(name, fault=_during(fault, 100, 1000))
        robot.run(100, push)
        started = robot.model.evaluate(robot.home, robot.velocity).kinetic_energy
        assert started > 1e-5
        robot.run(250)
        ended = robot.model.evaluate(robot.home, robot.velocity).kinetic_energy
        if name == "satellite_panda":
            continue  # nothing can brake its base; the joints below
        assert ended < left * started, (fault, ended / started)


@pytest.mark.usefixtures("core")
def test_the_arm_of_a_free_base_is_braked_against_the_base() -> None:
    robot = Guarded("satellite_panda", fault=_during(_an_hour_later, 100, 1000))
    robot.run(100, np.array([20.0, 0, 0, 0, 0, 0]))
    before = np.abs(robot.velocity[6:]).max()
    robot.run(500)
    assert np.abs(robot.velocity[6:]).max() < 0.1 * before


@pytest.mark.usefixtures("core")
def test_a_frozen_joint_is_noticed_and_its_return_ends_the_reflex() -> None:
    stuck: dict[str, tuple[float, float]] = {}

    def freeze(k: int, q: Array, v: Array, dt: float) -> Measured:
        if 400 <= k < 900:
            q[5], v[5] = stuck.setdefault("it", (q[5], v[5]))
        return q, v, dt

    robot = Guarded("panda", fault=freeze, references=lambda k: Reference(velocity=MOVING))
    robot.run(400)
    assert abs(robot.velocity[5]) > 0.05
    frozen = robot.run(500)
    if abs(stuck["it"][1]) > 0.4:
        assert any("frozen" in c.reason for c in frozen)
    # Position and velocity return to where the joint is, which may be elsewhere by then.
    robot.references = lambda k: Reference()
    assert robot.run(600)[-1].status is not Status.HOLDING


MOVING = np.array([0.0, 0.0, -0.25])


@pytest.mark.usefixtures("core")
def test_a_stopped_position_with_a_live_velocity_is_held() -> None:
    """The part of a frozen sensor that the velocity shows."""
    robot = Guarded("panda")
    state = RobotState(robot.home, np.full(7, 0.8))
    held = [robot.supervisor.update(state, Reference(), 1e-3) for _ in range(400)]
    assert held[100].status is not Status.HOLDING
    assert "panda_joint1 moves, but its position is frozen" in held[-1].reason


@pytest.mark.usefixtures("core")
def test_after_a_jump_that_lasts_the_law_restarts_where_the_robot_is() -> None:
    away = np.zeros(7)
    away[5] = 1.5
    robot = Guarded("panda", fault=lambda k, q, v, dt: (q + (k >= 20) * away, v, dt))
    robot.run(20)
    held = robot.run(500)
    assert {c.status for c in held[:490]} == {Status.HOLDING}
    assert "panda_joint6 jumped by 1.5" in held[0].reason
    after = robot.run(20)
    assert {c.status for c in after} == {Status.OK}
    # Restarted, not pulled back to the pose before: no more than the weight there.
    assert after[-1].task_error < 1e-2


@pytest.mark.usefixtures("core")
def test_a_joint_outside_its_limits_is_held_until_it_is_back_or_a_reset_accepts_it() -> None:
    robot = Guarded("panda")
    q = robot.home.copy()
    for angle in np.arange(q[5], 6.0, 0.04):
        q[5] = angle
        command = robot.supervisor.update(RobotState(q, np.zeros(7)), Reference(), 1e-2)
    assert "panda_joint6 at 5.9" in command.reason
    for _ in range(300):
        command = robot.supervisor.update(RobotState(q, np.zeros(7)), Reference(), 1e-2)
    assert command.status is Status.HOLDING
    robot.supervisor.reset(RobotState(q, np.zeros(7)))
    command = robot.supervisor.update(RobotState(q, np.zeros(7)), Reference(), 1e-2)
    assert command.status is not Status.HOLDING
    for angle in np.arange(q[5], 2.0, -0.04):
        q[5] = angle
        command = robot.supervisor.update(RobotState(q, np.zeros(7)), Reference(), 1e-2)
        assert command.status is not Status.HOLDING


def test_a_faster_robot_than_its_bound_is_braked_until_it_is_slower() -> None:
    robot = Guarded("panda")
    # Motion that the positions confirm is no glitch of the velocity: it is braked.
    q, v = robot.home.copy(), np.zeros(7)
    for k in range(30):
        v[0] = 0.6 * k
        q[0] += 1e-3 * v[0]
        command = robot.supervisor.update(RobotState(q, v), Reference(), 1e-3)
    assert "panda_joint1 moves at 17.4" in command.reason
    assert command.torque[0] < -50.0
    v[0] = 1e6
    command = robot.supervisor.update(RobotState(q, v), Reference(), 1e-3)
    assert command.torque[0] == pytest.approx(0.0, abs=1e-6)


@pytest.mark.usefixtures("core")
@pytest.mark.parametrize("name", ROBOTS)
@pytest.mark.parametrize("period", [1, 4, 10, 20])
def test_ordinary_loops_raise_no_alarm_even_at_50_hz(name: str, period: int) -> None:
    jitter = np.random.default_rng(3).uniform(0.3, 1.9, 4000)
    robot = Guarded(
        name,
        period=period,
        fault=lambda k, q, v, dt: (q, v, dt * jitter[k]),
    )
    push = (
        np.array([10.0, 0, 5.0, 0, 0, 0]) if name != "hextilt" else np.array([0.3, 0, 0, 0, 0, 0])
    )
    commands = robot.run(40 // period + 2, push) + robot.run(300 // period + 10)
    assert all(c.status is not Status.HOLDING for c in commands)


FAR = np.eye(4)
FAR[0, 3] = 1e155
WRONG = {
    "pose 1e155 m away": Reference(pose=FAR, position=FAR[:3, 3]),
    "position that is not finite": Reference(position=np.array([np.nan, 0, 0])),
    "pose of a wrong shape": Reference(pose=np.eye(3)),
    "pose without a rotation": Reference(pose=2.0 * np.eye(4)),
    "mirrored pose": Reference(pose=np.diag([1.0, 1.0, -1.0, 1.0])),
    "velocity of light": Reference(velocity=np.array([3e8, 0, 0]), twist=np.full(6, 3e8)),
    "joints far beyond their limits": Reference(joints=np.full(7, 1e3)),
}


@pytest.mark.usefixtures("core")
@pytest.mark.parametrize("name", ["panda", "hextilt", "omnidirectional_panda"])
@pytest.mark.parametrize("what", WRONG)
def test_an_implausible_reference_is_refused_and_the_last_one_kept(name: str, what: str) -> None:
    robot = Guarded(name, references=lambda k: WRONG[what] if 5 <= k < 15 else Reference())
    robot.run(5)
    refused = robot.run(10)
    assert all("reference" in c.reason and "refused" in c.reason for c in refused)
    assert {c.status for c in refused} == {Status.SATURATED}
    assert {c.status for c in robot.run(50)} == {Status.OK}
    assert robot.speed < 0.02


@pytest.mark.usefixtures("core")
@pytest.mark.parametrize("distance", [pytest.param(1.0, marks=pytest.mark.slow), 99.0])
def test_the_drone_flies_to_a_distant_reference_at_its_own_speed(distance: float) -> None:
    pose = np.eye(4)
    pose[:3, :3] = np.diag([-1.0, -1.0, 1.0])
    pose[0, 3] = distance
    robot = Guarded("hextilt", references=lambda k: Reference(pose=pose) if k == 0 else Reference())
    robot.run(300)
    assert 0.1 < robot.speed < 2.0


@pytest.mark.usefixtures("core")
def test_a_reference_that_arrives_during_the_reflex_takes_effect_after_it() -> None:
    pose = np.eye(4)
    pose[:3, 3] = [0.2, 0.0, 0.1]
    robot = Guarded(
        "hextilt",
        fault=_during(_glitch, 5, 10),
        references=lambda k: Reference(pose=pose) if k == 7 else Reference(),
    )
    robot.run(100)
    assert np.linalg.norm(robot.velocity[:3]) > 0.005


class _OfAUser(Controller):
    """A law with the faults of an untested one."""

    @dataclass(frozen=True)
    class Gains:
        pass

    def __init__(self, model: VMSModel, answer: object) -> None:
        super().__init__(model)
        self.gains, self.answer = self.Gains(), answer

    def reset(self, state: RobotState) -> None:
        pass

    def update(self, state: RobotState, reference: Reference, dt: float) -> Command:
        if isinstance(self.answer, Exception):
            raise self.answer
        return Command(np.zeros(0), self.answer)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "answer",
    [ZeroDivisionError("by zero"), np.full(7, np.nan), np.zeros(3), np.full(7, -np.inf), "torque"],
    ids=str,
)
def test_a_law_that_fails_leaves_the_robot_to_its_safe_output(
    panda: VMSModel, answer: object
) -> None:
    guard = Supervisor(_OfAUser(panda, answer))
    q = panda.configuration(robots.get("panda").home)
    guard.reset(RobotState(q, np.zeros(7)))
    command = guard.update(RobotState(q, np.zeros(7)), Reference(), 1e-3)
    assert command.status is Status.HOLDING
    assert "the law" in command.reason
    np.testing.assert_allclose(command.torque, panda.evaluate(q, np.zeros(7)).g, atol=1e-12)


def test_torques_of_a_law_beyond_the_limits_are_clipped(panda: VMSModel) -> None:
    guard = Supervisor(_OfAUser(panda, np.full(7, 1e30)))
    q = panda.neutral_configuration()
    guard.reset(RobotState(q, np.zeros(7)))
    # The neutral position of two joints is outside their limits, which the reset has accepted.
    command = guard.update(RobotState(q, np.zeros(7)), Reference(), 1e-3)
    np.testing.assert_array_equal(command.torque, panda.joints.effort)
    assert command.status is Status.SATURATED


def test_bounds_follow_from_the_limits_of_the_robot_and_are_checked(panda: VMSModel) -> None:
    bounds = PlausibilityBounds(velocity_factor=2.0, position_margin=0.5)
    np.testing.assert_allclose(bounds.speeds(panda), 2.0 * panda.joints.velocity)
    low, high = bounds.positions(panda)
    np.testing.assert_allclose(high - low, 2.0 * (panda.joints.upper - panda.joints.lower))
    with pytest.raises(OptionError, match=r"velocity_factor must be from 1 to 1e\+06; given: nan"):
        PlausibilityBounds(velocity_factor=float("nan"))

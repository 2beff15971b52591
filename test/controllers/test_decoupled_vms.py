"""The decoupled vehicle-manipulator law: energy falls, every attitude comes back, limits hold."""

import re
from dataclasses import replace

import numpy as np
import pinocchio as pin
import pytest

from vms_ph_controllers import Command, DecoupledVMSController, Reference, RobotState, Status
from vms_ph_dynamics import ModelError, VMSModel
from vms_ph_dynamics.effects.allocation import Allocation, Rotor
from vms_ph_dynamics.groups import SE3, SO3
from vms_ph_io import robots

ROBOTS = ("satellite_panda", "omnidirectional_panda", "hextilt")
STEP = 4e-3
HOLD = Reference()


def without_limits(name: str) -> VMSModel:
    robot = robots.get(name)
    return robot.model(re.sub(r'effort="[^"]*"', 'effort="1e9"', robot.description()))


def goal(model: VMSModel, name: str) -> np.ndarray:
    return model.configuration(robots.get(name).home)


class Plant:
    """A robot under the law, by Pinocchio's ABA and the midpoint rule."""

    def __init__(self, law: DecoupledVMSController, q: np.ndarray, v: np.ndarray) -> None:
        self.law, self.q, self.v = law, q, v
        self.pinocchio = law.model.pinocchio
        self.data = self.pinocchio.createData()
        self.reasons: set[str] = set()

    def acceleration(
        self, q: np.ndarray, v: np.ndarray, command: Command, push: np.ndarray | float = 0.0
    ) -> np.ndarray:
        force = np.concatenate([command.wrench_base, command.torque]) + push
        return np.array(pin.aba(self.pinocchio, self.data, q, v, force))

    def step(self, reference: Reference = HOLD, push: np.ndarray | float = 0.0) -> Command:
        """Advance with the law in both stages; return the first command."""
        model, half = self.law.model, 0.5 * self.dt
        command = self.law.update(RobotState(self.q, self.v), reference, half)
        a = self.acceleration(self.q, self.v, command, push)
        q, v = model.integrate(self.q, half * self.v), self.v + half * a
        going_on = Reference(twist=reference.twist)
        middle = self.law.update(RobotState(q, v), going_on, half)
        self.reasons |= {command.reason, middle.reason}
        self.q = model.integrate(self.q, self.dt * v)
        self.v = self.v + self.dt * self.acceleration(q, v, middle, push)
        return command

    def energy(self) -> float:
        """The shaped energy of a resting reference, from Pinocchio and the formulas."""
        law, model = self.law, self.law.model
        pin.computeAllTerms(self.pinocchio, self.data, self.q, self.v)
        mass = np.triu(self.data.M) + np.triu(self.data.M, 1).T
        total = 0.5 * float(self.v @ mass @ self.v)
        frequency, b = law.gains.frequency_base, model.b
        linear = 2 if model.base == "planar" else 3
        rest = model.evaluate(self.goal, np.zeros(model.nv))
        m, inertia = np.diag(rest.M)[:linear].mean(), np.diag(rest.M)[linear:b].mean()
        error = np.linalg.inv(model.base_pose(self.goal)) @ model.base_pose(self.q)
        angle = float(np.linalg.norm(SO3().log(error[:3, :3])))
        total += 0.5 * frequency**2 * m * float(error[:3, 3] @ error[:3, 3])
        # 4 k (1 - eta), eta = cos(angle / 2); past half a turn the law may keep its sense of turn.
        if self.sense(error) < 0.0:
            angle = 2.0 * np.pi - angle
        total += 8.0 * frequency**2 * inertia * float(np.sin(0.25 * angle)) ** 2
        stiffness = law.gains.frequency_shape**2 * np.diag(rest.M_hat_m)
        away = model.difference(self.goal, self.q)[b:]
        limits, margin = model.joints, law.gains.limit_margin
        depth = np.maximum(model.joint_positions(self.q) - limits.upper + margin, 0.0)
        depth += np.maximum(limits.lower + margin - model.joint_positions(self.q), 0.0)
        total += 0.5 * float(stiffness @ away**2)
        wall = law.gains.limit_frequency**2 * np.diag(rest.M_hat_m)
        return total + 0.5 * float(wall @ depth**2)

    goal: np.ndarray
    dt = STEP
    _turn: np.ndarray | None = None
    _sense = 1.0

    def sense(self, error: np.ndarray) -> float:
        """1 on the shorter way round, -1 while the law still goes on the longer one."""
        turn = SO3().log(error[:3, :3])
        if self._turn is not None and self._turn @ turn < -1.0:
            self._sense = -self._sense  # the rotation vector went through half a turn
        self._turn = turn
        if self._sense * np.cos(0.5 * np.linalg.norm(turn)) < -0.1:
            self._sense = 1.0
        return self._sense


def plant(name: str, rng: np.random.Generator, speed: float = 0.3) -> Plant:
    model = without_limits(name)
    law = DecoupledVMSController(model)
    made = Plant(law, model.random_configuration(rng), speed * rng.uniform(-1, 1, model.nv))
    made.goal = goal(model, name)
    law.set_minimum(made.goal)
    return made


def assert_it_comes_back_with_falling_energy(one: Plant, seconds: float) -> None:
    before = one.energy()
    for k in range(round(seconds / STEP)):
        told = one.step()
        now = one.energy()
        # The midpoint rule errs by the third power of its step, of the energy there is;
        # a nanojoule of the tens of kilojoules at the start is rounding.
        assert now <= before + 1e-7 * max(before, 1e-5), f"rose at {k * STEP:.3f} s"
        before = now
        assert told.status is Status.OK
    away = one.law.model.difference(one.goal, one.q)
    assert np.abs(away).max() < 0.05


@pytest.mark.parametrize("name", ROBOTS)
def test_the_energy_only_falls_and_every_state_comes_back(
    name: str, rng: np.random.Generator
) -> None:
    for _ in range(3):
        assert_it_comes_back_with_falling_energy(plant(name, rng), 20.0)


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("name", ROBOTS)
def test_a_hundred_random_states_come_back(name: str, rng: np.random.Generator) -> None:
    for _ in range(100):
        assert_it_comes_back_with_falling_energy(plant(name, rng), 20.0)


@pytest.mark.parametrize("name", ROBOTS)
@pytest.mark.parametrize("axis", [(1, 0, 0), (0, 0, 1), (0.6, 0, 0.8)])
def test_exactly_half_a_turn_is_left_at_once(
    name: str, axis: tuple[float, float, float], rng: np.random.Generator
) -> None:
    one = plant(name, rng)
    model = one.law.model
    if model.base == "planar":
        axis = (0, 0, 1)
    half_turn = np.concatenate([np.zeros(3), np.pi * np.array(axis)])
    one.q = model.integrate(one.goal, np.zeros(model.nv))
    tangent = np.zeros(model.nv)
    tangent[: model.b] = half_turn if model.b == 6 else half_turn[[0, 1, 5]]
    one.q, one.v = model.integrate(one.goal, tangent), np.zeros(model.nv)
    first = one.step()
    frequency = one.law.gains.frequency_base
    moment = np.linalg.norm(first.wrench_base[-3 if model.b == 6 else -1 :])
    assert moment > frequency**2 * 0.1 * one.law.model.evaluate(one.goal, one.v).M_b[-1, -1]
    assert_it_comes_back_with_falling_energy(one, 20.0)


def test_a_fast_spin_past_half_a_turn_goes_on_round_instead_of_unwinding() -> None:
    model = without_limits("satellite_panda")
    law = DecoupledVMSController(model)
    one = Plant(law, goal(model, "satellite_panda"), np.zeros(model.nv))
    one.goal = one.q.copy()
    law.set_minimum(one.goal)
    law.gains = replace(law.gains, damping_ratio=0.05)
    one.v[5] = 6.0  # rad/s: more than the potential at half a turn can stop
    turned, before = 0.0, one.energy()
    one.dt = 1e-3
    for k in range(round(20.0 / one.dt)):
        if k * one.dt > 5.0:
            law.gains = replace(law.gains, damping_ratio=1.0)
        one.step()
        turned += one.dt * one.v[5]
        now = one.energy()
        assert now <= before * (1 + 1e-6) + 1e-9  # the midpoint rule, at 6 rad/s
        before = now
    assert "past half a turn: now the other way round" in one.reasons
    # It ended where it is after whole turns, none of them taken back.
    assert turned / (2 * np.pi) == pytest.approx(2.0, abs=0.01)
    assert np.abs(model.difference(one.goal, one.q)).max() < 0.05


@pytest.mark.parametrize("name", ROBOTS)
def test_a_moving_reference_is_followed_and_puts_no_energy_in(
    name: str, rng: np.random.Generator
) -> None:
    one = plant(name, rng, speed=0.0)
    model, law = one.law.model, one.law
    one.q = one.goal.copy()
    law.reset(RobotState(one.q, one.v))
    step = np.concatenate([0.2 * rng.uniform(-1, 1, model.b), 0.3 * rng.uniform(-1, 1, model.n)])
    target = model.integrate(one.goal, step)
    told = one.step(Reference(pose=model.base_pose(target), joints=model.joint_positions(target)))
    largest = 0.0
    for _ in range(round(15.0 / STEP)):
        told = one.step()
        largest = max(largest, told.energy.closed_loop_energy)
    # Feed-forward of velocity and acceleration: what is left is the error of the hold of a stage.
    d = model.evaluate(one.q, np.full(model.nv, 0.1))
    assert largest < 1e-4 * d.kinetic_energy
    assert np.abs(model.difference(target, one.q)).max() < 1e-3
    assert told.energy.closed_loop_energy < 1e-8


def test_a_twist_moves_the_reference_of_the_base_on(rng: np.random.Generator) -> None:
    one = plant("omnidirectional_panda", rng, speed=0.0)
    one.q = one.goal.copy()
    one.law.reset(RobotState(one.q, one.v))
    for _ in range(round(6.0 / STEP)):
        one.step(Reference(twist=np.array([0.1, 0, 0, 0, 0, 0.2])))
    assert one.v[:3] == pytest.approx([0.1, 0.0, 0.2], abs=1e-3)
    for _ in range(round(6.0 / STEP)):
        one.step()
    assert np.abs(one.v).max() < 1e-3


def test_the_law_reports_the_energy_that_is_there(rng: np.random.Generator) -> None:
    for name in ROBOTS:
        one = plant(name, rng)
        for _ in range(20):
            expected = one.energy()
            told = one.step().energy
            assert told.closed_loop_energy == pytest.approx(expected, rel=1e-9)
            parts = told.kinetic_base + told.kinetic_shape + told.shaped_potential
            assert told.closed_loop_energy == pytest.approx(parts, rel=1e-12)
            assert min(told.damping_base, told.damping_shape) >= 0.0


def test_what_clipping_changes_is_accounted(rng: np.random.Generator) -> None:
    model = robots.load("hextilt")
    law = DecoupledVMSController(model, allocation=robots.get("hextilt").allocation())
    rest = goal(model, "hextilt")
    law.set_minimum(rest)
    saturated = 0
    for _ in range(200):
        q, v = model.random_configuration(rng), 0.5 * rng.uniform(-1, 1, model.nv)
        law.set_minimum(rest)
        told = law.update(RobotState(q, v), HOLD, 1e-3)
        saturated += told.status is Status.SATURATED
        m = model.pinocchio
        force = np.concatenate([told.wrench_base, told.torque])
        a = pin.aba(m, m.createData(), q, v, force)
        ahead = 1e-6

        def stored(time: float, q: np.ndarray = q, v: np.ndarray = v, a: np.ndarray = a) -> float:
            later = model.integrate(q, time * v + 0.5 * time**2 * a)
            there = law.update(RobotState(later, v + time * a), HOLD, 1e-3)
            return there.energy.closed_loop_energy

        rate = (stored(ahead) - stored(-ahead)) / (2 * ahead)
        balance = told.energy.clipped_power - told.energy.damping_base - told.energy.damping_shape
        assert rate == pytest.approx(balance, rel=1e-5, abs=1e-5)
    assert saturated > 20


def test_a_hexarotor_is_asked_for_no_wrench_beyond_its_rotors(rng: np.random.Generator) -> None:
    model = robots.load("hextilt")
    allocation = robots.get("hextilt").allocation()
    assert allocation is not None
    law = DecoupledVMSController(model, allocation=allocation)
    law.set_minimum(goal(model, "hextilt"))
    for _ in range(300):
        q, v = model.random_configuration(rng), 3.0 * rng.uniform(-1, 1, model.nv)
        told = law.update(RobotState(q, v), HOLD, 1e-3)
        thrusts = allocation.thrusts(told.wrench_base)
        assert (thrusts >= allocation.lower - 1e-9).all()
        assert (thrusts <= allocation.upper + 1e-9).all()
        assert (np.abs(told.torque) <= model.joints.effort).all()


def test_a_base_without_side_thrust_still_leaves_the_shape_undisturbed(
    rng: np.random.Generator,
) -> None:
    # Four upright rotors: no force along x and y. The arm must move as if the base could all.
    model = without_limits("hextilt")
    rotors = [
        Rotor(np.array([x, y, 0.0]), np.array([0.0, 0.0, 1.0]), 0.02 * np.sign(x * y))
        for x, y in ((0.3, 0.3), (-0.3, 0.3), (-0.3, -0.3), (0.3, -0.3))
    ]
    able = DecoupledVMSController(model)
    unable = DecoupledVMSController(model, allocation=Allocation(rotors))
    for _ in range(20):
        q, v = model.random_configuration(rng), rng.uniform(-1, 1, model.nv)
        shape_forces = []
        for law in (able, unable):
            law.set_minimum(goal(model, "hextilt"))
            told = law.update(RobotState(q, v), HOLD, 1e-3)
            a = model.evaluate(q, v).A
            shape_forces.append(told.torque - a.T @ told.wrench_base)
        np.testing.assert_allclose(*shape_forces, atol=1e-9 * np.abs(shape_forces).max())
        assert told.status is Status.SATURATED
        assert "no actuator" in told.reason


def test_a_base_that_only_floats_lets_its_arm_settle_and_keeps_its_momentum(
    rng: np.random.Generator,
) -> None:
    model = without_limits("satellite_panda")
    law = DecoupledVMSController(model, base_actuated=False)
    one = Plant(law, model.random_configuration(rng), np.zeros(model.nv))
    law.set_minimum(goal(model, "satellite_panda"))
    largest = 0.0
    for _ in range(round(8.0 / STEP)):
        told = one.step()
        assert not told.wrench_base.any()
        d = model.evaluate(one.q, one.v)
        largest = max(largest, float(np.abs(d.M_bm @ one.v[6:]).max()))
    away = model.joint_positions(one.q) - model.joint_positions(goal(model, "satellite_panda"))
    assert np.abs(away).max() < 0.01
    # The midpoint rule is not made to keep it: errors of its second order.
    assert np.abs(d.p).max() < 1e-4 * largest


@pytest.mark.parametrize("name", ROBOTS)
def test_a_state_that_is_not_finite_gets_the_hold_against_gravity(
    name: str, rng: np.random.Generator
) -> None:
    model = robots.load(name)
    law = DecoupledVMSController(model)
    q = goal(model, name)
    law.reset(RobotState(q, np.zeros(model.nv)))
    v = np.full(model.nv, np.nan)
    told = law.update(RobotState(q, v), HOLD, 1e-3)
    assert told.status is Status.HOLDING
    assert "not finite" in told.reason
    g = model.evaluate(q, np.zeros(model.nv)).g
    np.testing.assert_allclose(np.concatenate([told.wrench_base, told.torque]), g, atol=1e-12)
    # It goes on from there.
    assert law.update(RobotState(q, np.zeros(model.nv)), HOLD, 1e-3).status is Status.OK


def test_a_reference_that_is_not_finite_or_of_another_shape_is_not_taken(
    rng: np.random.Generator,
) -> None:
    model = robots.load("satellite_panda")
    law = DecoupledVMSController(model)
    state = RobotState(goal(model, "satellite_panda"), np.zeros(model.nv))
    law.reset(state)
    nothing = law.update(state, HOLD, 1e-3)
    wrong = Reference(
        pose=np.full((4, 4), np.nan),
        twist=np.full(6, np.inf),
        joints=np.full(model.n, np.nan),
    )
    of_another_shape = Reference(pose=np.zeros(3), twist=np.ones(3), joints=np.ones(model.n + 1))
    for reference in (wrong, of_another_shape):
        told = law.update(state, reference, 1e-3)
        np.testing.assert_array_equal(told.torque, nothing.torque)
        np.testing.assert_array_equal(told.wrench_base, nothing.wrench_base)


def test_joint_limits_push_back_and_their_energy_is_told() -> None:
    model = robots.load("satellite_panda")
    law = DecoupledVMSController(model)
    q = model.configuration({**robots.get("satellite_panda").home, "panda_joint4": -0.07})
    law.set_minimum(q)
    told = law.update(RobotState(q, np.zeros(model.nv)), HOLD, 1e-3)
    depth = -0.07 - (model.joints.upper[3] - law.gains.limit_margin)
    d = model.evaluate(q, np.zeros(model.nv))
    stiffness = law.gains.limit_frequency**2 * d.M_hat_m[3, 3]
    assert told.torque[3] == pytest.approx(-stiffness * depth)
    expected = 0.5 * stiffness * depth**2
    assert told.energy.shaped_potential == pytest.approx(expected)


def test_rate_and_power_of_the_torques_are_bounded(rng: np.random.Generator) -> None:
    model = without_limits("satellite_panda")
    law = DecoupledVMSController(model)
    law.gains = replace(law.gains, torque_rate=2000.0)
    one = Plant(law, goal(model, "satellite_panda"), np.zeros(model.nv))
    away = np.concatenate([np.zeros(6), 0.5 * rng.uniform(-1, 1, model.n)])
    law.set_minimum(model.integrate(one.q, away))
    last, reasons = None, set()
    for k in range(500):
        if k == 20:  # a gain that jumps makes the torque jump
            law.gains = replace(law.gains, frequency_shape=8.0)
        if k == 40:
            law.gains = replace(law.gains, power=1e-3)
        told = law.update(RobotState(one.q, one.v), HOLD, STEP)
        reasons.add(told.reason.partition(" at")[0])
        if last is not None:
            assert np.abs(told.torque - last).max() <= 2000.0 * STEP * (1 + 1e-9)
        last = told.torque
        one.v = one.v + STEP * one.acceleration(one.q, one.v, told)
        one.q = model.integrate(one.q, STEP * one.v)
    assert reasons >= {"rate of torque", "power"}


def test_a_thousand_hertz_hold_still_comes_back(rng: np.random.Generator) -> None:
    # The command is held for a millisecond, as a digital controller does.
    one = plant("omnidirectional_panda", rng)
    model, dt = one.law.model, 1e-3
    for _ in range(10_000):
        told = one.law.update(RobotState(one.q, one.v), HOLD, dt)
        a = one.acceleration(one.q, one.v, told)
        q, v = model.integrate(one.q, 0.5 * dt * one.v), one.v + 0.5 * dt * a
        one.q = model.integrate(one.q, dt * v)
        one.v = one.v + dt * one.acceleration(q, v, told)
    assert np.abs(model.difference(one.goal, one.q)).max() < 0.01


def test_a_robot_that_it_does_not_serve_is_refused(panda: VMSModel) -> None:
    with pytest.raises(ModelError, match="on a planar or floating base; 'panda' has a fixed one"):
        DecoupledVMSController(panda)
    with pytest.raises(ModelError, match=r"wrenches of 6 components; the planar base .* has 3"):
        DecoupledVMSController(
            robots.load("omnidirectional_panda"), allocation=robots.get("hextilt").allocation()
        )


def test_the_pose_reference_arrives_and_rests() -> None:
    from vms_ph_controllers.references.pose_reference import PoseReference

    reference, target = PoseReference(), SE3().exp(np.array([1.0, -0.5, 0.2, 0.3, 2.0, -0.4]))
    reference.go_to(target)
    for _ in range(20_000):
        reference.advance(None, 0.3, 0.5, 1.5, 1e-3)
        assert np.linalg.norm(reference.twist[:3]) < 0.3 + 1e-9
        assert np.linalg.norm(reference.twist[3:]) < 0.5 + 1e-9
    np.testing.assert_allclose(reference.pose, target, atol=1e-5)


def test_an_empty_tank_lets_the_law_brake_and_no_more(rng: np.random.Generator) -> None:
    # A target far away asks for kilojoules; the tank holds one.
    model = without_limits("satellite_panda")
    law = DecoupledVMSController(model)
    law.gains = replace(law.gains, tank_capacity=50.0, tank_initial=1.0)
    one = Plant(law, model.random_configuration(rng), np.zeros(model.nv))
    law.set_minimum(goal(model, "satellite_panda"))
    granted, most, dt = set(), 0.0, 1e-3
    for _ in range(3000):
        told = law.update(RobotState(one.q, one.v), HOLD, dt)
        granted.add("tank" in told.reason)
        a = one.acceleration(one.q, one.v, told)
        q, v = model.integrate(one.q, 0.5 * dt * one.v), one.v + 0.5 * dt * a
        one.q = model.integrate(one.q, dt * v)
        one.v = one.v + dt * one.acceleration(q, v, told)
        most = max(most, model.evaluate(one.q, one.v).kinetic_energy)
    assert granted == {True, False}
    # What a sample can overdraw: its power grows during the sample by the acceleration.
    assert most < 1.0 * (1 + 0.05)


def test_the_tank_takes_in_what_braking_gives(rng: np.random.Generator) -> None:
    model = without_limits("omnidirectional_panda")
    law = DecoupledVMSController(model)
    law.gains = replace(law.gains, tank_capacity=1e3, tank_initial=1.0)
    one = Plant(law, goal(model, "omnidirectional_panda"), 0.3 * rng.uniform(-1, 1, model.nv))
    law.set_minimum(one.q)
    law.update(RobotState(one.q, one.v), HOLD, 1e-3)
    start, dt = model.evaluate(one.q, one.v).kinetic_energy, 1e-3
    for _ in range(8000):
        told = law.update(RobotState(one.q, one.v), HOLD, dt)
        a = one.acceleration(one.q, one.v, told)
        q, v = model.integrate(one.q, 0.5 * dt * one.v), one.v + 0.5 * dt * a
        one.q = model.integrate(one.q, dt * v)
        one.v = one.v + dt * one.acceleration(q, v, told)
    # The robot is at rest where it began: all of its energy is in the tank.
    assert told.energy.tank_level == pytest.approx(1.0 + start, rel=1e-3)

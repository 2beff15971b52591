# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Impedance of the end effector on every base: energy, stiffness, bases held or let go."""

from dataclasses import replace

import numpy as np
import pinocchio as pin
import pytest

import vms_ph_controllers
from vms_ph_controllers import (
    CartesianImpedance,
    Reference,
    RobotState,
    Status,
    TaskSpaceIDAPBC,
)
from vms_ph_controllers.hosting.loading import make_controller
from vms_ph_controllers.references.pose_reference import PoseReference
from vms_ph_dynamics import ModelError, OptionError, VMSModel
from vms_ph_dynamics.groups import SE3
from vms_ph_io import robots, simulate
from vms_ph_io.descriptions.packages import resolve

HOLD = Reference()
STEP = 2e-3
LONG_STEP = 6e-3  # where only the place at which it comes to rest counts, s
NOW = 1e-9  # time between evaluations of the law at one instant, s
ROBOTS = ("panda", "omnidirectional_panda", "satellite_panda")


class Plant:
    """A robot under the law, by Pinocchio's ABA and the midpoint rule, the law in both stages."""

    def __init__(self, name: str, **gains: float | bool) -> None:
        self.model = robots.load(name)
        self.law = CartesianImpedance(self.model)
        self.law.gains = replace(self.law.gains, **gains)  # type: ignore[arg-type]
        self.q = self.model.configuration(robots.get(name).home)
        self.v = np.zeros(self.model.nv)
        self.law.reset(RobotState(self.q, self.v))
        self.pinocchio = self.model.pinocchio
        self.data = self.pinocchio.createData()

    def acceleration(self, q: np.ndarray, v: np.ndarray, push: np.ndarray | float) -> np.ndarray:
        told = self.law.update(RobotState(q, v), HOLD, NOW)
        self.told = told
        force = np.concatenate([told.wrench_base, told.torque])
        if isinstance(push, np.ndarray):
            d = self.model.evaluate(q, v)
            tool = d.placement(self.model.end_effector)[:3, :3]
            force = force + d.J_end_effector.T @ np.concatenate([push @ tool, np.zeros(3)])
        return np.array(pin.aba(self.pinocchio, self.data, q, v, force))

    def run(
        self, seconds: float, push: np.ndarray | float = 0.0, step: float = STEP
    ) -> list[float]:
        """Advance and return the closed-loop energies on the way."""
        energies = []
        for _ in range(round(seconds / step)):
            a = self.acceleration(self.q, self.v, push)
            energies.append(self.told.energy.closed_loop_energy)
            q = self.model.integrate(self.q, 0.5 * step * self.v)
            v = self.v + 0.5 * step * a
            a = self.acceleration(q, v, push)
            self.q = self.model.integrate(self.q, step * v)
            self.v = self.v + step * a
        return energies

    def stored(self, q: np.ndarray, v: np.ndarray, a: np.ndarray, time: float) -> float:
        """Return the closed-loop energy after a short time, the reference moving on as well."""
        reference = self.law._tool_ref
        home, twist = reference.pose.copy(), reference.twist.copy()
        reference.pose = home @ SE3().exp(time * twist)
        there = self.model.integrate(q, time * v + 0.5 * time**2 * a)
        told = self.law.update(RobotState(there, v + time * a), HOLD, NOW)
        reference.pose, reference.twist = home, twist
        return told.energy.closed_loop_energy

    def tool(self) -> np.ndarray:
        d = self.model.evaluate(self.q, self.v)
        return d.placement(self.model.end_effector)


@pytest.mark.usefixtures("core")
@pytest.mark.parametrize(
    ("name", "relative"),
    [
        *((name, False) for name in ROBOTS),
        *(
            pytest.param(
                name, True, marks=() if name == "omnidirectional_panda" else pytest.mark.slow
            )
            for name in ROBOTS
        ),
    ],
)
def test_the_energy_falls_by_what_damping_takes(
    name: str, relative: bool, rng: np.random.Generator
) -> None:
    one = Plant(name, relative_to_base=relative)
    one.law.reset(RobotState(one.q, one.v))
    one.v = 0.2 * rng.uniform(-1, 1, one.model.nv)
    before = one.law.update(RobotState(one.q, one.v), HOLD, NOW).energy
    assert before.closed_loop_energy == pytest.approx(
        one.model.evaluate(one.q, one.v).kinetic_energy
    )
    energies = np.array(one.run(2.4, step=4e-3))
    assert one.told.status is Status.OK
    # The midpoint rule errs by the third power of its step, of the energy there is.
    assert np.diff(energies).max() < 1e-6 * energies[0]
    assert energies[-1] < 0.2 * energies[0]


@pytest.mark.parametrize("name", ROBOTS)
def test_the_rate_of_the_energy_is_what_the_bookkeeping_says(
    name: str, rng: np.random.Generator
) -> None:
    one = Plant(name)
    target = one.tool() @ SE3().exp(0.05 * rng.uniform(-1, 1, 6))
    for _ in range(10):
        one.law.update(RobotState(one.q, one.v), Reference(pose=target), 0.01)
    for _ in range(10):
        q = one.model.integrate(one.q, 0.05 * rng.uniform(-1, 1, one.model.nv))
        v = 0.2 * rng.uniform(-1, 1, one.model.nv)
        told = one.law.update(RobotState(q, v), HOLD, NOW)
        force = np.concatenate([told.wrench_base, told.torque])
        a = np.array(pin.aba(one.pinocchio, one.data, q, v, force))
        h = 1e-5
        rate = (one.stored(q, v, a, h) - one.stored(q, v, a, -h)) / (2 * h)
        e = told.energy
        said = e.reference_power + e.clipped_power - e.damping_task - e.damping_null
        assert rate == pytest.approx(said, rel=1e-5, abs=1e-6)
        assert min(e.damping_task, e.damping_null) >= -1e-12


@pytest.mark.usefixtures("core")
@pytest.mark.parametrize("name", ROBOTS)
def test_a_steady_push_meets_the_stiffness_that_was_asked_for(name: str) -> None:
    # In the inertial frame with the base free to go: base and joints follow, the tool is held.
    one = Plant(name, hold_base=False, stiffness=300.0)
    start, push = one.tool(), np.array([3.0, -2.0, 1.0])
    one.run(7.5, push, LONG_STEP)
    moved = one.tool()[:3, 3] - start[:3, 3]
    if name == "omnidirectional_panda":
        push = (
            push.copy()
        )  # the wheels carry what is vertical, the arm gives way to it all the same
    np.testing.assert_allclose(moved, push / 300.0, atol=2e-4)


@pytest.mark.usefixtures("core")
def test_a_base_that_is_held_stays_while_the_arm_gives_way() -> None:
    held, free = (Plant("omnidirectional_panda", hold_base=hold) for hold in (True, False))
    ways = []
    for one in (held, free):
        start = one.model.base_pose(one.q)
        one.run(4.0, np.array([0.0, 8.0, 0.0]), LONG_STEP)
        ways.append(np.linalg.norm(one.model.base_pose(one.q)[:3, 3] - start[:3, 3]))
    assert ways[0] < 0.25 * ways[1]


def test_an_end_effector_held_in_the_frame_of_the_base_rides_along() -> None:
    for relative in (True, False):
        one = Plant("omnidirectional_panda", relative_to_base=relative, hold_base=False)
        one.law.reset(RobotState(one.q, one.v))
        start = one.tool()
        one.q = one.model.integrate(one.q, np.concatenate([[0.1, 0.05, 0.2], np.zeros(7)]))
        told = one.law.update(RobotState(one.q, one.v), HOLD, 1e-3)
        away = np.linalg.norm(one.tool()[:3, 3] - start[:3, 3])
        assert away > 0.05
        assert told.task_error == pytest.approx(0.0 if relative else away, abs=1e-12)


@pytest.mark.usefixtures("core")
@pytest.mark.parametrize("name", ["panda", "satellite_panda"])
def test_the_tool_goes_where_it_is_told(name: str) -> None:
    one = Plant(name)
    target = one.tool().copy()
    target[:3, 3] += [0.02, 0.03, -0.02]
    one.law.update(RobotState(one.q, one.v), Reference(pose=target), NOW)
    dt = 4e-3
    for _ in range(1750):
        told = one.law.update(RobotState(one.q, one.v), HOLD, dt)
        force = np.concatenate([told.wrench_base, told.torque])
        a = np.array(pin.aba(one.pinocchio, one.data, one.q, one.v, force))
        one.v = one.v + dt * a
        one.q = one.model.integrate(one.q, dt * one.v)
    np.testing.assert_allclose(one.tool()[:3, 3], target[:3, 3], atol=2e-3)


@pytest.mark.parametrize("name", ROBOTS)
def test_a_wrong_state_gets_the_hold_against_gravity(name: str) -> None:
    one = Plant(name)
    g = one.model.evaluate(one.q, one.v).g
    for state in (RobotState(one.q, np.full(one.model.nv, np.nan)), RobotState(one.q, np.zeros(2))):
        told = one.law.update(state, HOLD, 1e-3)
        assert told.status is Status.HOLDING
        np.testing.assert_allclose(np.concatenate([told.wrench_base, told.torque]), g, atol=1e-12)


def test_a_reference_that_is_not_finite_or_of_another_shape_is_not_taken() -> None:
    one = Plant("panda")
    nothing = one.law.update(RobotState(one.q, np.zeros(7)), HOLD, 1e-3)
    for reference in (
        Reference(pose=np.full((4, 4), np.nan)),
        Reference(pose=np.zeros(3)),
        Reference(position=np.zeros(2)),
        Reference(velocity=np.ones(6)),
    ):
        told = one.law.update(RobotState(one.q, np.zeros(7)), reference, 1e-3)
        np.testing.assert_array_equal(told.torque, nothing.torque)


def test_a_stretched_arm_is_answered_with_finite_efforts(panda: VMSModel) -> None:
    one = Plant("panda")
    singular = np.array([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0])
    told = one.law.update(RobotState(singular, 0.1 * np.ones(7)), HOLD, 1e-3)
    assert told.smallest_singular_value < 1e-6
    assert np.isfinite(told.torque).all()
    assert (np.abs(told.torque) <= panda.joints.effort).all()
    assert told.energy.damping_null >= 0.0


@pytest.mark.usefixtures("core")
def test_an_arm_that_is_pulled_beyond_its_reach_comes_to_rest_without_a_blow() -> None:
    law = CartesianImpedance(robots.load("fr3"))
    law.gains = replace(
        law.gains, stiffness=400.0, stiffness_rotation=20.0, damping_rotation=9.0,
        damping_null=14.0, null_stiffness=10.0, speed=0.4,
    )  # fmt: skip
    far = Reference(position=np.array([0.91, 0.0, 0.59]))
    run = simulate("fr3", law, 3.0, rate=500, reference=far)
    assert np.abs(run.v[-1]).max() < 0.05
    assert np.abs(np.diff(run.torque, axis=0)).max() < 1.0  # N m in a sample


EVERYTHING = {
    "stiffness_share_x": 0.2,
    "stiffness_share_rz": 0.3,
    "damping_share_y": 0.5,
    "null_stiffness": 20.0,
    "friction_compensation": 0.5,
    "force_limit": 2.0,
}


@pytest.mark.parametrize("tool_axes", [False, True])
def test_the_balance_holds_with_axes_posture_friction_and_bounds(
    tool_axes: bool, rng: np.random.Generator
) -> None:
    one = Plant("panda", tool_axes=tool_axes, **EVERYTHING)
    target = one.tool() @ SE3().exp(0.3 * rng.uniform(-1, 1, 6))
    for _ in range(10):
        one.law.update(RobotState(one.q, one.v), Reference(pose=target), 0.01)
    assert np.abs(one.law._tool_ref.twist[3:]).max() > 0.01
    for _ in range(10):
        q = one.model.integrate(one.q, 0.05 * rng.uniform(-1, 1, one.model.nv))
        v = 0.2 * rng.uniform(-1, 1, one.model.nv)
        told = one.law.update(RobotState(q, v), HOLD, NOW)
        a = np.array(pin.aba(one.pinocchio, one.data, q, v, told.torque))
        h = 1e-5
        rate = (one.stored(q, v, a, h) - one.stored(q, v, a, -h)) / (2 * h)
        e = told.energy
        said = e.reference_power + e.clipped_power - e.damping_task - e.damping_null
        assert rate == pytest.approx(said, rel=2e-5, abs=2e-5)


@pytest.mark.usefixtures("core")
@pytest.mark.parametrize("force_limit", [0.0, 20.0])
def test_a_gain_that_changes_supplies_what_the_spring_then_stores(force_limit: float) -> None:
    one = Plant("panda", force_limit=force_limit)
    displaced = one.model.integrate(one.q, 0.05 * np.ones(7))
    state, dt = RobotState(displaced, np.zeros(7)), 1e-3
    before = one.law.update(state, HOLD, dt)
    one.law.gains = replace(one.law.gains, stiffness=2000.0, stiffness_rotation=1.0)
    supplied, largest, torque = 0.0, 0.0, before.torque
    for _ in range(1000):
        told = one.law.update(state, HOLD, dt)
        assert told.energy.reference_power < 4.001  # W, with and without a largest force
        supplied += told.energy.reference_power * dt
        largest = max(largest, float(np.abs(told.torque - torque).max()))
        torque = told.torque
    stored = told.energy.shaped_potential - before.energy.shaped_potential
    assert supplied == pytest.approx(stored, rel=1e-9)
    assert stored > 0.2
    assert largest < 0.5  # N m in a sample: a tenfold stiffness comes into force without a step


@pytest.mark.usefixtures("core")
@pytest.mark.parametrize("stiffness_rotation", [0.0, 10.0])
def test_an_arm_guided_by_hand_is_held_where_it_is_left(stiffness_rotation: float) -> None:
    arm = Plant("panda")
    gains, dt = arm.law.gains, 1e-3
    free_gains = replace(gains, stiffness=0.0, stiffness_rotation=stiffness_rotation)
    start, end = RobotState(arm.q, arm.v), RobotState(arm.q + 0.05, arm.v)
    given_energy = 0.0
    for state, law_gains in ((start, free_gains), (end, free_gains), (end, gains)):
        arm.law.gains = law_gains
        for _ in range(1000):
            command = arm.law.update(state, HOLD, dt)
            given_energy += command.energy.reference_power * dt
    rotation_energy = command.energy.shaped_potential
    assert command.task_error < 1e-12
    weight = arm.model.evaluate(end.q, end.v).g
    if stiffness_rotation == 0.0:
        np.testing.assert_allclose(command.torque, weight, atol=1e-9)
        assert given_energy == pytest.approx(0.0, abs=1e-12)
    else:  # the attitude was held all the time
        assert rotation_energy > 1e-3
    # A target that comes afterwards is approached from there.
    target = arm.tool()[:3, 3]
    arm.law.update(end, Reference(position=target), dt)
    for _ in range(100):
        command = arm.law.update(end, HOLD, dt)
    assert 0.0 < command.task_error < 0.2 * 0.1 + 1e-9


def test_the_posture_does_not_move_the_end_effector_and_is_reached(
    rng: np.random.Generator,
) -> None:
    weights = np.array([1.0, 0.5, 1.0, 0.2, 1.0, 1.0, 0.0])
    one, free = Plant("panda", null_stiffness=30.0), Plant("panda")
    one.law.null_weights = weights
    q = one.model.integrate(one.q, 0.1 * rng.uniform(-1, 1, 7))
    with_it, without = (
        plant.law.update(RobotState(q, np.zeros(7)), HOLD, 0.0).torque for plant in (one, free)
    )
    d = one.model.evaluate(q, np.zeros(7))
    pull = with_it - without
    assert np.abs(pull).max() > 0.02
    accelerated = d.J_end_effector @ np.linalg.solve(d.M, pull)
    np.testing.assert_allclose(accelerated, 0.0, atol=1e-3 * np.abs(pull).max())
    with pytest.raises(ModelError, match="7 numbers in"):
        one.law.null_weights = weights[:3]


def test_the_posture_gives_no_more_than_its_tank_and_the_damping_hold(
    rng: np.random.Generator,
) -> None:
    one = Plant("panda", null_stiffness=60.0, null_energy=0.1, posture_speed=2.0)
    start, given, refilled, moved, dt = one.tool(), 0.0, 0.0, 0.0, 2e-3
    stored = 0.0
    for k in range(350):
        swing = start.copy()
        swing[:3, 3] += [0.1 * np.sin(0.02 * k), 0.1 * np.sin(0.03 * k), 0.0]
        told = one.law.update(RobotState(one.q, one.v), Reference(pose=swing), dt)
        q, pull, damped = one.law._posture_sample
        a = np.array(pin.aba(one.pinocchio, one.data, one.q, one.v, told.torque))
        one.v = one.v + dt * a
        one.q = one.model.integrate(one.q, dt * one.v)
        given += float(pull @ one.model.difference(q, one.q))
        refilled += max(damped, 0.0) * dt
        assert given <= 0.1 + refilled + stored + moved + 0.02


def test_source_d_is_a_preset_with_the_same_torques(rng: np.random.Generator) -> None:
    model = robots.load("panda")
    home = model.configuration(robots.get("panda").home)
    theirs = TaskSpaceIDAPBC(model, gains=TaskSpaceIDAPBC.Gains(limit_stiffness=0.0))
    ours = CartesianImpedance.of_source_d(model)
    assert "no null space of the position alone" in ours.implementation
    singular = np.array([1.686, 0.0, 1.571, -3.072, 0.0, 2.665, -2.897])
    for dt in (0.0, 1e-3, 1e-2):
        for law in (theirs, ours):
            law.reset(RobotState(home, np.zeros(7)))
        for k in range(12):
            q = singular if k == 0 else model.integrate(home, 0.5 * rng.uniform(-1, 1, 7))
            state = RobotState(q, rng.uniform(-1, 1, 7))
            told = [law.update(state, HOLD, dt) for law in (theirs, ours)]
            size = np.abs(told[0].torque).max()
            np.testing.assert_allclose(told[1].torque, told[0].torque, atol=1e-10 * size, rtol=0)
            stored = [c.energy.closed_loop_energy for c in told]
            assert stored[1] == pytest.approx(stored[0], rel=1e-10)


def test_the_earlier_name_says_the_new_one() -> None:
    with pytest.raises(ImportError, match="'EndEffectorImpedance'; use CartesianImpedance"):
        vms_ph_controllers.EndEffectorImpedance  # noqa: B018
    with pytest.raises(OptionError, match="CartesianImpedance"):
        make_controller("EndEffectorImpedance", robots.load("panda"))


def test_friction_is_compensated_less_and_slower_the_longer_an_effort_is_held() -> None:
    model = robots.load("fr3")
    law = CartesianImpedance(model)
    law.gains = replace(law.gains, friction_compensation=0.5)
    q, joints = model.configuration(robots.get("fr3").home), model.joints
    law.reset(RobotState(q, np.zeros(7)))
    d = model.evaluate(q, np.array([0.01, -0.1, 1.0, 0.0, 0.02, -0.03, 0.3]))
    inertia = np.diag(d.M)
    for h, largest in ((0.0, np.full(7, np.inf)), (1e-3, inertia / 4e-3), (4.0, inertia / 16.0)):
        slip = np.maximum(0.05, joints.friction / largest)
        expected = np.minimum(joints.damping, largest) * d.v + joints.friction * np.tanh(d.v / slip)
        np.testing.assert_allclose(law._friction_compensation(d, h), 0.5 * expected, rtol=1e-12)


def test_the_reference_of_the_tool_lags_less_than_its_spring_and_damper() -> None:
    one = Plant("panda", stiffness=300.0, damping=60.0, speed=0.1)
    target = one.tool() @ SE3().exp(np.array([0.0, 0.3, 0.0, 0.0, 0.0, 0.0]))
    one.law.update(RobotState(one.q, one.v), Reference(pose=target), 1e-3)
    # To 0.1 m/s at twice the rate 2.2 k / d = 11 1/s.
    assert np.linalg.norm(one.law._tool_ref.acceleration[:3]) == pytest.approx(2.2)
    path = PoseReference()
    for k in range(2000):  # a target at 0.1 m/s
        place = np.eye(4)
        place[0, 3] = 1e-4 * k
        path.go_to(place)
        path.advance(None, 1.0, 1.0, 11.0, 1e-3)
        assert path.twist[0] <= 0.1 + 1e-9  # no overshoot of the speed
    assert place[0, 3] - path.pose[0, 3] == pytest.approx(0.1 * 0.9 * 60.0 / 300.0, rel=0.02)


def test_a_posture_half_a_turn_away_is_held_by_continuous_joints_as_by_others() -> None:
    text = resolve("package://vms_ph/urdf/gen3.urdf").read_text()
    torques = []
    for kind in ("revolute", "continuous"):
        urdf = text.replace('name="joint_3" type="revolute"', f'name="joint_3" type="{kind}"')
        model = VMSModel.from_urdf(urdf)
        law = CartesianImpedance(model, CartesianImpedance.Gains(null_stiffness=10.0))
        law.reset(RobotState(model.configuration({"joint_3": 3.1}), np.zeros(model.nv)))
        q = model.configuration({"joint_3": 3.2})  # -3.08 of a continuous joint
        told = law.update(RobotState(q, np.zeros(model.nv)), HOLD, 1e-3)
        torques.append(told.torque - model.evaluate(q, np.zeros(model.nv)).g)
    assert abs(torques[0][2]) > 0.5
    np.testing.assert_allclose(torques[1], torques[0], atol=1e-9)

# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Resolved motion of a free-floating robot: base held by the joints, tool at its reference."""

from dataclasses import replace

import numpy as np
import pytest

from vms_ph_controllers import Reference, ResolvedMotion, RobotState, Status
from vms_ph_dynamics import Array, DecoupledForm, ModelError, VMSModel
from vms_ph_dynamics.groups import SO3
from vms_ph_dynamics.simulation import Simulation
from vms_ph_io import robots

_SO3 = SO3()


@pytest.fixture(scope="module")
def light() -> VMSModel:
    return robots.load("satellite_panda", bus_mass="60", bus_ixx="3", bus_iyy="2.5", bus_izz="3.5")


@pytest.fixture(scope="module")
def home(light: VMSModel) -> Array:
    return light.configuration(robots.get("satellite_panda").home)


def _wanted_acceleration(model: VMSModel, q: Array, v: Array, torque: Array) -> Array:
    """Return the joint accelerations under torques, by solving for all accelerations."""
    d = model.evaluate(q, v)
    force = np.concatenate([np.zeros(6), torque])
    return np.linalg.solve(d.M, force - d.C @ v)[6:]


def test_torques_give_the_joints_the_rates_that_the_law_wants(light: VMSModel, home: Array) -> None:
    law = ResolvedMotion(light)
    law.reset(RobotState(home, np.zeros(light.nv)))
    rng = np.random.default_rng(5)
    v = 0.05 * rng.normal(size=light.nv)
    command = law.update(RobotState(home, v), Reference(), 0.0)
    assert command.status == Status.OK, command.reason
    assert not command.wrench_base.any()
    reached = _wanted_acceleration(light, home, v, command.torque)
    rates = v[6:] + reached / law.gains.bandwidth_rates
    # With these rates the base stops turning, whatever the momentum.
    d = light.evaluate(home, v)
    assert np.abs(d.v_hat[3:] - d.A[3:] @ rates).max() < 1e-9


def test_the_tool_is_to_move_straight_to_its_goal(light: VMSModel, home: Array) -> None:
    rest, way = np.zeros(light.nv), np.array([0.02, -0.01, 0.015])
    q = light.integrate(home, np.linspace(0.5, -0.5, light.nv))
    law = ResolvedMotion(light, ResolvedMotion.Gains(hold_attitude=False))
    law.reset(RobotState(q, rest))
    d = light.evaluate(q, rest)
    start = d.placement(light.end_effector)
    goal = Reference(position=start[:3, 3] + way)
    for _ in range(10):
        command = law.update(RobotState(q, rest), goal, 0.01)
    rates = _wanted_acceleration(light, q, rest, command.torque) / law.gains.bandwidth_rates
    twist = d.J_end_effector @ np.concatenate([-d.A @ rates, rates])
    velocity = start[:3, :3] @ twist[:3]
    assert velocity @ way > 0.0
    np.testing.assert_allclose(
        velocity / np.linalg.norm(velocity), way / np.linalg.norm(way), atol=1e-6
    )
    generalised = d.J_end_effector[:, 6:] - d.J_end_effector[:, :6] @ d.A
    least = np.linalg.svd(generalised, compute_uv=False)[-1]
    assert command.smallest_singular_value == pytest.approx(least, rel=1e-9)


def test_with_late_states_the_tool_approaches_its_goal_without_overshoot(
    light: VMSModel, home: Array
) -> None:
    # The error e of a speed k e that comes T late crosses zero for k T > 1 / e only.
    age, rest = 0.1, np.zeros(light.nv)
    gains = ResolvedMotion.Gains(bandwidth=10.0, bandwidth_rates=100.0, hold_attitude=False)
    law = ResolvedMotion(light, gains)
    law.reset(RobotState(home, rest))
    goal = light.evaluate(home, rest).placement(light.end_effector)[:3, 3]
    q = light.integrate(home, np.linspace(0.01, -0.01, light.nv))
    d = light.evaluate(q, rest)
    error = goal - d.placement(light.end_effector)[:3, 3]
    moving = np.full(light.n, 0.01)
    accelerations = []
    for v in (rest, np.concatenate([-d.A @ moving, moving])):  # of a robot without momentum
        command = law.update(RobotState(q, v, age), Reference(), 0.0)
        accelerations.append(_wanted_acceleration(light, q, v, command.torque))
    bandwidth_rates = (accelerations[0] - accelerations[1]) @ moving / (moving @ moving)
    rates = accelerations[0] / bandwidth_rates
    twist = d.J_end_effector @ np.concatenate([-d.A @ rates, rates])
    velocity = d.placement(light.end_effector)[:3, :3] @ twist[:3]
    assert 0.5 / np.e < velocity @ error / (error @ error) * age < 1.0 / np.e


@pytest.mark.usefixtures("core")
def test_joint_rates_stay_within_their_bound_where_the_task_allows(
    light: VMSModel, home: Array
) -> None:
    law = ResolvedMotion(light, ResolvedMotion.Gains(joint_speed=0.05, speed=2.0))
    law.reset(RobotState(home, np.zeros(light.nv)))
    far = light.evaluate(home, np.zeros(light.nv)).placement(light.end_effector)[:3, 3] + 1.0
    fastest = 0.0

    def control(q: Array, v: Array, dt: float) -> object:
        nonlocal fastest
        fastest = max(fastest, float(np.abs(v[6:]).max()))
        return law.update(RobotState(q, v), Reference(position=far), dt)

    Simulation(DecoupledForm(light), home, 0.005, control).advance(120)  # type: ignore[arg-type]
    assert 0.01 < fastest < 0.06


def test_a_joint_beyond_its_limit_is_pushed_back(light: VMSModel, home: Array) -> None:
    q = home.copy()
    q[7 + 3] = light.joints.upper[3] + 0.01
    law = ResolvedMotion(light)
    law.reset(RobotState(q, np.zeros(light.nv)))
    torque = law.update(RobotState(q, np.zeros(light.nv)), Reference(), 0.001).torque
    assert _wanted_acceleration(light, q, np.zeros(light.nv), torque)[3] < -1.0


@pytest.mark.usefixtures("core")
@pytest.mark.parametrize("hold", [True, False])
def test_tool_of_a_moving_satellite_comes_to_its_reference(
    light: VMSModel, home: Array, hold: bool
) -> None:
    gains = ResolvedMotion.Gains(hold_attitude=hold, bandwidth=3.0, speed=0.5)
    law = ResolvedMotion(light, gains)
    drift = np.zeros(light.nv)
    drift[:3] = [0.002, -0.001, 0.001]
    law.reset(RobotState(home, drift))
    tool = light.evaluate(home, drift).placement(light.end_effector)
    target = tool[:3, 3] + [0.0, 0.02, -0.03]
    start = light.base_pose(home)[:3, :3]

    def control(q: Array, v: Array, dt: float) -> object:
        return law.update(RobotState(q, v), Reference(position=target), dt)

    simulation = Simulation(
        DecoupledForm(light),
        home,
        0.01,
        control,
        start_velocity=drift,  # type: ignore[arg-type]
    )
    simulation.advance(300)
    end = simulation.sample()
    reached = light.evaluate(end.q, end.v).placement(light.end_effector)[:3, 3]
    assert np.linalg.norm(reached - target) < 2e-3
    turned = float(np.linalg.norm(_SO3.log(start.T @ light.base_pose(end.q)[:3, :3])))
    assert turned < 1e-4 if hold else turned > 1e-4


def test_states_that_cannot_be_used_give_the_safe_output(light: VMSModel, home: Array) -> None:
    law = ResolvedMotion(light)
    law.reset(RobotState(home, np.zeros(light.nv)))
    broken = np.full(light.nv, np.nan)
    command = law.update(RobotState(home, broken), Reference(), 0.001)
    assert command.status == Status.HOLDING
    assert not command.torque.any()
    huge = Reference(pose=np.full((4, 4), np.inf), velocity=np.full(3, np.nan))
    assert law.update(RobotState(home, np.zeros(light.nv)), huge, 0.001).status == Status.OK
    assert not replace(law.gains, hold_attitude=False).hold_attitude


def test_robots_that_do_not_float_in_space_are_refused() -> None:
    with pytest.raises(ModelError, match="fixed base"):
        ResolvedMotion(robots.load("panda"))
    with pytest.raises(ModelError, match="fluid"):
        ResolvedMotion(robots.load("bluerov2_alpha5"))

# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Flight on thrust along one axis: objective, upside down, sampling, and the energy of the law."""

import numpy as np
import pinocchio as pin
import pytest

from vms_ph_controllers import Reference, RobotState, Status, UnderactuatedFlight
from vms_ph_controllers.laws.underactuated_flight import ThrustDirection, single_axis
from vms_ph_dynamics import Allocation, ModelError, Ports, StandardForm, VMSModel
from vms_ph_dynamics.simulation import Simulation
from vms_ph_io import robots


@pytest.fixture(scope="module")
def borinot() -> VMSModel:
    return robots.load("borinot")


def turned(model: VMSModel, roll: float) -> np.ndarray:
    q = model.neutral_configuration()
    q[3:7] = pin.Quaternion(pin.rpy.rpyToMatrix(roll, 0.0, 0.0)).coeffs()
    return q


def flown(
    model: VMSModel, start: np.ndarray, dt: float, seconds: float, **gains: float
) -> tuple[Simulation, list]:
    """Fly half a metre sideways with the arm swinging; return the simulation and the commands."""
    actuators = robots.get("borinot").own_actuators()
    law = UnderactuatedFlight(model, UnderactuatedFlight.Gains(**gains), actuators.allocation)
    law.reset(RobotState(start, np.zeros(model.nv)))
    goal = np.eye(4)
    goal[:3, 3] = [0.5, -0.3, 0.2]
    goal[:3, :3] = pin.rpy.rpyToMatrix(0.0, 0.0, 0.5)
    commands: list = []

    def control(q: np.ndarray, v: np.ndarray, step: float) -> object:
        arm = 0.5 * np.sin(1.5 * len(commands) * dt) * np.array([1.0, -1.0])
        commands.append(law.update(RobotState(q, v), Reference(pose=goal, joints=arm), step))
        return commands[-1]

    simulation = Simulation(StandardForm(model), start, dt, control, actuators=actuators)
    simulation.advance(round(seconds / dt))
    return simulation, commands


@pytest.mark.usefixtures("core")
@pytest.mark.parametrize(("dt", "roll"), [(0.02, 0.0), (0.02, np.pi)])
def test_the_robot_flies_to_its_goal_while_the_arm_swings(
    borinot: VMSModel, dt: float, roll: float
) -> None:
    simulation, commands = flown(borinot, turned(borinot, roll), dt, 6.0)
    sample = simulation.sample()
    pose = borinot.base_pose(sample.q)
    np.testing.assert_allclose(pose[:3, 3], [0.5, -0.3, 0.2], atol=0.06)
    assert pose[2, 2] > np.cos(np.radians(2.0))
    assert np.arctan2(pose[1, 0], pose[0, 0]) == pytest.approx(0.5, abs=0.08)
    inputs = simulation.actuation.step_efforts.inputs
    assert (inputs <= simulation.actuation.actuators.upper).all()
    assert abs(simulation.exergy_map().residual) < 1e-10 * simulation.actuation.electric_energy
    # Upside down it says what it does, once it is upright again it does not.
    assert ("turning over" in commands[1].reason) == (roll > 1.0)
    assert "turning over" not in commands[-1].reason
    assert commands[-1].status in (Status.OK, Status.SATURATED)


@pytest.mark.usefixtures("core")
def test_with_a_tank_it_flies_and_the_tank_never_owes(borinot: VMSModel) -> None:
    simulation, commands = flown(
        borinot, turned(borinot, 0.3), 0.02, 5.0, tank_capacity=20.0, tank_initial=10.0
    )
    pose = borinot.base_pose(simulation.sample().q)
    np.testing.assert_allclose(pose[:3, 3], [0.5, -0.3, 0.2], atol=0.08)
    assert min(command.energy.tank_level for command in commands) >= -1e-9


def test_the_storage_function_falls_by_the_recorded_powers(
    borinot: VMSModel, rng: np.random.Generator
) -> None:
    # With the position free the wanted attitude rests, and the balance is exact.
    allocation = robots.get("borinot").own_actuators().allocation
    gains = UnderactuatedFlight.Gains(frequency_position=0.0, frequency_attitude=2.0)
    law = UnderactuatedFlight(borinot, gains, allocation)
    form, step = StandardForm(borinot), 1e-5
    for _ in range(5):
        q = turned(borinot, 0.0)
        law.reset(RobotState(q, np.zeros(borinot.nv)))
        q = borinot.integrate(q, 0.3 * rng.normal(size=borinot.nv))
        v = 0.4 * rng.normal(size=borinot.nv)
        now = law.update(RobotState(q, v), Reference(), 0.0)
        assert not now.reason
        # The state a moment before and after, under the efforts of this state.
        rate = form.rate(form.state(q, v), Ports(now.torque, now.wrench_base))
        energies = []
        for sign in (-1.0, 1.0):
            x = form.state(borinot.integrate(q, sign * step * v), v)
            moved = type(x)(x.q, form.state(q, v).z + sign * step * rate.zdot)
            there = law.update(RobotState(moved.q, form.velocity(moved)), Reference(), 0.0)
            energies.append(there.energy.closed_loop_energy)
        found = (energies[1] - energies[0]) / (2.0 * step)
        e = now.energy
        recorded = e.clipped_power - e.damping_base - e.damping_shape
        assert found == pytest.approx(recorded, rel=1e-5, abs=1e-7)


def test_attitudes_thrust_along_the_force_in_every_direction(rng: np.random.Generator) -> None:
    for axis in (np.array([0.0, 0.0, 1.0]), np.array([1.0, 0.0, 0.0])):
        direction = ThrustDirection(axis)
        for _ in range(20):
            force, heading = rng.normal(size=3), pin.exp3(rng.normal(size=3))
            attitude = direction.attitude(force, heading)
            np.testing.assert_allclose(attitude.T @ attitude, np.eye(3), atol=1e-12)
            assert np.linalg.det(attitude) == pytest.approx(1.0)
            np.testing.assert_allclose(attitude @ axis, force / np.linalg.norm(force), atol=1e-12)
    up = np.array([0.0, 0.0, 1.0])
    for _ in range(20):
        bounded = direction.in_cone(20.0 * rng.normal(size=3), up, 9.81, 0.5)
        assert bounded[2] >= 0.3 * 9.81 * (1 - 1e-12)
        assert np.hypot(*bounded[:2]) <= bounded[2] * np.tan(0.5) * (1 + 1e-12)


def test_a_reference_turns_about_the_vertical_alone_also_where_thrusts_are_along_the_nose(
    borinot: VMSModel,
) -> None:
    own = robots.get("borinot").own_actuators().allocation
    to_nose = pin.rpy.rpyToMatrix(0.0, np.pi / 2, 0.0)
    law = UnderactuatedFlight(
        borinot,
        allocation=Allocation.of_matrix(
            np.kron(np.eye(2), to_nose) @ own.matrix, own.lower, own.upper
        ),
    )
    q = borinot.neutral_configuration()
    q[3:7] = pin.Quaternion(to_nose.T).coeffs()
    state = RobotState(q, np.zeros(borinot.nv))
    law.reset(state)
    twist = np.array([0.3, 0.2, -0.1, 0.2, -0.1, 0.15])
    for _ in range(3):
        law.update(state, Reference(pose=borinot.base_pose(q), twist=twist), 0.02)
    level, base = law._base_ref.pose[:3, :3], law._base_ref
    turn = level @ base.twist[3:]
    assert turn[2] > 0.01
    np.testing.assert_allclose(turn[:2], 0.0, atol=1e-12)
    # Thrust is along what the motion of the reference needs, and its heading is followed.
    gains = UnderactuatedFlight.Gains(frequency_position=0.0)
    tilted = borinot.integrate(q, np.array([0.0, 0.0, 0.0, 0.3, -0.2, 0.4, *np.zeros(borinot.n)]))
    wanted = law._base_demand(borinot.evaluate(tilted, state.v), gains, 0.0)
    needed = level @ base.acceleration[:3] + np.cross(turn, level @ base.twist[:3]) + [0, 0, 9.81]
    along = wanted.attitude @ to_nose[:, 2]
    np.testing.assert_allclose(np.cross(along, needed), 0.0, atol=1e-9)
    np.testing.assert_allclose(wanted.rotation @ wanted.desired_omega, turn, atol=1e-3)


def test_thrust_is_along_the_rotors_in_every_unit_of_the_inputs() -> None:
    own = robots.get("borinot").own_actuators().allocation
    axis, least, most = single_axis(own, "borinot")
    np.testing.assert_allclose(axis, [0.0, 0.0, 1.0], atol=1e-12)
    assert (least, most) == pytest.approx((own.lower.sum(), own.upper.sum()))
    for side in (1.0, -1.0):  # the sign of a singular vector is any
        matrix, bounds = side * 1e-3 * own.matrix, (1e3 * own.lower, 1e3 * own.upper)
        again = single_axis(Allocation.of_matrix(matrix, *bounds), "borinot")
        np.testing.assert_allclose(again[0], side * axis, atol=1e-12)
        assert again[1:] == pytest.approx((least, most))


def test_robots_that_the_law_is_not_for_are_told_what_to_do(borinot: VMSModel) -> None:
    with pytest.raises(ModelError, match="push along several axes or none"):
        UnderactuatedFlight(robots.load("hextilt"), allocation=robots.get("hextilt").allocation())
    with pytest.raises(ModelError, match="give their allocation, as actuators:=own does"):
        UnderactuatedFlight(borinot)
    with pytest.raises(ModelError, match="the base of 'panda' is fixed"):
        UnderactuatedFlight(robots.load("panda"))
    # Rotors on a line cannot turn it about that line, nor do they if half a micrometre is missing.
    for aside in (0.0, 5e-7):
        arms, spin = [0.2, 0.1, -0.1, -0.2], [0.01, -0.01, 0.01, -0.01]
        rows = np.zeros(4), np.zeros(4), np.ones(4), aside * np.array([1, -1, -1, 1]), arms, spin
        line = Allocation.of_matrix(np.array(rows), np.zeros(4), np.ones(4))
        with pytest.raises(ModelError, match="'line' cannot turn it about all axes"):
            single_axis(line, "line")

# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""What the decoupled law sends to base and joints: actuators, limits, safe output."""

from dataclasses import replace

import numpy as np
import pinocchio as pin
import pytest

from vms_ph_controllers import DecoupledVMSController, RobotState, Status
from vms_ph_dynamics import Allocation, Rotor
from vms_ph_io import robots

from ..support.decoupled_plants import HOLD, ROBOTS, STEP, Plant, goal, without_limits


def test_what_clipping_changes_is_accounted(rng: np.random.Generator) -> None:
    model = robots.load("hextilt")
    law = DecoupledVMSController(model, allocation=robots.get("hextilt").allocation())
    rest = goal(model, "hextilt")
    law.set_minimum(rest)
    saturated = 0
    for _ in range(60):
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
    assert saturated > 10


def test_a_hexarotor_is_asked_for_no_wrench_beyond_its_rotors(rng: np.random.Generator) -> None:
    model = robots.load("hextilt")
    allocation = robots.get("hextilt").allocation()
    assert allocation is not None
    law = DecoupledVMSController(model, allocation=allocation)
    law.set_minimum(goal(model, "hextilt"))
    for _ in range(100):
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


@pytest.mark.usefixtures("core")
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
    law.gains = replace(law.gains, torque_rate=2000.0, power=1.0)
    one = Plant(law, goal(model, "satellite_panda"), np.zeros(model.nv))
    away = np.concatenate([np.zeros(6), 0.5 * rng.uniform(-1, 1, model.n)])
    law.set_minimum(model.integrate(one.q, away))
    last, reasons = None, set()
    for k in range(500):
        if k == 20:  # an impact makes the torque of the damping jump
            one.v = one.v + 2.0
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

# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""A law that holds a payload which it learns of as it goes."""

import numpy as np
import pytest

from vms_ph_controllers import (
    CartesianImpedance,
    Reference,
    RobotState,
    Status,
    TaskSpaceIDAPBC,
)
from vms_ph_controllers.laws.payload_compensation import PayloadCompensation
from vms_ph_controllers.observers import ImpulseBalance, NoiseModel, Payload, PayloadObserver
from vms_ph_dynamics import Allocation, VMSModel
from vms_ph_io import robots

from ..observers.test_payload_observer import CENTRE, loaded
from ..support.observed_robots import measured, samples
from ..support.tank_runs import Plant


def _at(model: VMSModel, q: np.ndarray) -> np.ndarray:
    return model.evaluate(q, np.zeros(model.nv)).placement(model.end_effector)[:3, 3]


@pytest.mark.usefixtures("core")
def test_an_arm_that_a_kilogram_pulls_down_returns_once_the_payload_is_known() -> None:
    model = robots.load("panda")
    heavy, _ = loaded(model, 1.0)
    q, dt, rng = model.configuration(robots.get("panda").home), 5e-3, np.random.default_rng(0)
    noise = NoiseModel()
    balance = ImpulseBalance(model, noise)
    observer, law = PayloadObserver(balance), PayloadCompensation(CartesianImpedance(model))
    law.reset(RobotState(q, np.zeros(7)))
    start, sag = _at(model, q), []

    def effort(t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        return law.update(RobotState(q, v), Reference(), dt).torque

    none = np.zeros(7)
    for moment in samples(heavy, q, effort, lambda t, q, v: none, dt, 480, fine=1):
        impulse = balance.add(*measured(model, noise, moment, rng), dt)
        if impulse is not None:
            law.carry(observer.add(impulse))
        sag.append(float(start[2] - _at(model, moment.q)[2]))
    assert max(sag) > 0.01
    assert abs(sag[-1]) < 0.2 * max(sag)
    assert law.mass == pytest.approx(1.0, abs=0.05)


def test_a_payload_that_is_hardly_known_is_not_compensated_and_changes_are_slow() -> None:
    model = robots.load("panda")
    state = RobotState(model.configuration(robots.get("panda").home), np.zeros(7))
    law = PayloadCompensation(CartesianImpedance(model), rate=2.0)
    law.reset(state)
    rest = law.update(state, Reference(), 1e-3).torque
    covariance = np.diag([0.09, 1e-4, 1e-4, 1e-4])
    assert not law.carry(Payload(1.0, np.zeros(3), covariance, False))
    np.testing.assert_array_equal(law.update(state, Reference(), 1e-3).torque, rest)
    assert not law.carry(Payload(1.0, np.zeros(3), 0.01 * covariance, False))
    law.update(state, Reference(), 1e-2)
    assert law.mass == pytest.approx(0.02)
    for _ in range(100):
        command = law.update(state, Reference(), 1e-2)
    d = model.evaluate(state.q, state.v)
    up = d.placement(model.end_effector)[:3, :3].T @ np.array([0.0, 0.0, 9.81])
    np.testing.assert_allclose(command.torque - rest, d.J_end_effector[:3].T @ up, atol=1e-9)
    np.testing.assert_allclose(law.safe_output(state.q).torque, command.torque, atol=1e-9)


def test_the_gains_are_those_of_the_law() -> None:
    law = PayloadCompensation(CartesianImpedance(robots.load("panda")))
    law.gains = law.Gains(stiffness=123.0)
    assert law.law.gains.stiffness == 123.0


def _known(mass: float, centre: np.ndarray) -> Payload:
    return Payload(mass, mass * centre, np.diag([1e-8, 0.0, 0.0, 0.0]), False)


def test_what_this_robot_cannot_hold_is_refused_with_the_reason() -> None:
    model = robots.load("panda")
    state = RobotState(model.configuration(robots.get("panda").home), np.zeros(7))
    law = PayloadCompensation(CartesianImpedance(model))
    law.reset(state)
    rest = law.update(state, Reference(), 1e-3).torque
    far, none = np.array([0.0, 0.0, 1e30]), np.zeros(3)
    for mass, centre in ((1.0, far), (1.0, none + np.nan), (50.0, none), (np.nan, none)):
        assert "holds at most 16.82 kg" in law.carry(_known(mass, centre))
        np.testing.assert_array_equal(law.update(state, Reference(), 1e-3).torque, rest)
    assert not law.carry(_known(3.0, np.array([0.0, 0.0, 0.1])))
    assert not law.carry(None)


def test_the_weight_passes_the_limits_of_the_law_and_says_so() -> None:
    known = robots.get("hextilt")
    model, given = known.load(), known.allocation()
    assert given is not None
    hover = given.thrusts(np.array([0.0, 0.0, 9.81 * model.total_mass, 0.0, 0.0, 0.0]))
    strength = np.full(hover.size, 1.5 * hover.max())
    rotors = Allocation.of_matrix(given.matrix, given.lower, strength)
    law = PayloadCompensation(CartesianImpedance(model, allocation=rotors), rate=50.0)
    state = RobotState(model.configuration(known.home), np.zeros(model.nv))
    law.reset(state)
    mass = 0.99 * model.total_mass
    assert not law.carry(_known(mass, np.zeros(3)))
    for _ in range(100):
        command = law.update(state, Reference(), 4e-3)
    assert law.mass == pytest.approx(mass)
    for output in (command, law.safe_output(state.q)):
        inputs = rotors.thrusts(output.wrench_base)
        assert (inputs < rotors.upper + 1e-6).all()
        assert (inputs > rotors.lower - 1e-6).all()
    assert command.status is Status.SATURATED
    assert "gravity" in command.reason


@pytest.mark.parametrize("law", [CartesianImpedance, TaskSpaceIDAPBC])
def test_a_payload_that_moves_in_the_hand_is_followed_without_jumps(law: type) -> None:
    model = robots.load("panda")
    state = RobotState(model.configuration(robots.get("panda").home), np.zeros(7))
    wrapped = PayloadCompensation(law(model), rate=2.0)
    wrapped.reset(state)
    torques = []
    for centre in (0.0, 0.3):
        wrapped.carry(_known(1.0, np.array([centre, 0.0, 0.1])))
        for _ in range(100):
            torques.append(wrapped.update(state, Reference(), 1e-2).torque)
    # 2 kg/s at a metre, and 0.6 kg m/s.
    assert np.abs(np.diff(torques, axis=0)).max() < 9.81 * (2.0 + 0.6) * 1e-2
    assert np.abs(torques[-1] - torques[99]).max() > 1.0


@pytest.mark.usefixtures("core")
@pytest.mark.parametrize("initial", [0.0, 0.05])
@pytest.mark.parametrize("law", [CartesianImpedance, TaskSpaceIDAPBC])
def test_the_weight_of_a_payload_is_no_energy_from_the_tank(law: type, initial: float) -> None:
    model, dt, none = robots.load("panda"), 5e-3, np.zeros(7)
    q = model.configuration(robots.get("panda").home)
    carrying = PayloadCompensation(law(model), rate=1e3)
    carrying.gains = carrying.Gains(tank_capacity=5.0, tank_initial=initial)
    carrying.reset(RobotState(q, none))
    assert not carrying.carry(_known(1.0, CENTRE))
    for step in (dt, 0.0):  # it is held when the motion begins
        carrying.update(RobotState(q, none), Reference(), step)
    plant, goal = Plant(loaded(model, 1.0)[0], q, none), _at(model, q) + np.array([0.1, 0.1, 0.2])
    most, work = 0.0, 0.0
    for _ in range(120):
        before = plant.given
        torque = carrying.update(RobotState(plant.q, plant.v), Reference(position=goal), dt).torque
        plant.hold(torque, none, dt, none)
        most, work = max(most, plant.most), max(work, plant.given - before)
    # A sample is predicted without the inertia of the payload, and counted as it was.
    assert most <= initial + work + 1e-12
    assert work < 0.2 * initial + 1e-12
    if initial:
        assert most > 0.5 * initial

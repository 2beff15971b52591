# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""A law that holds a payload which it learns of as it goes."""

import numpy as np
import pytest

from vms_ph_controllers import EndEffectorImpedance, Reference, RobotState
from vms_ph_controllers.laws.payload_compensation import PayloadCompensation
from vms_ph_controllers.observers import ImpulseBalance, NoiseModel, Payload, PayloadObserver
from vms_ph_dynamics import VMSModel
from vms_ph_io import robots

from ..observers.test_payload_observer import loaded
from ..support.observed_robots import measured, samples


def _at(model: VMSModel, q: np.ndarray) -> np.ndarray:
    return model.evaluate(q, np.zeros(model.nv)).placement(model.end_effector)[:3, 3]


def test_an_arm_that_a_kilogram_pulls_down_returns_once_the_payload_is_known() -> None:
    model = robots.load("panda")
    heavy, _ = loaded(model, 1.0)
    q, dt, rng = model.configuration(robots.get("panda").home), 5e-3, np.random.default_rng(0)
    noise = NoiseModel()
    balance = ImpulseBalance(model, noise)
    observer, law = PayloadObserver(balance), PayloadCompensation(EndEffectorImpedance(model))
    law.reset(RobotState(q, np.zeros(7)))
    start, sag = _at(model, q), []

    def effort(t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        return law.update(RobotState(q, v), Reference(), dt).torque

    none = np.zeros(7)
    for moment in samples(heavy, q, effort, lambda t, q, v: none, dt, 480, fine=1):
        impulse = balance.add(*measured(model, noise, moment, rng), dt)
        if impulse is not None:
            law.payload = observer.add(impulse)
        sag.append(float(start[2] - _at(model, moment.q)[2]))
    assert max(sag) > 0.01
    assert abs(sag[-1]) < 0.2 * max(sag)
    assert law.mass == pytest.approx(1.0, abs=0.05)


def test_a_payload_that_is_hardly_known_is_not_compensated_and_changes_are_slow() -> None:
    model = robots.load("panda")
    state = RobotState(model.configuration(robots.get("panda").home), np.zeros(7))
    law = PayloadCompensation(EndEffectorImpedance(model), rate=2.0)
    law.reset(state)
    rest = law.update(state, Reference(), 1e-3).torque
    covariance = np.diag([0.09, 1e-4, 1e-4, 1e-4])
    law.payload = Payload(1.0, np.zeros(3), covariance, False)
    np.testing.assert_array_equal(law.update(state, Reference(), 1e-3).torque, rest)
    law.payload = Payload(1.0, np.zeros(3), 0.01 * covariance, False)
    law.update(state, Reference(), 1e-2)
    assert law.mass == pytest.approx(0.02)
    for _ in range(100):
        command = law.update(state, Reference(), 1e-2)
    d = model.evaluate(state.q, state.v)
    up = d.placement(model.end_effector)[:3, :3].T @ np.array([0.0, 0.0, 9.81])
    np.testing.assert_allclose(command.torque - rest, d.J_end_effector[:3].T @ up, atol=1e-9)
    np.testing.assert_allclose(law.safe_output(state.q).torque, command.torque, atol=1e-9)


def test_the_gains_are_those_of_the_law() -> None:
    law = PayloadCompensation(EndEffectorImpedance(robots.load("panda")))
    law.gains = law.Gains(stiffness=123.0)
    assert law.law.gains.stiffness == 123.0

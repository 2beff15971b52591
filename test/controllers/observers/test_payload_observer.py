# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Payloads at the end effector."""

import numpy as np
import pinocchio as pin
import pytest

from vms_ph_controllers import RobotState
from vms_ph_controllers.observers import ImpulseBalance, NoiseModel, Payload, PayloadObserver
from vms_ph_controllers.observers.payload_observer import payload_regressor
from vms_ph_dynamics import VMSModel
from vms_ph_io import robots

from ..support.observed_robots import holding, measured, moving_arm, samples

CENTRE = np.array([0.03, -0.02, 0.06])


def loaded(model: VMSModel, mass: float) -> tuple[VMSModel, np.ndarray]:
    """Return the robot with a payload, and the payload's ten parameters."""
    robot = model.pinocchio
    frame = robot.frames[model.end_effector_id]
    body = pin.Inertia(mass, CENTRE, 0.003 * mass * np.eye(3))
    robot.inertias[frame.parentJoint] += frame.placement.act(body)
    return VMSModel.from_pinocchio(robot, model.end_effector), body.toDynamicParameters()


@pytest.mark.parametrize("name", ["panda", "omnidirectional_panda", "hextilt"])
def test_the_regressor_is_what_a_payload_changes_of_momentum_and_its_rate(name: str) -> None:
    model, rng = robots.load(name), np.random.default_rng(4)
    heavy, parameters = loaded(model, 1.3)
    q, v = model.random_configuration(rng), rng.normal(size=model.nv)
    light, full = model.evaluate(q, v), heavy.evaluate(q, v)
    momentum, rate = payload_regressor(light)
    np.testing.assert_allclose(momentum @ parameters, full.momentum - light.momentum, atol=1e-12)
    expected = full.C.T @ v - full.g - (light.C.T @ v - light.g)
    np.testing.assert_allclose(rate @ parameters, expected, atol=1e-12)


@pytest.mark.usefixtures("core")
@pytest.mark.parametrize(("moving", "seed"), [(False, 0), (True, 1)])
def test_a_kilogram_is_known_within_three_percent_after_two_seconds(
    moving: bool, seed: int
) -> None:
    model = robots.load("panda")
    heavy, _ = loaded(model, 1.0)
    q, rng, dt = model.configuration(robots.get("panda").home), np.random.default_rng(seed), 5e-3
    noise = NoiseModel()
    offsets = noise.torque_error * rng.normal(size=7)
    balance = ImpulseBalance(model, noise)
    observer = PayloadObserver(balance)
    effort = moving_arm(model, q) if moving else holding(model, q)
    for moment in samples(heavy, q, effort, lambda t, q, v: offsets, dt, round(2.0 / dt), fine=1):
        impulse = balance.add(*measured(model, noise, moment, rng), dt)
        if impulse is not None:
            payload = observer.add(impulse)
    assert payload.mass == pytest.approx(1.0, abs=0.03)
    assert abs(payload.mass - 1.0) < 3.0 * payload.mass_deviation < 0.12
    assert np.abs(payload.centre - CENTRE).max() < 0.02


@pytest.mark.usefixtures("core")
def test_a_payload_that_is_grasped_is_noticed_and_found() -> None:
    model = robots.load("panda")
    heavy, _ = loaded(model, 1.0)
    q, rng, dt = model.configuration(robots.get("panda").home), np.random.default_rng(5), 5e-3
    noise = NoiseModel()
    balance = ImpulseBalance(model, noise)
    observer = PayloadObserver(balance)
    v = np.zeros(7)
    masses, changes = [], []
    for robot in (model, heavy):
        for moment in samples(
            robot, q, holding(model, q), lambda t, q, v: np.zeros(7), dt, 200, v=v, fine=1
        ):
            impulse = balance.add(*measured(model, noise, moment, rng), dt)
            if impulse is not None:
                payload = observer.add(impulse)
                masses.append(payload.mass)
                changes.append(payload.changed)
        q_end, v = moment.q, moment.v
        q = q_end
    assert abs(masses[198]) < 0.03
    assert not any(changes[:199])
    # It is seen half a window later, at most 10 frames.
    assert any(changes[199:215])
    assert masses[-1] == pytest.approx(1.0, abs=0.05)


@pytest.mark.usefixtures("core")
def test_the_noise_of_the_smoothed_velocity_is_in_the_uncertainty_of_a_heavy_payload() -> None:
    known = robots.get("hextilt")
    model = known.load()
    heavy, parameters = loaded(model, 0.5)
    q, dt, noise = model.configuration(known.home), 5e-3, NoiseModel()
    balance = ImpulseBalance(model, noise)
    squares = []
    for seed in range(2, 6):
        rng = np.random.default_rng(100 + seed)
        wind = np.zeros(model.nv)
        wind[:6] = np.array([0.5] * 3 + [0.1] * 3) * rng.normal(size=6)
        observer, effort = PayloadObserver(balance), moving_arm(model, q)
        balance.restart()
        for moment in samples(heavy, q, effort, lambda t, q, v, w=wind: w, dt, 240, fine=1):
            impulse = balance.add(*measured(model, noise, moment, rng), dt)
            if impulse is not None:
                payload = observer.add(impulse)
        error = np.concatenate([[payload.mass], payload.moment]) - parameters[:4]
        squares.append(float(error @ np.linalg.solve(payload.covariance, error)) / 4.0)
    # Of the 16 squares of standard normal errors, three deviations of their mean.
    assert 0.3 < np.mean(squares) < 1.0 + 3.0 * np.sqrt(2.0 / 16.0)


@pytest.mark.parametrize("seed", range(3))
def test_states_that_no_robot_has_leave_a_covariance_or_nothing_known(seed: int) -> None:
    model, rng, dt = robots.load("panda"), np.random.default_rng(seed), 5e-3
    noise = NoiseModel()
    balance = ImpulseBalance(model, noise)
    observer = PayloadObserver(balance)
    for _ in range(150):
        size = 10.0 ** rng.uniform(0.0, 8.9)
        state = RobotState(model.random_configuration(rng), size * rng.normal(size=7))
        impulse = balance.add(state, size * rng.normal(size=7), dt)
        if impulse is not None:
            assert observer.add(impulse).mass_deviation > 0.0


def test_nothing_has_no_centre() -> None:
    nothing = Payload(0.0, np.array([0.0, 0.0, 1e-3]), np.eye(4), False)
    np.testing.assert_array_equal(nothing.centre, np.zeros(3))
    np.testing.assert_array_equal(nothing.centre_deviation, np.full(3, np.inf))


def test_what_is_not_known_of_mass_and_moment_widens_the_centre_as_its_slopes_say() -> None:
    spread = np.diag([0.1, 0.02, 0.03, 0.04])
    spread[1:, 0] = 0.05, -0.06, 0.02
    covariance = spread @ spread.T
    mean = np.array([2.0, 0.2, -0.1, 0.4])
    slopes = [
        (mean + h)[1:] / (mean + h)[0] - (mean - h)[1:] / (mean - h)[0] for h in 1e-6 * np.eye(4)
    ]
    slope = np.array(slopes).T / 2e-6
    expected = np.sqrt(np.diag(slope @ covariance @ slope.T))
    payload = Payload(mean[0], mean[1:], covariance, False)
    np.testing.assert_allclose(payload.centre_deviation, expected, rtol=1e-8)

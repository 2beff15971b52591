# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Collisions, and alarms without any."""

from collections.abc import Iterator

import numpy as np
import pytest
from scipy.special import chdtri

from vms_ph_controllers import RobotState
from vms_ph_controllers.observers import ContactDetector, ImpulseBalance, NoiseModel
from vms_ph_dynamics import ModelError, OptionError, VMSModel
from vms_ph_io import robots

from ..support.observed_robots import Moment, Wall, holding, measured, moving_arm, samples

_NOISE = NoiseModel()


def _home(name: str) -> tuple[VMSModel, np.ndarray]:
    model = robots.load(name)
    return model, model.configuration(robots.get(name).home)


@pytest.mark.parametrize("name", ["panda", "satellite_panda", "hextilt"])
@pytest.mark.parametrize("dt", [1e-3, 4e-3])
@pytest.mark.parametrize("seed", range(3))
def test_a_collision_of_a_tenth_of_a_joule_is_detected_within_ten_milliseconds(
    name: str, dt: float, seed: int
) -> None:
    model, q = _home(name)
    rng = np.random.default_rng(seed)
    wall, v = Wall.hit_by(model, q, rng.normal(size=3), energy=0.1, after=0.006)
    balance = ImpulseBalance(model, _NOISE)
    detector = ContactDetector(balance, false_alarms=1.0)
    balance.add(RobotState(q, v), np.zeros(model.nv), dt)
    began = False
    for moment in samples(model, q, holding(model, None), wall, dt, round(0.024 / dt), v=v):
        impulse = balance.add(*measured(model, _NOISE, moment, rng), dt)
        assert impulse is not None
        began = detector.add(impulse).has_begun
        if began:
            break
    assert began
    assert wall.touched < moment.time, "an alarm before the contact"
    assert moment.time - wall.touched <= 0.01 + 1e-9


def _motion(name: str, dt: float, seconds: float) -> Iterator[Moment]:
    model, q = _home(name)
    none = np.zeros(model.nv)
    return samples(
        model, q, moving_arm(model, q), lambda t, q, v: none, dt, round(seconds / dt), fine=2
    )


@pytest.mark.usefixtures("core")
@pytest.mark.parametrize("name", ["panda", "hextilt"])
def test_the_share_of_alarms_in_free_motion_is_at_most_the_stated_one(name: str) -> None:
    model, dt, tail = robots.load(name), 4e-3, 0.1
    rng = np.random.default_rng(1)
    balance = ImpulseBalance(model, _NOISE)
    # So many an hour that a share ``tail`` of all samples may raise one.
    detector = ContactDetector(balance, false_alarms=tail * 3600.0 / dt)
    alarms = []
    for moment in _motion(name, dt, 1.6):
        impulse = balance.add(*measured(model, _NOISE, moment, rng), dt)
        if impulse is not None:
            report = detector.add(impulse)
            alarms.append(max(report.by_momentum, report.by_energy) > 1.0)
    assert np.mean(alarms) < tail
    assert np.mean(alarms) > 0.0  # thresholds without end would pass too


def test_the_energy_that_a_wall_took_is_reported_and_the_contact_ends() -> None:
    model, q = _home("panda")
    wall, v = Wall.hit_by(model, q, np.array([1.0, 0.0, 0.0]), energy=0.1, after=0.01, damping=40.0)
    exact = NoiseModel(1e-5, 1e-7, 1e-3, torque_error=1e-3)
    balance = ImpulseBalance(model, exact)
    detector = ContactDetector(balance, windows=6)
    seen, contact, dt = [], [], 2e-3
    for moment in samples(model, q, holding(model, None), wall, dt, 120, v=v):
        impulse = balance.add(RobotState(moment.q, moment.v), moment.effort, dt)
        if impulse is not None:
            report = detector.add(impulse)
            seen.append(report.work)
            contact.append(report.contact)
    assert wall.work < -0.02
    # The window is longer than the contact.
    assert min(abs(np.array(seen) - wall.work)) < 0.03 * abs(wall.work)
    assert any(contact)
    assert not contact[-1]


def test_a_contact_is_felt_by_no_joint_beyond_the_touched_link() -> None:
    model, q = _home("panda")
    balance = ImpulseBalance(model, NoiseModel(1e-5, 1e-7, 1e-3, torque_error=1e-3))
    detector = ContactDetector(balance)

    def elbow(t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        j = model.evaluate(q, v).jacobian("panda_link4")
        return j.T @ np.array([10.0, 10.0, 10.0, 0.0, 0.0, 0.0])

    last = -1
    for moment in samples(model, q, holding(model, q), elbow, 2e-3, 10):
        impulse = balance.add(RobotState(moment.q, moment.v), moment.effort, 2e-3)
        if impulse is not None:
            last = detector.add(impulse).joint
    assert 0 <= last <= 3


@pytest.mark.parametrize("windows", [1, 3])
def test_thresholds_share_the_false_alarms_of_an_hour_among_windows_and_statistics(
    windows: int,
) -> None:
    model, q = _home("panda")
    balance = ImpulseBalance(model, _NOISE)
    detector, dt, rest = ContactDetector(balance, windows=windows), 4e-3, np.zeros(7)
    weight = model.evaluate(q, rest).g
    balance.add(RobotState(q, rest), weight, dt)
    # A hand holds what the second joint pushes with.
    impulse = balance.add(RobotState(q, rest), weight + 2.0 * np.eye(7)[1], dt)
    assert impulse is not None
    spread = impulse.start_cov + impulse.end_cov + impulse.effort_cov
    statistic = impulse.value @ np.linalg.solve(
        spread + np.diag(impulse.slow_error**2), impulse.value
    )
    tail = 0.5 * dt / 3600.0 / (2 * windows)
    found = detector.add(impulse)
    assert found.by_momentum == pytest.approx(statistic / chdtri(model.nv, tail), rel=1e-5)
    assert found.duration == dt


@pytest.mark.parametrize(("share", "last"), [(0.99, 0), (1.01, 4)])
def test_a_joint_feels_a_contact_where_its_own_impulse_is_beyond_its_share_of_the_alarms(
    share: float, last: int
) -> None:
    model, q = _home("panda")
    balance, dt, rest = ImpulseBalance(model, _NOISE), 4e-3, np.zeros(7)
    weight, unit = model.evaluate(q, rest).g, np.eye(7)
    balance.add(RobotState(q, rest), weight, dt)
    still = balance.add(RobotState(q, rest), weight, dt)
    assert still is not None
    spread = still.start_cov + still.end_cov + still.effort_cov + np.diag(still.slow_error**2)
    limit = chdtri(1, 0.5 * dt / 3600.0 / 2 / 7)
    small = share * np.sqrt(limit * spread[4, 4]) / dt
    impulse = balance.add(RobotState(q, rest), weight + 100.0 * unit[0] + small * unit[4], dt)
    assert impulse is not None
    assert ContactDetector(balance, windows=1).add(impulse).joint == last


def test_without_noise_a_robot_that_is_held_against_its_torques_is_touched() -> None:
    model, q = _home("panda")
    balance = ImpulseBalance(model, NoiseModel(*[0.0] * 10))
    detector, rest = ContactDetector(balance), np.zeros(7)
    weight = model.evaluate(q, rest).g
    for push in (0.0, 0.0, 0.0, 0.1):
        impulse = balance.add(RobotState(q, rest), weight + push, 4e-3)
        contact = impulse is not None and detector.add(impulse).contact
        assert contact == (push > 0.0)


def test_mistakes_are_reported_with_what_is_accepted() -> None:
    assert NoiseModel(torque=0.0).torque == 0.0
    with pytest.raises(ModelError, match="torque of a noise model must be finite and not negative"):
        NoiseModel(torque=-0.1)
    balance = ImpulseBalance(robots.load("panda"))
    with pytest.raises(OptionError, match=r"false_alarms must be in \(0, 1e6\].*given: 0"):
        ContactDetector(balance, false_alarms=0.0)
    with pytest.raises(OptionError, match="windows must be from 1 to 10; given: 11"):
        ContactDetector(balance, windows=11)

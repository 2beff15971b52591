# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Velocities smoothed over a window of frames."""

import numpy as np
import pytest

from vms_ph_controllers import RobotState
from vms_ph_controllers.observers import ImpulseBalance, NoiseModel
from vms_ph_controllers.observers.impulse_balance import ExternalImpulse
from vms_ph_controllers.observers.motion_window import MotionWindow, SmoothedFrame
from vms_ph_io import robots

_SLOPES = np.linspace(-1.0, 1.0, 7)


def _impulses(velocities: np.ndarray, dt: float) -> list[ExternalImpulse]:
    model = robots.load("panda")
    balance = ImpulseBalance(model, NoiseModel())
    q, none = model.configuration(robots.get("panda").home), np.zeros(7)
    found = [balance.add(RobotState(q, v), none, dt) for v in velocities]
    return [each for each in found if each is not None]


def _seen(velocities: np.ndarray, dt: float) -> list[SmoothedFrame]:
    window = MotionWindow(NoiseModel().velocity_deviations(robots.load("panda")))
    found = [window.add(impulse) for impulse in _impulses(velocities, dt)]
    return [each for each in found if each is not None]


def _quadratic(times: np.ndarray) -> np.ndarray:
    return 0.5 + np.outer(times, _SLOPES) + 3.0 * np.outer(times**2, _SLOPES[::-1])


@pytest.mark.parametrize("dt", [1e-3, 5e-3, 2e-2])
def test_a_velocity_that_is_quadratic_in_time_is_found_whatever_was_measured_in_its_middle(
    dt: float,
) -> None:
    per_frame = max(1, round(5e-3 / dt))
    half = int(0.05 / (per_frame * dt) + 0.5)
    times = dt * np.arange(per_frame * (2 * half + 1) + 1)
    velocities = _quadratic(times)
    middle = per_frame * (half + 1)
    velocities[middle, 2] += 0.1
    (seen,) = _seen(velocities, dt)
    assert seen.frame.dt == pytest.approx(per_frame * dt)
    # Velocities far above the noise fade by less than 1e-8.
    np.testing.assert_allclose(seen.velocity, _quadratic(times)[middle], rtol=1e-8)
    # What the measurement differs by, less three deviations of both, which are independent.
    deviation = NoiseModel().velocity_deviations(robots.load("panda"))[2] * np.sqrt(
        1.0 + seen.variance_share
    )
    assert seen.fit_error[2] == pytest.approx(0.1 - 3.0 * deviation, abs=1e-7)
    assert np.count_nonzero(seen.fit_error) == 1


def test_a_frame_has_the_impulse_of_all_of_its_samples() -> None:
    velocities, dt, per_frame = _quadratic(1e-3 * np.arange(106)), 1e-3, 5
    (seen,) = _seen(velocities, dt)
    middle = slice(10 * per_frame, 11 * per_frame)
    expected = sum(each.value for each in _impulses(velocities, dt)[middle])
    np.testing.assert_allclose(seen.frame.impulse, expected, rtol=1e-12)
    assert seen.frame.time == pytest.approx(11 * per_frame * dt)


def test_noise_of_a_robot_at_rest_is_no_motion() -> None:
    noise = 1e-3 * np.random.default_rng(0).normal(size=(200, 7))
    found = np.array([each.velocity for each in _seen(noise, 5e-3)])
    assert len(found) == 179
    # The smoothed velocity has s = 0.35 of the measured noise. Of Gaussian noise x fading leaves
    # less than x^5 / (4 s)^4, with an rms of sqrt(945) s / 256.
    assert np.sqrt(np.mean(found**2)) < np.sqrt(945.0) / 256.0 * 0.35e-3

# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Velocities from positions, and what a motion tells of the clock and of lags."""

import numpy as np
import pytest

from vms_ph_dynamics import VMSModel
from vms_ph_dynamics.energy.samples import clock_of, smoothed_velocity, steps, velocity_lag
from vms_ph_io import robots


def _motion(t: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    w = np.array([2.0, 3.0, 4.5])
    return np.sin(w * t[:, None]), w * np.cos(w * t[:, None])


def test_velocities_of_quantised_positions_are_within_their_deviation(
    rng: np.random.Generator,
) -> None:
    t = np.arange(0.0, 8.0, 0.002)
    q, v = _motion(t)
    seen = 1e-4 * np.rint((q + 2e-5 * rng.normal(size=q.shape)) / 1e-4)
    found, deviation = smoothed_velocity(t, seen)
    error = (found - v)[50:-50]
    # Differences of neighbours would be off by 0.02 rad/s.
    assert np.sqrt(np.mean(error**2)) < 2e-3
    assert np.sqrt(np.mean(error**2)) < 2.0 * np.mean(deviation)


def test_steps_on_a_floating_base_are_differences_of_configurations(
    rng: np.random.Generator,
) -> None:
    model = robots.load("hextilt")
    q = np.array([model.random_configuration(rng) for _ in range(3)])
    moved = steps(model, q)
    np.testing.assert_allclose(model.integrate(q[0], moved[0]), q[1], atol=1e-9)
    assert moved.shape == (2, model.nv)


def test_steps_of_an_arm_are_differences_of_positions(panda: VMSModel) -> None:
    q = np.arange(14.0).reshape(2, 7)
    np.testing.assert_array_equal(steps(panda, q), np.full((1, 7), 7.0))


@pytest.mark.parametrize("lag", [-0.003, 0.0, 0.005, 0.02])
def test_a_lag_of_velocities_is_found(lag: float, rng: np.random.Generator) -> None:
    t = np.arange(0.0, 8.0, 0.002)
    q, v = _motion(t)
    late = np.stack([np.interp(t - lag, t, x) for x in v.T], axis=1)
    noisy = late + 0.01 * rng.normal(size=v.shape)
    assert velocity_lag(t, q, noisy) == pytest.approx(lag, abs=1e-4)


def test_stamps_that_jitter_are_replaced_by_even_times(rng: np.random.Generator) -> None:
    t = np.arange(0.0, 8.0, 0.002)
    q, v = _motion(t)
    stamps = t + 4e-4 * np.clip(rng.normal(size=t.size), -2, 2)
    clock = clock_of(stamps, np.diff(q, axis=0), v + 1e-3 * rng.normal(size=v.shape))
    assert clock.source in ("uniform", "motion")
    np.testing.assert_allclose(clock.t - clock.t[0], t, atol=2e-4)
    assert clock.jitter == pytest.approx(3.7e-4, rel=0.1)


def test_samples_that_a_logger_read_twice_or_missed_are_put_in_their_places(
    rng: np.random.Generator,
) -> None:
    t = np.arange(0.0, 8.0, 0.001)
    q, v = _motion(t)
    # A logger at about the same rate reads some samples twice and misses others.
    read = np.clip(np.rint(np.arange(7800) * 1.02 + rng.normal(size=7800) * 0.3), 0, 7999)
    read = np.maximum.accumulate(read.astype(int))
    stamps = np.arange(7800) * 1.02e-3
    clock = clock_of(stamps, np.diff(q[read], axis=0), v[read])
    assert clock.source == "motion"
    assert clock.period == pytest.approx(1e-3, rel=1e-4)
    assert clock.repeated > 100
    np.testing.assert_allclose(clock.t - clock.t[0], t[read] - t[read[0]], atol=2e-3)


def test_a_good_clock_is_kept() -> None:
    t = np.sort(np.random.default_rng(0).uniform(0.0, 8.0, 4000))
    q, v = _motion(t)
    clock = clock_of(t, np.diff(q, axis=0), v)
    assert clock.source == "stamps"
    np.testing.assert_array_equal(clock.t, t)

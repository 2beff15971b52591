# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Velocities from positions, and what a motion tells of the clock and of lags."""

import numpy as np
import pytest

from vms_ph_dynamics import VMSModel
from vms_ph_dynamics.energy.samples import (
    _period,
    _weighted_median,
    clock_of,
    displacements,
    smooth,
    smoothed_velocity,
    velocity_lag,
)
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


def test_one_sample_tells_no_velocity() -> None:
    velocity, deviation = smoothed_velocity(np.zeros(1), np.ones((1, 2)))
    assert velocity.tolist() == deviation.tolist() == [[0.0, 0.0]]


def test_steps_on_a_floating_base_are_differences_of_configurations(
    rng: np.random.Generator,
) -> None:
    model = robots.load("hextilt")
    q = np.array([model.random_configuration(rng) for _ in range(3)])
    moved = displacements(model, q)
    np.testing.assert_allclose(model.integrate(q[0], moved[0]), q[1], atol=1e-9)
    assert moved.shape == (2, model.nv)


def test_steps_of_an_arm_are_differences_of_positions(panda: VMSModel) -> None:
    q = np.arange(14.0).reshape(2, 7)
    np.testing.assert_array_equal(displacements(panda, q), np.full((1, 7), 7.0))


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


def test_stamps_of_which_every_tenth_is_late_jitter_by_the_deviation_of_these() -> None:
    t = np.arange(0.0, 8.0, 0.002)
    q, v = _motion(t)
    late = 5e-4 * (np.arange(t.size) % 10 == 0)  # the first one, too
    clock = clock_of(t + late, np.diff(q, axis=0), v)
    assert clock.source != "stamps"
    # A tenth of the stamps is late: 5e-4 s sqrt(0.1 * 0.9). Over 8 s a period that is found to 2e-6
    # of itself adds 2e-5 s.
    assert clock.jitter == pytest.approx(1.5e-4, abs=2e-5)


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
    np.testing.assert_allclose(clock.t - clock.t[0], t[read] - t[read[0]], atol=2e-3)


def test_regular_stamps_are_kept_where_a_few_velocities_are_wrong(rng: np.random.Generator) -> None:
    t = np.arange(0.0, 25.0, 0.005)
    stamps = t + 4e-5 * rng.normal(size=t.size)
    q, v = _motion(np.minimum(t, t[-23]))
    q[-22:] += 1e-4 * np.arange(1, 23)[:, None]  # it stops, and the velocities do not tell
    clock = clock_of(stamps, np.diff(q, axis=0), 0.9998 * v)
    assert np.all(np.diff(clock.t) > 0.0)
    assert clock.jitter < 0.01 * 0.005


def test_a_good_clock_is_kept() -> None:
    t = np.sort(np.random.default_rng(0).uniform(0.0, 8.0, 4000))
    q, v = _motion(t)
    clock = clock_of(t, np.diff(q, axis=0), v)
    assert clock.source == "stamps"
    np.testing.assert_array_equal(clock.t, t)


@pytest.mark.parametrize("lag", [-0.2, 0.15, 0.2])
def test_a_lag_that_is_a_tenth_of_the_recording_is_found_as_exactly(lag: float) -> None:
    t = np.arange(0.0, 2.0, 0.002)
    assert velocity_lag(t, _motion(t)[0], _motion(t - lag)[1]) == pytest.approx(lag, abs=1e-5)
    # Also of a motion that is fastest at an end, beyond which nothing is known of it.
    q, v = np.exp(-2.0 * t[:, None]), -2.0 * np.exp(-2.0 * (t[:, None] - lag))
    assert velocity_lag(t, q, v) == pytest.approx(lag, abs=1e-7)


def test_a_lag_longer_than_is_looked_for_and_one_of_nothing_are_none() -> None:
    t = np.arange(0.0, 8.0, 0.002)
    assert np.isnan(velocity_lag(t, _motion(t)[0], _motion(t - 0.1)[1], largest_lag=0.05))
    assert velocity_lag(t, np.zeros((t.size, 3)), np.ones((t.size, 3))) == 0.0


@pytest.mark.parametrize("even", [True, False])
def test_a_cubic_and_its_slope_are_kept_up_to_the_ends(even: bool) -> None:
    t = np.arange(120) * 0.01
    if not even:
        t = t + 0.004 * np.sin(np.arange(120.0))
    coefficients = np.array([[1.0, -2.0], [3.0, 0.5], [-4.0, 1.0], [2.0, 5.0]])
    powers = t[:, None] ** np.arange(4)
    slopes = np.arange(1, 4) * powers[:, :3] @ coefficients[1:]
    found, slope = smooth(t, powers @ coefficients, 7)
    np.testing.assert_allclose(found, powers @ coefficients, atol=1e-9)
    np.testing.assert_allclose(slope, slopes, atol=1e-7)


@pytest.mark.parametrize("even", [True, False])
def test_the_deviation_of_a_velocity_is_that_of_its_cubic(even: bool) -> None:
    t = np.arange(200) * 0.01
    if not even:
        t[60] += 1e-4
    noise = 0.01 * np.random.default_rng(3).choice([-1.0, 1.0], (200, 1))
    found, deviation = smoothed_velocity(t, noise, (6,))
    for k, first in ((0, 0), (2, 0), (6, 0), (100, 94), (199, 187)):
        rows = np.arange(first, first + 13)
        matrix = (t[rows] - t[k])[:, None] ** np.arange(4)
        fit = np.linalg.lstsq(matrix, noise[rows, 0], rcond=None)[0]
        assert found[k, 0] == pytest.approx(fit[1], rel=1e-5)
        spread = np.sqrt(np.linalg.inv(matrix.T @ matrix)[1, 1])
        # Of the residuals, with as many freedoms as the cubics leave.
        assert deviation[k, 0] / spread == pytest.approx(0.01, rel=0.1)


def test_a_period_is_found_whatever_multiples_of_it_have_passed() -> None:
    multiples = np.array([1, 1, 2, 1, 3, 1, 1, 5, 1, 2] * 5)
    noise = 1e-5 * np.cos(np.arange(50.0))
    assert _period(0.004 * multiples + noise) == pytest.approx(0.004, rel=1e-3)
    assert _period(0.004 * np.ones(50)) == pytest.approx(0.004)
    assert _period(np.array([0.0, 0.0, 0.004])) == 0.0
    assert _period(0.004 * (1.0 + 0.4 * np.sin(np.arange(50.0)))) == 0.0


def test_the_weighted_median_has_half_the_weight_on_either_side() -> None:
    assert _weighted_median(np.array([3.0, 1.0, 2.0]), np.array([1.0, 1.0, 1.0])) == 2.0
    assert _weighted_median(np.array([3.0, 1.0, 2.0]), np.array([5.0, 1.0, 1.0])) == 3.0
    assert _weighted_median(np.array([3.0, 1.0, 2.0]), np.array([1.0, 5.0, 1.0])) == 1.0

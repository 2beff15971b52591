# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The estimate of a linear model with errors of blocks, and the base parameters of small robots."""

import numpy as np
import pinocchio as pin
import pytest
from scipy import stats
from scipy.linalg import fractional_matrix_power

from vms_ph_dynamics import VMSModel
from vms_ph_dynamics.energy.regressor import EnergyRegressor
from vms_ph_dynamics.identification.estimate import (
    BodyConstraint,
    Estimate,
    base_parameters,
    estimate,
    nearest_physical,
    student,
)

VAGUE = 1e12  # variance of what is not known beforehand
W, P, BLOCKS = 60, 3, 30


def _arm(*links: tuple[float, float, float]) -> VMSModel:
    """Links that turn about y in a vertical plane, with their places in the links before."""
    model, last = pin.Model(), 0
    model.gravity.linear = np.array([0.0, 0.0, -9.81])
    body = pin.Inertia(2.0, np.array([0.1, 0.0, 0.2]), np.diag([0.03, 0.04, 0.05]))
    for k, place in enumerate(links):
        placement = pin.SE3(np.eye(3), np.array(place))
        last = model.addJoint(last, pin.JointModelRY(), placement, f"j{k}")
        model.appendBodyToJoint(last, body, pin.SE3.Identity())
    model.addBodyFrame("tip", last, pin.SE3.Identity(), 0)
    return VMSModel.from_pinocchio(model, "tip")


def test_a_pendulum_has_three_base_parameters() -> None:
    base = base_parameters(EnergyRegressor(_arm((0.0, 0.0, 0.0))))
    assert base.names == ("inertia.j0.Iyy", "inertia.j0.mx", "inertia.j0.mz")
    assert base.meanings == ("Iyy of j0", "mx of j0", "mz of j0")
    np.testing.assert_allclose(base.matrix, np.eye(10)[[6, 1, 3]], atol=1e-12)


def test_the_mass_of_a_second_link_moves_with_the_end_of_the_first() -> None:
    # It hangs behind the axis of the first: x = -1/2, z = 1.
    base = base_parameters(EnergyRegressor(_arm((0.0, 0.0, 0.0), (-0.5, 0.2, 1.0))))
    assert base.meanings == (
        "Iyy of j0 + 1.25 m of j1",
        "mx of j0 - 0.5 m of j1",
        "mz of j0 + m of j1",
        "Iyy of j1",
        "mx of j1",
        "mz of j1",
    )


def test_the_error_of_the_quantiles_is_of_the_fourth_order() -> None:
    errors = [stats.t.ppf(0.975, f) - student(f) for f in (10, 20)]
    assert errors[0] / errors[1] == pytest.approx(16.0, rel=0.15)


def _regression(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Columns, a target with errors of one size and any sign, and the least squares."""
    columns = rng.normal(size=(W, P))
    target = columns @ [1.0, -2.0, 0.5] + 0.01 * rng.choice([-1.0, 1.0], W)
    return columns, target, np.linalg.lstsq(columns, target, rcond=None)[0]


def _of(columns: np.ndarray, target: np.ndarray, **options: bool) -> Estimate:
    prior = np.zeros(columns.shape[1]), VAGUE * np.eye(columns.shape[1])
    return estimate(
        columns, target, *prior, np.zeros(len(target)), np.zeros(len(target)), **options
    )


def test_the_covariance_is_that_of_leaving_out_one_block_after_the_other(
    rng: np.random.Generator,
) -> None:
    columns, target, best = _regression(rng)
    found = _of(columns, target, correlated=False)
    np.testing.assert_allclose(found.mean, best, rtol=1e-8)
    assert (found.weight == 1.0).all()
    assert found.block_count == BLOCKS
    covariance = np.zeros((P, P))
    for rows in np.arange(W).reshape(BLOCKS, -1):
        others = np.setdiff1d(np.arange(W), rows)
        without = np.linalg.lstsq(columns[others], target[others], rcond=None)[0]
        covariance += np.outer(without - best, without - best)
    np.testing.assert_allclose(found.covariance, covariance, rtol=1e-5, atol=1e-12)


def test_the_errors_of_blocks_of_balances_are_enlarged_by_a_power_of_their_leverage(
    rng: np.random.Generator,
) -> None:
    columns, target, _ = _regression(rng)
    found = estimate(
        columns,
        target,
        np.zeros(P),
        VAGUE * np.eye(P),
        np.zeros(W),
        np.zeros(W),
        joined=np.zeros(W, bool),  # without an end in common they share no noise
    )
    inverse = np.linalg.inv(columns.T @ columns)
    error = target - columns @ found.mean
    covariance = np.zeros((P, P))
    for rows in np.arange(W).reshape(BLOCKS, -1):
        block = columns[rows]
        leverage = np.eye(len(rows)) - block @ inverse @ block.T
        one = inverse @ block.T @ fractional_matrix_power(leverage, -0.8) @ error[rows]
        covariance += np.outer(one, one)
    np.testing.assert_allclose(found.covariance, covariance, rtol=1e-5, atol=1e-12)


def test_what_is_believed_beforehand_is_weighed_with_the_data(rng: np.random.Generator) -> None:
    columns, target, best = _regression(rng)
    mean, covariance = np.array([5.0, 5.0, 5.0]), np.diag([1e-6, 4e-6, 9e-6])
    zeros = np.zeros(W)
    found = estimate(columns, target, mean, covariance, zeros, zeros, correlated=False)
    precision = columns.T @ columns / found.scale[0] ** 2, np.linalg.inv(covariance)
    weight = found.weight / found.scale**2
    gram = columns.T @ (weight[:, None] * columns) + precision[1]
    expected = np.linalg.solve(gram, columns.T @ (weight * target) + precision[1] @ mean)
    np.testing.assert_allclose(found.mean, expected, rtol=1e-3)
    np.testing.assert_allclose(found.information, gram, rtol=1e-2, atol=1e-2 * gram.max())
    np.testing.assert_allclose(found.prior_deviation, np.sqrt(np.diag(covariance)))
    assert np.linalg.norm(found.mean - best) > 0.1


def test_noise_of_common_ends_is_weighed_by_its_covariance(rng: np.random.Generator) -> None:
    # Of windows of one record the noise is that of their ends: differences of white noise.
    count, blank = 400, np.zeros(400)
    ends = 1e-3 * rng.normal(size=count + 1)
    columns = np.column_stack([np.linspace(-1.0, 1.0, count), np.ones(count)])
    target = columns @ [2.0, 3.0] + np.diff(ends)
    found = estimate(columns, target, np.zeros(2), VAGUE * np.eye(2), blank, blank)
    assert np.mean(found.scale**2) == pytest.approx(np.mean(found.residual**2), rel=0.15)
    # The best weights are those of 0.98 of the noise at common ends, which the limit allows.
    covariance = np.eye(count) - 0.49 * (np.eye(count, k=1) + np.eye(count, k=-1))
    weights = np.linalg.inv(covariance)
    expected = np.linalg.solve(columns.T @ weights @ columns, columns.T @ weights @ target)
    np.testing.assert_allclose(found.mean, expected, atol=2e-6)
    plain = np.linalg.lstsq(columns, target, rcond=None)[0]
    assert np.abs(plain - expected).max() > 1e-5


def test_noise_of_common_ends_is_no_more_than_that_of_the_windows() -> None:
    errors = 0.02 * (-1.0) ** np.arange(W)
    prior, blank = (np.zeros(1), VAGUE * np.eye(1)), np.zeros(W)
    found = estimate(np.ones((W, 1)), 5.0 + errors, *prior, blank, blank)
    np.testing.assert_allclose(found.scale, 0.02, rtol=0.02)


def test_windows_with_longer_paths_have_more_noise_and_count_less(
    rng: np.random.Generator,
) -> None:
    path = np.where(np.arange(400) % 2, 3.0, 1.0)
    columns = rng.normal(size=(400, 1))
    target = 2.0 * columns[:, 0] + path * rng.choice([-1.0, 1.0], 400)
    joined = np.zeros(400, bool)
    found = estimate(
        columns, target, np.zeros(1), VAGUE * np.eye(1), path, np.zeros(400), joined=joined
    )
    np.testing.assert_allclose(found.scale, path, rtol=0.05)
    weight = found.weight / found.scale**2
    best = (weight * columns[:, 0]) @ target / ((weight * columns[:, 0]) @ columns[:, 0])
    assert found.mean[0] == pytest.approx(best, abs=2e-3)


def test_the_nearest_in_a_box_is_what_the_bounds_leave_of_the_mean() -> None:
    mean, floor = np.array([-2.0, 3.0, 0.5]), np.array([1.0, 1.0, -np.inf])
    found = nearest_physical(mean, np.diag([1.0, 4.0, 25.0]), np.array([2.0, 2.0, 0.0]), floor, [])
    np.testing.assert_allclose(found, [1.0, 3.0, 0.5], atol=1e-5)


def test_the_nearest_is_found_from_a_start_that_is_millions_of_deviations_away() -> None:
    size = 1e8
    information = 2.0 * np.eye(4) - 0.99 * (np.eye(4, k=1) + np.eye(4, k=-1))
    # At a minimum the slope is zero, or positive where a bound of zero holds x.
    minimum = size * np.array([0.0, 0.11, 0.0, 0.13])
    slope = size * np.array([1.0, 0.0, 3.0, 0.0])
    mean = minimum - np.linalg.solve(information, slope)
    found = nearest_physical(mean, information, -mean, np.zeros(4), [])
    np.testing.assert_allclose(found, minimum, atol=1e-9 * size)


def test_the_nearest_of_two_bodies_in_a_sum_leaves_both_possible() -> None:
    # One number moves the mass of a body of 2 kg, which cannot fall below that of its moments.
    ball = np.array([2.0, 0.4, 0, 0, 0.1, 0, 0.2, 0, 0, 0.2])
    less = BodyConstraint(ball, np.eye(10)[:, :1])
    found = nearest_physical(np.array([-1.9]), np.eye(1), np.zeros(1), np.array([-np.inf]), [less])
    # The first moment, squared, over the second moment along it, half of Iyy + Izz - Ixx.
    assert 2.0 + found[0] == pytest.approx(0.4**2 / 0.15, abs=1e-4)

# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Equations of a step that iteration alone does not solve."""

import numpy as np
import pytest

from vms_ph_dynamics.integrators.implicit import Sweep, solve
from vms_ph_dynamics.integrators.stepper import StepFailure


def test_a_fixed_point_that_repels_is_found(rng: np.random.Generator) -> None:
    stiff, force = 5.0 * rng.normal(size=(4, 4)), rng.normal(size=4)

    def sweep(y: np.ndarray) -> Sweep:
        following = stiff @ np.sin(y) + force
        return Sweep(following, following.sum())

    expected = 0.1 * rng.normal(size=4)
    force = expected - stiff @ np.sin(expected)
    assert np.abs(np.linalg.eigvals(stiff)).max() > 2.0
    found = solve(sweep, np.zeros(4))
    np.testing.assert_allclose(found.unknown, expected, rtol=1e-9)
    assert found.outcome == pytest.approx(expected.sum(), rel=1e-9)


def test_a_fixed_point_that_attracts_needs_no_slope() -> None:
    found = solve(lambda y: Sweep(0.01 * np.cos(y), None), np.zeros(2))
    assert found.iterations < 10
    np.testing.assert_allclose(found.unknown, 0.01 * np.cos(found.unknown), rtol=1e-11)


def test_a_step_sixty_times_too_long_is_shortened_where_a_force_saturates() -> None:
    # Newton's method for atan(y) = 0 diverges beyond 1.4; at 60 only 1 / 64 of its step helps.
    found = solve(lambda y: Sweep(y - 10.0 * np.arctan(y), None), np.array([60.0]))
    np.testing.assert_allclose(found.unknown, 0.0, atol=1e-9)


def test_without_a_fixed_point_the_step_fails() -> None:
    with pytest.raises(StepFailure, match="Newton's iteration"):
        solve(lambda y: Sweep(y + 1.0 + y**2, None), np.array([0.5]))

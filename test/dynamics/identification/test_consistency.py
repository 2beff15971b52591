# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The nearest physical estimate."""

import numpy as np

from vms_ph_dynamics.energy.regressor import pseudo_inertia
from vms_ph_dynamics.identification.estimate import BodyConstraint, nearest_physical

BALL = np.array([2.0, 0, 0, 0.2, 0.05, 0, 0.05, 0, 0, 0.02])


def test_a_physical_estimate_stays_as_it_is() -> None:
    mean = np.array([0.5, 1.0])
    found = nearest_physical(mean, np.eye(2), np.ones(2), np.zeros(2), [])
    np.testing.assert_array_equal(found, mean)


def test_negative_friction_becomes_zero_and_moves_what_is_correlated_with_it() -> None:
    covariance = np.array([[1.0, 0.8], [0.8, 1.0]])
    found = nearest_physical(
        np.array([-1.0, 0.0]), np.linalg.inv(covariance), np.ones(2), np.array([0.0, -np.inf]), []
    )
    np.testing.assert_allclose(found, [0.0, 0.8], atol=1e-4)


def test_an_impossible_body_becomes_the_nearest_possible_one() -> None:
    wrong = BALL.copy()
    wrong[9] = 0.2  # one moment larger than the sum of the others
    body = BodyConstraint(np.zeros(10), np.eye(10))
    information = np.diag([100.0, *9 * [1e4]])
    found = nearest_physical(wrong, information, BALL, np.full(10, -np.inf), [body])
    assert np.linalg.eigvalsh(pseudo_inertia(wrong))[0] < -0.01
    assert np.linalg.eigvalsh(pseudo_inertia(found))[0] > -1e-9
    # Any physical body between the nearest one and another is farther away.
    distance = (found - wrong) @ information @ (found - wrong)
    for other in (BALL, 0.5 * (BALL + found), 0.99 * found + 0.01 * BALL):
        assert (other - wrong) @ information @ (other - wrong) > distance

# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The potential of a pose error in closed form, along a turn past half a turn."""

import numpy as np
import pinocchio as pin
import pytest

from vms_ph_controllers.potentials.pose_potential import MARGIN, PosePotential

K, K_TURN = 300.0, 20.0


def error_at(angle: float, axis: np.ndarray) -> np.ndarray:
    error = np.eye(4)
    error[:3, :3], error[:3, 3] = pin.exp3(angle * axis), [0.1, -0.2, 0.05]
    return error


@pytest.mark.parametrize("sense", [1.0, -1.0])
def test_the_potential_of_a_turn_is_that_of_its_half_angle_until_the_other_way_is_shorter(
    sense: float,
) -> None:
    axis, potential = np.array([0.48, -0.6, 0.64]), PosePotential()
    switched = 2.0 * np.arccos(-MARGIN)
    for angle in np.arange(0.0, 2.0 * np.pi, 0.05):
        error = error_at(sense * angle, axis)
        assert potential.follow(error) == (switched <= angle < switched + 0.05)
        way = angle if angle < switched else angle - 2.0 * np.pi
        turned = 4.0 * K_TURN * (1.0 - np.cos(0.5 * way))
        place = 0.5 * K * float(error[:3, 3] @ error[:3, 3])
        assert potential.value(error, K, K_TURN) == pytest.approx(place + turned, rel=1e-12)
        wrench = potential.gradient(error, K, K_TURN)
        np.testing.assert_allclose(wrench[:3], K * error[:3, :3].T @ error[:3, 3], atol=1e-12)
        torque = 2.0 * K_TURN * np.sin(0.5 * way) * sense * axis
        np.testing.assert_allclose(wrench[3:], torque, atol=1e-12)

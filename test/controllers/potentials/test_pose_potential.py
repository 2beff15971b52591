# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The potential of a pose error in closed form, along a turn past half a turn."""

import numpy as np
import pinocchio as pin
import pytest

from vms_ph_controllers.potentials.pose_potential import (
    SIGN_MARGIN,
    BaseSpring,
    PosePotential,
    SpringEnergy,
)
from vms_ph_io import robots

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
    switched = 2.0 * np.arccos(-SIGN_MARGIN)
    for angle in np.arange(0.0, 2.0 * np.pi, 0.05):
        error = error_at(sense * angle, axis)
        assert potential.follow(error) == (switched <= angle < switched + 0.05)
        way = angle if angle < switched else angle - 2.0 * np.pi
        turned = 4.0 * K_TURN * (1.0 - np.cos(0.5 * way))
        place = 0.5 * K * float(error[:3, 3] @ error[:3, 3])
        assert potential.spring(error, K, K_TURN).energy == pytest.approx(place + turned, rel=1e-12)
        wrench = potential.spring(error, K, K_TURN).force
        np.testing.assert_allclose(wrench[:3], K * error[:3, :3].T @ error[:3, 3], atol=1e-12)
        torque = 2.0 * K_TURN * np.sin(0.5 * way) * sense * axis
        np.testing.assert_allclose(wrench[3:], torque, atol=1e-12)


def test_springs_with_a_stiffness_for_each_axis_are_gradients_and_hold_every_attitude(
    rng: np.random.Generator,
) -> None:
    isotropic = (K * np.eye(3), K_TURN * np.eye(3))
    for _ in range(40):
        roots = rng.normal(size=(2, 3, 3))
        k_position, k_turn = (100.0 * r @ r.T for r in roots)
        axis = rng.normal(size=3)
        axis /= np.linalg.norm(axis)
        error = error_at(rng.uniform(0.05, 3.3), axis)
        potential = PosePotential()
        potential.restart(error_at(0.5, axis))
        potential.follow(error)
        parts = potential.spring_energies(error, k_position, k_turn)
        wrench = np.concatenate([part.gradient for part in parts])
        h, slope = 1e-6, np.zeros(6)
        for i, step in enumerate(np.eye(6)):
            ends = []
            for there in (error @ pin.exp6(s * h * step).homogeneous for s in (1.0, -1.0)):
                potential.follow(there)
                ends.append(
                    sum(p.energy for p in potential.spring_energies(there, k_position, k_turn))
                )
            slope[i] = (ends[0] - ends[1]) / (2.0 * h)
        potential.follow(error)
        np.testing.assert_allclose(wrench, slope, atol=1e-5 * max(1.0, np.abs(slope).max()))
        # The moment turns back, at every attitude.
        turn = potential._sign * potential._quaternion[:3]
        expected = 2.0 * float(turn @ k_turn @ turn)
        assert wrench[3:] @ turn == pytest.approx(expected, rel=1e-9)
        # With one stiffness for all axes it is the potential above.
        parts = potential.spring_energies(error, *isotropic)
        both = np.concatenate([part.gradient for part in parts])
        np.testing.assert_allclose(both, potential.spring(error, K, K_TURN).force, atol=1e-10)
        assert sum(p.energy for p in parts) == pytest.approx(
            potential.spring(error, K, K_TURN).energy
        )


def test_a_bounded_spring_is_still_the_gradient_of_its_energy() -> None:
    for most, stretch in ((0.0, 0.3), (40.0, 0.1), (40.0, 0.3)):

        def pulled(e: float, most: float = most) -> SpringEnergy:
            return SpringEnergy(0.5 * K * e * e, np.array([K * e, 0.0, 0.0])).limit(
                most and 1.0 / most, K
            )[0]

        force = pulled(stretch).gradient[0]
        slope = (pulled(stretch + 1e-6).energy - pulled(stretch - 1e-6).energy) / 2e-6
        assert force == pytest.approx(slope, rel=1e-6)
        assert force == pytest.approx(min(K * stretch, most or np.inf), rel=1e-12)


def test_a_spring_below_its_bound_is_itself() -> None:
    spring = SpringEnergy(0.5 * K * 0.1**2, np.array([0.1 * K, 0.0, 0.0]))
    assert spring.limit(1.0 / (0.1 * K + 1e-9), K) == (spring, 1.0)
    bent, share = spring.limit(1.0 / (0.05 * K), K)
    assert share == pytest.approx(0.5)
    # Up to half the stretch it is the spring, then a constant force.
    assert bent.energy == pytest.approx(0.5 * K * 0.05**2 + 0.05 * K * 0.05)


def test_the_stiffness_of_a_turn_bounds_the_curvature_up_to_the_switch(
    rng: np.random.Generator,
) -> None:
    for k in range(60):
        axes = pin.exp3(rng.normal(size=3))
        shares = np.array([1.0, 0.0, 0.0]) if k % 2 else rng.uniform(size=3)
        k_turn = K_TURN * axes @ np.diag(shares) @ axes.T
        axis, angle = rng.normal(size=3), rng.uniform(0.0, 3.3)
        axis /= np.linalg.norm(axis)
        error, potential = error_at(angle, axis), PosePotential()
        potential.restart(error_at(0.5, axis))
        potential.follow(error)
        bound, h = potential.hessian_bound(k_turn), 1e-3
        for way in rng.normal(size=(20, 3)):
            stored = []
            for s in (-h, 0.0, h):
                there = error.copy()
                there[:3, :3] = error[:3, :3] @ pin.exp3(s * way)
                potential.follow(there)
                stored.append(potential.spring_energies(there, k_turn, k_turn)[1].energy)
            curvature = (stored[0] - 2.0 * stored[1] + stored[2]) / h**2
            assert curvature <= float(way @ bound @ way) + 1e-4 * K_TURN
    potential.restart(np.eye(4))
    np.testing.assert_allclose(potential.hessian_bound(k_turn), k_turn, atol=1e-12)


def test_the_springs_of_place_and_attitude_of_a_base_act_alone_and_add_up() -> None:
    model = robots.load("satellite_panda")
    spring = BaseSpring(model)
    spring.restart(model.evaluate(model.neutral_configuration(), np.zeros(model.nv)))
    pose = error_at(0.3, np.array([0.48, -0.6, 0.64]))
    place, attitude, both = (
        spring.at(spring.rest_pose @ pose, 2.0, *shares)
        for shares in ((1.0, 0.0), (0.0, 1.0), (1.0, 1.0))
    )
    assert min(place.energy, attitude.energy) > 0.0
    assert place.energy + attitude.energy == pytest.approx(both.energy)
    np.testing.assert_allclose(place.force + attitude.force, both.force)

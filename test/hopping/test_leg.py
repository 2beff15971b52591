# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""A leg: its line from the centre of mass to the foot, against differences and the model."""

import numpy as np
import pytest
from dynamics.conftest import state_of

from vms_ph_dynamics import ModelError, VMSModel, momenta
from vms_ph_hopping import Leg
from vms_ph_io import robots

from .conftest import state


def test_the_leg_sees_what_the_model_says(hopper: VMSModel, rng: np.random.Generator) -> None:
    leg = Leg(hopper)
    for _ in range(20):
        q, v = state_of(hopper, rng)
        d, seen = hopper.evaluate(q, v), leg.at(q, v)
        np.testing.assert_allclose(seen.M, d.M, atol=1e-14)
        np.testing.assert_allclose(seen.bias, d.C @ v + d.g, atol=1e-12)
        assert seen.kinetic == pytest.approx(d.kinetic_energy, abs=1e-13)
        assert seen.potential == pytest.approx(d.potential_energy, abs=1e-13)
        np.testing.assert_allclose(seen.foot, d.placement("foot")[:2, 3], atol=1e-14)
        centroidal = momenta(d).centroidal[[0, 1, 5]]
        np.testing.assert_allclose(seen.momentum, centroidal[:2], atol=1e-13)
        assert seen.angular_momentum == pytest.approx(centroidal[2], abs=1e-13)
        foot = (seen.foot[1], seen.foot_rate[1], seen.foot_rate[0])
        assert leg.foot_motion(q, v) == pytest.approx(foot)


def test_the_rates_of_length_and_angle_are_their_derivatives(
    hopper: VMSModel, rng: np.random.Generator
) -> None:
    leg, h = Leg(hopper), 1e-6
    for _ in range(20):
        q, v = state_of(hopper, rng)
        seen = leg.at(q, v)
        ahead, back = (leg.at(hopper.integrate(q, s * h * v), v) for s in (1, -1))
        assert seen.length_rate == pytest.approx((ahead.length - back.length) / (2 * h), abs=1e-8)
        turned = (ahead.angle - back.angle + np.pi) % (2 * np.pi) - np.pi
        assert seen.angle_rate == pytest.approx(turned / (2 * h), abs=1e-7)
        np.testing.assert_allclose(
            seen.centre_rate, (ahead.centre - back.centre) / (2 * h), atol=1e-8
        )


def test_no_spring_of_the_leg_moves_the_centre_of_mass(
    hopper: VMSModel, rng: np.random.Generator
) -> None:
    """The radial law loads the joints alone, the polar law turns only [B, below (4.25)]."""
    leg = Leg(hopper)
    for _ in range(10):
        q, v = state_of(hopper, rng)
        seen, d = leg.at(q, v), hopper.evaluate(q, v)
        assert np.abs(seen.J_length[:3]).max() < 1e-12
        assert np.abs(seen.J_angle[:2]).max() < 1e-12 / seen.length
        assert seen.J_angle[2] == pytest.approx(1.0, abs=1e-12)
        # [B (4.24)] writes the radial row by the internal velocity of the foot: it is the same.
        turn = d.placement("foot")[:2, :2]
        jacobian = d.jacobian("foot")[:2]
        internal = turn @ (jacobian[:, 3:] - jacobian[:, :3] @ d.A)
        row = seen.foot_offset @ internal / seen.length
        np.testing.assert_allclose(seen.J_length[3:], row, atol=1e-12)


def test_the_vertical_leg_has_angle_zero_and_tilts_towards_x(prismatic: VMSModel) -> None:
    leg = Leg(prismatic)
    assert leg.at(*state(leg, 0.0, 0.3, -np.pi / 2, 0.12)).angle == pytest.approx(0.0, abs=1e-15)
    assert leg.at(*state(leg, 0.0, 0.3, -np.pi / 2 + 0.2, 0.12)).angle == pytest.approx(0.2)
    assert leg.at(*state(leg, 0.0, 0.3, -np.pi / 2, 0.12)).length == pytest.approx(
        0.12 * 0.957 / 1.007, abs=1e-14
    )


def test_coordinates_and_configurations_are_each_others_inverse(revolute: VMSModel) -> None:
    leg = Leg(revolute)
    coordinates = np.array([0.3, -0.2, 2.5, -1.0])
    np.testing.assert_allclose(leg.coordinates(leg.configuration(coordinates)), coordinates)
    v = np.array([0.4, -0.3, 0.7, 0.2])
    h = 1e-6
    q = leg.configuration(coordinates)
    ahead, back = (leg.coordinates(revolute.integrate(q, s * h * v)) for s in (1, -1))
    np.testing.assert_allclose(
        leg.coordinate_rates(coordinates, v), (ahead - back) / (2 * h), atol=1e-9
    )


def test_what_is_no_leg_is_refused_in_words() -> None:
    with pytest.raises(ModelError, match="has a fixed base"):
        Leg(robots.load("panda"))
    description = robots.get("revolute_hopper").description()
    level = VMSModel.from_urdf(description, "planar", "foot")
    with pytest.raises(ModelError, match=r"must be \(0, -g, 0\); given: \(0.0, 0.0, -9.81\)"):
        Leg(level)


def test_a_leg_of_point_masses_may_be_singular_at_some_configuration(prismatic: VMSModel) -> None:
    """With the foot drawn into the hip nothing resists rotation; elsewhere all is well."""
    drawn = prismatic.evaluate(prismatic.neutral_configuration(), np.zeros(4))
    assert np.linalg.eigvalsh(drawn.M)[0] == pytest.approx(0.0, abs=1e-14)
    stretched = prismatic.evaluate(prismatic.configuration({"leg": 0.12}), np.zeros(4))
    assert np.linalg.eigvalsh(stretched.M)[0] > 1e-4

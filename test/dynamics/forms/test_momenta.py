# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The momentum of the whole robot in inertial axes."""

import numpy as np
import pytest

from vms_ph_dynamics import momenta
from vms_ph_dynamics.groups import SE3
from vms_ph_io import robots

from ..conftest import random_tree, state_of


def _base_pose(q: np.ndarray) -> np.ndarray:
    x, y, z, w = q[3:7]
    pose = np.eye(4)
    pose[:3, 3] = q[:3]
    pose[:3, :3] = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
        [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
        [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
    ]
    return pose


def _named(base: str) -> list[str]:
    return [name for name in robots.names() if robots.get(name).base == base]


@pytest.mark.parametrize("name", _named("floating"))
def test_on_a_floating_base_it_is_the_base_momentum_carried_to_the_inertial_frame(
    name: str, rng: np.random.Generator
) -> None:
    model = robots.load(name)
    q, v = state_of(model, rng)
    d = model.evaluate(q, v)
    solver_state = SE3().Ad(np.linalg.inv(_base_pose(q))).T @ d.p
    # Rounding of an inverse and of products with masses of thousands of kg.
    np.testing.assert_allclose(momenta(d).spatial, solver_state, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("name", _named("planar"))
def test_on_a_planar_base_the_free_part_is_the_base_momentum(
    name: str, rng: np.random.Generator
) -> None:
    model = robots.load(name)
    q, v = state_of(model, rng)
    d = model.evaluate(q, v)
    x, y, c, s = q[:4]
    force = [c * d.p[0] - s * d.p[1], s * d.p[0] + c * d.p[1]]
    turn = d.p[2] + x * force[1] - y * force[0]
    free = momenta(d).spatial[[0, 1, 5]]
    np.testing.assert_allclose(free, [*force, turn], rtol=1e-11, atol=1e-11)


def test_the_linear_part_moves_the_centre_of_mass() -> None:
    for seed in range(12):
        model = random_tree(seed)
        q, v = state_of(model, np.random.default_rng(seed))
        h = 1e-6
        ahead, behind = (
            momenta(model.evaluate(model.integrate(q, sign * h * v), v)).centre_of_mass
            for sign in (1, -1)
        )
        m = momenta(model.evaluate(q, v))
        # Central differences of step h: h^2 of truncation, 1e-16 / h of rounding.
        np.testing.assert_allclose(
            m.spatial[:3], model.total_mass * (ahead - behind) / (2 * h), atol=1e-7
        )


def test_a_base_ten_kilometres_away_has_the_same_momentum_about_the_centre_of_mass() -> None:
    model = random_tree(2)
    assert model.base == "floating"
    q, v = state_of(model, np.random.default_rng(3))
    near = momenta(model.evaluate(q, v))
    q[:3] += 1e4
    far = momenta(model.evaluate(q, v))
    np.testing.assert_allclose(far.centroidal, near.centroidal, atol=1e-13)

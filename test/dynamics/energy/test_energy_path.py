# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The energies of many states are those of the evaluations of each."""

import numpy as np
import pytest

from vms_ph_dynamics.energy.energy_path import generalised_forces, momentum_rate
from vms_ph_io import robots

ROBOTS = ("panda", "satellite_panda", "omnidirectional_panda", "borinot", "bluerov2_alpha5")


@pytest.mark.parametrize("name", ROBOTS)
def test_drift_and_forces_are_those_of_the_evaluations(name: str, rng: np.random.Generator) -> None:
    model = robots.load(name)
    q = np.array([model.random_configuration(rng) for _ in range(8)])
    v = rng.normal(size=(8, model.nv))
    known = [model.evaluate(*state) for state in zip(q, v, strict=True)]
    drift = momentum_rate(model.evaluate_batch(q, v))
    np.testing.assert_allclose(drift, [d.C.T @ d.v - d.g for d in known], atol=1e-10)
    wrench = rng.normal(size=(8, 6))
    force = generalised_forces(model, q, wrench, model.end_effector_id)
    np.testing.assert_allclose(
        force, [d.J_end_effector.T @ w for d, w in zip(known, wrench, strict=True)], atol=1e-12
    )

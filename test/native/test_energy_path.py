# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The energies and momentum balances of recorded states are the same in C++ as in Python."""

from types import ModuleType

import numpy as np
import pytest

from vms_ph_dynamics.energy.energy_path import EnergyPath
from vms_ph_io import robots


@pytest.mark.parametrize("name", ["panda", "omnidirectional_panda", "borinot", "baxter"])
def test_energies_and_momenta_are_those_of_python(
    native: ModuleType, name: str, rng: np.random.Generator
) -> None:
    model = robots.load(name)
    compiled, python = (EnergyPath(model.with_native(choice)) for choice in (True, False))
    q = np.array([model.random_configuration(rng) for _ in range(50)])
    v = rng.normal(size=(50, model.nv))
    np.testing.assert_allclose(
        compiled.stored(q, v).total, python.stored(q, v).total, rtol=1e-12, atol=1e-9
    )
    for term in ("momentum", "drift", "gravity"):
        ours, theirs = (getattr(path.momenta(q, v), term) for path in (compiled, python))
        np.testing.assert_allclose(ours, theirs, rtol=1e-11, atol=1e-9)

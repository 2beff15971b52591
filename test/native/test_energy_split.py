# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The energies of a state divide in C++ as they do in Python."""

from types import ModuleType

import numpy as np
import pytest
from std_msgs.msg import Header

from vms_ph_dynamics import PositionTask
from vms_ph_io import robots
from vms_ph_nodes.messages.energy_messages import to_energy

from .conftest import native_model

NAMES = ("kinetic", "potential", "kinetic_base", "kinetic_shape", "kinetic_task", "kinetic_null")


@pytest.mark.parametrize("name", ["panda", "omnidirectional_panda", "borinot", "satellite_panda"])
def test_the_split_is_that_of_the_energy_monitor(
    native: ModuleType, parity: ModuleType, name: str, rng: np.random.Generator
) -> None:
    model = robots.load(name)
    compiled, task = native_model(native, model), PositionTask(model)
    for _ in range(20):
        q, v = model.random_configuration(rng), rng.uniform(-2.0, 2.0, model.nv)
        expected = to_energy(Header(), model.evaluate(q, v), task)
        found = parity.energies(compiled, q, v)
        # The inverse of the task inertia is off by rounding over the square of its smallest
        # singular value, which is above 1e-3 here.
        size = max(1.0, abs(expected.potential), expected.kinetic)
        for key in NAMES:
            np.testing.assert_allclose(found[key], getattr(expected, key), rtol=0, atol=1e-9 * size)

# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Many runs at once in C++ are the runs one after another in Python."""

from types import ModuleType

import numpy as np
import pytest
from dynamics.integrators.test_integrate_batch import assert_batches, starts

from vms_ph_dynamics import Ports, StandardForm, integrate_batch
from vms_ph_dynamics.integrators import COMPILED
from vms_ph_io import robots


@pytest.mark.parametrize("scheme", COMPILED[:2])
def test_runs_of_a_batch_in_cpp_are_single_runs_in_python(
    native: ModuleType, scheme: str, rng: np.random.Generator
) -> None:
    assert_batches(True, rng, scheme)


def test_a_run_in_which_a_step_fails_is_repeated_in_parts(
    native: ModuleType, rng: np.random.Generator
) -> None:
    form = StandardForm(robots.load("panda"))
    states = starts(form, rng, 3)
    hard = Ports(torque=np.array([0.0, 0, 0, 0, 0, 0, 4e3]))
    batch = integrate_batch(form, states, [None, hard, None], dt=4e-3, steps=3, native=True)
    assert not batch.failures[0]
    assert not batch.failures[2]
    assert batch.failures[1] or batch.errors
    assert np.isfinite(batch.q[[0, 2]]).all()

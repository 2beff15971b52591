# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The derivatives of energies and rates are the same whichever language computes them."""

from types import ModuleType

import numpy as np
import pytest
from dynamics.forms.test_derivatives import check_equal, ports_of

from vms_ph_dynamics import (
    Ports,
    RateDerivatives,
    energy_derivatives,
    rate_derivatives,
    rate_derivatives_batch,
)

from .test_terms import FORMS, ROBOTS, both, states


@pytest.mark.parametrize("name", [name for name in ROBOTS if name != "bluerov"])
def test_derivatives_are_the_same_in_both_languages(
    native: ModuleType, name: str, rng: np.random.Generator
) -> None:
    ours, theirs = both(name)
    for form in FORMS:
        for q, v in states(ours, rng, 3):
            one, other, ports = form(ours), form(theirs), ports_of(ours, rng)
            x = other.state(q, v)
            # Both solve with the mass matrix, which multiplies their rounding errors.
            tolerance = 1e-14 * max(1e3, float(np.linalg.cond(theirs.evaluate(q, v).M)))
            for acting in (ports, Ports(gravity=False)):
                expected = rate_derivatives(other, x, acting)
                check_equal(rate_derivatives(one, x, acting), expected, tolerance)
                found = energy_derivatives(one, x, acting.gravity)
                check_equal(found, energy_derivatives(other, x, acting.gravity), tolerance)
            assert not expected.zdot_by_q.flags.writeable


@pytest.mark.parametrize("form", FORMS)
def test_many_states_have_the_derivatives_of_each(
    native: ModuleType, form: type, rng: np.random.Generator
) -> None:
    ours, theirs = both("satellite")
    Q, V = (np.array(part) for part in zip(*states(ours, rng, 5), strict=True))
    Z = np.array([form(theirs).state(q, v).z for q, v in zip(Q, V, strict=True)])
    ports = Ports(torque=rng.normal(size=(5, ours.n)))
    found = rate_derivatives_batch(form(ours), Q, Z, ports, parameters=True, threads=2)
    check_equal(rate_derivatives_batch(form(theirs), Q, Z, ports, parameters=True), found, 1e-11)
    some = rate_derivatives_batch(form(ours), Q, Z, ports)
    assert some.zdot_by_parameters.shape == (5, ours.nv, 0)
    np.testing.assert_array_equal(some.zdot_by_q, found.zdot_by_q)
    assert isinstance(some, RateDerivatives)
    assert rate_derivatives_batch(form(ours), Q[:0], Z[:0]).zdot_by_z.shape == (0, ours.nv, ours.nv)

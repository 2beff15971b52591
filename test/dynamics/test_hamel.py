# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The Coriolis matrix of the Hamel equations [B, 3.1 and 3.3]."""

import numpy as np
import pinocchio as pin
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vms_ph_dynamics import ModelError, VMSModel
from vms_ph_io import robots

from .moving_trees import evaluated, moving_trees

# Forces of the random trees reach a few hundred newton; this is rounding of sums of them.
ROUNDING = 1e-10


def size(matrix: np.ndarray) -> float:
    return float(np.abs(matrix).max(initial=0.0))


@given(moving_trees, st.integers(0, 2**30))
@settings(max_examples=20, deadline=None)
def test_it_has_the_forces_of_the_recursive_algorithm_and_is_not_passive(
    model: VMSModel, seed: int
) -> None:
    """[B, proposition 3.1.1]."""
    d, _ = evaluated(model, seed)
    m, rate = model.pinocchio, d.C + d.C.T
    m.gravity.setZero()
    expected = pin.nonLinearEffects(m, m.createData(), d.q, d.v)
    for matrix in (d.C_hamel, d.C):
        assert size(matrix @ d.v - expected) < ROUNDING * max(1.0, size(expected))
    assert size(rate - d.C_hamel - d.C_hamel.T) > 1e-6 * size(rate)


@given(moving_trees, st.integers(0, 2**30))
@settings(max_examples=20, deadline=None)
def test_the_joint_rates_do_not_enter_the_balance_of_the_locked_velocity(
    model: VMSModel, seed: int
) -> None:
    """[B, proposition 3.3.1]: C_xy of (A.5) vanishes, for the locked velocity as v_x."""
    d, _ = evaluated(model, seed)
    b, c, rate = model.b, d.C_hamel, d.C + d.C.T
    cross = c[:b, b:] - c[:b, :b] @ d.A + rate[:b, :b] @ d.A - rate[:b, b:]
    assert size(cross) < ROUNDING * max(1.0, size(c))


def test_robots_without_it_are_refused_in_words() -> None:
    fixed, wet = robots.load("panda"), robots.load("bluerov2_alpha5")
    with pytest.raises(ModelError, match="has a fixed base: load it with base='planar'"):
        _ = fixed.evaluate(fixed.neutral_configuration(), np.zeros(7)).C_hamel
    with pytest.raises(ModelError, match="is in a fluid"):
        _ = wet.evaluate(wet.neutral_configuration(), np.zeros(wet.nv)).C_hamel

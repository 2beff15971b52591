# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

import numpy as np
import pytest

from vms_ph_dynamics import StateError
from vms_ph_dynamics.energy.samples import MotionSamples

T = np.array([0.0, 0.1, 0.3])


def samples(**changes):
    arrays = {"t": T, "q": np.zeros((3, 2)), "v": np.zeros((3, 2)), "torque": np.zeros((3, 2))}
    return MotionSamples(**(arrays | changes))


def test_the_duration_is_from_the_first_to_the_last_sample():
    assert samples().duration == 0.3
    assert len(samples()) == 3


def test_arrays_are_read_only():
    with pytest.raises(ValueError, match="read-only"):
        samples().q[0] = 1.0


@pytest.mark.parametrize("name", ["q", "v", "torque"])
def test_an_array_with_other_rows_than_times_is_refused(name):
    with pytest.raises(StateError, match=rf"{name} must have one row for each of the 3 times"):
        samples(**{name: np.zeros((2, 2))})


def test_a_wrench_with_other_rows_is_refused_by_its_name():
    with pytest.raises(StateError, match="left_hand must have one row"):
        samples(wrenches={"left_hand": np.zeros((4, 6))})


@pytest.mark.parametrize("t", [[0.0, 0.0, 0.1], [0.1, 0.0, 0.2], [0.0, np.nan, 1.0]])
def test_times_that_do_not_increase_are_refused(t):
    with pytest.raises(StateError, match="strictly increases"):
        samples(t=np.array(t))

# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Two arms with one body, composed by ports from two URDFs, against one model of MuJoCo."""

import numpy as np
import pytest

from vms_ph_ephs import assemble, simulate

from .two_arms import box_powers, by_mujoco, by_ports, composed, flat, start_of, starts


@pytest.mark.parametrize("seconds", [0.02, pytest.param(0.5, marks=pytest.mark.slow)])
def test_two_arms_with_one_body_are_their_boxes_joined_and_the_whole_of_mujoco(
    seconds: float,
) -> None:
    system = composed()
    nested, joined = assemble(system), assemble(flat(system))
    x, steps = start_of(nested), round(seconds / 1e-3)
    motion = simulate(nested, x, 1e-3, steps, stride=steps // 10)
    other = simulate(joined, start_of(joined), 1e-3, steps, stride=steps)
    end = by_ports(nested, motion.final)
    powers = [p for state in motion.states for p in box_powers(nested, system, state).values()]
    assert max(abs(sum(parts.values())) for parts in powers) < 1e-12
    assert max(abs(power) for parts in powers for power in parts.values()) > 0.1
    np.testing.assert_allclose(by_ports(joined, other.final), end, rtol=0, atol=1e-10)
    # MuJoCo's error is proportional to its step: twice the motion at half the step less that at
    # the whole step is free of it to second order.
    theirs = [by_mujoco(starts(nested, x), seconds, 1e-3 / 2**k) for k in range(3)]
    errors = [float(np.abs(motion_of_mujoco - end).max()) for motion_of_mujoco in theirs]
    assert errors[1] / errors[2] == pytest.approx(2.0, abs=0.02)
    assert np.abs(2.0 * theirs[2] - theirs[1] - end).max() < 2e-3 * errors[0]
    assert np.abs(motion.first_law).max() < 1e-8
    assert motion.violation.max() < 1e-12

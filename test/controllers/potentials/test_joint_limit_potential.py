# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The potential of the joint limits: it repels the joints and is part of the energy."""

import numpy as np
import pytest

from vms_ph_controllers import (
    RobotState,
    TaskSpaceIDAPBC,
)
from vms_ph_controllers.potentials.shaped_potential import JointLimitPotential
from vms_ph_dynamics import CanonicalForm, Ports, VMSModel

from ..support.closed_loops import HOLD, Q0, Sampled

REST = np.zeros(7)
Gains = TaskSpaceIDAPBC.Gains


def test_depths_begin_at_the_margins_and_a_joint_beyond_one_goes_no_further(
    panda: VMSModel,
) -> None:
    limits, margin = JointLimitPotential(panda), 0.1
    lower, upper = panda.joints.lower, panda.joints.upper
    assert not limits.depth(0.5 * (lower + upper), margin).any()
    np.testing.assert_allclose(limits.depth(lower + 0.03, margin), -0.07)
    np.testing.assert_allclose(limits.depth(upper - 0.02, margin), 0.08)
    np.testing.assert_array_equal(limits.depth(lower + margin + 1e-3, margin), 0.0)
    np.testing.assert_array_equal(limits.depth(upper - margin - 1e-3, margin), 0.0)
    springs = limits.springs(lower + 0.03, lower + 0.03, 50.0, margin)
    assert springs.energy == pytest.approx(0.5 * 50.0 * 7 * 0.07**2)
    np.testing.assert_allclose(springs.force, -50.0 * 0.07)
    middle = 0.5 * (lower + upper)
    np.testing.assert_allclose(limits.clip_positions(lower - 1.0, middle, margin), lower + margin)
    np.testing.assert_allclose(limits.clip_positions(upper + 1.0, middle, margin), upper - margin)
    np.testing.assert_allclose(limits.clip_positions(lower, lower + 0.04, margin), lower + 0.04)
    np.testing.assert_allclose(limits.clip_positions(upper, upper - 0.04, margin), upper - 0.04)


@pytest.mark.usefixtures("core")
def test_springs_keep_the_joints_off_their_limits(panda: VMSModel) -> None:
    # A hard push along joint 4 towards its upper limit.
    limit = panda.joints.upper[3]
    q = Q0.copy()
    q[3] = limit - 0.2
    reached = []
    for stiffness in (0.0, 1000.0):
        controller = TaskSpaceIDAPBC(panda, gains=Gains(stiffness=1.0, limit_stiffness=stiffness))
        controller.reset(RobotState(q, REST))
        v = REST.copy()
        v[3] = 2.0
        loop = Sampled(panda, controller, q, v)
        furthest = -np.inf
        for _ in range(30):
            loop.run(0.02)
            furthest = max(furthest, loop.q[3])
        reached.append(furthest)
    assert reached[0] > limit
    assert reached[1] < limit


def test_the_springs_at_the_limits_are_part_of_the_energy_that_falls(
    panda: VMSModel, law: TaskSpaceIDAPBC, rng: np.random.Generator
) -> None:
    form, step = CanonicalForm(panda), 1e-6
    q = Q0.copy()
    law.gains = Gains(stiffness=3.0)
    q[3], q[5] = panda.joints.upper[3] - 0.01, panda.joints.lower[5] + 0.02
    for _ in range(10):
        v = rng.uniform(-0.3, 0.3, 7)
        command = law.update(RobotState(q, v), HOLD, 0.0)
        assert command.energy.shaped_potential > 1.5 * float((q - Q0) @ (q - Q0))
        rate = form.rate(form.state(q, v), Ports(command.torque))
        ahead, behind = (
            law.update(RobotState(q + s * v, REST), HOLD, 0.0).energy.shaped_potential
            for s in (step, -step)
        )
        kinetic = float(form.gradient(form.state(q, v)) @ form.layout(rate))
        damping = command.energy.damping_task + command.energy.damping_null
        # The central difference of a quadratic potential is exact up to rounding over the step.
        assert kinetic + (ahead - behind) / (2 * step) == pytest.approx(-damping, abs=1e-7)

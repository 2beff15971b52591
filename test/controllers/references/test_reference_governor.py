# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The reference governor: reach, speed and limits of the minimum."""

import numpy as np
import pytest

from vms_ph_controllers import (
    Reference,
    RobotState,
    Status,
    TaskSpaceIDAPBC,
)
from vms_ph_controllers.references.reference_governor import ReferenceGovernor
from vms_ph_dynamics import PositionTask, VMSModel

from ..support.closed_loops import HOLD, Q0

REST = np.zeros(7)
Gains = TaskSpaceIDAPBC.Gains


@pytest.mark.usefixtures("core")
def test_the_minimum_keeps_the_margin_of_the_limits(panda: VMSModel, law: TaskSpaceIDAPBC) -> None:
    goal, lower, upper = np.array([-0.35, 0.1, 0.5]), panda.joints.lower, panda.joints.upper
    stopped = np.zeros(7, dtype=bool)
    for _ in range(1200):
        command = law.update(RobotState(Q0, REST), Reference(position=goal), 1e-2)
        assert command.status is not Status.HOLDING
        stopped |= np.minimum(law.q_star - lower, upper - law.q_star) < 0.052
    assert (law.q_star >= lower + 0.05 - 1e-12).all()
    assert (law.q_star <= upper - 0.05 + 1e-12).all()
    assert np.count_nonzero(stopped) >= 2
    # The others still lead it to the goal.
    at = law.task.value(panda.evaluate(law.q_star, REST))
    np.testing.assert_allclose(at, goal, atol=1e-3)


@pytest.mark.usefixtures("core")
def test_a_reference_out_of_reach_gets_the_nearest_minimum_and_one_in_reach_again_is_met(
    panda: VMSModel, law: TaskSpaceIDAPBC
) -> None:
    state = RobotState(Q0, REST)
    law.gains = Gains(stiffness=1.0)
    for _ in range(2000):
        command = law.update(state, Reference(position=np.array([0.0, 3.0, 0.5])), 1e-2)
    assert command.status is Status.DEGRADED
    assert "cannot follow" in command.reason
    at = law.task.value(panda.evaluate(law.q_star, REST))
    # Fully stretched towards it: the shoulder is at 0.333 m, and 0.85 m reach from there.
    along = np.array([0.0, 3.0, 0.5 - 0.333])
    assert (at - [0, 0, 0.333]) @ along / np.linalg.norm(along) > 0.84
    goal = np.array([0.3, 0.3, 0.6])
    for _ in range(700):
        command = law.update(state, Reference(position=goal), 1e-2)
    np.testing.assert_allclose(law.task.value(panda.evaluate(law.q_star, REST)), goal, atol=1e-6)
    assert "cannot follow" not in command.reason


def test_no_reference_moves_the_minimum_faster_than_the_joints_can(
    panda: VMSModel, law: TaskSpaceIDAPBC
) -> None:
    before = law.q_star
    for k in range(400):
        goal = np.array([0.2 * (-1) ** (k // 50), 0.6, 0.9])
        law.update(RobotState(Q0, REST), Reference(position=goal), 1e-2)
        moved = np.abs(law.q_star - before)
        assert (moved <= 1e-2 * panda.joints.velocity * (1 + 1e-9)).all()
        before = law.q_star


def test_the_joint_that_would_be_fastest_moves_at_its_bound(panda: VMSModel) -> None:
    governor = ReferenceGovernor(panda, PositionTask(panda), 0.05)
    governor.restart(Q0)
    goal = governor.minimum.x + np.array([0.2, -0.1, -0.1])
    moved = governor.propose(Reference(position=goal), 1e-2, 20.0, 0.05).q - Q0
    assert np.max(np.abs(moved) / panda.joints.velocity) == pytest.approx(1e-2)


def test_a_reference_that_is_not_finite_is_reported(law: TaskSpaceIDAPBC) -> None:
    bad = Reference(position=np.array([np.nan, 0.0, 0.0]))
    command = law.update(RobotState(Q0, REST), bad, 1e-3)
    assert command.status is Status.HOLDING
    assert "reference is not finite" in command.reason
    assert law.update(RobotState(Q0, REST), HOLD, 1e-3).status is Status.OK
    assert law.update(RobotState(Q0, REST), Reference(np.zeros(2)), 1e-3).status is Status.HOLDING


def test_without_a_reference_the_minimum_stays_where_it_was_set(panda: VMSModel) -> None:
    beyond = panda.joints.upper + 0.01
    governor = ReferenceGovernor(panda, PositionTask(panda), 0.05)
    governor.restart(beyond)
    for _ in range(3):
        governor.minimum = governor.propose(Reference(), 0.01, 0.1, 0.05)
    np.testing.assert_array_equal(governor.minimum.q, beyond)

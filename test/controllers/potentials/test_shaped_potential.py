# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""What stiffness a force at the task meets."""

import numpy as np
import pytest

from vms_ph_controllers import RobotState, TaskSpaceIDAPBC
from vms_ph_controllers.potentials.shaped_potential import ShapedPotential, weight_of_task_stiffness
from vms_ph_dynamics import PositionTask, TaskSpaceForm, VMSModel

from ..support.closed_loops import HOLD, Q0

K_T = np.array([[400.0, 30.0, 0.0], [30.0, 250.0, -20.0], [0.0, -20.0, 600.0]])
REST = np.zeros(7)


def test_a_task_stiffness_is_met_exactly_statically_and_in_the_decoupled_linearisation(
    panda: VMSModel,
) -> None:
    task = PositionTask(panda)
    t = TaskSpaceForm(panda, task, reference=Q0 + 0.05).evaluate(Q0, REST)
    weight = weight_of_task_stiffness(task, t.d, K_T, 12.0)
    static = np.linalg.inv(t.J @ np.linalg.solve(weight, t.J.T))
    by_40 = t.J_sharp.T @ weight @ t.J_sharp
    np.testing.assert_allclose(static, K_T, rtol=1e-10, atol=1e-9)
    np.testing.assert_allclose(by_40, K_T, rtol=1e-10, atol=1e-9)
    np.testing.assert_allclose(t.Z @ weight @ t.Z.T, 12.0 * np.eye(4), atol=1e-9)
    np.testing.assert_allclose(t.J_sharp.T @ weight @ t.Z.T, 0.0, atol=1e-9)


def test_without_it_the_source_s_stiffness_is_several_times_too_large(panda: VMSModel) -> None:
    # [D (40)] forgets the null space: W = 7 I at q0, (503, 202, 69) against (87, 14, 54) N/m.
    t = TaskSpaceForm(panda, PositionTask(panda), reference=Q0).evaluate(Q0, REST)
    by_40 = 7.0 * t.J_sharp.T @ t.J_sharp
    static = np.linalg.inv(t.J @ t.J.T / 7.0)
    np.testing.assert_allclose(np.diag(by_40), [503, 202, 69], atol=0.5)
    np.testing.assert_allclose(np.diag(static), [87, 14, 54], atol=0.5)


def test_the_controller_pulls_back_with_the_stiffness_asked_for(panda: VMSModel) -> None:
    law = TaskSpaceIDAPBC(panda, TaskSpaceIDAPBC.Gains(task_stiffness=300.0))
    law.reset(RobotState(Q0, REST))
    t = TaskSpaceForm(panda, law.task, reference=Q0).evaluate(Q0, REST)
    # Where a force of 1 N would bring the task, the torques are that force's.
    force = np.array([0.3, -0.2, 0.4])
    q = Q0 + 1e-4 * t.J_sharp @ force / 300.0
    torque = law.update(RobotState(q, REST), HOLD, 1e-3).torque
    restoring = torque - panda.evaluate(q, REST).g
    np.testing.assert_allclose(restoring, -1e-4 * t.J.T @ force, atol=1e-12)


def test_a_weight_given_as_a_matrix_is_the_potential(panda: VMSModel) -> None:
    weight = np.diag([1.0, 2, 3, 4, 5, 6, 7])
    potential = ShapedPotential(panda, Q0, weight)
    assert potential.energy(Q0 + 0.1) == pytest.approx(0.5 * 0.01 * 28.0)
    np.testing.assert_allclose(potential.gradient(Q0 + 0.1), 0.1 * np.diag(weight))


def test_a_task_stiffness_can_be_given_up_while_the_arm_rests(panda: VMSModel) -> None:
    law = TaskSpaceIDAPBC(panda, gains=TaskSpaceIDAPBC.Gains(task_stiffness=200.0))
    state = RobotState(Q0, REST)
    law.reset(state)
    law.update(state, HOLD, 1e-3)
    law.gains = TaskSpaceIDAPBC.Gains()
    away = RobotState(Q0 + 0.1, REST)
    held = law.update(away, HOLD, 1e-3).energy.shaped_potential
    for _ in range(250):  # the other stiffness comes in within the time of a gain ramp
        last, held = held, law.update(away, HOLD, 4e-3).energy.shaped_potential
        assert abs(held - last) < 0.16
    assert law.update(away, HOLD, 1e-3).energy.shaped_potential == pytest.approx(15.0 * 0.07)

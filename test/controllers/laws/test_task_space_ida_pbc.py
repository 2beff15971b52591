# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The controller of source D on the Panda: figures, passivity, and what it does with bad input."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from vms_ph_controllers import Reference, RobotState, Status, TaskSpaceIDAPBC
from vms_ph_dynamics import CanonicalForm, ModelError, PHState, Ports, StateError, VMSModel
from vms_ph_dynamics.integrators.runge_kutta import RK4
from vms_ph_io import load_urdf, robots

from ..support.closed_loops import HOLD, Q0


@pytest.fixture
def controller(panda: VMSModel) -> TaskSpaceIDAPBC:
    law = TaskSpaceIDAPBC(panda)
    law.reset(RobotState(Q0, np.zeros(7)))
    return law


def test_a_push_gives_the_golden_response_of_figure_2(
    panda: VMSModel, controller: TaskSpaceIDAPBC, golden: Path
) -> None:
    # 10 N along x for 0.15 s, the law in every stage, W = 30 I: source D, Fig. 2, q*_0 stiff.
    expected = json.loads((golden / "D_fig2.json").read_text())["q0_W30"]
    form = CanonicalForm(panda)
    x = form.state(Q0, np.zeros(7))
    rest = controller.task.value(panda.evaluate(Q0, np.zeros(7)))

    def ports(t: float, x: PHState) -> Ports:
        state = RobotState(x.q, form.velocity(x))
        push = None
        if t < 0.15 - 1e-12:
            rotation = panda.evaluate(x.q, state.v).placement("panda_link8")[:3, :3]
            push = np.concatenate([rotation.T @ [10.0, 0.0, 0.0], np.zeros(3)])
        return Ports(controller.update(state, HOLD, 0.0).torque, None, push)

    distances, work = [], 0.0
    for k in range(190):
        # The pulse ends on a step: the last stage before its end must still be pushed.
        t = 2e-3 * k
        step = RK4(form).step(x, lambda s, x, t=t: ports(min(s, t + 1.8e-3), x), t, 2e-3)
        x = step.solver_state
        work += step.supplied["wrench_end_effector"]
        here = controller.task.value(panda.evaluate(x.q, np.zeros(7)))
        distances.append(float(np.linalg.norm(here - rest)))
    assert max(distances) == pytest.approx(expected["peak_dx_m"], abs=1e-6)
    assert distances[74] == pytest.approx(expected["dx_at_pulse_end"], abs=1e-6)
    assert work == pytest.approx(expected["work_by_force"], abs=1e-6)


def test_the_closed_loop_energy_falls_by_the_damping(
    panda: VMSModel, controller: TaskSpaceIDAPBC, rng: np.random.Generator
) -> None:
    form = CanonicalForm(panda)
    for _ in range(20):
        q, v = Q0 + rng.uniform(-0.2, 0.2, 7), rng.uniform(-0.2, 0.2, 7)
        command = controller.update(RobotState(q, v), HOLD, 0.0)
        rate = form.rate(form.state(q, v), Ports(command.torque))
        d = panda.evaluate(q, v)
        # dH_cl/dt, computed from the motion and not from the controller's own figures.
        stored = float(form.gradient(form.state(q, v)) @ form.layout(rate)) + 30.0 * float(
            (q - Q0) @ v
        )
        damping = command.energy.damping_task + command.energy.damping_null
        assert command.status is Status.OK
        assert stored == pytest.approx(-damping, abs=1e-10)
        assert damping >= 0.0
        whole = command.energy.kinetic_task + command.energy.kinetic_null
        assert whole == pytest.approx(d.kinetic_energy, rel=1e-12)


def test_it_holds_the_pose_it_was_reset_in(panda: VMSModel, controller: TaskSpaceIDAPBC) -> None:
    command = controller.update(RobotState(Q0, np.zeros(7)), HOLD, 1e-3)
    np.testing.assert_allclose(command.torque, panda.evaluate(Q0, np.zeros(7)).g, atol=1e-12)
    assert command.task_error == 0.0


def test_the_minimum_follows_the_reference_at_the_speed_allowed(
    panda: VMSModel, controller: TaskSpaceIDAPBC
) -> None:
    rest = np.zeros(7)
    start = np.array(controller.task.value(panda.evaluate(Q0, rest)))
    goal = start + np.array([0.05, 0.04, -0.03])
    state = RobotState(Q0, rest)
    for k in range(250):
        controller.update(state, Reference(position=goal), 4e-3)
        moved = controller.task.value(panda.evaluate(controller.q_star, rest)) - start
        assert np.linalg.norm(moved) <= 0.8e-3 * (k + 1) + 1e-6
    reached = controller.task.value(panda.evaluate(controller.q_star, rest))
    np.testing.assert_allclose(reached, goal, atol=1e-6)


def test_the_power_of_a_moving_reference_is_accounted(
    panda: VMSModel, controller: TaskSpaceIDAPBC
) -> None:
    state = RobotState(Q0 + 0.02, np.zeros(7))
    before = controller.update(state, HOLD, 1e-3).energy
    goal = controller.task.value(panda.evaluate(Q0, np.zeros(7))) + np.array([0.0, 0.1, 0.0])
    put_in = 0.0
    for _ in range(100):
        energy = controller.update(state, Reference(position=goal), 1e-3).energy
        put_in += 1e-3 * energy.reference_power
    change = energy.closed_loop_energy - before.closed_loop_energy
    assert abs(change) > 1e-3
    assert put_in == pytest.approx(change, rel=1e-9)


def test_a_velocity_reference_moves_the_minimum_on(
    panda: VMSModel, controller: TaskSpaceIDAPBC
) -> None:
    rest = np.zeros(7)
    start = np.array(controller.task.value(panda.evaluate(Q0, rest)))
    upwards = Reference(velocity=np.array([0.0, 0.0, 0.1]))
    for _ in range(125):
        controller.update(RobotState(Q0, rest), upwards, 4e-3)
    moved = controller.task.value(panda.evaluate(controller.q_star, rest)) - start
    np.testing.assert_allclose(moved, [0, 0, 0.05], atol=1e-4)


@pytest.mark.usefixtures("core")
def test_a_reference_out_of_reach_ends_at_the_rim_without_violence(
    panda: VMSModel, controller: TaskSpaceIDAPBC
) -> None:
    state = RobotState(Q0, np.zeros(7))
    for _ in range(3000):
        command = controller.update(state, Reference(position=np.array([3.0, 0, 0.5])), 1e-2)
        assert np.isfinite(command.torque).all()
    assert (controller.q_star >= panda.joints.lower).all()
    assert (controller.q_star <= panda.joints.upper).all()
    assert command.task_error > 1.0


def test_limits_clip_the_torque_and_say_so(panda: VMSModel, controller: TaskSpaceIDAPBC) -> None:
    state = RobotState(Q0 + 1.0, np.ones(7))
    command = controller.update(state, HOLD, 1e-3)
    assert command.status is Status.SATURATED
    assert "panda_joint6" in command.reason
    assert (np.abs(command.torque) <= panda.joints.effort).all()
    assert command.energy.clipped_power != 0.0


def test_a_state_that_is_not_finite_gets_the_last_gravity_torque(
    panda: VMSModel, controller: TaskSpaceIDAPBC
) -> None:
    controller.update(RobotState(Q0 + 0.1, np.zeros(7)), HOLD, 1e-3)
    command = controller.update(RobotState(Q0 * np.nan, np.zeros(7)), HOLD, 1e-3)
    assert command.status is Status.HOLDING
    assert "not finite" in command.reason
    np.testing.assert_allclose(command.torque, panda.evaluate(Q0 + 0.1, np.zeros(7)).g)


def test_a_reference_that_is_not_finite_is_ignored(controller: TaskSpaceIDAPBC) -> None:
    bad = Reference(np.array([np.nan, 0, 0]), np.array([0, np.inf, 0]))
    command = controller.update(RobotState(Q0, np.zeros(7)), bad, 1e-3)
    np.testing.assert_array_equal(controller.q_star, Q0)
    assert np.isfinite(command.torque).all()


def test_a_singular_posture_is_flagged_and_finite(controller: TaskSpaceIDAPBC) -> None:
    q = np.array([1.686, 0, 1.571, -3.072, 0, 2.665, -2.897])
    controller.reset(RobotState(q, np.zeros(7)))
    command = controller.update(RobotState(q, np.full(7, 0.1)), HOLD, 1e-3)
    assert command.status is Status.DEGRADED
    assert command.smallest_singular_value < 0.01
    assert np.isfinite(command.torque).all()


def test_robots_and_states_it_cannot_serve_are_refused(controller: TaskSpaceIDAPBC) -> None:
    floating = VMSModel.from_urdf(robots.get("panda").description(), "floating")
    with pytest.raises(ModelError, match="fixed base"):
        TaskSpaceIDAPBC(floating)
    known = robots.get("panda")
    locked = tuple(f"panda_joint{k}" for k in range(3, 8)) + known.locked
    two = load_urdf(known.path(), locked_joints=locked)
    with pytest.raises(ModelError, match="at least 3 joints; 'panda' has 2"):
        TaskSpaceIDAPBC(two)
    with pytest.raises(StateError, match="must have shape"):
        controller.reset(RobotState(np.zeros(3), np.zeros(7)))


def test_rate_and_power_of_the_torques_are_bounded_where_that_is_asked_for(panda: VMSModel) -> None:
    law = TaskSpaceIDAPBC(panda)
    law.reset(RobotState(Q0, np.zeros(7)))
    law.gains = replace(law.gains, torque_rate=50.0)
    first = law.update(RobotState(Q0, np.zeros(7)), HOLD, 1e-3)
    away = RobotState(Q0 + 0.1, np.zeros(7))
    second = law.update(away, HOLD, 1e-3)
    assert np.abs(second.torque - first.torque).max() == pytest.approx(0.05)
    assert second.status is Status.SATURATED
    assert "rate of torque" in second.reason
    law.gains = replace(law.gains, torque_rate=0.0, power=8.0, stiffness=1000.0)
    law.reset(RobotState(Q0, np.zeros(7)))
    moving = RobotState(Q0 - 0.1, np.full(7, 0.5))
    told = law.update(moving, HOLD, 1e-3)
    assert float(told.torque @ moving.v) == pytest.approx(8.0)
    assert "power at its limit" in told.reason


def test_the_stiffness_of_the_task_is_what_a_displaced_end_effector_feels(
    panda: VMSModel, rng: np.random.Generator
) -> None:
    gains = TaskSpaceIDAPBC.Gains(task_stiffness=300.0, null_stiffness=0.0)
    law = TaskSpaceIDAPBC(panda, gains=gains)
    law.reset(RobotState(Q0, np.zeros(7)))
    there = law.task.value(panda.evaluate(Q0, np.zeros(7)))
    jacobian = law.task.jacobian(panda.evaluate(Q0, np.zeros(7)))
    q = Q0 + 1e-4 * jacobian.T @ rng.normal(size=3)
    d = panda.evaluate(q, np.zeros(7))
    command = law.update(RobotState(q, np.zeros(7)), HOLD, 0.0)
    assert command.status is not Status.HOLDING
    displacement = law.task.value(d) - there
    stored = 0.5 * 300.0 * float(displacement @ displacement)
    assert command.energy.shaped_potential == pytest.approx(stored, rel=1e-2)
    force = np.linalg.solve(jacobian @ jacobian.T, jacobian @ (d.g - command.torque))
    assert float(force @ displacement) == pytest.approx(2.0 * stored, rel=1e-2)

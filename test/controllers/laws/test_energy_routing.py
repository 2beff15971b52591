# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Energy routing: task and null space without their coupling, and without power."""

import json
from pathlib import Path

import numpy as np
import pytest

from vms_ph_controllers import RobotState, Status, TaskSpaceIDAPBC
from vms_ph_dynamics import CanonicalForm, PHState, Ports, TaskSpaceForm, VMSModel
from vms_ph_dynamics.integrators.runge_kutta import RK4

from ..support.closed_loops import HOLD, Q0

REST = np.zeros(7)


def with_routing(model: VMSModel) -> TaskSpaceIDAPBC:
    return TaskSpaceIDAPBC(model, TaskSpaceIDAPBC.Gains(cancel_coupling=True))


def test_routing_does_no_work(panda: VMSModel, rng: np.random.Generator) -> None:
    law = with_routing(panda)
    plain = TaskSpaceIDAPBC(panda)
    for _ in range(20):
        state = RobotState(Q0 + rng.uniform(-0.3, 0.3, 7), rng.uniform(-1, 1, 7))
        for each in (law, plain):
            each.reset(RobotState(Q0, REST))
        with_it, without = (each.update(state, HOLD, 1e-3) for each in (law, plain))
        routed = with_it.torque - without.torque
        assert np.abs(routed).max() > 1e-3
        assert abs(with_it.energy.routing_power) < 1e-12
        assert with_it.energy.closed_loop_energy == without.energy.closed_loop_energy


def test_the_momenta_then_follow_the_target_system(
    panda: VMSModel, rng: np.random.Generator
) -> None:
    # [D (31)] with damping: pi_e_dot = -J_bar^-T dH_cl/dq - D eta_e with G_bar = 0.
    law = with_routing(panda)
    law.reset(RobotState(Q0, REST))
    form = TaskSpaceForm(panda, law.task, reference=Q0)
    for _ in range(10):
        q, v = Q0 + rng.uniform(-0.2, 0.2, 7), rng.uniform(-0.5, 0.5, 7)
        command = law.update(RobotState(q, v), HOLD, 0.0)
        assert command.status is Status.OK
        x, t = form.state(q, v), form.evaluate(q, v)
        slope = form.gradient(x)[:7] + 30.0 * (q - Q0)
        damping = np.concatenate([9.0 * t.eta, 6.0 * t.nu])
        wanted = -t.J_bar_inverse.T @ slope - damping
        rate = form.rate(x, Ports(command.torque)).zdot
        np.testing.assert_allclose(rate, wanted, atol=1e-10 * max(1.0, np.abs(wanted).max()))


@pytest.mark.usefixtures("core")
def test_the_push_of_figure_2_with_the_coupling_cancelled_is_the_golden_one(
    panda: VMSModel, golden: Path
) -> None:
    expected = json.loads((golden / "D_fig2_routing.json").read_text())["q0_W30"]
    law = with_routing(panda)
    law.reset(RobotState(Q0, REST))
    form = CanonicalForm(panda)
    x = form.state(Q0, REST)
    rest = law.task.value(panda.evaluate(Q0, REST))

    def ports(x: PHState, pushed: bool) -> Ports:
        state = RobotState(x.q, form.velocity(x))
        push = None
        if pushed:
            rotation = panda.evaluate(x.q, REST).placement("panda_link8")[:3, :3]
            push = np.concatenate([rotation.T @ [10.0, 0.0, 0.0], np.zeros(3)])
        return Ports(law.update(state, HOLD, 0.0).torque, None, push)

    # 2 ms, as the golden data: the pulse ends on a step.
    distances = []
    for k in range(200):
        pushed = k < 75
        step = RK4(form).step(x, lambda t, x, p=pushed: ports(x, p), 2e-3 * k, 2e-3)
        x = step.solver_state
        distances.append(np.linalg.norm(law.task.value(panda.evaluate(x.q, REST)) - rest))
    assert max(distances) == pytest.approx(expected["peak"], abs=1e-6)
    assert 2e-3 * (1 + int(np.argmax(distances))) == pytest.approx(expected["t_peak"])


def test_a_long_swing_anchors_the_basis_anew_and_stays_without_power(panda: VMSModel) -> None:
    law = with_routing(panda)
    law.reset(RobotState(Q0, REST))
    for s in np.linspace(0.0, 2.5, 50):
        q = Q0 + s * np.array([1.0, 0.2, -1.0, -0.3, 1.0, 0.5, 1.0])
        command = law.update(RobotState(q, np.ones(7)), HOLD, 1e-3)
        assert abs(command.energy.routing_power) < 1e-11


def test_routing_fades_out_before_a_singularity(panda: VMSModel) -> None:
    singular = np.array([1.686, 0, np.pi / 2, -3.0, 0, 2.665, -2.897])
    law, plain = with_routing(panda), TaskSpaceIDAPBC(panda)
    before = None
    for q6 in np.linspace(0.5, 0.0, 101):
        q = singular.copy()
        q[5] -= q6
        state = RobotState(q, np.full(7, 0.3))
        torques = []
        for each in (law, plain):
            each.set_minimum(singular)
            torques.append(each.update(state, HOLD, 1e-3).torque)
        routed = torques[0] - torques[1]
        if before is not None:
            assert np.abs(routed - before).max() < 0.05
        before = routed
    np.testing.assert_array_equal(before, 0.0)

"""Holding a posture on any base: energy, oscillation, limits."""

from itertools import pairwise

import numpy as np
import pytest

from vms_ph_controllers import PostureControl, Reference, RobotState, Status
from vms_ph_dynamics import VMSModel
from vms_ph_dynamics.integrators import rk4_step
from vms_ph_dynamics.structure import Ports, StandardForm
from vms_ph_io import robots

STILL = Reference()


@pytest.fixture(params=["omnidirectional_panda", "hextilt", "satellite_panda", "panda"])
def controlled(request: pytest.FixtureRequest) -> tuple[VMSModel, PostureControl]:
    known = robots.get(request.param)
    model = known.load()
    controller = PostureControl(model)
    controller.reset(RobotState(model.configuration(known.home), np.zeros(model.nv)))
    return model, controller


def _kicked(model: VMSModel, controller: PostureControl, size: float) -> np.ndarray:
    rng = np.random.default_rng(4)
    return model.integrate(controller.q_star, size * rng.uniform(-1, 1, model.nv))


def _closed_loop(model: VMSModel, controller: PostureControl):  # type: ignore[no-untyped-def]
    form = StandardForm(model)

    def ports(t: float, x):  # type: ignore[no-untyped-def]
        v = form.velocity(x)
        command = controller.update(RobotState(x.q, v), STILL, 1e-3)
        return Ports(command.torque, command.wrench_base if model.b else None)

    return form, ports


def test_the_closed_loop_energy_falls_by_the_injected_damping(
    controlled: tuple[VMSModel, PostureControl],
) -> None:
    model, controller = controlled
    form, ports = _closed_loop(model, controller)
    x = form.state(_kicked(model, controller, 0.1), np.zeros(model.nv))

    def record():  # type: ignore[no-untyped-def]
        command = controller.update(RobotState(x.q, form.velocity(x)), STILL, 1e-3)
        assert command.energy.clipped_power == 0.0
        return command.energy.closed_loop, command.energy.damping_task

    energies, powers, dt = [], [], 2e-3
    for _ in range(600):
        energy, power = record()
        energies.append(energy)
        powers.append(power)
        x = rk4_step(form, x, ports, 0.0, dt).state
    lost = np.cumsum([dt * (a + b) / 2 for a, b in pairwise(powers)])
    scale = energies[0]
    assert np.all(np.diff(energies) < 0)
    # The trapezoidal rule, on a power that changes at some 10 rad/s: (10 dt)^2 / 12 of the loss.
    np.testing.assert_allclose(energies[0] - np.array(energies[1:]), lost, atol=1e-4 * scale)
    assert energies[-1] < 0.5 * scale


def test_the_potential_is_that_whose_gradient_acts(
    controlled: tuple[VMSModel, PostureControl],
) -> None:
    model, controller = controlled
    q = _kicked(model, controller, 0.5)
    zero = np.zeros(model.nv)
    held = controller.update(RobotState(q, zero), STILL, 1e-3)
    h = 1e-6
    for k in range(model.nv):
        step = np.zeros(model.nv)
        step[k] = h
        ahead, behind = (
            controller.update(RobotState(model.integrate(q, s), zero), STILL, 1e-3)
            for s in (step, -step)
        )
        slope = (ahead.energy.shaped_potential - behind.energy.shaped_potential) / (2 * h)
        acting = np.concatenate([held.wrench_base, held.torque]) - model.evaluate(q, zero).g
        if k < model.b or held.status is Status.OK:
            scale = 1 + held.energy.shaped_potential
            assert acting[k] == pytest.approx(-slope, abs=1e-7 * scale)


def test_small_motions_swing_with_the_frequencies_asked_for() -> None:
    known = robots.get("satellite_panda")
    model = known.load()
    gains = PostureControl.Gains(base_frequency=2.0, joint_frequency=5.0, damping_ratio=0.0)
    controller = PostureControl(model, gains)
    controller.reset(RobotState(model.configuration(known.home), np.zeros(model.nv)))
    zero, h, q0 = np.zeros(model.nv), 1e-6, controller.q_star
    columns = []
    for k in range(model.nv):
        step = np.zeros(model.nv)
        step[k] = h
        pair = [
            controller.update(RobotState(model.integrate(q0, s), zero), STILL, 1e-3)
            for s in (step, -step)
        ]
        forces = [np.concatenate([c.wrench_base, c.torque]) for c in pair]
        columns.append((forces[0] - forces[1]) / (2 * h))
    stiffness = -np.stack(columns, axis=1)
    squares = np.linalg.eigvals(np.linalg.solve(model.evaluate(q0, zero).M, stiffness)).real
    # Six of the locked motion, seven of the shape.
    np.testing.assert_allclose(np.sort(squares), [4.0] * 6 + [25.0] * 7, rtol=1e-5)


def test_with_a_free_base_the_momentum_is_left_alone() -> None:
    known = robots.get("satellite_panda")
    model = known.load()
    controller = PostureControl(model, PostureControl.Gains(base_frequency=0.0))
    controller.reset(RobotState(model.configuration(known.home), np.zeros(model.nv)))
    q = _kicked(model, controller, 0.1)
    command = controller.update(RobotState(q, np.full(model.nv, 0.1)), STILL, 1e-3)
    np.testing.assert_array_equal(command.wrench_base, np.zeros(6))
    assert np.abs(command.torque).max() > 1e-3


def test_torques_are_kept_within_the_limits_and_the_difference_is_accounted() -> None:
    model = robots.load("panda")
    controller = PostureControl(model, PostureControl.Gains(joint_frequency=50.0))
    controller.reset(RobotState(model.neutral_configuration(), np.zeros(7)))
    command = controller.update(RobotState(np.full(7, 0.5), np.full(7, -1.0)), STILL, 1e-3)
    assert command.status is Status.SATURATED
    assert "panda_joint" in command.reason
    assert np.all(np.abs(command.torque) <= model.joints.effort)
    assert command.energy.clipped_power != 0.0


def test_a_state_that_is_not_finite_gets_the_last_gravity_force(
    controlled: tuple[VMSModel, PostureControl],
) -> None:
    model, controller = controlled
    bad = RobotState(np.full(model.nq, np.nan), np.zeros(model.nv))
    command = controller.update(bad, STILL, 1e-3)
    assert command.status is Status.HOLDING
    g = model.evaluate(controller.q_star, np.zeros(model.nv)).g
    np.testing.assert_allclose(np.concatenate([command.wrench_base, command.torque]), g)

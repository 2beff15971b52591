# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The impedance of the end effector on wheels: passive, held on its reference, stable sampled."""

import numpy as np
import pytest
from dynamics.nonholonomic.carts import bicycle, differential_drive, mecanum_cart

from vms_ph_controllers import Command, Reference, RobotState, Status
from vms_ph_controllers.laws.wheeled_impedance import WheeledImpedance
from vms_ph_dynamics import Array, Ports
from vms_ph_dynamics.nonholonomic import NonholonomicForm, NonholonomicRK4

POSTURE = {"shoulder": 0.7, "elbow": 0.6}


def _closed_loop(
    law: WheeledImpedance, form: NonholonomicForm, q: Array, reference: Reference, dt: float, n: int
) -> tuple[Array, Array, list[Command]]:
    """Return the state after n samples under held torques, and the commands."""
    stepper = NonholonomicRK4(form)
    motion = stepper.begin(form.state(q, np.zeros(form.model.nv)), 0.0)
    commands = []
    for k in range(n):
        commands.append(law.update(RobotState(motion.q, motion.v), reference, dt))
        ports = Ports(torque=commands[-1].torque)
        motion = stepper.step(motion, ports, k * dt, dt).solver_state
    return motion.q, motion.v, commands


@pytest.mark.parametrize("make", [differential_drive, bicycle, mecanum_cart])
def test_energy_of_the_closed_loop_falls_by_the_damping(make: "object") -> None:
    form: NonholonomicForm = make()  # type: ignore[operator]
    model, rng = form.model, np.random.default_rng(3)
    law = WheeledImpedance(form)
    q = model.configuration(POSTURE)
    law.reset(RobotState(q, np.zeros(model.nv)))
    law.update(RobotState(q, np.zeros(model.nv)), Reference(), 0.0)
    for _ in range(5):
        away = model.integrate(q, 0.2 * rng.normal(size=model.nv))
        v = form.basis(model.evaluate(away, np.zeros(model.nv))) @ rng.normal(size=form.dimension)
        command = law.update(RobotState(away, v), Reference(), 0.0)
        assert command.status == Status.OK, command.reason
        power = form.power_balance(form.state(away, v), Ports(torque=command.torque)).stored
        h = 1e-6
        energies = [
            law.update(
                RobotState(model.integrate(away, s * v), 0.0 * v), Reference(), 0.0
            ).energy.shaped_potential
            for s in (-h, h)
        ]
        gravity = float(model.evaluate(away, v).g @ v)
        rate = power - gravity + (energies[1] - energies[0]) / (2 * h)
        energy = command.energy
        damped = energy.damping_task + energy.damping_null
        assert rate == pytest.approx(-damped, rel=1e-5, abs=1e-5)
        assert min(energy.damping_task, energy.damping_null) >= 0.0


@pytest.mark.usefixtures("core")
@pytest.mark.parametrize(
    ("stiffness", "damping", "dt"),
    [(400.0, 200.0, 0.02), pytest.param(5000.0, 1000.0, 0.01, marks=pytest.mark.slow)],
)
def test_end_effector_comes_to_a_reference_beside_the_cart(
    stiffness: float, damping: float, dt: float
) -> None:
    form = differential_drive()
    model = form.model
    # Four motions do not hold six components of a pose.
    gains = WheeledImpedance.Gains(
        stiffness=stiffness, damping=damping, stiffness_rotation=0.0, damping_rotation=0.0
    )
    law = WheeledImpedance(form, gains)
    q = model.configuration(POSTURE)
    law.reset(RobotState(q, np.zeros(model.nv)))
    tool = model.evaluate(q, np.zeros(model.nv)).placement(model.end_effector)
    # Further to the side than the wheels can go, by less than the arm can turn.
    target = tool[:3, 3] + [0.15, 0.1, 0.0]
    end, v, commands = _closed_loop(law, form, q, Reference(position=target), dt, round(3.0 / dt))
    reached = model.evaluate(end, v).placement(model.end_effector)[:3, 3]
    assert np.linalg.norm(reached - target) < 0.03
    # The end effector has come to rest; the motion beside it still decays, at damping_null.
    tool_rate = model.evaluate(end, v).J_end_effector[:3] @ v
    assert np.linalg.norm(tool_rate) < 0.01
    assert max(c.energy.closed_loop_energy for c in commands) < 10.0


def test_users_mistakes_are_said() -> None:
    form = differential_drive()
    law = WheeledImpedance(form)
    broken = np.full(form.model.nv, np.nan)
    command = law.update(RobotState(form.model.configuration(POSTURE), broken), Reference(), 0.01)
    assert command.status == Status.HOLDING
    assert np.isfinite(command.torque).all()


def test_the_joints_of_a_cart_take_no_more_power_than_their_limit() -> None:
    form = differential_drive()
    model, rng = form.model, np.random.default_rng(5)
    q = model.configuration(POSTURE)
    away = model.integrate(q, 0.1 * rng.normal(size=model.nv))
    basis = form.basis(model.evaluate(away, np.zeros(model.nv)))
    # Without damping, so that half of all motions take power.
    free, limited = (
        WheeledImpedance(
            form,
            WheeledImpedance.Gains(damping=0.0, damping_rotation=0.0, damping_null=0.0, power=most),
        )
        for most in (0.0, 2.0)
    )
    for law in (free, limited):
        law.reset(RobotState(q, np.zeros(model.nv)))
    powers = []
    for _ in range(20):
        v = basis @ rng.normal(size=form.dimension)
        commands = [law.update(RobotState(away, v), Reference(), 0.0) for law in (free, limited)]
        wanted, taken = (float(command.torque @ v[model.b :]) for command in commands)
        powers.append(wanted)
        # The weight is carried whatever power that takes.
        weight = float(model.evaluate(away, v).g[model.b :] @ v[model.b :])
        assert taken == pytest.approx(max(2.0, weight) if wanted > 2.0 else wanted, abs=1e-9)
        clipped = commands[1].energy.clipped_power
        assert clipped == pytest.approx(taken - wanted, abs=1e-9)
    assert max(powers) > 3.0

# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The explicit baseline integrator: order, energy, and the port energies."""

import numpy as np
import pytest

from vms_ph_dynamics import CanonicalForm, Friction, PHState, Ports, StandardForm, VMSModel
from vms_ph_dynamics.integrators.runge_kutta import RK4

FRICTION = Friction(np.full(7, 0.05), np.full(7, 0.1), slip=0.5)


def run(form: CanonicalForm, x: PHState, ports, dt: float, steps: int):  # type: ignore[no-untyped-def]
    supplied, dissipated = 0.0, 0.0
    for k in range(steps):
        step = RK4(form).step(x, ports, k * dt, dt)
        x = step.solver_state
        supplied += sum(step.supplied.values())
        dissipated += step.dissipated
    return x, supplied, dissipated


@pytest.fixture
def start(panda: VMSModel) -> tuple[CanonicalForm, PHState]:
    form = CanonicalForm(panda)
    q = panda.configuration({"panda_joint2": -0.3, "panda_joint4": -1.5, "panda_joint6": 1.5})
    return form, form.state(q, np.full(7, 0.5))


def forced(t: float, x: PHState) -> Ports:
    wrench = np.array([5 * np.cos(7 * t), 0.0, 3.0, 0.0, 0.2, 0.0])
    return Ports(np.full(7, np.sin(5 * t)), None, wrench, friction=FRICTION)


def test_its_order_is_four(start: tuple[CanonicalForm, PHState]) -> None:
    form, x = start
    reference, *_ = run(form, x, forced, 0.2 / 256, 256)
    steps = np.array([8, 16, 32])
    errors = []
    for n in steps:
        end, *_ = run(form, x, forced, 0.2 / n, n)
        errors.append(np.linalg.norm(np.concatenate([end.q - reference.q, end.z - reference.z])))
    order = -np.polyfit(np.log(steps), np.log(errors), 1)[0]
    assert 3.8 < order < 4.3


def test_the_port_energies_account_for_the_energy(
    start: tuple[CanonicalForm, PHState],
) -> None:
    form, x = start
    missed = []
    for steps in (40, 80, 160):
        end, supplied, dissipated = run(form, x, forced, 0.16 / steps, steps)
        assert dissipated > 0
        stored = form.hamiltonian(end).total - form.hamiltonian(x).total
        missed.append(abs(stored - supplied + dissipated))
    # What is missed is the truncation of the scheme: it falls with the fourth power of the step.
    assert missed[2] < 1e-7 * abs(supplied)
    assert missed[0] / missed[1] > 13
    assert missed[1] / missed[2] > 13


def test_an_unforced_arm_keeps_its_energy(start: tuple[CanonicalForm, PHState]) -> None:
    form, x = start
    end, *_ = run(form, x, lambda t, x: Ports(), 1e-3, 100)
    before = form.hamiltonian(x).total
    assert form.hamiltonian(end).total == pytest.approx(before, abs=1e-8 * abs(before))


def test_its_order_is_four_on_a_base_that_turns(panda_on: VMSModel) -> None:
    # Gravity enters through the attitude of the base: an error there is one of the momenta too.
    form, b = StandardForm(panda_on), panda_on.b
    home = {"panda_joint2": -0.3, "panda_joint4": -1.5, "panda_joint6": 1.5}
    x = form.state(panda_on.configuration(home), np.linspace(0.4, 0.8, panda_on.nv))

    def push(t: float, x: PHState) -> Ports:
        return Ports(np.full(7, np.sin(5 * t)), np.linspace(5, 1, b) * np.cos(3 * t))

    reference, *_ = run(form, x, push, 0.2 / 200, 200)
    steps = np.array([8, 16, 32])
    errors = []
    for n in steps:
        end, *_ = run(form, x, push, 0.2 / n, n)
        away = panda_on.difference(reference.q, end.q)
        errors.append(np.linalg.norm(np.concatenate([away, end.z - reference.z])))
    order = -np.polyfit(np.log(steps), np.log(errors), 1)[0]
    assert 3.7 < order < 4.4

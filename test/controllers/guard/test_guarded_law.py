# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""A law or a function behind an energy guard is a law, and gives no more than its budget."""

import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from vms_ph_controllers import (
    Command,
    DecoupledVMSController,
    EnergyGuard,
    Reference,
    RobotState,
    Status,
    TaskSpaceIDAPBC,
)
from vms_ph_controllers.guard import EnergyGuardSettings
from vms_ph_dynamics import DecoupledForm, ModelError, Ports, VMSModel, integrate
from vms_ph_dynamics.arrays import Array
from vms_ph_dynamics.errors import OptionError
from vms_ph_io import robots

DT = 2e-3


def kinetic_energy(law: EnergyGuard, model: VMSModel, steps: int) -> float:
    form = DecoupledForm(model)
    x = form.state(model.neutral_configuration(), np.zeros(model.nv))
    for _ in range(steps):
        torque = law(x.q, form.velocity(x), DT).torque
        x = integrate(form, x, Ports(torque=torque), dt=DT, steps=1).states[-1]
    return model.evaluate(x.q, form.velocity(x)).kinetic_energy


def test_a_function_with_the_wrong_sign_gives_its_budget_and_no_more(panda: VMSModel) -> None:
    def unstable(q: Array, v: Array, dt: float) -> Array:
        d = panda.evaluate(q, v)
        return d.g + d.M @ (4.0 * v + 1.0)

    law = EnergyGuard(unstable, budget=0.5, model=panda)
    # Without friction what was given is what the robot has.
    assert 0.4 < kinetic_energy(law, panda, 200) < 0.5 + 1e-9
    assert law.certificate.verdict == "kept"
    assert law.certificate.budget == 0.5
    assert "the energy given stayed within the budget" in str(law.certificate)


def test_a_law_within_its_budget_acts_as_without_a_guard(panda: VMSModel) -> None:
    q, v = panda.configuration(robots.get("panda").home), np.full(7, 0.02)
    law = EnergyGuard(TaskSpaceIDAPBC(panda), budget=50.0)
    alone = TaskSpaceIDAPBC(panda)
    for each in (law, alone):
        each.reset(RobotState(q, np.zeros(7)))
    reference = Reference(position=np.array([0.5, 0.1, 0.5]))
    for _ in range(20):
        guarded, expected = (each(q, v, 1e-3, reference) for each in (law, alone))
        np.testing.assert_array_equal(guarded.torque, expected.torque)
        q = panda.integrate(q, 1e-3 * v)
    assert law.gains is law.law.gains
    assert guarded.energy == replace(expected.energy, tank_level=law.port_guard.level)


def test_a_guard_without_a_law_is_attached_by_its_simulation() -> None:
    model = robots.load("hextilt")
    guard = EnergyGuard(budget=1.0, settings=EnergyGuardSettings(torque_rate=50.0))
    with pytest.raises(ModelError, match=r"EnergyGuard\(law, budget=1.0\)"):
        guard.update(RobotState(model.neutral_configuration(), np.zeros(model.nv)), Reference(), DT)
    assert guard.attach(DecoupledVMSController(model)) is guard
    assert guard.certificate.ports[0] == "wrench_base"
    assert guard.port_guard.settings.tank_capacity == 1.0
    assert guard.port_guard.settings.torque_rate == 50.0
    assert guard.FOLLOWS_JOINTS


def test_a_function_is_attached_to_the_robot_of_its_simulation(panda: VMSModel) -> None:
    guard = EnergyGuard(lambda q, v, dt: np.zeros(7), budget=1.0)
    guard.attach(model=panda)
    assert guard(panda.neutral_configuration(), np.zeros(7), DT).torque.shape == (7,)


def test_a_law_that_fails_is_replaced_by_the_safe_output(panda: VMSModel) -> None:
    for function, words in (
        (lambda q, v, dt: 1 / 0, "ZeroDivisionError"),
        (
            lambda q, v, dt: np.zeros(3),
            r"<lambda> returned shape \(3,\); a law returns torques \(7,\)",
        ),
        (lambda q, v, dt: np.full(7, np.nan), "not finite"),
    ):
        law = EnergyGuard(function, budget=1.0, model=panda)
        q = panda.neutral_configuration()
        command = law(q, np.zeros(7), DT)
        assert command.status is Status.HOLDING
        assert re.search(words, command.reason)
        np.testing.assert_allclose(
            command.torque, panda.evaluate(q, np.zeros(7)).g, rtol=1e-12, atol=1e-12
        )


def test_the_first_failure_of_a_law_is_the_one_that_is_reported(panda: VMSModel) -> None:
    def fails(q: Any, v: Any, dt: float) -> Any:
        raise RuntimeError(f"at {dt}")

    law, q = EnergyGuard(fails, budget=1.0, model=panda), panda.neutral_configuration()
    for dt in (0.01, 0.02):
        law(q, np.zeros(7), dt)
    failed = "the law failed in 2 of 2 updates, first: RuntimeError: at 0.01; "
    assert law.certificate.summary.startswith(failed)


def test_efforts_may_be_arrays_or_records(panda: VMSModel) -> None:
    model = robots.load("hextilt")
    d = model.evaluate(model.neutral_configuration(), np.zeros(model.nv))
    b = model.b
    for returned in (d.g, Command(d.g[:b], d.g[b:]), Ports(torque=d.g[b:], wrench_base=d.g[:b])):
        law = EnergyGuard(lambda q, v, dt, returned=returned: returned, budget=1.0, model=model)
        command = law(d.q, d.v, DT)
        np.testing.assert_array_equal(command.wrench_base, d.g[:b])
        np.testing.assert_array_equal(command.torque, d.g[b:])


def test_a_robot_in_place_of_a_law_is_refused_with_what_guards_efforts(panda: VMSModel) -> None:
    with pytest.raises(ModelError, match=r"PortGuard\(model\)"):
        EnergyGuard(panda)  # type: ignore[arg-type]


@pytest.mark.parametrize("budget", [-1.0, float("nan"), float("inf"), "1"])
def test_a_budget_that_is_no_energy_is_refused(budget: Any) -> None:
    with pytest.raises(OptionError, match="budget must be an energy, J, of at least 0; given: "):
        EnergyGuard(budget=budget)

# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""A step that does not close the energy balance its scheme promises is a step that failed."""

from typing import Any

import numpy as np
import pytest

from vms_ph_dynamics import IntegrationError, Ports, integrate
from vms_ph_dynamics.integrators import SCHEMES, StepResult, make_stepper
from vms_ph_dynamics.integrators.discrete_gradient import DiscreteGradient
from vms_ph_dynamics.integrators.projected_runge_kutta import ProjectedRK4

from .conftest import moving, panda_on

PUSH = Ports(np.array([5.0, 5.0, 2.0, 2.0, 0.2, 0.2, 0.1]))


class Misreporting(ProjectedRK4):
    """Says that its ports supply half of it, in steps longer than a given one."""

    longest = 0.0
    only_at = -np.inf

    def step(self, solver_state: Any, ports: Any, t: float, dt: float) -> StepResult:
        result = super().step(solver_state, ports, t, dt)
        if dt <= self.longest or t < self.only_at:
            return result
        return result._replace(supplied={k: 0.5 * w for k, w in result.supplied.items()})

    def multi_step(
        self, solver_state: Any, ports: Any, t0: float, dt: float, first: int, steps: int
    ) -> StepResult:
        supplied, dissipated = 0.0, 0.0
        for k in range(first, first + steps):
            result = self.step(solver_state, ports, t0 + k * dt, dt)
            solver_state = result.solver_state
            supplied += result.supplied["torque"]
            dissipated += result.dissipated
        return StepResult(solver_state, {"torque": supplied}, dissipated, steps=steps)


@pytest.mark.parametrize("kind", [ProjectedRK4, DiscreteGradient])
@pytest.mark.parametrize("base", ["planar", "floating"])
def test_gravity_in_wrong_axes_ends_the_run(base: str, kind: type[ProjectedRK4]) -> None:
    form, x = moving(panda_on(base, (1.0, -2.0, -9.0)))
    stepper = kind(form)
    stepper.robot.fall_acceleration = stepper.robot.fall_acceleration[::-1].copy()
    with pytest.raises(IntegrationError, match="does not close its energy balance in parts either"):
        integrate(form, x, dt=1e-3, steps=1000, scheme=stepper)


def test_efforts_that_are_misreported_end_the_run() -> None:
    form, x = moving(panda_on("fixed"))
    with pytest.raises(IntegrationError, match=r"changes by .* J that crossed no port"):
        integrate(form, x, PUSH, dt=1e-3, steps=10, scheme=Misreporting(form))


def test_a_balance_that_shorter_steps_close_is_closed_by_them() -> None:
    form, x = moving(panda_on("fixed"))
    stepper = Misreporting(form)
    stepper.longest = 3e-4
    run = integrate(form, x, PUSH, dt=1e-3, steps=3, scheme=stepper)
    # Three steps, and the two halves of each.
    assert len(run.failures) == 9
    assert "crossed no port" in run.failures[0].reason
    assert np.abs(run.audit.residual).max() < 1e-12 * np.abs(run.energy).max()


def test_of_many_steps_at_once_the_one_that_misses_is_found() -> None:
    form, x = moving(panda_on("fixed"))
    stepper = Misreporting(form)
    stepper.longest, stepper.only_at = 5e-4, 0.0365
    run = integrate(form, x, PUSH, dt=1e-3, steps=40, scheme=stepper, stride=40)
    assert [round(1e3 * failure.t) for failure in run.failures] == [37, 38, 39]
    assert np.abs(run.audit.residual).max() < 1e-11 * np.abs(run.energy).max()


@pytest.mark.parametrize("scheme", SCHEMES)
def test_the_exact_schemes_promise_a_balance_and_no_others(scheme: str) -> None:
    form, x = moving(panda_on("floating"))
    stepper = make_stepper(scheme, form)
    promised = stepper.stored_energy(stepper.begin(x, 0.0)) is not None
    exact = ("projected_rk4", "projected_midpoint", "discrete_gradient")
    assert promised is (scheme in exact)

# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Steps with retry: a step that fails or misses its energy balance is repeated as two halves."""

from typing import Any, NamedTuple

import numpy as np

from .stepper import IntegrationError, SolverState, StepFailure, Stepper, StepResult
from .trajectory import FailedStep

# Share of the energies involved by which a step may miss its balance. Rounding is the share 1e-16
# times the condition of the inertia, and the schemes keep up to 1e-7 of the energy for the next
# step where the shape stands still (see the projection and the discrete gradient). A mistake in an
# effort or in gravity is of the size of its power times the step: 1e-3 of the energies and more.
BALANCE_TOLERANCE = 1e-6


class EnergyBalanceError(StepFailure):
    """Steps whose energy did not change by the energies that crossed the ports."""


def check_balance(stepper: Stepper, initial_state: SolverState, result: StepResult) -> None:
    """Check that the energy of a closed balance has changed by the port energies.

    The residual must be below the share 1e-6 of the energies involved: of both states, and those
    that crossed the ports. Several steps may miss the sum of what each may.

    Args:
        stepper: the scheme; where it promises no closed balance, nothing is checked.
        initial_state: the solver state at the beginning.
        result: of the step, or of several together.

    Raises:
        EnergyBalanceError: the residual is far above rounding.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        start = stepper.stored_energy(initial_state)
        end = None if start is None else stepper.stored_energy(result.solver_state)
        if start is None or end is None:
            return
        port_energies = [*result.supplied.values(), -result.dissipated]
        residual = end.total - start.total - sum(port_energies)
        scale = start.scale + end.scale + sum(map(abs, port_energies))
        tolerance = result.steps * (BALANCE_TOLERANCE * scale + start.rounding + end.rounding)
    if not abs(residual) <= tolerance:  # not a number is not accepted either
        raise EnergyBalanceError(
            f"the energy changes by {residual:.3g} J that crossed no port, beside energies of "
            f"{scale:.3g} J; rounding leaves at most {tolerance:.3g} J"
        )


HALVINGS = 10
"""Largest number of times a step is halved, which is to a thousandth of its length."""


class RetriedStep(NamedTuple):
    """A step or several, and the failed attempts before them."""

    result: StepResult
    failures: tuple[FailedStep, ...]


def multi_step_with_retry(
    stepper: Stepper,
    solver_state: SolverState,
    ports: Any,
    t0: float,
    dt: float,
    first: int,
    steps: int,
    halvings: int = HALVINGS,
) -> RetriedStep:
    """Return the result of one step or more from ``t0 + first dt``; see :meth:`Stepper.multi_step`.

    Raises:
        IntegrationError: the first step fails even after all halvings.
    """
    while True:
        try:
            with np.errstate(over="ignore", invalid="ignore"):
                result = stepper.multi_step(solver_state, ports, t0, dt, first, steps)
        except StepFailure:
            break
        try:
            check_balance(stepper, solver_state, result)
            return RetriedStep(result, ())
        except EnergyBalanceError:
            if result.steps == 1:
                break
            steps = result.steps // 2  # to find the step that misses it
    return step_with_retry(stepper, solver_state, ports, t0 + first * dt, dt, halvings)


def step_with_retry(
    stepper: Stepper,
    solver_state: SolverState,
    ports: Any,
    t: float,
    dt: float,
    halvings: int = HALVINGS,
) -> RetriedStep:
    """Return a step of ``dt`` s from time ``t``, in parts if it does not succeed as a whole.

    Args:
        stepper: the scheme.
        solver_state: its state at the beginning.
        ports: efforts, held or as a function of time and state.
        t: time at the beginning, s.
        dt: length of the step, s.
        halvings: number of times that it is halved at most.

    Raises:
        IntegrationError: it fails even after all halvings.
    """
    try:
        # The schemes check that the result of a step is finite.
        with np.errstate(over="ignore", invalid="ignore"):
            result = stepper.step(solver_state, ports, t, dt)
        check_balance(stepper, solver_state, result)
        return RetriedStep(result, ())
    except StepFailure as failure:
        if halvings == 0:
            raise IntegrationError(
                f"the step at t={t:.9g} s fails even at dt={dt:.3g} s: {failure}"
            ) from failure
        failed_step = FailedStep(t, dt, str(failure))
    first, first_failures = step_with_retry(stepper, solver_state, ports, t, 0.5 * dt, halvings - 1)
    second, second_failures = step_with_retry(
        stepper, first.solver_state, ports, t + 0.5 * dt, 0.5 * dt, halvings - 1
    )
    combined_result = first.followed_by(second)._replace(steps=1)  # of the caller
    try:
        # A balance that halves miss by less is not closed by halving.
        check_balance(stepper, solver_state, combined_result)
    except EnergyBalanceError as balance_error:
        raise IntegrationError(
            f"the step at t={t:.9g} s of dt={dt:.3g} s does not close its energy balance in parts "
            f"either: {balance_error}"
        ) from balance_error
    return RetriedStep(combined_result, (failed_step, *first_failures, *second_failures))

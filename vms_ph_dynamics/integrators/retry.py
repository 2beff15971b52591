"""Steps with retry: a failed step is recorded and repeated as two halves."""

from typing import Any, NamedTuple

import numpy as np

from .stepper import IntegrationError, SolverState, StepFailure, Stepper, StepResult
from .trajectory import FailedStep

HALVINGS = 10
"""Largest number of times a step is halved, which is to a thousandth of its length."""


class RetriedStep(NamedTuple):
    """A step, and the failed attempts before it."""

    result: StepResult
    failures: tuple[FailedStep, ...]


class RetriedMultiStep(NamedTuple):
    """The result of several steps, their number, and the failed attempts before them."""

    result: StepResult
    steps: int
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
) -> RetriedMultiStep:
    """Return the result of one step or more from ``t0 + first dt``; see :meth:`Stepper.multi_step`.

    Raises:
        IntegrationError: the first step fails even after all halvings.
    """
    try:
        with np.errstate(over="ignore", invalid="ignore"):
            return RetriedMultiStep(
                *stepper.multi_step(solver_state, ports, t0, dt, first, steps), ()
            )
    except StepFailure:
        t = t0 + first * dt
        result, failures = step_with_retry(stepper, solver_state, ports, t, dt, halvings)
        return RetriedMultiStep(result, 1, failures)


def step_with_retry(
    stepper: Stepper,
    solver_state: SolverState,
    ports: Any,
    t: float,
    dt: float,
    halvings: int = HALVINGS,
) -> RetriedStep:
    """Return a step of ``dt`` s from time ``t``, in parts if it does not succeed as a whole.

    Raises:
        IntegrationError: it fails even after all halvings.
    """
    try:
        # The schemes check that the result of a step is finite.
        with np.errstate(over="ignore", invalid="ignore"):
            return RetriedStep(stepper.step(solver_state, ports, t, dt), ())
    except StepFailure as failure:
        if halvings == 0:
            raise IntegrationError(
                f"the step at t={t:.9g} s fails even at dt={dt:.3g} s: {failure}"
            ) from failure
        failed = FailedStep(t, dt, str(failure))
    first, before = step_with_retry(stepper, solver_state, ports, t, 0.5 * dt, halvings - 1)
    second, after = step_with_retry(
        stepper, first.solver_state, ports, t + 0.5 * dt, 0.5 * dt, halvings - 1
    )
    supplied = dict(first.supplied)
    for name, energy in second.supplied.items():
        supplied[name] = supplied.get(name, 0.0) + energy
    both = StepResult(
        second.solver_state,
        supplied,
        first.dissipated + second.dissipated,
        max(first.iterations, second.iterations),
    )
    return RetriedStep(both, (failed, *before, *after))

"""Steps that fail are taken again in halves, and it is said."""

from typing import Any, NamedTuple

import numpy as np

from .stepper import IntegrationError, SolverState, StepFailure, Stepper, StepResult
from .trajectory import FailedStep

# A step is halved at most so many times: to a thousandth.
_HALVINGS = 10


class RetriedStep(NamedTuple):
    """A step, and the failures on the way to it."""

    advance: StepResult
    failures: tuple[FailedStep, ...]


class RetriedMultiStep(NamedTuple):
    """Several steps together, how many, and the failures on the way to them."""

    advance: StepResult
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
) -> RetriedMultiStep:
    """Return one step or more, the first from ``t0 + first dt``; see :meth:`Stepper.multi_step`.

    Raises:
        IntegrationError: the first fails even after many halvings.
    """
    try:
        with np.errstate(over="ignore", invalid="ignore"):
            return RetriedMultiStep(
                *stepper.multi_step(solver_state, ports, t0, dt, first, steps), ()
            )
    except StepFailure:
        advance, failures = step_with_retry(stepper, solver_state, ports, t0 + first * dt, dt)
        return RetriedMultiStep(advance, 1, failures)


def step_with_retry(
    stepper: Stepper,
    solver_state: SolverState,
    ports: Any,
    t: float,
    dt: float,
    halvings: int = _HALVINGS,
) -> RetriedStep:
    """Return a step of ``dt`` s from time ``t``, in parts where it does not succeed as a whole.

    Raises:
        IntegrationError: it fails even after that many halvings.
    """
    try:
        # A step that leaves the finite numbers is found out by the scheme.
        with np.errstate(over="ignore", invalid="ignore"):
            return RetriedStep(stepper.step(solver_state, ports, t, dt), ())
    except StepFailure as failure:
        note = FailedStep(t, dt, str(failure))
    if halvings == 0:
        raise IntegrationError(
            f"the step at t={t:.9g} s fails even at dt={dt:.3g} s: {note.reason}"
        )
    first, before = step_with_retry(stepper, solver_state, ports, t, 0.5 * dt, halvings - 1)
    second, after = step_with_retry(
        stepper, first.solver_state, ports, t + 0.5 * dt, 0.5 * dt, halvings - 1
    )
    supplied = dict(first.supplied)
    for name, work in second.supplied.items():
        supplied[name] = supplied.get(name, 0.0) + work
    both = StepResult(
        second.solver_state,
        supplied,
        first.dissipated + second.dissipated,
        max(first.iterations, second.iterations),
    )
    return RetriedStep(both, (note, *before, *after))

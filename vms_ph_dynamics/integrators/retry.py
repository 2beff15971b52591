"""Steps that fail are taken again in halves, and it is said."""

from typing import Any, NamedTuple

import numpy as np

from .stepper import Advance, Carried, IntegrationError, StepFailure, Stepper
from .trajectory import FailedStep

# A step is halved at most so many times: to a thousandth.
_HALVINGS = 10


class Taken(NamedTuple):
    """A step, and the failures on the way to it."""

    advance: Advance
    failures: tuple[FailedStep, ...]


class TakenMany(NamedTuple):
    """Several steps together, how many, and the failures on the way to them."""

    advance: Advance
    steps: int
    failures: tuple[FailedStep, ...]


def take_many(
    stepper: Stepper, carried: Carried, ports: Any, t0: float, dt: float, first: int, steps: int
) -> TakenMany:
    """Return one step or more, the first from ``t0 + first dt``; see :meth:`Stepper.leap`.

    Raises:
        IntegrationError: the first fails even after many halvings.
    """
    try:
        with np.errstate(over="ignore", invalid="ignore"):
            return TakenMany(*stepper.leap(carried, ports, t0, dt, first, steps), ())
    except StepFailure:
        advance, failures = take(stepper, carried, ports, t0 + first * dt, dt)
        return TakenMany(advance, 1, failures)


def take(
    stepper: Stepper, carried: Carried, ports: Any, t: float, dt: float, halvings: int = _HALVINGS
) -> Taken:
    """Return a step of ``dt`` s from time ``t``, in parts where it does not succeed as a whole.

    Raises:
        IntegrationError: it fails even after that many halvings.
    """
    try:
        # A step that leaves the finite numbers is found out by the scheme.
        with np.errstate(over="ignore", invalid="ignore"):
            return Taken(stepper.step(carried, ports, t, dt), ())
    except StepFailure as failure:
        note = FailedStep(t, dt, str(failure))
    if halvings == 0:
        raise IntegrationError(
            f"the step at t={t:.9g} s fails even at dt={dt:.3g} s: {note.reason}"
        )
    first, before = take(stepper, carried, ports, t, 0.5 * dt, halvings - 1)
    second, after = take(stepper, first.carried, ports, t + 0.5 * dt, 0.5 * dt, halvings - 1)
    supplied = dict(first.supplied)
    for name, work in second.supplied.items():
        supplied[name] = supplied.get(name, 0.0) + work
    both = Advance(
        second.carried,
        supplied,
        first.dissipated + second.dissipated,
        max(first.iterations, second.iterations),
    )
    return Taken(both, (note, *before, *after))

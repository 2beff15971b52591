# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Outcomes of trials: a fall, standing still, or a gait; computed in parallel."""

import enum
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from vms_ph_hopping import Hopper
from vms_ph_hopping.flights import FALLEN, Flight, Flights

from ..reproduce.feurstein.experiments import Trial, trial_of
from ..reproduce.feurstein.gait import settled
from ..study import Value
from ..sweeps.local_map import local_map

# Duration of a stance, s, after which the leg counts as standing; stances of the gaits last 0.1 s.
_GROUNDED = 1.0


class Ending(enum.Enum):
    """The end of a run; the value is a description."""

    FALLS = "falls"
    STANDS = "stands on its foot without hopping"
    GAIT = "converges to a gait"
    HOPS = "still hops without a gait"


@dataclass(frozen=True)
class TrialOutcome:
    """The outcome of a trial.

    Attributes:
        ending: the end of the run.
        hops: flights after the first fall.
        drift: horizontal momentum in the last flight, N s.
        time: when the run ended, s.
        gait: one of the last flights if the leg converged to a gait.
    """

    ending: Ending
    hops: int
    drift: float
    time: float
    gait: Flight | None

    @property
    def keeps_hopping(self) -> bool:
        """Whether the leg neither fell nor stands still."""
        return self.ending in (Ending.GAIT, Ending.HOPS)


def outcome_of(trial: Trial, early: bool = True) -> TrialOutcome:
    """Run a trial and return its outcome.

    Args:
        trial: the leg and its start.
        early: end once the leg has converged to a gait or stands still, not only at a fall or at
            the end of time.
    """
    system = trial.system
    hopper = Hopper(
        system, trial.q, trial.v, tolerance=trial.tolerance, skin=trial.skin, balance=False
    )
    flown, event_count = Flights(system, trial.start()), 0
    hops = flown.ended

    def ending() -> Ending:
        if hopper.time - (hops[-1].end if hops else 0.0) > _GROUNDED:
            return Ending.STANDS
        return Ending.HOPS if settled(hops) is None else Ending.GAIT

    last_ending = Ending.HOPS
    for _ in hopper.steps_until(trial.duration):
        if system.leg_state(hopper.state).centre[1] < FALLEN:
            last_ending = Ending.FALLS
            break
        for event in hopper.events[event_count:]:
            flown.add(event)
        event_count = len(hopper.events)
        if early and (last_ending := ending()) is not Ending.HOPS:
            break
    if last_ending is Ending.HOPS:
        last_ending = ending()
    drift = hops[-1].drift if hops else 0.0
    gait = settled(hops) if last_ending is Ending.GAIT else None
    return TrialOutcome(last_ending, max(len(hops) - 1, 0), drift, hopper.time, gait)


def outcomes(
    experiment: str,
    changes: Sequence[dict[str, Value]],
    processes: int | None = None,
    progress: Callable[[float], None] | None = None,
) -> list[TrialOutcome]:
    """Return the outcome of an experiment with each of many changes, in their order.

    Args:
        experiment: id of the experiment.
        changes: values that override those of the experiment, one set for each trial.
        processes: number of processes; the number of cores if None.
        progress: receives the share of the trials that are done.
    """
    return local_map(partial(_outcome, experiment), changes, processes or 0, progress)


def _outcome(experiment: str, changed: dict[str, Value]) -> TrialOutcome:
    return outcome_of(trial_of(experiment, **changed))

"""What becomes of a leg: it falls, stands still, or comes to a gait; for many starts at once."""

import enum
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context

from vms_ph_dynamics.hopping import Hopper

from ..study import Value
from .common import settled
from .experiments import EXPERIMENTS, FALLEN, Trial
from .gait import Flight, Flights

# A leg that has not flown for so long, s, hops no more; the stances of the gaits last 0.1 s.
_GROUNDED = 1.0
# Processes take a second or two to start: not for fewer trials than this.
_WORTH_PROCESSES = 6


class Ending(enum.Enum):
    """How a run ends; its value says so in words."""

    FALLS = "falls"
    STANDS = "stands on its foot without hopping"
    GAIT = "comes to a gait"
    HOPS = "still hops, in no gait yet"


@dataclass(frozen=True)
class Fate:
    """What became of a leg.

    Attributes:
        ending: how.
        hops: flights after the first fall.
        drift: horizontal momentum of the last flight, N s.
        time: when the run ended, s.
        gait: one of its last flights where it came to a gait.
    """

    ending: Ending
    hops: int
    drift: float
    time: float
    gait: Flight | None

    @property
    def hops_on(self) -> bool:
        """Whether it neither fell nor stands still."""
        return self.ending in (Ending.GAIT, Ending.HOPS)


def trial_of(experiment: str, **changed: Value) -> Trial:
    """Return the trial of an experiment with some of its values changed."""
    chosen = EXPERIMENTS[experiment]
    values = {name: p.default for name, p in chosen.parameters().items()}
    return Trial.of(chosen, {**values, **changed})


def fate(trial: Trial, early: bool = True) -> Fate:
    """Let a leg go and return what becomes of it.

    Args:
        trial: the leg.
        early: end as soon as it has come to a gait or stands still; else only where the centre of
            mass is down, or the time is over.
    """
    system = trial.system
    hopper = Hopper(system, trial.q, trial.v, tolerance=trial.tolerance, skin=trial.skin)
    flown, known = Flights(system, trial.start()), 0
    hops = flown.ended

    def ending() -> Ending:
        if hopper.time - (hops[-1].end if hops else 0.0) > _GROUNDED:
            return Ending.STANDS
        return Ending.HOPS if settled(hops) is None else Ending.GAIT

    found = Ending.HOPS
    for _ in hopper.steps_until(trial.duration):
        if system.seen(hopper.state).centre[1] < FALLEN:
            found = Ending.FALLS
            break
        for event in hopper.events[known:]:
            flown.add(event)
        known = len(hopper.events)
        if early and (found := ending()) is not Ending.HOPS:
            break
    if found is Ending.HOPS:
        found = ending()
    drift = hops[-1].drift if hops else 0.0
    gait = settled(hops) if found is Ending.GAIT else None
    return Fate(found, max(len(hops) - 1, 0), drift, hopper.time, gait)


def fates(
    experiment: str, changes: Sequence[dict[str, Value]], processes: int | None = None
) -> list[Fate]:
    """Return what becomes of an experiment with each of many changes, in their order.

    Args:
        experiment: its id.
        changes: values that differ from those of the experiment, one set a trial.
        processes: to share them among; as many as there are cores when None.
    """
    one = partial(_fate_of, experiment)
    if processes == 1 or len(changes) < _WORTH_PROCESSES:
        return [one(changed) for changed in changes]
    # Not forked: this process may have threads.
    with ProcessPoolExecutor(processes, mp_context=get_context("spawn")) as pool:
        return list(pool.map(one, changes, chunksize=1))


def _fate_of(experiment: str, changed: dict[str, Value]) -> Fate:
    return fate(trial_of(experiment, **changed))

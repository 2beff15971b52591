# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Basins of attraction: the starts from which a leg converges to each gait."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np

from vms_ph_dynamics.errors import OptionError, VmsPhError
from vms_ph_io.progress import Progress, Stages

from ..check import Check, required
from ..reproduce.feurstein.experiments import EXPERIMENTS, SOURCE, trial_of
from ..reproduce.feurstein.gait import multipliers
from ..study import Outcome, Parameter, Settings, Study, Value
from .outcome import Ending, TrialOutcome, outcome_of, outcomes
from .outcome_map import draw_map

# Upright and at rest, as in experiments I to IV.
START = EXPERIMENTS["feurstein-revolute-4"]

# Looser than for energy balances, as bouncing and sliding legs change phase a hundred times a hop.
COARSE_TOLERANCES: dict[str, Value] = {"tolerance": 1e-6, "skin": 1e-6}

# Momentum difference beyond which gaits are considered different, N s.
_SAME_GAIT = 0.02


@dataclass(frozen=True)
class Gait:
    """A gait that is reached from starts of a map.

    Attributes:
        drift: horizontal momentum, N s.
        share: share of the starts that reach it.
        multiplier: largest modulus of its Floquet multipliers.
    """

    drift: float
    share: float
    multiplier: float


@dataclass(frozen=True)
class Basin:
    """The outcomes from a grid of starts.

    Attributes:
        leans: angles of the leg, one per row, deg, positive with the foot ahead.
        speeds: horizontal speeds, one per column, m/s.
        outcomes: outcomes, row by row.
        gaits: reached gaits, backward ones first.
    """

    leans: np.ndarray
    speeds: np.ndarray
    outcomes: tuple[TrialOutcome, ...]
    gaits: tuple[Gait, ...]

    def share(self, *endings: Ending) -> float:
        """Return the share of the starts with one of these endings."""
        return float(np.mean([outcome.ending in endings for outcome in self.outcomes]))

    def summary(self) -> str:
        """Return a description of the gaits and of the other outcomes."""
        parts = [f"{100 * gait.share:.0f} % to {gait.drift:+.3f} N s" for gait in self.gaits]
        for ending in (Ending.HOPS, Ending.STANDS, Ending.FALLS):
            if share := self.share(ending):
                parts.append(f"{100 * share:.0f} % {_SHORT[ending]}")
        return ", ".join(parts)

    def stability(self) -> Check:
        """Return the check that the gaits are stable, not slow passages of an unstable gait."""
        return required(
            "largest Floquet multipliers of the gaits reached",
            "below 1",
            ", ".join(f"{g.multiplier:.3f} at {g.drift:+.3f} N s" for g in self.gaits) or "none",
            bool(self.gaits) and all(gait.multiplier < 1.0 for gait in self.gaits),
        )


def _gaits(trials: Sequence[TrialOutcome], changes: Sequence[dict[str, Value]]) -> tuple[Gait, ...]:
    """Return the gaits among outcomes, each with the multipliers of one of its runs."""
    settled = sorted((f.drift, k) for k, f in enumerate(trials) if f.gait is not None)
    groups = [settled[:1]] if settled else []
    for before, after in pairwise(settled):
        if after[0] - before[0] > _SAME_GAIT:
            groups.append([])
        groups[-1].append(after)
    gaits = []
    for group in groups:
        drift, k = group[len(group) // 2]
        one = trials[k].gait
        assert one is not None
        worst = abs(multipliers(trial_of(START.id, **changes[k]), one)[0])
        gaits.append(Gait(drift, len(group) / len(trials), float(worst)))
    return tuple(gaits)


_SHORT = {
    Ending.HOPS: "still hop without a gait",
    Ending.STANDS: "stand without hopping",
    Ending.FALLS: "fall",
}

PARAMETERS = {
    "points": Parameter(9, "points of the map of starts in each direction"),
    "lean": Parameter(60.0, "largest angle of the leg in the map, deg"),
    "speed": Parameter(1.2, "largest horizontal speed in the map, m/s"),
    "basin_duration": Parameter(10.0, "longest trial of the map, s"),
    "processes": Parameter(0, "number of processes for the trials; 0: number of cores"),
}


def processes_of(settings: Settings) -> int | None:
    """Return the number of processes for trials, None for one per core."""
    return int(settings["processes"]) or None


def basin(
    law: Mapping[str, Value],
    settings: Settings,
    progress: Callable[[float], None] | None = None,
) -> Basin:
    """Return the map of starts of a leg under a law.

    Args:
        law: values that override those of experiment IV, whose start is varied.
        settings: settings of a study that has :data:`PARAMETERS`.
        progress: receives the share of completed trials.

    Raises:
        VmsPhError: the settings define no grid.
    """
    points, lean, speed = (float(settings[name]) for name in ("points", "lean", "speed"))
    if points < 2 or not 0.0 < lean <= 90.0 or speed <= 0.0 or int(settings["processes"]) < 0:
        raise VmsPhError(
            f"points={points:g}, lean={lean:g}, speed={speed:g}, processes="
            f"{settings['processes']}: at least 2 points, a lean up to 90 deg, a positive speed "
            "and no negative number of processes are accepted"
        )
    leans, speeds = (np.linspace(-most, most, int(points)) for most in (lean, speed))
    duration = float(settings["basin_duration"])
    changes: list[dict[str, Value]] = [
        {
            **COARSE_TOLERANCES,
            **law,
            "tilt": float(np.radians(a)),
            "speed": float(u),
            "duration": duration,
        }
        for a in leans
        for u in speeds
    ]
    trials = outcomes(START.id, changes, processes_of(settings), progress)
    return Basin(leans, speeds, tuple(trials), _gaits(trials, changes))


def draw_basin(basin_map: Basin, title: str, file: Path) -> Path:
    """Draw the map of starts."""
    return draw_map(
        basin_map.outcomes,
        (basin_map.speeds, "horizontal speed at the start (m/s)"),
        (basin_map.leans, "angle of the leg at the start (deg), foot ahead"),
        title,
        file,
    )


def _compute(settings: Settings, out: Path | None, progress: Progress) -> Outcome:
    law = {name: settings[name] for name in ("K_p", "D_p", "K_E", "D_r")}
    basin_map = basin(law, settings, Stages(progress, 1).begin("starts"))
    checks: list[Check] = [
        required(
            "starts after which the leg keeps hopping",
            "some of them converge to a gait",
            f"{100 * basin_map.share(Ending.GAIT, Ending.HOPS):.0f} % of {len(basin_map.outcomes)}",
            basin_map.share(Ending.GAIT) > 0.0,
            "The source calls its gaits rather insensitive to initial conditions; its experiments "
            "start at rest, upright and with the foot 30 deg ahead.",
        ),
        required(
            "gaits reached",
            "one of them forward with more than 0.1 N s",
            basin_map.summary(),
            any(gait.drift > 0.1 for gait in basin_map.gaits),
        ),
        basin_map.stability(),
    ]
    title = "Source's floor, controller II: outcome by start"
    files = [] if out is None else [draw_basin(basin_map, title, out / "hopping-basin.png")]
    return Outcome(checks, files)


_GAINS = START.parameters()

STUDIES = [
    Study(
        "hopping-basin",
        f"beyond {SOURCE}",
        "Law and floor of the source: basins of attraction of the gaits",
        {**{name: _GAINS[name] for name in ("K_p", "D_p", "K_E", "D_r")}, **PARAMETERS},
        _compute,
    )
]


def hopping(experiment: str = START.id, **changed: Value) -> dict[str, object]:
    """Return the outcome of a trial of a hopping leg: falls, stands, or converges to a gait.

    Args:
        experiment: id of the experiment of source B that is changed.
        **changed: values that override those of the experiment, as ``--set`` of its study does;
            ``tilt`` is an angle in rad.

    Raises:
        VmsPhError: there is no such experiment, or a value is not accepted.
    """
    if experiment not in EXPERIMENTS:
        raise OptionError(f"there is no experiment '{experiment}'; {', '.join(EXPERIMENTS)} exist")
    defaults = EXPERIMENTS[experiment].parameters()
    values = {name: defaults[name].parse(name, str(value)) for name, value in changed.items()}
    trial_outcome = outcome_of(trial_of(experiment, **{**COARSE_TOLERANCES, **values}))
    return {
        "ending": trial_outcome.ending.value,
        "keeps_hopping": trial_outcome.keeps_hopping,
        "hops": trial_outcome.hops,
        "drift": trial_outcome.drift,
        "time": trial_outcome.time,
    }


# All experiments have the same parameters; with them in the signature a study is checked at once.
hopping.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
    [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default)
        for name, default in {
            "experiment": START.id,
            **{name: p.default for name, p in START.parameters().items()},
        }.items()
    ]
)

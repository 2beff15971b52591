"""Basins of attraction: from which starts a leg converges to which gait."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np

from vms_ph_dynamics.errors import VmsPhError

from ..check import Check, required
from ..progress import Progress, Stages
from ..reproduce.feurstein.experiments import EXPERIMENTS, SOURCE, trial_of
from ..reproduce.feurstein.gait import multipliers
from ..study import Outcome, Parameter, Settings, Study, Value
from .outcome import Ending, TrialOutcome, outcomes
from .outcome_map import draw_map

# Upright and at rest, as experiments I to IV start.
START = EXPERIMENTS["feurstein-revolute-4"]

# Legs that bounce and slide change phase a hundred times a hop: coarser than for energy balances.
LOOSE: dict[str, Value] = {"tolerance": 1e-6, "skin": 1e-6}

# Gaits whose momenta differ by more than this, N s, are different ones.
_APART = 0.02


@dataclass(frozen=True)
class Gait:
    """A gait that starts of a map lead to.

    Attributes:
        drift: its horizontal momentum, N s.
        share: of all starts.
        multiplier: the size of its largest Floquet multiplier.
    """

    drift: float
    share: float
    multiplier: float


@dataclass(frozen=True)
class Basin:
    """The outcomes from a grid of starts.

    Attributes:
        leans: angles of the leg, deg, positive where the foot is ahead: the rows.
        speeds: horizontal, m/s: the columns.
        outcomes: row by row.
        gaits: those that were reached, backward ones first.
    """

    leans: np.ndarray
    speeds: np.ndarray
    outcomes: tuple[TrialOutcome, ...]
    gaits: tuple[Gait, ...]

    def share(self, *endings: Ending) -> float:
        """Return the share of the starts with one of these endings."""
        return float(np.mean([outcome.ending in endings for outcome in self.outcomes]))

    def in_words(self) -> str:
        """Return the gaits, and how the other starts end."""
        parts = [f"{100 * gait.share:.0f} % to {gait.drift:+.3f} N s" for gait in self.gaits]
        for ending in (Ending.HOPS, Ending.STANDS, Ending.FALLS):
            if share := self.share(ending):
                parts.append(f"{100 * share:.0f} % {_SHORT[ending]}")
        return ", ".join(parts)

    def stability(self) -> Check:
        """Return the check that the gaits are stable: none is an unstable one passed slowly."""
        return required(
            "largest Floquet multipliers of the gaits reached",
            "below 1",
            ", ".join(f"{g.multiplier:.3f} at {g.drift:+.3f} N s" for g in self.gaits) or "none",
            bool(self.gaits) and all(gait.multiplier < 1.0 for gait in self.gaits),
        )


def _gaits(found: Sequence[TrialOutcome], changes: Sequence[dict[str, Value]]) -> tuple[Gait, ...]:
    """The gaits among outcomes, each with the multipliers of one of its runs."""
    settled = sorted((f.drift, k) for k, f in enumerate(found) if f.gait is not None)
    groups = [settled[:1]] if settled else []
    for before, after in pairwise(settled):
        if after[0] - before[0] > _APART:
            groups.append([])
        groups[-1].append(after)
    gaits = []
    for group in groups:
        drift, k = group[len(group) // 2]
        one = found[k].gait
        assert one is not None
        worst = abs(multipliers(trial_of(START.id, **changes[k]), one)[0])
        gaits.append(Gait(drift, len(group) / len(found), float(worst)))
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
    "processes": Parameter(0, "to share the trials among; 0: as many as there are cores"),
}


def processes_of(settings: Settings) -> int | None:
    """Return among how many processes trials are shared, None for one a core."""
    return int(settings["processes"]) or None


def basin(
    law: Mapping[str, Value],
    settings: Settings,
    progress: Callable[[float], None] | None = None,
) -> Basin:
    """Return the map of starts of a leg under a law.

    Args:
        law: values that differ from those of experiment IV, whose start is varied.
        settings: of a study that has :data:`PARAMETERS`.
        progress: receives the share of the trials that are done.

    Raises:
        VmsPhError: the settings give no grid.
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
            **LOOSE,
            **law,
            "tilt": float(np.radians(a)),
            "speed": float(u),
            "duration": duration,
        }
        for a in leans
        for u in speeds
    ]
    found = outcomes(START.id, changes, processes_of(settings), progress)
    return Basin(leans, speeds, tuple(found), _gaits(found, changes))


def draw_basin(found: Basin, title: str, file: Path) -> Path:
    """Draw the map of starts."""
    return draw_map(
        found.outcomes,
        (found.speeds, "horizontal speed at the start (m/s)"),
        (found.leans, "angle of the leg at the start (deg), foot ahead"),
        title,
        file,
    )


def _compute(settings: Settings, out: Path | None, progress: Progress) -> Outcome:
    law = {name: settings[name] for name in ("K_p", "D_p", "K_E", "D_r")}
    found = basin(law, settings, Stages(progress, 1).begin("starts"))
    checks: list[Check] = [
        required(
            "starts after which the leg keeps hopping",
            "some of them converge to a gait",
            f"{100 * found.share(Ending.GAIT, Ending.HOPS):.0f} % of {len(found.outcomes)}",
            found.share(Ending.GAIT) > 0.0,
            "The source calls its gaits rather insensitive to initial conditions; its experiments "
            "start at rest, upright and with the foot 30 deg ahead.",
        ),
        required(
            "gaits reached",
            "one of them forward with more than 0.1 N s",
            found.in_words(),
            any(gait.drift > 0.1 for gait in found.gaits),
        ),
        found.stability(),
    ]
    title = "Source's floor, controller II: outcome by start"
    files = [] if out is None else [draw_basin(found, title, out / "hopping-basin.png")]
    return Outcome(checks, files)


_GAINS = START.parameters()

STUDIES = [
    Study(
        "hopping-basin",
        f"beyond {SOURCE}",
        "The source's law and floor: from which starts which gait is reached",
        {**{name: _GAINS[name] for name in ("K_p", "D_p", "K_E", "D_r")}, **PARAMETERS},
        _compute,
    )
]

"""What the studies of all experiments share."""

from collections.abc import Callable
from pathlib import Path

import numpy as np

from vms_ph_dynamics.errors import VmsPhError
from vms_ph_dynamics.hopping import HoppingRun

from ..study import Check, Outcome, Settings, Study, Verdict
from .experiments import EXPERIMENTS, SOURCE, Trial
from .gait import Flight, multipliers
from .pictures import draw_run

Checks = Callable[[Trial, HoppingRun], list[Check]]


def study(identifier: str, title: str, checks: Checks, zoom: float = 0.0) -> Study:
    """Return the study of an experiment.

    Args:
        identifier: of the experiment and the study.
        title: one line.
        checks: compares a run with what is published.
        zoom: draw the last so many seconds too; 0 for not.
    """
    experiment = EXPERIMENTS[identifier]

    def run(settings: Settings, out: Path | None) -> Outcome:
        trial = Trial.of(experiment, settings)
        found = trial.run()
        files = []
        if out is not None:
            files.append(draw_run(trial, found, title, out / f"{identifier}.png"))
            if zoom and found.times[-1] > zoom:
                name = f"{title}: the last {zoom:g} s"
                files.append(draw_run(trial, found, name, out / f"{identifier}-zoom.png", zoom))
        made = [*checks(trial, found), balance(found)]
        return Outcome(made, files)

    return Study(identifier, SOURCE, title, experiment.parameters(), run)


def balance(run: HoppingRun) -> Check:
    """Return the check that energies and works close at the end of a run."""
    supplied = float(run.energies[-1, :3].sum())
    missed = run.leg(-1).energy - run.leg(0).energy - supplied
    return Check(
        "energy less the works at the ports",
        "J",
        0.0,
        missed,
        1e-6,
        "agrees" if abs(missed) <= 1e-6 else "differs",
    )


def said(name: str, published: str, obtained: str, holds: bool, why: str = "") -> Check:
    """Return the check of a statement."""
    return Check(name, "", published, obtained, None, "agrees" if holds else "differs", why)


def refuted(name: str, published: str, obtained: str, holds: bool, why: str) -> Check:
    """Return the check of a statement that is refuted by the defaults, and not if it ``holds``."""
    verdict: Verdict = "agrees" if holds else "refuted"
    return Check(name, "", published, obtained, None, verdict, why)


def largest_multiplier(trial: Trial, all_of_them: list[Flight]) -> complex | None:
    """Return the largest Floquet multiplier of the gait that a run has come to.

    None if it came to none: the last three flights differ, or the leg has fallen.
    """
    gait = settled(all_of_them)
    return None if gait is None else complex(multipliers(trial, gait)[0])


def settled(all_of_them: list[Flight]) -> Flight | None:
    """Return one of the last flights if they are alike, else None."""
    if len(all_of_them) < 4:
        return None
    last = all_of_them[-3:]
    for quantity in (
        [f.end - f.start for f in last],
        [f.last.angle for f in last],
        [f.drift for f in last],
    ):
        if np.ptp(quantity) > 1e-3:
            return None
    return last[1]


def degrees(angle: float) -> float:
    """Return an angle in degrees."""
    return float(np.degrees(angle))


def series(text: str, name: str) -> np.ndarray:
    """Return the numbers of a setting that lists them, in rising order.

    Raises:
        VmsPhError: no such list.
    """
    try:
        return np.unique([float(part) for part in text.split(";")])
    except ValueError:
        raise VmsPhError(f"{name}={text}: numbers with semicolons between are wanted") from None

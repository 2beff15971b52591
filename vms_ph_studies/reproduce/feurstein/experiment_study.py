# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The study of one experiment: a run, its checks and its plots."""

from collections.abc import Callable
from pathlib import Path

from vms_ph_dynamics import OptionError
from vms_ph_hopping import HoppingRun
from vms_ph_hopping.flights import flights
from vms_ph_io.progress import Progress

from ...check import Check
from ...study import Outcome, Settings, Stages, Study
from .energy_balance import balance_check
from .experiments import EXPERIMENTS, SOURCE, Trial
from .plots import draw_run

Checks = Callable[[Trial, HoppingRun], list[Check]]


def experiment_study(
    identifier: str,
    title: str,
    checks: Checks,
    zoom: float = 0.0,
    more_files: Callable[[HoppingRun, Path], list[Path]] = lambda run, out: [],
) -> Study:
    """Return the study of an experiment.

    Args:
        identifier: of the experiment and the study.
        title: one line.
        checks: compares a run with what is published.
        zoom: length of a second plot of the end of the run, s; 0 for none.
        more_files: draws further plots of a run into a folder.
    """
    experiment = EXPERIMENTS[identifier]

    def compute(settings: Settings, out: Path | None, progress: Progress) -> Outcome:
        trial = Trial.of(experiment, settings)
        stages = Stages(progress, 2)
        run = trial.run(progress=stages.begin("run"))
        if not flights(run):
            raise OptionError(
                f"the leg does not land within {run.times[-1]:.3g} s; simulate longer"
            )
        stages.begin("gait and its stability")
        all_checks = [*checks(trial, run), balance_check(run)]
        files = []
        if out is not None:
            files.append(draw_run(trial, run, title, out / f"{identifier}.png"))
            if zoom and run.times[-1] > zoom:
                name = f"{title}: the last {zoom:g} s"
                files.append(draw_run(trial, run, name, out / f"{identifier}-zoom.png", zoom))
            files += more_files(run, out)
        return Outcome(all_checks, files)

    return Study(identifier, SOURCE, title, experiment.parameters(), compute)

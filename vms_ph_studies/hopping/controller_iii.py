# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Controller III of source B, for which the source reports no experiment."""

from pathlib import Path

import numpy as np

from vms_ph_hopping.flights import flights
from vms_ph_io.progress import Progress, Stages

from ..check import compared, required
from ..reproduce.feurstein.energy_balance import balance_check
from ..reproduce.feurstein.experiments import EXPERIMENTS, SOURCE, trial_of
from ..reproduce.feurstein.gait import degrees, largest_multiplier
from ..reproduce.feurstein.plots import draw_run
from ..study import Outcome, Parameter, Settings, Study
from .outcome import Ending, outcome_of

_IN_PLACE = EXPERIMENTS["feurstein-revolute-4"]


def upright_frame_angle() -> float:
    """Return alpha_c of the bent leg whose line to the foot is vertical, rad."""
    trial = trial_of(_IN_PLACE.id)
    start = trial.start()
    return trial.controller.frame_angle(start) - start.angle


def _compute(settings: Settings, out: Path | None, progress: Progress) -> Outcome:
    damping, duration = float(settings["D_p"]), float(settings["duration"])
    upright = upright_frame_angle()
    angle = upright + float(np.radians(float(settings["lean"])))
    stages = Stages(progress, 3)
    stages.begin("commanded angle zero")
    literal = [
        outcome_of(trial_of(e, controller="III", duration=3.0, alpha_des=0.0))
        for e in (_IN_PLACE.id, "feurstein-revolute-5")
    ]
    stages.begin("without damping")
    undamped = outcome_of(trial_of(_IN_PLACE.id, controller="III", duration=3.0, alpha_des=angle))
    damped = trial_of(
        _IN_PLACE.id, controller="III", D_p=damping, alpha_des=angle, duration=duration
    )
    run = damped.run(progress=stages.begin("with damping"))
    hops = flights(run)
    worst = largest_multiplier(damped, hops)
    checks = [
        compared(
            "frame angle of the vertical bent leg",
            0.0,
            degrees(upright),
            1.0,
            "deg",
            "Controller III regulates the angle of the frame, which is zero for a straight leg but "
            "this large for a vertical bent one: commanding zero makes the leg fall over.",
            "bound",
        ),
        required(
            "with the commanded angle zero",
            "falls",
            " and ".join(
                f"{trial_outcome.ending.value} after {trial_outcome.hops} hops"
                for trial_outcome in literal
            ),
            all(trial_outcome.ending is Ending.FALLS for trial_outcome in literal),
        ),
        required(
            "with the angle of the vertical leg, undamped",
            "falls",
            f"{undamped.ending.value} after {undamped.hops} hops",
            undamped.ending is Ending.FALLS,
            "The spring turns the whole robot and dissipates nothing of the rotation.",
        ),
        required(
            f"with that angle and D_p = {damping:g} N m s/rad",
            "a stable gait",
            f"{len(hops) - 1} hops"
            + ("" if worst is None else f", Floquet multiplier {abs(worst):.3f}"),
            not run.stopped and worst is not None and abs(worst) < 1.0,
        ),
        balance_check(run),
    ]
    files = []
    if out is not None:
        title = "Controller III with polar damping"
        files.append(draw_run(damped, run, title, out / "hopping-controller-iii.png"))
    return Outcome(checks, files)


STUDIES = [
    Study(
        "hopping-controller-iii",
        f"beyond {SOURCE}",
        "Controller III: its fall, and a stable gait with polar damping",
        {
            "D_p": Parameter(0.3, "polar damping, N m s/rad"),
            "lean": Parameter(0.0, "commanded angle relative to the vertical leg, deg"),
            "duration": Parameter(7.0, "s"),
        },
        _compute,
    ),
]

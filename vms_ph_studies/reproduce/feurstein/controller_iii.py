"""Beyond the source: controller III, which it never tried."""

from pathlib import Path

import numpy as np

from ..study import Outcome, Parameter, Settings, Study, compared
from .common import balance, degrees, largest_multiplier, said
from .experiments import EXPERIMENTS, SOURCE
from .fate import Ending, fate, trial_of
from .gait import flights
from .pictures import draw_run

_IN_PLACE = EXPERIMENTS["feurstein-revolute-4"]


def upright_frame_angle() -> float:
    """Return alpha_c of the bent leg whose line to the foot is vertical, rad."""
    trial = trial_of(_IN_PLACE.id)
    start = trial.start()
    return trial.controller.frame_angle(start) - start.angle


def _controller_iii(settings: Settings, out: Path | None) -> Outcome:
    damping, duration = float(settings["D_p"]), float(settings["duration"])
    upright = upright_frame_angle()
    angle = upright + float(np.radians(float(settings["lean"])))
    literal = [
        fate(trial_of(e, controller="III", duration=3.0, alpha_des=0.0))
        for e in (_IN_PLACE.id, "feurstein-revolute-5")
    ]
    undamped = fate(trial_of(_IN_PLACE.id, controller="III", duration=3.0, alpha_des=angle))
    mended = trial_of(
        _IN_PLACE.id, controller="III", D_p=damping, alpha_des=angle, duration=duration
    )
    run = mended.run()
    hops = flights(run)
    worst = largest_multiplier(mended, hops)
    checks = [
        compared(
            "frame angle of the vertical bent leg",
            0.0,
            degrees(upright),
            1.0,
            "deg",
            "Controller III holds the frame, whose angle is zero for a straight leg. That of a "
            "bent leg leans by this much: commanding zero asks the leg to fall over.",
        ),
        said(
            "with the commanded angle zero",
            "not reported",
            " and ".join(f"{found.ending.value} after {found.hops} hops" for found in literal),
            all(found.ending is Ending.FALLS for found in literal),
        ),
        said(
            "with the angle of the vertical leg, undamped",
            "not reported",
            f"{undamped.ending.value} after {undamped.hops} hops",
            undamped.ending is Ending.FALLS,
            "The spring turns the whole robot and takes nothing out of the turn.",
        ),
        said(
            f"with that angle and D_p = {damping:g} N m s/rad",
            "not reported",
            f"{len(hops) - 1} hops"
            + ("" if worst is None else f", Floquet multiplier {abs(worst):.3f}"),
            not run.stopped and worst is not None and abs(worst) < 1.0,
        ),
        balance(run),
    ]
    files = []
    if out is not None:
        title = "Controller III, mended"
        files.append(draw_run(mended, run, title, out / "hopping-controller-iii.png"))
    return Outcome(checks, files)


STUDIES = [
    Study(
        "hopping-controller-iii",
        f"beyond {SOURCE}",
        "Controller III: why it falls, and how it hops on",
        {
            "D_p": Parameter(0.3, "polar damping, N m s/rad"),
            "lean": Parameter(0.0, "commanded beyond the vertical leg, deg"),
            "duration": Parameter(7.0, "s"),
        },
        _controller_iii,
    ),
]

# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Figure 4.7 and the sweep of the commanded angle: the angular momentum of the leg."""

from dataclasses import replace
from pathlib import Path

import numpy as np

from vms_ph_dynamics.errors import VmsPhError
from vms_ph_hopping import LegOnFloor, hop
from vms_ph_hopping.flights import flights
from vms_ph_io.progress import Progress, Stages

from ...check import Check, compared, stated
from ...figures import Panel, draw
from ...study import Outcome, Parameter, Settings, Study, list_of_numbers
from .experiments import EXPERIMENTS, SOURCE, trial_of
from .gait import settled

_FIRST = EXPERIMENTS["feurstein-revolute-1"]
_GAIT = EXPERIMENTS["feurstein-revolute-6"]


def _momentum(joint: float) -> float:
    """The angular momentum after the first lift-off from a vertical leg, N m s [B, figure 4.7].

    The radial spring is at rest at the start, as for the angle the source chose.
    """
    trial = trial_of(_FIRST.id, joint=joint)
    q = trial.tilted(0.0, absolute=True)
    gains = replace(trial.controller.gains, length=trial.leg.at(q, trial.v).length)
    trial.controller.gains = gains
    system = LegOnFloor(trial.leg, trial.controller.law, trial.system.floor)
    run = hop(system, q, trial.v, 0.4, sample=0.1)
    up = [e for e in run.events if e.kind.name == "LIFT_OFF"]
    return system.leg_state(up[-1].state).angular_momentum if up else float("nan")


def _momentum_after(stages: Stages, degrees: float) -> float:
    stages.begin(f"joint angle {degrees:g} deg")
    return _momentum(float(np.radians(degrees)))


def _commanded(degrees: float, duration: float) -> tuple[float, str, bool]:
    """The effect of a commanded angle on the gait of experiment VI.

    Returns:
        The largest angular momentum of a flight, N m s; the outcome in words; and whether it
        converges to a gait.
    """
    trial = trial_of(_GAIT.id, alpha_des=float(np.radians(degrees)), duration=duration)
    run = trial.run()
    hops = flights(run)
    largest = max(abs(flight.angular_momentum) for flight in hops)
    if run.stopped:
        return largest, f"falls after {len(hops) - 1} hops", False
    gait = settled(hops)
    if gait is None:
        return largest, f"no gait in {duration:g} s", False
    return largest, f"converges to a gait of {gait.drift:+.3f} N s", True


def _compute(settings: Settings, out: Path | None, progress: Progress) -> Outcome:
    low, high = float(settings["from"]), float(settings["to"])
    points = int(settings["points"])
    if not 20.0 <= low < high <= 160.0 or points < 3:
        raise VmsPhError(
            f"from={low:g}, to={high:g}, points={points}: 20 <= from < to <= 160 deg and at least "
            "3 points are accepted"
        )
    angles = np.linspace(low, high, points)
    sweep = list_of_numbers(settings, "sweep")
    stages = Stages(progress, points + 4 * len(sweep))
    momenta = np.array([_momentum_after(stages, float(angle)) for angle in angles])
    best = int(np.nanargmin(np.abs(momenta)))
    chosen = _momentum(float(np.radians(102.0)))
    checks: list[Check] = [
        compared(
            "joint angle of the least angular momentum",
            102.0,
            float(angles[best]),
            8.0,
            "deg",
            f"The minimum is flat: {1e3 * abs(momenta[best]):.3f} mN m s there, "
            f"{1e3 * abs(chosen):.3f} at 102 deg.",
        ),
        compared(
            "angular momentum at 102 deg, against the least",
            1.0,
            abs(chosen) / abs(float(momenta[best])),
            0.05,
            origin="bound",
        ),
    ]
    duration = float(settings["duration"])
    calm, _, _ = _commanded(0.0, 2.0)
    for step in sweep:
        # Such a run takes several times as long as a point of the other sweep.
        stages.begin(f"commanded angle {step:+g} deg", 4)
        largest, ending, steady = _commanded(float(step), duration)
        checks.append(
            stated(
                f"commanded angle {step:+g} deg",
                "large angular momenta in flight, unstable gaits",
                f"up to {1e3 * largest:.2f} mN m s instead of {1e3 * calm:.2f}, {ending}",
                largest > 2.0 * calm and not steady,
                "A gait with the foot commanded behind is faster, and may be as stable."
                if steady
                else "",
            )
        )
    files = [] if out is None else [_plot(angles, momenta, out / "feurstein-figure-4-7.png")]
    return Outcome(checks, files)


def _plot(angles: np.ndarray, momenta: np.ndarray, file: Path) -> Path:
    curves = {
        "after the first lift-off": (angles, 1e3 * momenta),
        "102 deg, where the source sees the least": (np.full(2, 102.0), 1e3 * momenta[[0, -1]]),
    }
    title = "Revolute leg, dropped upright from 0.3 m"
    x, y = "joint angle at the start (deg)", "angular momentum (mN m s)"
    return draw([Panel(title, x, y, curves)], file)


STUDIES = [
    Study(
        "feurstein-figure-4-7",
        SOURCE,
        "Revolute leg: angular momentum against joint angle and commanded angle",
        {
            "from": Parameter(80.0, "first joint angle, deg"),
            "to": Parameter(130.0, "last joint angle, deg"),
            "points": Parameter(26, "points of the sweep of the joint angle"),
            "sweep": Parameter("-3;-2;2;3", "commanded angles to try, deg"),
            "duration": Parameter(12.0, "of each run with a commanded angle, s"),
        },
        _compute,
    )
]

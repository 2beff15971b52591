"""Experiment VI: the gait in numbers, and where its energy goes [B, 4.3]."""

from pathlib import Path

import numpy as np

from vms_ph_dynamics.hopping import HoppingRun

from ..study import Check, Outcome, Settings, Study, compared
from .common import balance, degrees, largest_multiplier, refuted, said, settled
from .experiments import EXPERIMENTS, SOURCE, Trial
from .gait import flights
from .ledger import Ledger, draw_ledger, ledger
from .pictures import draw_efforts, draw_run

_ID = "feurstein-revolute-6"
_TITLE = "Revolute leg, the forward gait"
# About three hops, s, as in the source's figures 4.15 and 4.16.
_ZOOM = 1.2


def _gait(trial: Trial, run: HoppingRun) -> list[Check]:
    hops = flights(run)
    gait, worst = settled(hops), largest_multiplier(trial, hops)
    if gait is None or worst is None:
        return [said("the gait goes on", "yes", "no", False)]
    gravity = -float(trial.controller.model.gravity[1])
    top = run.leg(int(np.argmin(np.abs(run.times - gait.apex_time(gravity)))))
    lift = gait.first
    extension = lift.length - trial.controller.gains.length
    return [
        said(
            "the gait goes on",
            "stable",
            f"largest Floquet multiplier {abs(worst):.3f}",
            abs(worst) < 1.0,
        ),
        compared("apex height", 0.2477, gait.apex_height(gravity), 0.02 * 0.2477, "m"),
        compared("horizontal momentum", 0.2344, gait.drift, 0.02 * 0.2344, "N s"),
        compared("alpha at the apex", -0.4, degrees(top.angle), 0.05, "deg"),
        compared("angular velocity at the apex", 0.330, float(top.v[2]), 0.02 * 0.33, "rad/s"),
        compared("energy in flight", 2.4746, gait.last.energy, 0.02 * 2.4746, "J"),
        # Published to two digits.
        compared("angular momentum in flight", 3.4e-4, gait.angular_momentum, 1e-5, "N m s"),
        compared("spring at lift-off", 80.0, 1e3 * trial.spring(lift), 5.0, "mJ"),
        compared("its extension", 9.0, 1e3 * extension, 0.5, "mm"),
    ]


def _sheet(sheet: Ledger) -> list[Check]:
    split = (
        "The joint work already has the damper taken off: subtracting its loss from the inflow "
        f"again leaves 3.0 J for the floor where it is {sheet.floor:.2f} J. Gross, "
        f"{sheet.external + sheet.actuators:.2f} J come in, and {sheet.radial_damping:.2f} J of "
        "them end in the damper."
    )
    after = sheet.floor - sheet.touch_down
    return [
        compared("external work in 20 s", 7.15, sheet.external, 0.1, "J"),
        compared("joint work, net of the damper", 4.65, sheet.joint, 0.3, "J"),
        compared("radial damping", 5.9, sheet.radial_damping, 0.35, "J"),
        said(
            "touch-down loss",
            "45 mJ, and 2.9 J / 54 = 54 mJ",
            f"up to {1e3 * sheet.kinetic_loss:.1f} mJ",
            54.0 <= 1e3 * sheet.kinetic_loss < 60.0,
            "Kinetic energy lost: 45 mJ after 0.05 ms, most after 0.16 ms, 45 mJ again after "
            "0.8 ms. The source takes one step of its integrator, of unknown length; the heat in "
            f"the floor is {1e3 * sheet.touch_down / max(sheet.touch_downs, 1):.1f} mJ.",
        ),
        refuted(
            "loss to the floor",
            "2.9 J at touch-down + 3.0 J after",
            f"{sheet.touch_down:.2f} J + {after:.2f} J",
            abs(sheet.floor - 5.9) < 0.5,
            split,
        ),
        compared("touch-downs", 54, sheet.touch_downs, 1),
        compared("the sheet closes", 0.0, sheet.residual, 1e-6, "J"),
        compared("the sheet closes with the damper apart", 0.0, sheet.gross_residual, 1e-6, "J"),
    ]


def _run(settings: Settings, out: Path | None) -> Outcome:
    trial = Trial.of(EXPERIMENTS[_ID], settings)
    found = trial.run()
    checks = [*_gait(trial, found), *_sheet(ledger(trial, found)), balance(found)]
    files = []
    if out is not None:
        last = f"{_TITLE}: the last {_ZOOM:g} s"
        files = [
            draw_run(trial, found, _TITLE, out / f"{_ID}.png"),
            draw_run(trial, found, last, out / f"{_ID}-zoom.png", _ZOOM),
            draw_efforts(found, last, out / f"{_ID}-efforts.png", _ZOOM),
            draw_ledger(found, out / f"{_ID}-energy.png"),
        ]
    return Outcome(checks, files)


STUDIES = [
    Study(
        _ID,
        SOURCE,
        "Revolute leg, the forward gait and its balance sheet",
        EXPERIMENTS[_ID].parameters(),
        _run,
    )
]

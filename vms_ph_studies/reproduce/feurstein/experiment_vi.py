# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Experiment VI: the gait and its energy balance [B, 4.3]."""

from pathlib import Path

import numpy as np

from vms_ph_hopping import HoppingRun
from vms_ph_hopping.flights import flights

from ...check import Check, bounded, compared, refuted_unless, stated
from .energy_balance import EnergyBalance, energy_balance
from .experiment_study import experiment_study
from .experiments import Trial
from .gait import converged_flight, degrees, largest_multiplier
from .plots import draw_efforts, draw_energy_balance
from .revolute import gait_checks

_ID = "feurstein-revolute-6"
_TITLE = "Revolute leg, the forward gait and its energy balance"
# About three hops, s, as in the source's figures 4.15 and 4.16.
_ZOOM = 1.2


def _published_gait(trial: Trial, run: HoppingRun) -> list[Check]:
    hops = flights(run)
    gait, multiplier = converged_flight(hops), largest_multiplier(trial, hops)
    if gait is None or multiplier is None:
        return [stated("the gait persists", "yes", "no", False)]
    gravity = -float(trial.controller.model.gravity[1])
    apex = run.leg(int(np.argmin(np.abs(run.times - gait.apex_time(gravity)))))
    lift_off = gait.first
    extension = lift_off.length - trial.controller.gains.length
    return [
        stated(
            "the gait persists",
            "stable",
            f"largest Floquet multiplier {abs(multiplier):.3f}",
            abs(multiplier) < 1.0,
        ),
        compared(
            "apex height",
            0.2477,
            gait.apex_height(gravity),
            0.02 * 0.2477,
            "m",
            "of the centre of mass, computed from the state of table 4.13",
            "independent",
        ),
        compared("alpha at the apex", -0.4, degrees(apex.angle), 0.05, "deg"),
        compared("angular velocity at the apex", 0.330, float(apex.v[2]), 0.02 * 0.33, "rad/s"),
        *gait_checks(gait),
        compared("spring at lift-off", 80.0, 1e3 * trial.spring_energy(lift_off), 5.0, "mJ"),
        compared("its extension", 9.0, 1e3 * extension, 0.5, "mm"),
    ]


def _balance_checks(balance: EnergyBalance) -> list[Check]:
    why = (
        "The joint work is already net of the damper: subtracting its loss from the inflow again "
        f"leaves 3.0 J for the floor, which dissipates {balance.floor:.2f} J. Gross, the ports "
        f"supply {balance.external + balance.actuators:.2f} J, of which the damper dissipates "
        f"{balance.radial_damping:.2f} J."
    )
    later_loss = balance.floor - balance.touch_down
    return [
        compared("external work in 20 s", 7.15, balance.external, 0.1, "J"),
        compared("joint work, net of the damper", 4.65, balance.joint, 0.3, "J"),
        compared("radial damping", 5.9, balance.radial_damping, 0.35, "J"),
        compared(
            "touch-down loss",
            2.9e3 / 54,
            1e3 * balance.kinetic_loss,
            5.0,
            "mJ",
            "The source prints 45 mJ each and 2.9 J in 20 s, which over the 54 touch-downs found "
            "here are 54 mJ each. The loss of kinetic energy is 45 mJ after 0.05 ms, largest after "
            "0.16 ms, 45 mJ again after 0.8 ms; the source takes one step of its integrator, of "
            "unknown length. The floor dissipates "
            f"{1e3 * balance.touch_down / max(balance.touch_downs, 1):.1f} mJ.",
        ),
        refuted_unless(
            abs(balance.floor - 5.9) < 0.5,
            "loss to the floor",
            "2.9 J at touch-down + 3.0 J after",
            f"{balance.touch_down:.2f} J + {later_loss:.2f} J",
            why,
        ),
        compared("touch-downs", 54, balance.touch_downs, 1, origin="independent"),
        bounded("unaccounted energy", balance.residual, 1e-6, "J"),
        bounded("unaccounted energy, gross of the damper", balance.gross_residual, 1e-6, "J"),
    ]


def _checks(trial: Trial, run: HoppingRun) -> list[Check]:
    return [*_published_gait(trial, run), *_balance_checks(energy_balance(trial, run))]


def _more_files(run: HoppingRun, out: Path) -> list[Path]:
    title = f"{_TITLE}: the last {_ZOOM:g} s"
    return [
        draw_efforts(run, title, out / f"{_ID}-efforts.png", _ZOOM),
        draw_energy_balance(run, out / f"{_ID}-energy.png"),
    ]


STUDY = experiment_study(_ID, _TITLE, _checks, _ZOOM, _more_files)

# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Experiments I to III with the prismatic leg [B, 4.2]."""

from itertools import pairwise

import numpy as np

from vms_ph_hopping import HoppingRun, hop
from vms_ph_hopping.flights import flights

from ...check import Check, compared, refuted_unless, stated
from .experiment_study import experiment_study
from .experiments import Trial
from .gait import largest_multiplier

# The source shows tilts in figures; this much is visible there.
_VISIBLE_TILT = np.radians(10.0)


def _start_checks(trial: Trial) -> list[Check]:
    start = trial.initial_state()
    why = (
        "with q1(0) = 0.12 m, the rest length of the text; table 4.7 prints 0.114, which is r_cf: "
        "with it the leg starts with 2.9077 J and r_cf = 0.108 m"
    )
    return [
        compared("E(0)", 2.9047, start.energy, 1e-4, "J", why),
        compared("r_cf(0)", 0.114, start.length, 5e-4, "m"),
    ]


def _tilts(run: HoppingRun) -> list[float]:
    """Return the tilt at each touch-down, rad."""
    return [abs(flight.last.angle) for flight in flights(run)]


def _tilt_growth(trial: Trial) -> float:
    """Return how a small tilt grows from the first to the second touch-down, with its sign."""
    tilts = []
    for sign in (1.0, -1.0):
        q = trial.tilted_configuration(sign * 1e-6)
        run = hop(trial.system, q, trial.v, 1.0, tolerance=1e-10, sample_interval=0.5)
        tilts.append([flight.last.angle for flight in flights(run)[:2]])
    (a, b), (c, d) = tilts
    return (b - d) / (a - c)


def _checks_1(trial: Trial, run: HoppingRun) -> list[Check]:
    tilts = _tilts(run)
    upright_count = sum(tilt < _VISIBLE_TILT for tilt in tilts)
    is_fallen = run.stopped or (len(tilts) > 0 and max(tilts) > _VISIBLE_TILT)
    upright_run = hop(
        trial.system,
        trial.tilted_configuration(trial.controller.gains.angle, is_absolute=True),
        trial.v,
        min(trial.duration, 2.0),
        tolerance=trial.tolerance,
    )
    largest_tilt = max(abs(flight.last.angle) for flight in flights(upright_run))
    growth_factors = [b / a for a, b in pairwise(tilts) if a > 1e-12]
    obtained = f"{upright_count} touch-downs upright" + ("" if is_fallen else ", and no tilt after")
    return [
        *_start_checks(trial),
        stated(
            "jumps before the leg tilts by 10 deg",
            "7",
            obtained,
            is_fallen and upright_count == 7,
            "The number depends on the noise of the simulation: 5 for a tilt of 1e-6 rad "
            "at the start, 7 for 1e-8, 10 for 1e-12; 1e-8 is assumed.",
        ),
        stated(
            "an exactly upright leg",
            "stays in an unstable equilibrium",
            f"within {largest_tilt:.1e} rad of upright",
            largest_tilt < 1e-6,
        ),
        stated(
            "factor by which a tilt grows per jump",
            "unstable",
            ", ".join(f"{factor:.1f}" for factor in growth_factors[:4]) or "none found",
            bool(growth_factors) and min(growth_factors[:4]) > 1.0,
        ),
    ]


def _checks_2(trial: Trial, run: HoppingRun) -> list[Check]:
    landings, last_state = run.touch_downs(), run.leg(-1)
    growth = _tilt_growth(trial)
    is_at_rest = abs(last_state.centre_rate[1]) < 0.1
    return [
        *_start_checks(trial),
        stated(
            "jumps until it rests",
            "12",
            f"{len(landings)}, " + ("then it rests" if is_at_rest else "and it still moves"),
            len(landings) == 12 and is_at_rest,
            "Touch-downs that follow the last within 0.05 s are bounces of one landing.",
        ),
        stated(
            "energy",
            "lost to the floor",
            f"{run.leg(0).energy:.4f} J falls to {last_state.energy:.4f} J",
            last_state.energy < 0.6 * run.leg(0).energy,
        ),
        refuted_unless(
            abs(growth) < 1.0,
            "the polar spring keeps the leg upright",
            "stable",
            f"a tilt is multiplied by {growth:.2f} on the first jump",
            "An exactly upright leg stays upright with or without the spring.",
        ),
    ]


def _checks_3(trial: Trial, run: HoppingRun) -> list[Check]:
    hops = flights(run)
    total_energies = [hop.last.energy + trial.spring_energy(hop.last) for hop in hops]
    spring = np.array([trial.spring_energy(run.leg(i)) for i in range(len(run.times))])
    means = [float(spring[(run.times >= f.start) & (run.times <= f.end)].mean()) for f in hops[1:]]
    multiplier = largest_multiplier(trial, hops)
    checks = [
        *_start_checks(trial),
        compared(
            "energy at touch-down, with the spring",
            2.9047,
            float(np.mean(total_energies)),
            0.01,
            "J",
            "What is regulated is kinetic + gravity + radial spring.",
        ),
        stated(
            "mean energy of the spring in flight",
            "rises slightly from hop to hop",
            "J, ".join(f"{energy:.3f} " for energy in means[:4]) + "J, then constant",
            len(means) > 4 and means[0] < means[1] < means[2] and abs(means[4] - means[3]) < 2e-3,
        ),
    ]
    if multiplier is None:
        return [*checks, stated("a periodic gait", "yes", "none reached", False)]
    text = f"{multiplier.real:.3f}" if abs(multiplier.imag) < 1e-9 else f"|{abs(multiplier):.3f}|"
    why = (
        "The largest Floquet multiplier of the gait: a tilt grows by this factor each hop, and the "
        "leg remains upright only from an exactly upright start. With damping of the polar spring, "
        "D_p = 0.2 or 0.3, it is stable."
    )
    return [
        *checks,
        refuted_unless(abs(multiplier) < 1.0, "stable hopping in place", "stable", text, why),
    ]


STUDIES = [
    experiment_study(
        "feurstein-prismatic-1", "Prismatic leg, radial spring alone: it falls over", _checks_1
    ),
    experiment_study(
        "feurstein-prismatic-2", "Prismatic leg, polar spring: it comes to rest", _checks_2
    ),
    experiment_study(
        "feurstein-prismatic-3", "Prismatic leg, energy regulated: it keeps hopping", _checks_3
    ),
]

# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Experiments I to V with the revolute leg [B, 4.3]."""

import numpy as np

from vms_ph_hopping import HoppingRun
from vms_ph_hopping.flights import Flight, flights

from ...check import Check, compared, stated
from .experiment_study import experiment_study
from .experiments import Trial
from .gait import converged_flight, degrees, largest_multiplier


def _start_checks(trial: Trial) -> list[Check]:
    start = trial.initial_state()
    checks = [compared("r_cf(0)", 0.1411, start.length, 1e-4, "m")]
    if abs(start.angle) > 0.1:
        return [
            *checks,
            compared("E(0)", 2.8382, start.energy, 1e-4, "J"),
            compared("alpha(0)", 30.0, degrees(start.angle), 0.1, "deg"),
        ]
    why = "E_des of all experiments is the energy of the tilted start of V, not of this upright one"
    return [*checks, compared("E(0)", 2.8382, start.energy, 1e-4, "J", why)]


def _rotations(hops: list[Flight]) -> list[float]:
    return [degrees(flight.rotation) for flight in hops]


def _checks_1(trial: Trial, run: HoppingRun) -> list[Check]:
    hops = flights(run)
    rotation = _rotations(hops)[1] if len(hops) > 1 else float("nan")
    return [
        *_start_checks(trial),
        compared("rotation in the first flight after the start", 30.0, rotation, 2.0, "deg"),
        stated(
            "after the second touch-down",
            "it cannot make another hop",
            "falls" if run.stopped else "goes on",
            run.stopped,
        ),
    ]


def _momenta_text(hops: list[Flight]) -> str:
    return ", ".join(f"{1e3 * hop.angular_momentum:+.2f}" for hop in hops[1:6]) + " mN m s"


def _checks_2(trial: Trial, run: HoppingRun) -> list[Check]:
    hops = flights(run)
    signs = np.sign([hop.angular_momentum for hop in hops[1:6]])
    travel = run.leg(-1).centre[0] - run.leg(0).centre[0]
    return [
        *_start_checks(trial),
        stated(
            "angular momentum in flight",
            "changes sign from hop to hop",
            _momenta_text(hops),
            len(signs) > 3 and bool((signs[1:4] == -signs[:3]).all()),
        ),
        stated("drift", "forward", f"{travel:+.3f} m", bool(travel > 0.0)),
        stated(
            "energy without regulator",
            "lost",
            f"{hops[-1].last.energy:.3f} J at the last touch-down",
            hops[-1].last.energy < 0.8 * trial.initial_state().energy,
        ),
    ]


def _checks_3(trial: Trial, run: HoppingRun) -> list[Check]:
    hops = flights(run)
    total = [hop.last.energy + trial.spring_energy(hop.last) for hop in hops[1:]]
    end_time = float(run.times[-1])
    return [
        *_start_checks(trial),
        compared("energy at touch-down, with the spring", 2.8382, float(np.mean(total)), 0.02, "J"),
        stated(
            "drift",
            "forward",
            f"{hops[min(8, len(hops) - 1)].last.centre[0]:+.3f} m after 8 hops",
            bool(hops[min(8, len(hops) - 1)].last.centre[0] > 0.0),
        ),
        stated(
            "stability",
            "relatively stable",
            f"falls after {len(hops) - 1} hops, at {end_time:.1f} s"
            if run.stopped
            else f"{len(hops) - 1} hops in {end_time:.1f} s without a fall",
            not run.stopped,
            "The energy of the undamped spring grows from hop to hop and the gait is chaotic: runs "
            "that differ by rounding fall at different hops. The source's figure ends earlier.",
        ),
    ]


def gait_checks(gait: Flight) -> list[Check]:
    """Return the checks of the forward gait that experiment V ends in and VI starts with.

    The source prints the state of an apex (table 4.13); momenta and energy are computed from it.
    """
    why = "computed from the state of the apex that table 4.13 prints for experiment VI"
    return [
        compared(name, reference, obtained, tolerance, unit, why if k == 0 else "", "independent")
        for k, (name, reference, obtained, tolerance, unit) in enumerate(
            (
                ("horizontal momentum", 0.2344, gait.horizontal_momentum, 0.02 * 0.2344, "N s"),
                ("energy in flight", 2.4746, gait.last.energy, 0.02 * 2.4746, "J"),
                ("angular momentum in flight", 3.4e-4, gait.angular_momentum, 1e-5, "N m s"),
            )
        )
    ]


def _convergence_check(trial: Trial, hops: list[Flight], gait_name: str) -> Check:
    multiplier = largest_multiplier(trial, hops)
    magnitude = np.inf if multiplier is None else abs(multiplier)
    obtained = f"largest Floquet multiplier {magnitude:.3f}" if multiplier else "no"
    return stated(f"converges to a {gait_name}", "yes", obtained, bool(magnitude < 1.0))


def _checks_4(trial: Trial, run: HoppingRun) -> list[Check]:
    hops = flights(run)
    checks = [*_start_checks(trial), _convergence_check(trial, hops, "gait")]
    if (gait := converged_flight(hops)) is None:
        return checks
    return [
        *checks,
        stated(
            "drift of the gait",
            "small, backward",
            f"{gait.horizontal_momentum:+.4f} N s",
            -0.05 < gait.horizontal_momentum < 0.0,
        ),
        compared(
            "horizontal momentum of the gait",
            -0.0062,
            gait.horizontal_momentum,
            1e-4,
            "N s",
            "by explicit steps of 2e-6 s on equations written out by hand, as the next",
            "independent",
        ),
        compared(
            "angle of the leg at touch-down of the gait",
            34.0,
            abs(degrees(gait.last.angle)),
            0.5,
            "deg",
            "",
            "independent",
        ),
        compared(
            "rotation in flight of the gait",
            3.0,
            abs(degrees(gait.rotation)),
            0.5,
            "deg",
            f"The first flight turns by {abs(_rotations(hops)[1]):.0f} deg, and the gait that the "
            "leg converges to by less than a degree; the source reads 3 deg off a figure.",
        ),
    ]


def _checks_5(trial: Trial, run: HoppingRun) -> list[Check]:
    hops = flights(run)
    checks = [*_start_checks(trial), _convergence_check(trial, hops, "forward gait")]
    if (gait := converged_flight(hops)) is None:
        return checks
    return [
        *checks,
        *gait_checks(gait),
        stated(
            "energy",
            "stabilises below its start",
            f"{gait.last.energy:.4f} J from {trial.initial_state().energy:.4f} J",
            gait.last.energy < trial.initial_state().energy,
        ),
    ]


STUDIES = [
    experiment_study(
        "feurstein-revolute-1", "Revolute leg, radial spring alone: it falls over", _checks_1
    ),
    experiment_study(
        "feurstein-revolute-2", "Revolute leg, polar spring: it drifts forward", _checks_2
    ),
    experiment_study("feurstein-revolute-3", "Revolute leg, energy regulated, undamped", _checks_3),
    experiment_study(
        "feurstein-revolute-4", "Revolute leg, damped in flight: it hops in place", _checks_4
    ),
    experiment_study(
        "feurstein-revolute-5", "Revolute leg, tilted start: it converges to a gait", _checks_5
    ),
]

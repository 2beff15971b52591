# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Two arms with one body, composed by ports from two URDFs, against one model of MuJoCo."""

from pathlib import Path

import numpy as np

from vms_ph_ephs import assemble, simulate
from vms_ph_io.progress import Progress

from ..check import Check, bounded, compared, required
from ..study import Outcome, Parameter, Settings, Study
from .two_arms import box_powers, by_mujoco, by_ports, composed, flat, start_of, starts

# Halvings of the step of MuJoCo after the first; samples at which powers are added up.
_HALVINGS, _SAMPLES = 2, 10

_EXTRAPOLATED = (
    "MuJoCo's error is proportional to its step, so that twice the motion at half the step less "
    "that at the whole step is free of it to second order"
)


def _compute(settings: Settings, out: Path | None, progress: Progress) -> Outcome:
    seconds, step = float(settings["seconds"]), float(settings["step"])
    system = composed()
    nested, joined = assemble(system), assemble(flat(system))
    steps = max(_SAMPLES, round(seconds / 1e-3))
    x = start_of(nested)
    progress(0.1, "composed by ports")
    motion = simulate(nested, x, seconds / steps, steps, every=steps // _SAMPLES)
    other = simulate(
        joined, start_of(joined), seconds / steps, steps, every=steps - steps % _SAMPLES
    )
    final, final_flat = by_ports(nested, motion.final), by_ports(joined, other.final)
    sums = [
        abs(sum(parts.values()))
        for state in motion.states
        for parts in box_powers(nested, system, state).values()
    ]
    largest = max(
        abs(power)
        for state in motion.states
        for parts in box_powers(nested, system, state).values()
        for power in parts.values()
    )
    end = float(motion.t[-1])
    theirs = []
    for k in range(_HALVINGS + 1):
        progress(0.4 + 0.2 * k, f"MuJoCo at {step / 2**k:g} s")
        theirs.append(by_mujoco(starts(nested, x), end, step / 2**k))
    errors = [float(np.abs(motion_of_mujoco - final).max()) for motion_of_mujoco in theirs]
    free = 2.0 * theirs[-1] - theirs[-2]
    checks: list[Check] = [
        bounded("sum of the powers between the boxes", max(sums), 1e-12, "W"),
        required(
            "largest power between the boxes", "above 0.1 W", f"{largest:.3g} W", largest > 0.1
        ),
        bounded(
            "difference of nested and flat runs",
            float(np.abs(final - final_flat).max()),
            1e-10,
            "rad, m",
        ),
        compared(
            "difference from MuJoCo, ratio at half the step",
            2.0,
            errors[-2] / errors[-1],
            0.02,
            origin="independent",
        ),
        bounded(
            "difference from MuJoCo free of its step, as a share of that at its step",
            float(np.abs(free - final).max()) / errors[0],
            2e-3,
            why=_EXTRAPOLATED,
        ),
        bounded("largest residual of the first law", float(abs(motion.first_law).max()), 1e-8, "J"),
        bounded("opening of the joints", float(motion.violation.max()), 1e-12, "rad, m"),
    ]
    progress(1.0, "")
    return Outcome(checks)


STUDY = Study(
    id="two-arms-one-body",
    source="a study of this project",
    title="Two arms from two URDFs that carry one bar, composed by ports, beside one MuJoCo model",
    parameters={
        "seconds": Parameter(0.5, "simulated, s", above=0.0),
        "step": Parameter(1e-3, "of MuJoCo, halved twice, s", above=0.0),
    },
    compute=_compute,
)

# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Effect of sampling and encoders on the passivity of the closed loop, with and without a tank.

Source D considers continuous time only.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from vms_ph_controllers import Command, TaskSpaceIDAPBC
from vms_ph_dynamics import VMSModel
from vms_ph_dynamics.arrays import Array
from vms_ph_dynamics.forms import CanonicalForm, PHState, Ports
from vms_ph_dynamics.integrators import rk4_step
from vms_ph_io import robots
from vms_ph_io.progress import Progress, Stages

from ..check import Check, required
from ..reproduce.califano.figure_2 import POSTURES
from ..reproduce.califano.held_minimum import law_at
from ..study import Outcome, Parameter, Settings, Study
from .encoder import Encoder

_RATES = (1000, 500, 250)

# Counts per revolution: exact; 14 bits on a motor with a gear ratio of 100; 14 bits on the joint.
_ENCODERS = {"exact": 0.0, "motor 14 bit x 100": 100.0 * 2**14, "joint 14 bit": 2.0**14}

_LAWS: dict[str, dict[str, float]] = {
    "without a tank": {},
    "tank": {"tank_capacity": 1.0},
}

_PULSE = 0.15


@dataclass(frozen=True)
class _Run:
    """The response to a push.

    Attributes:
        supplied: largest net energy from the controller, J; a passive controller that starts at its
            minimum supplies at most its tank energy.
        remaining: kinetic energy at the end, J.
        level: lowest tank level, J.
        authority: lowest authority.
        energy: kinetic energy and tank level over time, J.
    """

    supplied: float
    remaining: float
    level: float
    authority: float
    energy: Array


def _simulate(
    model: VMSModel, settings: Settings, rate: int, counts: float, extra: dict[str, float]
) -> _Run:
    q_star = POSTURES[str(settings["posture"])]
    gains = TaskSpaceIDAPBC.Gains(
        stiffness=float(settings["stiffness"]),
        limit_stiffness=0.0,
        tank_initial=float(settings["tank_initial"]),
        tank_capacity=extra.get("tank_capacity", 0.0),
    )
    update, encoder = law_at(model, q_star, gains), Encoder(counts)
    form = CanonicalForm(model)
    x = form.state(q_star, np.zeros(model.nv))
    # Integrator steps per sample, each of at most 1 ms.
    steps = max(1, round(1000 / rate))
    dt, step = 1.0 / rate, 1.0 / rate / steps
    force = np.array([float(settings["force"]), 0.0, 0.0])
    weight = model.evaluate(q_star, np.zeros(model.nv)).potential_energy
    work = supplied = 0.0
    commands: list[Command] = []
    energies = []
    for k in range(round(float(settings["seconds"]) * rate)):
        v = form.velocity(x)
        commands.append(update(encoder.read(x.q, v, dt), dt))
        d = model.evaluate(x.q, v)
        wrench = None
        if (k + 0.5) * dt < _PULSE:
            wrench = np.concatenate([force @ d.placement(model.end_effector)[:3, :3], np.zeros(3)])
        ports = Ports(commands[-1].torque, None, wrench)
        for _ in range(steps):
            done = rk4_step(form, x, _constant(ports), 0.0, step)
            x = done.state
            work += done.supplied["torque"]
        end = model.evaluate(x.q, form.velocity(x))
        supplied = max(supplied, work - (end.potential_energy - weight))
        energies.append([end.kinetic_energy, commands[-1].energy.tank_level])
        if end.kinetic_energy > 1e3:
            break
    return _Run(
        supplied,
        energies[-1][0],
        min(c.energy.tank_level for c in commands),
        min(c.authority for c in commands),
        np.array(energies),
    )


def _constant(ports: Ports) -> Callable[[float, PHState], Ports]:
    return lambda t, x: ports


def _compute(settings: Settings, out: Path | None, progress: Progress) -> Outcome:
    model = robots.load("panda")
    initial = float(settings["tank_initial"])
    chosen = str(settings["encoder"])
    encoders = {n: c for n, c in _ENCODERS.items() if chosen in ("all", n.split()[0])}
    checks, runs = [], {}
    stages = Stages(progress, len(_RATES) * len(encoders) * len(_LAWS))
    for rate in _RATES:
        for encoder, counts in encoders.items():
            for name, extra in _LAWS.items():
                stages.begin(f"{rate} Hz, {encoder}, {name}")
                run = _simulate(model, settings, rate, counts, extra)
                runs[rate, encoder, name] = run
                checks.append(_check(rate, encoder, name, run, initial))
    return Outcome(checks, [] if out is None else [_plot(runs, out)])


def _check(rate: int, encoder: str, law: str, run: _Run, initial: float) -> Check:
    has_tank = law != "without a tank"
    allowed = initial if has_tank else 0.0
    active, why = run.supplied > allowed + 1e-3, ""
    if active:
        why = "Efforts that were held for a sample have given more energy than they have taken."
    elif run.level < 0.0:
        why = (
            "The positions are too coarse for the energy balance: the tank records a debt that "
            "does not exist, and the law gives up its spring."
        )
    text = f"supplied {run.supplied:.3g} J, kinetic energy at the end {run.remaining:.2g} J"
    if has_tank:
        text += f", tank at least {run.level:.2g} J, authority {run.authority:.2g}"
    return required(
        f"{rate} Hz, {encoder}: {law}",
        f"passive: supplies at most {allowed:g} J",
        text,
        not active,
        why,
    )


def _plot(runs: dict[tuple[int, str, str], _Run], out: Path) -> Path:
    from matplotlib.figure import Figure

    encoders = list(dict.fromkeys(encoder for _, encoder, _ in runs))
    figure = Figure(figsize=(11, 2.8 * len(encoders)), layout="constrained", dpi=110)
    grid = figure.subplots(len(encoders), len(_RATES), squeeze=False, sharex=True)
    for row, encoder in zip(grid, encoders, strict=True):
        for axes, rate in zip(row, _RATES, strict=True):
            for law in _LAWS:
                energy = runs[rate, encoder, law].energy
                axes.semilogy(np.arange(len(energy)) / rate, energy[:, 0] + 1e-12, label=law)
            axes.set(title=f"{rate} Hz, {encoder}", ylabel="kinetic energy (J)", ylim=(1e-10, 1e3))
            axes.grid(alpha=0.3)
    grid[0, 0].legend(fontsize=7)
    for axes in grid[-1]:
        axes.set_xlabel("time (s)")
    file = out / "sampled-passivity.png"
    figure.savefig(file)
    return file


STUDY = Study(
    id="sampled-passivity",
    source="a study of this project",
    title="Task-space IDA-PBC at 1 kHz, 500 Hz and 250 Hz with encoders, with and without a tank",
    parameters={
        "posture": Parameter("q0", "of the minimum", ("q0", "q1")),
        "stiffness": Parameter(30.0, "W = stiffness * I, N m/rad"),
        "force": Parameter(10.0, "of the push along x, for 0.15 s, N"),
        "tank_initial": Parameter(0.05, "level of the tank at the start, J"),
        "encoder": Parameter("all", "which one", ("all", "exact", "motor", "joint")),
        "seconds": Parameter(1.5, "simulated, s", above=0.0),
    },
    compute=_compute,
)

# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Effect of sampling and encoders on the passivity of the closed loop, with and without a tank.

Source D considers continuous time only.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from vms_ph_controllers import Command, Reference, RobotState, TaskSpaceIDAPBC
from vms_ph_dynamics import Array, VMSModel
from vms_ph_io import Push, Trajectory, robots, simulate
from vms_ph_io.progress import Progress
from vms_ph_io.simulation import SimulationStopped

from ..check import Check, required
from ..figures import Panel, draw
from ..reproduce.califano.pushed_arm import POSTURES
from ..study import Outcome, Parameter, Settings, Stages, Study

_RATES_HZ = (1000, 500, 250)

# Counts per revolution: exact; 14 bits on a motor with a gear ratio of 100; 14 bits on the joint.
_ENCODERS = {"exact": 0.0, "motor 14 bit x 100": 100.0 * 2**14, "joint 14 bit": 2.0**14}

_TANKS = {"without a tank": 0.0, "tank": 1.0}  # capacities, J

_PUSH_DURATION = 0.15


class Encoder:
    """Quantises positions, and differentiates them over a sample."""

    def __init__(self, counts: float) -> None:
        """Set the counts per revolution of the joint; zero for exact positions and velocities."""
        self._quantum = 2.0 * np.pi / counts if counts else 0.0
        self._last_position: Array | None = None

    def read(self, q: Array, v: Array, dt: float) -> RobotState:
        """Return measured position and velocity, ``dt`` seconds after the last reading."""
        if self._quantum == 0.0:
            return RobotState(q, v)
        measured_position = self._quantum * np.round(q / self._quantum)
        last_position = measured_position if self._last_position is None else self._last_position
        self._last_position = measured_position
        return RobotState(measured_position, (measured_position - last_position) / dt)


@dataclass(frozen=True)
class _Run:
    """The response to a push.

    Attributes:
        trajectory: the motion.
        min_level: lowest tank level, J.
        min_authority: lowest authority.
    """

    trajectory: Trajectory
    min_tank_level: float
    min_authority: float

    @property
    def largest_supply(self) -> float:
        """Largest net energy from the controller, J.

        A passive controller that starts at its minimum supplies at most its tank energy.
        """
        potential_energy = self.trajectory.potential_energy - self.trajectory.potential_energy[0]
        return float((self.trajectory.port_energy["torque"] - potential_energy).max())


def _simulate(
    model: VMSModel, settings: Settings, rate_hz: int, encoder_counts: float, capacity: float
) -> _Run:
    q_star = POSTURES[str(settings["posture"])]
    gains = TaskSpaceIDAPBC.Gains(
        stiffness=float(settings["stiffness"]),
        limit_stiffness=0.0,
        tank_initial=float(settings["tank_initial"]),
        tank_capacity=capacity,
    )
    law, encoder = TaskSpaceIDAPBC(model, gains=gains), Encoder(encoder_counts)
    law.reset(RobotState(q_star, np.zeros(model.nv)))
    commands: list[Command] = []

    def control(q: Array, v: Array, dt: float) -> Command:
        commands.append(law.update(encoder.read(q, v, dt), Reference(), dt))
        return commands[-1]

    force = [float(settings["force"]), *np.zeros(5)]
    push = Push("wrench_end_effector", force, duration=_PUSH_DURATION, axes="world")
    try:
        duration = float(settings["seconds"])
        run = simulate(model, control, duration, disturbances=[push], rate=rate_hz, q=q_star)
    except SimulationStopped as stopped:
        run = stopped.trajectory
    return _Run(run, min(c.energy.tank_level for c in commands), min(c.authority for c in commands))


def _compute(settings: Settings, out: Path | None, progress: Progress) -> Outcome:
    model = robots.load("panda")
    initial_level = float(settings["tank_initial"])
    chosen_encoder = str(settings["encoder"])
    encoders = {n: c for n, c in _ENCODERS.items() if chosen_encoder in ("all", n.split()[0])}
    checks, runs = [], {}
    stages = Stages(progress, len(_RATES_HZ) * len(encoders) * len(_TANKS))
    for rate_hz in _RATES_HZ:
        for encoder, encoder_counts in encoders.items():
            for name, capacity in _TANKS.items():
                stages.begin(f"{rate_hz} Hz, {encoder}, {name}")
                run = _simulate(model, settings, rate_hz, encoder_counts, capacity)
                runs[rate_hz, encoder, name] = run
                checks.append(_check(rate_hz, encoder, name, run, initial_level))
    return Outcome(checks, [] if out is None else [_plot(runs, out)])


def _check(rate_hz: int, encoder: str, tank_name: str, run: _Run, initial_level: float) -> Check:
    has_tank = tank_name != "without a tank"
    energy_limit = initial_level if has_tank else 0.0
    is_active, why = run.largest_supply > energy_limit + 1e-3, ""
    if is_active:
        why = "Efforts that were held for a sample have given more energy than they have taken."
    elif run.min_tank_level < 0.0:
        why = (
            "The positions are too coarse for the energy balance: the tank records a debt that "
            "does not exist, and the law gives up its spring."
        )
    kinetic_energy = run.trajectory.kinetic_energy[-1]
    text = f"supplied {run.largest_supply:.3g} J, kinetic energy at the end {kinetic_energy:.2g} J"
    if has_tank:
        text += f", tank at least {run.min_tank_level:.2g} J, authority {run.min_authority:.2g}"
    return required(
        f"{rate_hz} Hz, {encoder}: {tank_name}",
        f"passive: supplies at most {energy_limit:g} J",
        text,
        not is_active,
        why,
    )


def _plot(runs: dict[tuple[int, str, str], _Run], out: Path) -> Path:
    panels = []
    for encoder in dict.fromkeys(encoder for _, encoder, _ in runs):
        for rate_hz in _RATES_HZ:
            motions = {tank: runs[rate_hz, encoder, tank].trajectory for tank in _TANKS}
            curves = {tank: (run.t, run.kinetic_energy + 1e-12) for tank, run in motions.items()}
            title = f"{rate_hz} Hz, {encoder}"
            panels.append(Panel(title, "time (s)", "kinetic energy (J)", curves, log="y"))
    return draw(panels, out / "sampled-passivity.png", len(_RATES_HZ))


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

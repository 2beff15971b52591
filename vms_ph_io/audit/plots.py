# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Plots of a recorded run: energies, port powers and task error over time."""

from collections.abc import Mapping
from itertools import cycle
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from vms_ph_dynamics.arrays import Array

from .run_record import RunRecord, Series

if TYPE_CHECKING:
    from ..simulation import Trajectory as ClosedLoop

_COLOURS = ("#1f4e79", "#c0392b", "#1e8449", "#7d3c98", "#b9770e")

# A port has the same colour in every panel.
_COLOUR_OF = {
    "stored in the robot": "#1f4e79",
    "torque": "#c0392b",
    "wrench_base": "#b9770e",
    "wrench_end_effector": "#1e8449",
    "friction": "#7d3c98",
}


def plot_run(run: RunRecord, file: Path) -> None:
    """Plot a run to a PNG file.

    Args:
        run: the recorded run.
        file: path of the PNG file, in an existing folder.
    """
    # Imported here because the import takes half a second, which nodes that do not plot avoid.
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 11), layout="constrained", dpi=110)
    energy, total, power, error = figure.subplots(4, 1, sharex=True)
    control = run.control
    if control:
        energies = {"closed-loop total": control["closed_loop_energy"], **run.law_energies}
        _lines(energy, control["time"], energies, "closed-loop energy (J)")
    else:
        energies = {"total": run.energy["total"], **run.robot_energies}
        _lines(energy, run.energy["time"], energies, "energy of the robot (J)")
    _lines(
        total,
        run.power["time"],
        {
            "stored in the robot": run.power["stored"],
            **_of_shown_ports(run, run.port_energies),
            "friction": -run.power["dissipated_energy"],
        },
        "energy since the start (J)",
    )
    _lines(
        power,
        run.power["time"],
        {
            **_of_shown_ports(run, run.port_powers),
            "friction": -run.power["dissipated"],
        },
        "power into the robot (W)",
    )
    millimetres = control.get("task_error")
    _lines(
        error,
        control.get("time"),
        {"distance to the reference": None if millimetres is None else 1e3 * millimetres},
        "task error (mm)",
    )
    error.set_xlabel("time (s)")
    largest = float(np.abs(run.power["residual"]).max(initial=0.0))
    figure.suptitle(
        f"{run.name}: largest power-balance residual {largest:.1e} W, "
        f"unaccounted energy {run.unaccounted_energy:+.1e} J",
        fontsize=11,
    )
    figure.savefig(file)


def _of_shown_ports(run: RunRecord, series: Series) -> dict[str, Array]:
    return {port: series[port] for port in run.shown_ports}


def _lines(axes: Any, time: Array | None, series: Mapping[str, Array | None], label: str) -> None:
    free = cycle(_COLOURS)
    for name, values in series.items():
        colour = _COLOUR_OF.get(name) or next(free)
        if time is not None and values is not None:
            axes.plot(time, values, label=name, color=colour, linewidth=1.3)
    axes.set_ylabel(label)
    axes.grid(alpha=0.3)
    if time is not None:
        axes.legend(loc="best", fontsize=8)


def plot_closed_loop(run: "ClosedLoop", file: Path | None = None) -> Any:
    """Plot a simulated closed loop: motion, efforts, powers and the energy balance.

    Args:
        run: of :func:`vms_ph_io.simulate`.
        file: path of a PNG, PDF or SVG file, in an existing folder; None for none.

    Returns:
        The figure of matplotlib, which notebooks show.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 11), layout="constrained")
    motion, efforts, power, energy = figure.subplots(4, 1, sharex=True)
    model, audit = run.model, run.audit
    changes = np.array([model.difference(run.q[0], q) for q in run.q])
    base = {f"base {axis}": changes[:, k] for k, axis in enumerate("xyz"[: {3: 2}.get(model.b, 3)])}
    joints = {name: changes[:, model.b + k] for k, name in enumerate(model.joint_names)}
    _lines(motion, run.t, {**(base if model.b else {}), **joints}, "change of position (m, rad)")
    torques = {name: run.torque[:, k] for k, name in enumerate(model.joint_names)}
    _lines(efforts, run.t, torques, "joint torques (N m, N)")
    used = {port: values for port, values in run.power.items() if np.nan_to_num(values).any()}
    _lines(power, run.t, used, "power into the robot (W)")
    supplied = {port: values for port, values in run.port_energy.items() if values.any()}
    stored = {"stored in the robot": run.energy - run.energy[0]}
    balance = {**stored, **supplied, "friction": -run.dissipated}
    _lines(energy, run.t, balance, "energy since the start (J)")
    energy.set_xlabel("time (s)")
    largest = float(np.abs(np.cumsum(audit.residual)).max(initial=0.0))
    figure.suptitle(f"{model.name}: largest unaccounted energy {largest:.1e} J", fontsize=11)
    if file is not None:
        figure.savefig(file)
    return figure

# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Plots of a recorded run: energies, port powers and task error over time."""

from base64 import b64encode
from collections.abc import Mapping
from html import escape
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np

from vms_ph_dynamics import Array
from vms_ph_dynamics.energy.legend import styles

from .run_record import RunRecord, Series


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
        energies = {"total": control["closed_loop_energy"], **run.law_energies}
        draw_lines(energy, control["time"], energies, "closed-loop energy (J)")
    else:
        energies = {"total": run.energy["total"], **run.robot_energies}
        draw_lines(energy, run.energy["time"], energies, "energy of the robot (J)")
    draw_lines(
        total,
        run.power["time"],
        {
            "stored": run.power["stored"],
            **_of_shown_ports(run, run.port_energies),
            "dissipated": -run.power["dissipated_energy"],
        },
        "energy since the start (J)",
    )
    draw_lines(
        power,
        run.power["time"],
        {**_of_shown_ports(run, run.port_powers), "dissipated": -run.power["dissipated"]},
        "power into the robot (W)",
    )
    millimetres = control.get("task_error")
    draw_lines(
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


def text_and_plot(text: str, figure: Any) -> str:
    """Return a text and a figure as HTML, for notebooks."""
    picture = BytesIO()
    figure.savefig(picture, format="png", dpi=60)
    image = b64encode(picture.getvalue()).decode()
    return f'<pre>{escape(text)}</pre><img alt="plots" src="data:image/png;base64,{image}">'


def draw_lines(
    axes: Any, time: Array | None, series: Mapping[str, Array | None], label: str
) -> None:
    """Draw curves over time (s) with a legend; ports have the same colours in all plots."""
    for name, (word, colour, dashes) in styles(series).items():
        if time is not None and series[name] is not None:
            line: Any = (0, dashes) if dashes else "-"
            axes.plot(time, series[name], label=word, color=colour, linestyle=line, linewidth=1.3)
    axes.set_ylabel(label)
    axes.grid(alpha=0.3)
    if axes.lines:
        axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), fontsize=8, handlelength=3)

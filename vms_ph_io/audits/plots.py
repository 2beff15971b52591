# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Plots of a recorded run and of an audit: energies, powers, task error, friction over time."""

from base64 import b64encode
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np

from vms_ph_dynamics import Array
from vms_ph_dynamics.energy.ledger import UnaccountedInterval
from vms_ph_dynamics.energy.legend import GREY, VERMILION, styles

from .run_record import RunRecord, Series


def plot_run(run: RunRecord, file: Path) -> None:
    """Plot a run to a PNG file.

    Args:
        run: the recorded run.
        file: path of the PNG file, in an existing folder.
    """
    time, power, control = run.power["time"], run.power, run.control
    if control:
        energies = {"total": control["closed_loop_energy"], **run.law_energies}
        energy_panel: Panel = ("closed-loop energy (J)", control["time"], energies)
    else:
        energies = {"total": run.energy["total"], **run.robot_energies}
        energy_panel = ("energy of the robot (J)", run.energy["time"], energies)
    balance = {
        "stored": power["stored"],
        **_shown_series(run, run.port_energies),
        "dissipated": -power["dissipated_energy"],
    }
    powers = {**_shown_series(run, run.port_powers), "dissipated": -power["dissipated"]}
    task_error = control.get("task_error")
    distance = {"distance to the reference": None if task_error is None else 1e3 * task_error}
    panels = (
        energy_panel,
        ("energy since the start (J)", time, balance),
        ("power into the robot (W)", time, powers),
        ("task error (mm)", control.get("time"), distance),
    )
    title = (
        f"{run.name}: largest power-balance residual {run.largest_residual:.1e} W, "
        f"unaccounted energy {run.unaccounted_energy:+.1e} J"
    )
    draw_panels(panels, title).savefig(file)


def _shown_series(run: RunRecord, series: Series) -> dict[str, Array]:
    return {port: series[port] for port in run.shown_ports}


def text_and_plot(text: str, figure: Any) -> str:
    """Return a text and a figure as HTML, for notebooks."""
    png = BytesIO()
    figure.savefig(png, format="png", dpi=60)
    image = b64encode(png.getvalue()).decode()
    return f'<pre>{escape(text)}</pre><img alt="plots" src="data:image/png;base64,{image}">'


Panel = tuple[str, Array | None, Mapping[str, Array | None]]
"""Label of a vertical axis, times (s), and curves by name; times and curves may be missing."""


def draw_panels(panels: Sequence[Panel], title: str) -> Any:
    """Return a figure of matplotlib with curves over the same time, panel below panel."""
    # Imported here because the import takes half a second, which nodes that do not plot avoid.
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 2.75 * len(panels)), layout="constrained", dpi=110)
    all_axes = figure.subplots(len(panels), 1, sharex=True, squeeze=False)[:, 0]
    for axes, (label, time, series) in zip(all_axes, panels, strict=True):
        draw_lines(axes, time, series, label)
    all_axes[-1].set_xlabel("time (s)")
    figure.suptitle(title, fontsize=11)
    return figure


def draw_lines(
    axes: Any, time: Array | None, series: Mapping[str, Array | None], label: str
) -> None:
    """Draw curves over time (s) with a legend; ports have the same colours in all plots."""
    for name, (legend, colour, dashes) in styles(series).items():
        if time is not None and series[name] is not None:
            dash: Any = (0, dashes) if dashes else "-"
            axes.plot(time, series[name], label=legend, color=colour, linestyle=dash, linewidth=1.3)
    axes.set_ylabel(label)
    axes.grid(alpha=0.3)
    if axes.lines:
        _add_legend(axes)


def _add_legend(axes: Any) -> None:
    axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), fontsize=8, handlelength=3)


@dataclass(frozen=True)
class Curves:
    """Curves over time.

    Attributes:
        time: (K,) s.
        groups: by name: the label of the axis, and the curves by name, each (K,).
        unaccounted: (K,) J.
        band: (K,) half the width of its 95 % interval, J.
    """

    time: Array
    groups: Mapping[str, tuple[str, Mapping[str, Array]]]
    unaccounted: Array
    band: Array


def draw(curves: Curves, title: str, intervals: Iterable[UnaccountedInterval]) -> Any:
    """Return the figure of an audit; what appeared or disappeared is marked."""
    groups = [
        (label, {name: values for name, values in lines.items() if np.any(values)})
        for label, lines in curves.groups.values()
    ]
    # What is zero throughout, such as friction that is not known, takes no room.
    panels: list[Panel] = [(label, curves.time, lines) for label, lines in groups if lines]
    panels.append(("energy (J)", curves.time, {"unaccounted": curves.unaccounted}))
    figure = draw_panels(panels, title)
    unaccounted_axes = figure.axes[-1]
    unaccounted_axes.fill_between(
        curves.time, curves.unaccounted - curves.band, curves.unaccounted + curves.band,
        color=VERMILION, alpha=0.25, linewidth=0, label="95 %",
    )  # fmt: skip
    _add_legend(unaccounted_axes)
    for interval in intervals:
        unaccounted_axes.axvspan(interval.begin, interval.end, color=GREY, alpha=0.25, linewidth=0)
    return figure

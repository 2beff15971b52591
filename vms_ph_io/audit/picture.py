# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The audit as one picture: energies, powers, friction and what is unaccounted."""

from pathlib import Path
from typing import Any

import numpy as np

from .audit import Audit
from .curves import Curves, curves


def draw(audit: Audit, file: Path) -> None:
    """Draw an audit to a PNG file in an existing folder."""
    from matplotlib.figure import Figure

    series = curves(audit, 3000)
    figure = Figure(figsize=(10, 13), layout="constrained", dpi=110)
    energy, power, friction, residual, rest = figure.subplots(5, 1, sharex=True)
    for axes, group in ((energy, "energy"), (power, "power"), (friction, "friction"),
                        (residual, "residual")):  # fmt: skip
        _plot(axes, series, group)
    rest.fill_between(
        series.time, series.unaccounted - series.band, series.unaccounted + series.band,
        color="#1f4e79", alpha=0.2, linewidth=0, label="95 %",
    )  # fmt: skip
    rest.plot(series.time, series.unaccounted, color="#1f4e79", linewidth=1.2, label="unaccounted")
    for appearance in audit.appearances:
        rest.axvspan(appearance.begin, appearance.end, color="#c0392b", alpha=0.15, linewidth=0)
    rest.set_ylabel("unaccounted (J)")
    rest.set_xlabel("time (s)")
    rest.legend(fontsize=8, loc="upper left")
    rest.grid(alpha=0.3)
    figure.suptitle(
        f"{audit.recording.path.name}: gross {audit.ledger.gross:.4g} J, "
        f"unaccounted {audit.ledger.unaccounted:+.3g} J",
        fontsize=11,
    )
    figure.savefig(file)


def _plot(axes: Any, series: Curves, group: str) -> None:
    label, lines = series.groups[group]
    for name, values in lines.items():
        if np.any(values):
            axes.plot(series.time, values, linewidth=1.1, label=name)
    axes.set_ylabel(label)
    axes.grid(alpha=0.3)
    if axes.lines:
        axes.legend(loc="upper left", fontsize=7, ncols=4 if len(axes.lines) > 6 else 1)

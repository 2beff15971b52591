# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Figures of studies: panels of curves with labelled axes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from vms_ph_dynamics.energy.legend import BLUE, GREEN, LEGEND, ORANGE, PURPLE, SKY, VERMILION

Curve = tuple[npt.ArrayLike, npt.ArrayLike]
"""Abscissae and ordinates."""

# Of curves that are no ports or stores.
_STYLES = [
    (colour, dashes)
    for dashes in ((), (6, 3), (2, 2))
    for colour in (BLUE, ORANGE, GREEN, VERMILION, PURPLE, SKY)
]
_MAX_INNER_CURVES = 6  # curves; with more, one legend stands beside the last panel


@dataclass(frozen=True)
class Panel:
    """One panel of a figure.

    Attributes:
        title: over it.
        x, y: labels of its axes, with units.
        curves: curves by their names in the legend; a port or store by its name in the project's.
        shaded: spans of x with a grey background.
        log: which axes are logarithmic, as in ``"xy"``.
        span: smallest range of y shown, below which rounding errors would show; 0 for any.
    """

    title: str
    x: str
    y: str
    curves: Mapping[str, Curve]
    shaded: Sequence[tuple[float, float]] = ()
    log: str = ""
    span: float = 0.0


def draw(panels: Sequence[Panel], file: Path, column_count: int = 1, title: str = "") -> Path:
    """Draw panels row by row, write the figure and return its file."""
    from matplotlib.figure import Figure

    row_count = -(-len(panels) // column_count)
    size = (8.0 if column_count == 1 else 5.2 * column_count, max(2.7 * row_count, 3.6))
    figure = Figure(figsize=size, layout="constrained", dpi=110)
    grid = figure.subplots(row_count, column_count, squeeze=False).ravel()
    for axes, panel in zip(grid, panels, strict=False):
        for k, (name, curve) in enumerate(panel.curves.items()):
            label, colour, dashes = LEGEND.get(name, (name, *_STYLES[k]))
            style = (0, dashes) if dashes else "-"
            marker = "." if np.size(curve[0]) < 20 else ""
            axes.plot(*curve, marker=marker, color=colour, linestyle=style, label=label)
        for begin, end in panel.shaded:
            axes.axvspan(begin, end, color="black", alpha=0.07, lw=0)
        for axis in panel.log:
            axes.set(**{f"{axis}scale": "log"})
        low, high = axes.get_ylim()
        if high - low < panel.span:
            axes.set_ylim(0.5 * (low + high - panel.span), 0.5 * (low + high + panel.span))
        axes.set(title=panel.title, xlabel=panel.x, ylabel=panel.y)
        axes.grid(alpha=0.3)
        if len(panel.curves) <= _MAX_INNER_CURVES:
            axes.legend(fontsize="small")
        elif panel is panels[-1]:
            axes.legend(fontsize="small", loc="upper left", bbox_to_anchor=(1.0, 1.0))
    for axes in grid[len(panels) :]:
        axes.set_axis_off()
    figure.suptitle(title)
    figure.savefig(file)
    return file

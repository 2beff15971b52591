# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Maps of outcomes over two quantities."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from .outcome import Ending, TrialOutcome

if TYPE_CHECKING:
    from matplotlib.artist import Artist

Axis = tuple[np.ndarray, str]
"""Values, and their label with unit."""

_GREYS = {Ending.FALLS: "#e4e4e4", Ending.STANDS: "#a0a0a0"}
_WIDEST = 0.3


def draw_map(
    trials: Sequence[TrialOutcome],
    across: Axis,
    up: Axis,
    title: str,
    file: Path,
    marked: int | None = None,
) -> Path:
    """Draw outcomes in a grid: coloured by momentum where the leg keeps hopping, grey elsewhere.

    Args:
        trials: outcomes row by row, the rows along ``up``.
        across: values of the columns.
        up: values of the rows.
        title: title of the map.
        file: file to write.
        marked: index in ``trials`` of an outcome to mark with a ring.
    """
    from matplotlib.colors import ListedColormap
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    figure = Figure(figsize=(7.6, 5.6), layout="constrained", dpi=110)
    axes = figure.subplots()
    (x, x_label), (y, y_label) = across, up
    shape = (len(y), len(x))
    hops = np.array([f.keeps_hopping for f in trials]).reshape(shape)
    drift = np.ma.masked_where(~hops, np.array([f.drift for f in trials]).reshape(shape))
    for ending, grey in _GREYS.items():
        mask = np.array([f.ending is ending for f in trials]).reshape(shape)
        axes.pcolormesh(
            x,
            y,
            np.ma.masked_where(~mask, mask.astype(float)),
            cmap=ListedColormap([grey]),
            shading="nearest",
        )
    colours = axes.pcolormesh(
        x, y, drift, cmap="viridis", vmin=-_WIDEST, vmax=_WIDEST, shading="nearest"
    )
    figure.colorbar(colours, label="horizontal momentum of the last flight (N s)")
    columns, rows = np.meshgrid(x, y)
    unsettled = np.array([f.ending is Ending.HOPS for f in trials])
    axes.plot(columns.ravel()[unsettled], rows.ravel()[unsettled], "k.", ms=4)
    if marked is not None:
        marker = columns.ravel()[marked], rows.ravel()[marked]
        axes.plot(*marker, "o", mfc="none", mec="black", ms=12)
    legend: list[Artist] = [
        Patch(color=grey, label=ending.value) for ending, grey in _GREYS.items()
    ]
    if unsettled.any():
        legend.append(
            Line2D([], [], color="black", marker=".", ls="", ms=4, label=Ending.HOPS.value)
        )
    figure.legend(handles=legend, loc="outside lower center", ncols=3, fontsize="small")
    axes.set(xlabel=x_label, ylabel=y_label, title=title)
    figure.savefig(file)
    return file

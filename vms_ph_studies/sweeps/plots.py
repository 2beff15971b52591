# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Plots of the results of a sweep, as PNG images."""

from collections import Counter
from collections.abc import Iterator
from io import BytesIO
from typing import TYPE_CHECKING, Any

import numpy as np

from vms_ph_dynamics.arrays import Array

from .parameters import Grid, Sampled
from .results import Results
from .study_file import SweepStudy

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Series = tuple[str, Array]
"""A name and its values."""

_MAX_RESULTS = 8
_MAX_PARAMETERS = 6
_MAX_BARS = 12
_BLUE = "#1f77b4"


def plots(study: SweepStudy, results: Results) -> Iterator[tuple[str, bytes]]:
    """Yield the title and the PNG image of each plotted result.

    The figure of a result has its distribution, then the result over each varied parameter. Over
    two parameters of a grid alone it has a map.
    """
    names = [n for n in study.plotted or results.outputs if n in results.outputs]
    against = [*(study.against or study.varied)][:_MAX_PARAMETERS]
    for name in names[:_MAX_RESULTS]:
        values = results.numbers(name)
        if any(value is not None for value in results.columns[name]):
            yield name, _figure(study, results, name, values, against)


def _figure(
    study: SweepStudy, results: Results, name: str, values: list[float] | None, against: list[str]
) -> bytes:
    from matplotlib.figure import Figure

    numbers = None if values is None else np.array(values)
    axes_of = [n for n in against if results.numbers(n) is not None] if numbers is not None else []
    groups = [n for n in against if n not in axes_of and _is_text(results.columns[n])]
    is_map = len(study.varied) == 2 == len(axes_of) and all(
        isinstance(study.parameters[n], Grid) for n in axes_of
    )
    panels = [*([axes_of] if is_map else [[n] for n in axes_of]), *[[n] for n in groups]]
    columns = min(3, 1 + len(panels))
    rows = -(-(1 + len(panels)) // columns)
    figure = Figure(figsize=(4.2 * columns, 3.1 * rows), layout="constrained", dpi=90)
    every = list(figure.subplots(rows, columns, squeeze=False).ravel())
    _distribution(every[0], name, numbers, results.columns[name])
    for axes, panel in zip(every[1:], panels, strict=False):
        if len(panel) == 2:
            assert numbers is not None
            _map(figure, axes, (name, numbers), *((n, _column(results, n)) for n in panel))
        elif panel[0] in axes_of:
            assert numbers is not None
            sampled = isinstance(study.parameters[panel[0]], Sampled)
            draw = _scatter if sampled else _bands
            # One colour for each value of the first text parameter, such as the robot.
            labels = results.columns[groups[0]] if groups else [""] * len(results)
            for label in list(dict.fromkeys(labels))[:_MAX_BARS]:
                here = np.array([text == label for text in labels])
                draw(axes, _column(results, panel[0])[here], numbers[here], label)
            if groups:
                axes.legend(fontsize="x-small")
            axes.set(xlabel=panel[0], ylabel=name)
            axes.grid(alpha=0.3)
        else:
            _by_group(axes, name, numbers, results.columns[name], results.columns[panel[0]])
            axes.set_xlabel(panel[0])
    for axes in every[1 + len(panels) :]:
        axes.set_axis_off()
    image = BytesIO()
    figure.savefig(image, format="png", metadata={"Software": None})
    return image.getvalue()


def _column(results: Results, name: str) -> Array:
    return np.array(results.numbers(name))


def _is_text(values: list[Any]) -> bool:
    return all(isinstance(value, str) for value in values)


def _distribution(axes: "Axes", name: str, numbers: Array | None, values: list[Any]) -> None:
    if numbers is None or all(isinstance(value, bool | None) for value in values):
        counted = Counter(str(value) for value in values if value is not None)
        common = counted.most_common(_MAX_BARS)[::-1]
        axes.barh([text[:40] for text, _ in common], [count for _, count in common], color=_BLUE)
    else:
        finite = numbers[np.isfinite(numbers)]
        if len(finite):
            axes.hist(finite, bins=min(50, max(5, int(len(finite) ** 0.5))), color=_BLUE)
    axes.set(title=name)
    axes.set_xlabel("points" if numbers is None else name)
    axes.set_ylabel("" if numbers is None else "points")


def _scatter(axes: "Axes", x: Array, y: Array, label: str) -> None:
    axes.scatter(x, y, s=12.0 if len(x) < 500 else 2.0, alpha=0.5, linewidths=0, label=label)


def _bands(axes: "Axes", x: Array, y: Array, label: str) -> None:
    positions = np.unique(x)
    shares = np.array([_quantiles(y[x == position]) for position in positions])
    (line,) = axes.plot(positions, shares[:, 1], ".-", label=label)
    axes.fill_between(positions, shares[:, 0], shares[:, 2], color=line.get_color(), alpha=0.25)
    axes.set_title("median, 5 % and 95 %", fontsize="small")


def _quantiles(values: Array) -> Array:
    finite = values[np.isfinite(values)]
    return np.quantile(finite, (0.05, 0.5, 0.95)) if len(finite) else np.full(3, np.nan)


def _by_group(
    axes: "Axes", name: str, numbers: Array | None, values: list[Any], groups: list[str]
) -> None:
    labels = list(dict.fromkeys(groups))[:_MAX_BARS]
    if numbers is None:
        counted = Counter(zip(groups, map(str, values), strict=True))
        base = np.zeros(len(labels))
        for kind in list(dict.fromkeys(map(str, values)))[:_MAX_BARS]:
            heights = np.array([float(counted[label, kind]) for label in labels])
            axes.bar(labels, heights, bottom=base, label=kind[:30])
            base += heights
        axes.legend(fontsize="x-small")
        axes.set_ylabel("points")
    else:
        chosen = np.array(groups)
        sets = [numbers[chosen == label] for label in labels]
        axes.boxplot([s[np.isfinite(s)] for s in sets], tick_labels=labels)
        axes.set_ylabel(name)
    axes.tick_params(axis="x", labelrotation=20)


def _map(figure: "Figure", axes: "Axes", of: Series, across: Series, up: Series) -> None:
    (name, numbers), (_, x), (_, y) = of, across, up
    columns, rows = np.unique(x), np.unique(y)
    sums, counts = np.zeros((len(rows), len(columns))), np.zeros((len(rows), len(columns)))
    finite = np.isfinite(numbers)
    cell = np.searchsorted(rows, y[finite]), np.searchsorted(columns, x[finite])
    np.add.at(sums, cell, numbers[finite])
    np.add.at(counts, cell, 1.0)
    mean = np.ma.masked_where(counts == 0.0, sums / np.maximum(counts, 1.0))
    colours = axes.pcolormesh(columns, rows, mean, shading="nearest")
    figure.colorbar(colours, ax=axes, label=name)
    axes.set(xlabel=across[0], ylabel=up[0])

# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The report of a sweep: one HTML file with plots, statistics and failures."""

import base64
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from html import escape
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np

from vms_ph_dynamics import Array, __version__

from ..html_page import table, write_page
from .evaluation import Record
from .parameters import Grid, Samples
from .progress import SweepSummary, format_duration
from .results import Results
from .study_file import SweepStudy

_MAX_FAILURES = 20


def write_report(
    study: SweepStudy,
    results: Results,
    records: Mapping[str, Record],
    summary: SweepSummary,
    file: Path,
) -> Path:
    """Write the report."""
    computing_time = sum(records[point].seconds for point in results.columns["point"])
    parts = [
        f"<h1>{escape(study.title)}</h1>",
        f"<p>{escape(study.name)}, computed with vms_ph {escape(__version__)}: "
        f"{summary.done} of {summary.total} points computed, {summary.failed} failed, "
        f"{summary.missing} missing; {format_duration(computing_time)} of computation.</p>",
        "<h2>Results</h2>",
        _statistics(results),
        *_images(study, results),
        "<h2>Failures</h2>",
        _failures(study, results, records),
        "<h2>Study</h2>",
        f"<pre>{escape(study.text)}</pre>",
    ]
    return write_page(study.title, parts, file)


def _statistics(results: Results) -> str:
    rows = []
    for name in results.outputs:
        values = results.numbers(name)
        if values is None:
            distinct_values = {str(value) for value in results.columns[name] if value is not None}
            rows.append([name, f"{len(distinct_values)} different values", "", "", "", "", ""])
            continue
        finite_values = np.array(values)[np.isfinite(values)]
        if not len(finite_values):
            rows.append([name, "no finite value", "", "", "", "", ""])
            continue
        quantiles = np.quantile(finite_values, (0.0, 0.05, 0.5, 0.95, 1.0))
        rows.append([name, f"{finite_values.mean():.4g}", *(f"{value:.4g}" for value in quantiles)])
    header = ["result", "mean", "least", "5 %", "median", "95 %", "largest"]
    return table(header, rows) if rows else "<p>There are no results.</p>"


def _images(study: SweepStudy, results: Results) -> Iterable[str]:
    for name, image in plots(study, results):
        data = base64.b64encode(image).decode()
        yield (
            f"<h3>{escape(name)}</h3>\n"
            f"<img alt='{escape(name, quote=True)}' src='data:image/png;base64,{data}'>"
        )


def _failures(study: SweepStudy, results: Results, records: Mapping[str, Record]) -> str:
    rows_by_kind: dict[str, list[int]] = {}
    for row, error in enumerate(results.columns["error"]):
        if error is not None:
            # Errors that differ in their numbers only are of one kind.
            rows_by_kind.setdefault(re.sub(r"[-+]?\d[\d.e+-]*", "#", error), []).append(row)
    if not rows_by_kind:
        return "<p>No point failed.</p>"
    ranked_rows = sorted(rows_by_kind.values(), key=len, reverse=True)
    names = study.varied
    table_rows, traces = [], []
    for kind_rows in ranked_rows[:_MAX_FAILURES]:
        first_row = kind_rows[0]
        record = records[results.columns["point"][first_row]]
        values = ", ".join(f"{name} = {_text(results.columns[name][first_row])}" for name in names)
        table_rows.append([record.error[:300], str(len(kind_rows)), record.point, values])
        if record.trace:
            traces.append(
                f"<details><summary>traceback of {record.point}</summary>"
                f"<pre>{escape(record.trace)}</pre></details>"
            )
    omitted = len(ranked_rows) - _MAX_FAILURES
    omitted_note = f"<p>{omitted} further kinds are in the table only.</p>" if omitted > 0 else ""
    header = ["error", "points", "one of them", "its parameters"]
    return table(header, table_rows) + omitted_note + "\n".join(traces)


def _text(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)


_MAX_RESULTS = 8
_MAX_PARAMETERS = 6
_MAX_BARS = 12


def plots(study: SweepStudy, results: Results) -> Iterator[tuple[str, bytes]]:
    """Yield the title and the PNG image of each plotted result.

    The figure of a result has its distribution, then the result over each varied parameter. Over
    two parameters of a grid alone it has a map.
    """
    plotted_names = [n for n in study.plotted or results.outputs if n in results.outputs]
    x_parameters = [*(study.against or study.varied)][:_MAX_PARAMETERS]
    for name in plotted_names[:_MAX_RESULTS]:
        if any(value is not None for value in results.columns[name]):
            yield name, _figure(study, results, name, x_parameters)


def _figure(study: SweepStudy, results: Results, name: str, against: list[str]) -> bytes:
    from matplotlib.figure import Figure

    values, numbers = results.columns[name], results.numbers(name)
    panels: list[list[str]] = [] if numbers is None else [[n] for n in against]
    grids = [n for n in against if isinstance(study.parameters[n], Grid) and results.numbers(n)]
    if panels and len(study.varied) == 2 == len(grids):
        panels = [grids]
    column_count = min(3, 1 + len(panels))
    row_count = -(-(1 + len(panels)) // column_count)
    figure = Figure(figsize=(4.2 * column_count, 3.1 * row_count), layout="constrained", dpi=90)
    all_axes = list(figure.subplots(row_count, column_count, squeeze=False).ravel())
    _distribution(all_axes[0], name, numbers, values)
    for axes, panel in zip(all_axes[1:], panels, strict=False):
        y = np.array(numbers)
        if len(panel) == 2:
            _map(figure, axes, y, *(np.array(results.numbers(n)) for n in panel))
        elif results.numbers(panel[0]) is None:
            groups = np.array([str(value) for value in results.columns[panel[0]]])
            labels = list(dict.fromkeys(groups.tolist()))[:_MAX_BARS]
            grouped_numbers = [y[(groups == label) & np.isfinite(y)] for label in labels]
            axes.boxplot(grouped_numbers, tick_labels=labels)
            axes.tick_params(axis="x", labelrotation=20)
        else:
            is_sampled = isinstance(study.parameters[panel[0]], Samples)
            (_scatter if is_sampled else _bands)(axes, np.array(results.numbers(panel[0])), y)
            axes.grid(alpha=0.3)
        axes.set(xlabel=panel[0], ylabel=panel[1] if len(panel) == 2 else name)
    for axes in all_axes[1 + len(panels) :]:
        axes.set_axis_off()
    image = BytesIO()
    figure.savefig(image, format="png", metadata={"Software": None})
    return image.getvalue()


def _distribution(axes: Any, name: str, numbers: list[float] | None, values: list[Any]) -> None:
    if numbers is None or all(isinstance(value, bool | None) for value in values):
        counts = Counter(str(value) for value in values if value is not None)
        bars = counts.most_common(_MAX_BARS)[::-1]
        axes.barh([text[:40] for text, _ in bars], [count for _, count in bars])
        axes.set(title=name, xlabel="points")
        return
    finite_numbers = np.array(numbers)[np.isfinite(numbers)]
    if len(finite_numbers):
        axes.hist(finite_numbers, bins=min(50, max(5, int(len(finite_numbers) ** 0.5))))
    axes.set(title=name, xlabel=name, ylabel="points")


def _scatter(axes: Any, x: Array, y: Array) -> None:
    axes.scatter(x, y, s=12.0 if len(x) < 500 else 2.0, alpha=0.5, linewidths=0)


def _bands(axes: Any, x: Array, y: Array) -> None:
    positions = np.unique(x)
    groups = [y[(x == position) & np.isfinite(y)] for position in positions]
    quantiles = (0.05, 0.5, 0.95)
    curves = np.array([np.quantile(s, quantiles) if len(s) else [np.nan] * 3 for s in groups])
    axes.plot(positions, curves[:, 1], ".-")
    axes.fill_between(positions, curves[:, 0], curves[:, 2], alpha=0.25)
    axes.set_title("median, 5 % and 95 %", fontsize="small")


def _map(figure: Any, axes: Any, numbers: Array, x: Array, y: Array) -> None:
    x_values, y_values = np.unique(x), np.unique(y)
    means = np.full((len(y_values), len(x_values)), np.nan)
    for i, j in np.ndindex(means.shape):
        cell = numbers[(y == y_values[i]) & (x == x_values[j]) & np.isfinite(numbers)]
        means[i, j] = cell.mean() if len(cell) else np.nan
    figure.colorbar(axes.pcolormesh(x_values, y_values, means, shading="nearest"), ax=axes)

# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Plots of the numbers of a bag."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from vms_ph_dynamics.arrays import Array
from vms_ph_dynamics.errors import VmsPhError

from .fields import Columns

_MOST = 40  # curves of a plot


def chosen_curves(
    columns: Mapping[str, Columns], selection: Sequence[str]
) -> dict[str, tuple[Array, Array]]:
    """Return times (s since the first of all) and values by ``topic.name``.

    Args:
        columns: by topic.
        selection: topics, or topics with the beginning of names: ``/joint_states.position``.

    Raises:
        VmsPhError: nothing matches, or too much does.
    """
    start = min((int(c.table.times[0]) for c in columns.values() if len(c.table)), default=0)
    curves: dict[str, tuple[Array, Array]] = {}
    for text in selection:
        matches = {
            f"{topic}.{name}": (c, k)
            for topic, c in columns.items()
            for k, name in enumerate(c.names)
            if _matches(f"{topic}.{name}", text)
        }
        if not matches:
            available = ", ".join(f"{t}.{name}" for t, c in columns.items() for name in c.names[:3])
            raise VmsPhError(f"there is no number '{text}'; there are {available or 'none'}, ...")
        for label, (c, k) in matches.items():
            curves[label] = ((c.table.times - start) * 1e-9, c.values[:, k])
    if len(curves) > _MOST:
        raise VmsPhError(f"{len(curves)} curves are too many; choose at most {_MOST}")
    return curves


def _matches(label: str, text: str) -> bool:
    return label == text or label.startswith((f"{text}.", f"{text}["))


def plot_fields(curves: Mapping[str, tuple[Array, Array]], file: Path, title: str) -> None:
    """Plot curves to a PNG, PDF or SVG file, or to an HTML page.

    Raises:
        VmsPhError: the file cannot be written.
        ImportError: a page is asked for, and plotly is not installed.
    """
    if file.suffix == ".html":
        try:
            import plotly.graph_objects as go
        except ImportError:
            raise ImportError(
                "pages are drawn with plotly; install it with: pip install 'vms-ph[audit]'"
            ) from None
        page = go.Figure()
        for label, (t, x) in curves.items():
            page.add_scatter(x=t, y=x, name=label, mode="lines")
        page.update_layout(title=title, xaxis_title="time (s)")
        page.write_html(str(file), include_plotlyjs=True)
        return
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 6), layout="constrained", dpi=110)
    axes = figure.subplots()
    for label, (t, x) in curves.items():
        axes.plot(t, x, label=label, linewidth=1.1)
    axes.set_xlabel("time (s)")
    axes.set_title(title, fontsize=11)
    axes.grid(alpha=0.3)
    axes.legend(loc="upper left", fontsize=7)
    try:
        figure.savefig(file)
    except (OSError, ValueError) as error:
        raise VmsPhError(f"{file} cannot be written as a picture: {error}") from None

# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Plots on the web page: energy, power and error over the last seconds, and the style of curves."""

from collections import deque
from collections.abc import Iterable, Sequence
from functools import partial
from os.path import commonprefix
from typing import Any

import numpy as np
import viser
import viser.uplot
from sensor_msgs.msg import JointState
from vms_ph.msg import ControllerState, Power

from vms_ph_dynamics.energy.legend import styles
from vms_ph_dynamics.forms import PORTS
from vms_ph_io.energy_split import LawSplit, parts_of_law

from ..messages.conversions import NS_PER_SEC, from_stamp
from .sankey import LARGEST_NUMBER, PREFIXES
from .shapes import round_up

_TIME_SPAN = 20.0  # time span, s
_MAX_SAMPLES, _MAX_CURVES = int(_TIME_SPAN * 10), 200

# What is shown of joints, in the units of revolute ones.
_JOINT_UNITS = {"positions": "rad, m", "velocities": "rad/s, m/s", "efforts": "N m, N"}


PLOT_OPTIONS: dict[str, Any] = {
    "legend": viser.uplot.Legend(show=True, live=True),
    "padding": (12, 8, 0, 0),
    "aspect": 2.1,
}
"""How a plot looks: its legend shows the values beneath the pointer, and above it is room for the
numbers at the end of the vertical axis."""

_TEXT_COLOURS = {False: "#333333", True: "#dddddd"}
_GRID_COLOURS = {False: "#e5e5e5", True: "#444444"}


class StripChart:
    """A plot of several values over the last seconds.

    Attributes:
        plot: on the page.
    """

    def __init__(self, server: viser.ViserServer, title: str, unit: str, min_range: float) -> None:
        """Add the plot to the page.

        Args:
            server: of the page.
            title: of the plot.
            unit: stands at its vertical axis, with a prefix.
            min_range: smallest range of the vertical axis, in that unit.
        """
        self._server, self._unit, self._min_range = server, unit, min_range
        self._dark, self._bounds, self._prefix = False, (0.0, 1.0), ""
        self._times: deque[float] = deque(maxlen=_MAX_SAMPLES)
        self._value_rows: deque[tuple[float, ...]] = deque(maxlen=_MAX_SAMPLES)
        self._peaks: tuple[float, ...] = ()
        self._labels: tuple[str, ...] = ("",)
        self._drawn_labels = self._labels
        self.plot = server.gui.add_uplot(
            self._plot_data(),
            plot_series(self._labels),
            title=title,
            scales=self._scales(),
            axes=self._axes(),
            **PLOT_OPTIONS,
        )

    def darken(self, dark: bool) -> None:
        """Draw the axes in light or dark colours."""
        self._dark = dark
        self.plot.axes = self._axes()

    def add(self, time: float, values: dict[str, float]) -> None:
        """Append the values at a time (s); other names than before begin a new plot."""
        labels = tuple(values)
        if (self._times and time < self._times[-1]) or labels != self._labels:
            self._times.clear()
            self._value_rows.clear()
            self._peaks, self._labels = (), labels
        if not self._times:
            self._append(time, tuple(values.values()))
            return
        # A peak between two samples is one of them: of each curve, what is farthest from the last.
        last_row = self._value_rows[-1]
        peaks = self._peaks or last_row
        self._peaks = tuple(
            new_value if not abs(new_value - last_value) < abs(peak - last_value) else peak
            for new_value, peak, last_value in zip(values.values(), peaks, last_row, strict=True)
        )
        if time - self._times[-1] >= _TIME_SPAN / _MAX_SAMPLES:
            self._append(time, self._peaks)

    def _append(self, time: float, values: tuple[float, ...]) -> None:
        self._times.append(time)
        self._value_rows.append(values)
        self._peaks = ()

    def draw(self) -> None:
        """Send the samples to the page."""
        times, *values = self._plot_data()
        samples = np.concatenate(values)
        samples = samples[np.isfinite(samples)].clip(-LARGEST_NUMBER, LARGEST_NUMBER)
        low, high = samples.min(initial=0.0), samples.max(initial=0.0)
        bounds = round_bounds(float(low), float(high), self._min_range, self._bounds)
        prefix, factor = _prefix(max(map(abs, bounds)))
        with self._server.atomic():  # a page draws no plot with the samples of another
            if self._drawn_labels != self._labels:
                self.plot.series = plot_series(self._labels)
                self._drawn_labels = self._labels
            if (bounds, prefix) != (self._bounds, self._prefix):
                self._bounds, self._prefix = bounds, prefix
                self.plot.scales, self.plot.axes = self._scales(factor), self._axes()
            self.plot.data = (times, *(factor * column for column in values))

    def _scales(self, factor: float = 1.0) -> dict[str, viser.uplot.Scale]:
        # A fixed range: the page otherwise scales the visible part of the time axis with its
        # length, and shows too much or too little of it after a plot was made anew.
        low, high = self._bounds
        return {
            "x": viser.uplot.Scale(time=False, range=(-_TIME_SPAN, 0.0)),
            "y": viser.uplot.Scale(range=(factor * low, factor * high)),
        }

    def _axes(self) -> tuple[Any, ...]:
        return plot_axes("time (s), now is 0", f"{self._prefix}{self._unit}", self._dark)

    def _plot_data(self) -> tuple[np.ndarray, ...]:
        if len(self._times) < 2:
            return (np.array([-_TIME_SPAN, 0.0]), *np.zeros((len(self._labels), 2)))
        times = np.array(self._times) - self._times[-1]
        values = np.array(self._value_rows).reshape(len(times), len(self._labels))
        values = np.clip(values, -LARGEST_NUMBER, LARGEST_NUMBER)
        return (times, *np.ascontiguousarray(values.T))


class LivePlots:
    """Plots over the last seconds.

    Attributes:
        charts: the plots.
    """

    def __init__(self, server: viser.ViserServer, law: LawSplit) -> None:
        """Add them to the page; ``law`` tells how the kinetic energy is divided."""
        self._law_split = law
        self._energy_chart = StripChart(server, "energy of the closed loop", "J", 0.01)
        self._powers = StripChart(server, "power into the robot", "W", 0.1)
        self._errors = StripChart(server, "task error", "m", 1e-3)
        self._joint_choice = server.gui.add_dropdown("joints", (*_JOINT_UNITS,))
        self._joint_charts = {
            name: StripChart(server, f"{name} of the joints", unit, 0.1)
            for name, unit in _JOINT_UNITS.items()
        }
        self.charts = (self._energy_chart, self._powers, self._errors, *self._joint_charts.values())
        self._joint_choice.on_update(lambda _: self._show_choice())
        self._show_choice()
        self._start_stamp: int | None = None

    def on_power(self, message: Power) -> None:
        """Take the powers of the ports into account."""
        ports = [name for name in PORTS if self._law_split.base_moves or name != "wrench_base"]
        powers = {name: getattr(message, name) for name in ports}
        powers.update(zip(message.tool_names[:_MAX_CURVES], message.tool_power, strict=False))
        time = self._plot_time(from_stamp(message.header.stamp))
        self._powers.add(time, {**powers, "dissipated": -message.dissipated})

    def on_control(self, message: ControllerState) -> None:
        """Take the record of the law into account."""
        time = self._plot_time(from_stamp(message.header.stamp))
        parts = parts_of_law(partial(getattr, message), self._law_split.split)
        self._energy_chart.add(time, {"total": message.closed_loop_energy, **parts})
        self._errors.add(time, {"distance to the reference": message.task_error})

    def on_joints(self, message: JointState) -> None:
        """Take the states of the joints into account."""
        time = self._plot_time(from_stamp(message.header.stamp))
        columns = (message.position, message.velocity, message.effort)
        for chart, column in zip(self._joint_charts.values(), columns, strict=True):
            if 0 < len(message.name) == len(column) <= _MAX_CURVES and np.isfinite(column).all():
                chart.add(time, dict(zip(short_names(message.name), column, strict=True)))

    def _show_choice(self) -> None:
        for name, chart in self._joint_charts.items():
            chart.plot.visible = name == self._joint_choice.value

    def draw(self) -> None:
        """Send them to the page."""
        for chart in self.charts:
            if chart.plot.visible:
                chart.draw()

    def _plot_time(self, stamp: int) -> float:
        if self._start_stamp is None or stamp < self._start_stamp:
            self._start_stamp = stamp
        return (stamp - self._start_stamp) / NS_PER_SEC


def short_names(names: Sequence[str]) -> list[str]:
    """Return names without the begin, up to an underscore, that all of them have in common."""
    common_prefix = commonprefix(list(names)) if len(names) > 1 else ""  # noqa: RUF071  of letters
    prefix_length = common_prefix.rfind("_") + 1
    return [name[prefix_length:] for name in names]


def plot_axes(x_label: str, y_label: str, dark: bool) -> tuple[Any, ...]:
    """Return the axes of a plot.

    Args:
        x_label: label of the horizontal axis.
        y_label: label of the vertical axis.
        dark: whether they are drawn in light colours.
    """
    line = {"stroke": _GRID_COLOURS[dark], "width": 1}
    colours: dict[str, Any] = {"stroke": _TEXT_COLOURS[dark], "grid": line, "ticks": line}
    label_options: dict[str, Any] = {"labelSize": 18, "labelGap": 0, "labelFont": "11px sans-serif"}
    return (
        viser.uplot.Axis(label=x_label, size=34, **label_options, **colours),
        viser.uplot.Axis(label=y_label, size=46, space=24, **label_options, **colours),
    )


def round_bounds(
    low: float, high: float, min_span: float, bounds: tuple[float, float] = (np.inf, -np.inf)
) -> tuple[float, float]:
    """Return round bounds of an axis around zero and values, which change as little as they can.

    Args:
        low: smallest value.
        high: largest value.
        min_span: smallest height of the axis.
        bounds: bounds of the axis now, kept where they fit.
    """
    low, high = min(low, 0.0), max(high, 0.0)
    height = bounds[1] - bounds[0]
    if bounds[0] <= low and high <= bounds[1] and (high - low > 0.3 * height or height <= min_span):
        return bounds
    tick = round_up(max(high - low, min_span) / 4.0)
    bottom, top = tick * np.floor(low / tick), tick * np.ceil(high / tick)
    return float(bottom), float(max(top, bottom + tick * np.ceil(min_span / tick)))


def _prefix(magnitude: float) -> tuple[str, float]:
    """Return the SI prefix in which the largest value has up to three digits, and its factor.

    The numbers at the axis have three decimals at most.
    """
    fitting_prefixes = (pair for pair in PREFIXES if pair[0] <= 1.0 and magnitude >= 0.5 * pair[0])
    factor, prefix = next(fitting_prefixes, PREFIXES[-1])
    return prefix, 1.0 / factor


GHOST_SUFFIX = ", ghost"
"""Ends the names of the curves of the second run."""


def plot_series(names: Iterable[str], ghosts: Iterable[str] = ()) -> tuple[Any, ...]:
    """Return what a plot needs to know of its time axis and of its curves.

    Args:
        names: of the curves.
        ghosts: curves that the second run has too, drawn half transparent.
    """
    style_of = styles(names)

    def curve(name: str, is_ghost: bool) -> Any:
        text, colour, dashes = style_of[name]
        line = {"dash": dashes} if dashes else {}
        suffix, alpha = (GHOST_SUFFIX, "80") if is_ghost else ("", "")
        # The legend draws a box of the colour, without the dashes.
        marks = "".join(" -" if length > 2 else " ·" for length in dashes[::2])
        label = text + 2 * marks + suffix
        return viser.uplot.Series(label=label, stroke=colour + alpha, width=2, **line)

    curves = [curve(name, False) for name in style_of] + [curve(name, True) for name in ghosts]
    return (viser.uplot.Series(label="t"), *curves)

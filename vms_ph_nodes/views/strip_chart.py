# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Plots on the web page: energy, power and error over the last seconds, and the style of curves."""

from collections import deque
from collections.abc import Iterable
from functools import partial
from itertools import cycle
from typing import Any

import numpy as np
import viser
import viser.uplot
from vms_ph.msg import ControllerState, Power

from vms_ph_io.audits.energy_split import LawSplit, parts_of_law

from ..messages.conversions import NANOSECONDS, from_stamp
from .energy_flow import PORT_WORDS
from .sankey import COLOURS, PREFIXES

_SECONDS = 20.0  # time span, s
_SAMPLES = int(_SECONDS * 10)

_LARGEST = 1e30  # that is drawn; a message may have any number

# The palette of Okabe and Ito, which colour-blind readers tell apart. Vermilion is last: in the
# flow of energy it is what is unaccounted for.
PALETTE = ("#0072b2", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#d55e00")

# Around a plot: the numbers at the ends of the vertical axis are as high as the space above it.
PADDING: Any = (12, 8, 0, 0)

_INK = {False: "#333333", True: "#dddddd"}
_GRID = {False: "#e5e5e5", True: "#444444"}


class StripChart:
    """A plot of several values over the last seconds."""

    def __init__(self, server: viser.ViserServer, title: str, unit: str = "") -> None:
        """Add the plot to the page; ``unit``, with a prefix, stands at its vertical axis."""
        self._unit, self._prefix, self._dark = unit, "", False
        self._times: deque[float] = deque(maxlen=_SAMPLES)
        self._values: deque[tuple[float, ...]] = deque(maxlen=_SAMPLES)
        self._between: tuple[float, ...] = ()
        self._labels: tuple[str, ...] = ("",)
        self._drawn_labels = self._labels
        self._plot = server.gui.add_uplot(
            self._data(),
            self._series(),
            title=title,
            # A fixed range: the page otherwise scales the visible part of the time axis with its
            # length, and shows too much or too little of it after a plot was made anew.
            scales={"x": viser.uplot.Scale(time=False, range=(-_SECONDS, 0.0))},
            axes=self._axes(),
            legend=viser.uplot.Legend(show=True, live=False),
            padding=PADDING,
            aspect=2.1,
        )

    def darken(self, dark: bool) -> None:
        """Draw the axes in light or dark colours."""
        self._dark = dark
        self._plot.axes = self._axes()

    def add(self, time: float, values: dict[str, float]) -> None:
        """Append the values at a time (s); other names than before begin a new plot."""
        labels = tuple(values)
        if (self._times and time < self._times[-1]) or labels != self._labels:
            self._times.clear()
            self._values.clear()
            self._between, self._labels = (), labels
        if not self._times:
            self._keep(time, tuple(values.values()))
            return
        # A peak between two samples is one of them: of each curve, what is farthest from the last.
        last = self._values[-1]
        farthest = self._between or last
        self._between = tuple(
            new if not abs(new - last_value) < abs(old - last_value) else old
            for new, old, last_value in zip(values.values(), farthest, last, strict=True)
        )
        if time - self._times[-1] >= _SECONDS / _SAMPLES:
            self._keep(time, self._between)

    def _keep(self, time: float, values: tuple[float, ...]) -> None:
        self._times.append(time)
        self._values.append(values)
        self._between = ()

    def draw(self) -> None:
        """Send the samples to the page."""
        if self._drawn_labels != self._labels:
            self._plot.series = self._series()
            self._drawn_labels = self._labels
        data = self._data()
        prefix, factor = _prefix(max(float(np.abs(values).max()) for values in data[1:]))
        if prefix != self._prefix:
            self._prefix = prefix
            self._plot.axes = self._axes()
        self._plot.data = (data[0], *(factor * values for values in data[1:]))

    def _axes(self) -> tuple[Any, ...]:
        return axes("time (s), now is 0", f"{self._prefix}{self._unit}", self._dark)

    def _series(self) -> tuple[Any, ...]:
        return (
            viser.uplot.Series(label="t"),
            *(
                viser.uplot.Series(label=label, stroke=colour, width=2)
                for label, colour in zip(self._labels, cycle(PALETTE), strict=False)
            ),
        )

    def _data(self) -> tuple[np.ndarray, ...]:
        if len(self._times) < 2:
            return (np.array([-_SECONDS, 0.0]), *np.zeros((len(self._labels), 2)))
        times = np.array(self._times) - self._times[-1]
        values = np.array(self._values).reshape(len(times), len(self._labels))
        values = np.clip(values, -_LARGEST, _LARGEST)
        return (times, *np.ascontiguousarray(values.T))


class LivePlots:
    """Plots over the last seconds.

    Attributes:
        strips: the plots.
    """

    def __init__(self, server: viser.ViserServer, law: LawSplit) -> None:
        """Add them to the page; ``law`` tells how the kinetic energy is divided."""
        self._law = law
        self._energy = StripChart(server, "energy of the closed loop", "J")
        self._power = StripChart(server, "power into the robot", "W")
        self._error = StripChart(server, "task error", "m")
        self.strips = (self._energy, self._power, self._error)
        self._start: int | None = None

    def on_power(self, message: Power) -> None:
        """Take the powers of the ports into account."""
        powers = {
            word: getattr(message, port)
            for port, word in PORT_WORDS.items()
            if self._law.moving or word != "base"
        }
        powers.update(zip(message.tool_names, message.tool_power, strict=False))
        time = self._seconds(from_stamp(message.header.stamp))
        self._power.add(time, {**powers, "-friction": -message.dissipated})

    def on_control(self, message: ControllerState) -> None:
        """Take the record of the law into account."""
        time = self._seconds(from_stamp(message.header.stamp))
        parts = parts_of_law(partial(getattr, message), self._law.split)
        self._energy.add(time, {"total": message.closed_loop_energy, **parts})
        self._error.add(time, {"distance to the reference": message.task_error})

    def draw(self) -> None:
        """Send them to the page."""
        for strip in self.strips:
            strip.draw()

    def _seconds(self, stamp: int) -> float:
        if self._start is None or stamp < self._start:
            self._start = stamp
        return (stamp - self._start) / NANOSECONDS


def axes(time: str, values: str, dark: bool) -> tuple[Any, ...]:
    """Return the axes of a plot.

    Args:
        time: what stands at the horizontal one.
        values: what stands at the vertical one.
        dark: whether they are drawn in light colours.
    """
    line = {"stroke": _GRID[dark], "width": 1}
    colours: dict[str, Any] = {"stroke": _INK[dark], "grid": line, "ticks": line}
    size: dict[str, Any] = {"labelSize": 18, "labelGap": 0, "labelFont": "11px sans-serif"}
    return (
        viser.uplot.Axis(label=time, size=34, **size, **colours),
        viser.uplot.Axis(label=values, size=46, space=24, **size, **colours),
    )


def _prefix(largest: float) -> tuple[str, float]:
    """Return the SI prefix in which the largest value has up to three digits, and its factor.

    The numbers at the axis have three decimals at most.
    """
    for size, prefix in PREFIXES:
        if size <= 1.0 and (largest >= 0.5 * size or not largest):
            return prefix, 1.0 / size
    return ("p", 1e12) if largest >= 0.5e-12 else ("f", 1e15)


GHOSTLY = ", ghost"
"""Ends the names of the curves of the second run."""

_MEANING = {
    "stored": COLOURS["store"],
    "supplied": COLOURS["port"],
    "dissipated": COLOURS["loss"],
    "unaccounted": COLOURS["unaccounted"],
}


def curve_style(name: str, curves: Iterable[str]) -> dict[str, Any]:
    """Return colour and dashes of a curve; the ghost's has the same colour, and is dotted."""
    base_name = name.removesuffix(GHOSTLY)
    k = [curve for curve in curves if not curve.endswith(GHOSTLY)].index(base_name)
    style: dict[str, Any] = {"stroke": _MEANING.get(base_name, PALETTE[k % len(PALETTE)])}
    if base_name != name:
        return {**style, "dash": (3, 3)}
    return style if k < len(PALETTE) else {**style, "dash": (8, 4)}

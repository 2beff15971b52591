"""A plot on the web page, of values with names that follow the robot and its law."""

from collections import deque
from itertools import cycle
from typing import Any

import numpy as np
import viser
import viser.uplot

_SECONDS = 20.0  # time span, s
_SAMPLES = int(_SECONDS * 25)

_COLOURS = ("#1f77b4", "#d62728", "#2ca02c", "#9467bd", "#b9770e", "#17becf")


class Strip:
    """A plot of several values over the last seconds."""

    def __init__(self, server: viser.ViserServer, title: str) -> None:
        self._times: deque[float] = deque(maxlen=_SAMPLES)
        self._values: deque[tuple[float, ...]] = deque(maxlen=_SAMPLES)
        self._labels: tuple[str, ...] = ("",)
        self._drawn = self._labels
        self._plot = server.gui.add_uplot(
            self._data(),
            self._series(),
            title=title,
            scales={"x": viser.uplot.Scale(time=False)},
            legend=viser.uplot.Legend(show=True),
            aspect=1.7,
        )

    def add(self, time: float, values: dict[str, float]) -> None:
        """Append the values at a time (s); other names than before begin a new plot."""
        labels = tuple(values)
        if (self._times and time < self._times[-1]) or labels != self._labels:
            self._times.clear()
            self._values.clear()
            self._labels = labels
        if not self._times or time - self._times[-1] >= _SECONDS / _SAMPLES:
            self._times.append(time)
            self._values.append(tuple(values.values()))

    def draw(self) -> None:
        """Send the samples to the page."""
        if self._drawn != self._labels:
            self._plot.series = self._series()
            self._drawn = self._labels
        self._plot.data = self._data()

    def _series(self) -> tuple[Any, ...]:
        return (
            viser.uplot.Series(label="t"),
            *(
                viser.uplot.Series(label=label, stroke=colour, width=2)
                for label, colour in zip(self._labels, cycle(_COLOURS), strict=False)
            ),
        )

    def _data(self) -> tuple[np.ndarray, ...]:
        if len(self._times) < 2:
            # The page scales the visible part of the time axis with its length, and cannot recover
            # from a length of zero.
            return (np.array([0.0, 1.0]), *np.zeros((len(self._labels), 2)))
        times = np.array(self._times)
        values = np.array(self._values).reshape(len(times), len(self._labels))
        return (times, *np.ascontiguousarray(values.T))

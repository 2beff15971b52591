# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Series at the times of another one."""

import numpy as np

from vms_ph_dynamics.arrays import Array

from .recording import Series

_SAME = 1000  # ns within which two stamps are one


class Companion:
    """A series, interpolated to the stamps of the samples.

    Args:
        series: the series.
        stamps: (N,) ns, of the samples.
    """

    def __init__(self, series: Series, stamps: Array) -> None:
        self.series = series
        times = series.table.times
        self._order = np.argsort(times, kind="stable")
        self._times = times[self._order]
        self.retake(stamps)

    def retake(self, stamps: Array) -> None:
        """Take other stamps."""
        self._stamps = stamps
        after = np.searchsorted(self._times, stamps, side="left")
        near = np.clip(after, 0, max(len(self._times) - 1, 0))
        self._hits = np.abs(self._times[near] - stamps) <= _SAME if len(self._times) else (
            np.zeros(len(stamps), dtype=bool)
        )  # fmt: skip

    @property
    def rate(self) -> float:
        """Mean rate, Hz."""
        if len(self._times) < 2 or self._times[-1] <= self._times[0]:
            return 0.0
        return float((len(self._times) - 1) / ((self._times[-1] - self._times[0]) * 1e-9))

    @property
    def is_synchronous(self) -> bool:
        """Whether nearly all samples have a row of the same stamp."""
        return bool(self._hits.mean() > 0.9) if len(self._hits) else False

    def at(self, begin: int, end: int) -> Array:
        """Return the values at samples begin..end, linear between rows, (end - begin, columns)."""
        low, high = self._range(begin, end)
        rows = self._rows(low, high)
        if not len(rows):
            return np.zeros((end - begin, len(self.series.table.columns) - 1))
        start = self._stamps[begin]
        t = (self._stamps[begin:end] - start).astype(float)
        times = (self._times[low:high] - start).astype(float)
        interpolated = np.empty((end - begin, rows.shape[1]))
        for k in range(rows.shape[1]):
            finite = np.isfinite(rows[:, k])
            interpolated[:, k] = (
                np.interp(t, times[finite], rows[finite, k]) if finite.any() else np.nan
            )
        return interpolated

    def same(self, begin: int, end: int) -> Array:
        """Return the rows of the same stamps, NaN where there is none."""
        low, high = self._range(begin, end)
        rows = self._rows(low, high)
        matched = np.full((end - begin, len(self.series.table.columns) - 1), np.nan)
        if len(rows):
            near = np.searchsorted(self._times[low:high], self._stamps[begin:end] - _SAME)
            near = np.minimum(near, len(rows) - 1)
            hit = np.abs(self._times[low:high][near] - self._stamps[begin:end]) <= _SAME
            matched[hit] = rows[near[hit]]
        return matched

    def _range(self, begin: int, end: int) -> tuple[int, int]:
        low = int(np.searchsorted(self._times, self._stamps[begin], side="right")) - 1
        high = int(np.searchsorted(self._times, self._stamps[end - 1], side="left")) + 1
        low = max(low - 1, 0)
        return low, max(low, min(high + 1, len(self._times)))

    def _rows(self, low: int, high: int) -> Array:
        return self.series.table.at(self._order[low:high])[:, 1:]

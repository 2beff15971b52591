# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The times of recorded samples: which to use, in which order, and where they are interrupted."""

from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from vms_ph_dynamics import Array

from .recording import Table

GAP_PERIODS = 5.0
"""Periods without a sample that count as a gap."""

SHORTEST_GAP = 0.02
"""Shortest gap, s."""

_MIN_RESET_NS = 1_000_000_000  # ns that a clock is set back if it is not merely a late message
_MIN_RUN = 5  # samples that pass again over times, from which a clock was set back
_RUN_BEFORE, _DISORDER = 12, 0.05  # samples before, and share out of order where stamps are noisy


@dataclass(frozen=True)
class ClockOrder:
    """Samples in the order of time.

    Attributes:
        rows: (N,) rows of the table, without repeated times.
        t: (N,) s since the first, strictly increasing.
        stamps: (N,) ns, of the clock of the recording.
        segments: (first, stop) of samples without gaps between them.
        source: "stamps" or "log times".
        rate: Hz, from the median period.
        jitter: standard deviation of the periods, without gaps, s.
        longest_period: longest period that is no gap, s.
        repeated_count: samples left out because they repeat a time.
        disorder_count: samples that were out of order and are sorted in.
        reset_times: times at which the clock was set back, s.
    """

    rows: Array
    t: Array
    stamps: Array
    segments: tuple[tuple[int, int], ...]
    source: str
    rate: float
    jitter: float
    longest_period: float
    repeated_count: int
    disorder_count: int
    reset_times: tuple[float, ...]

    @property
    def gaps(self) -> tuple[tuple[float, float], ...]:
        """Begin and length of the gaps, s."""
        gap_times = ((self.t[a[1] - 1], self.t[b[0]]) for a, b in pairwise(self.segments))
        return tuple((float(begin), float(end - begin)) for begin, end in gap_times)

    def select(self, is_used: npt.NDArray[np.bool_]) -> "ClockOrder":
        """Return the order of some samples (N,); what is left out between them is a gap."""
        if is_used.all():
            return self
        new_row: npt.NDArray[np.int_] = np.cumsum(is_used) - is_used
        segments: list[tuple[int, int]] = []
        for first, stop in self.segments:
            edges = np.flatnonzero(np.diff(is_used[first:stop], prepend=False, append=False))
            for a, b in edges.reshape(-1, 2) + first:
                begin, end = int(new_row[a]), int(new_row[b - 1]) + 1
                is_close = segments and self.t[a] - self.t[is_used][segments[-1][1] - 1] <= max(
                    GAP_PERIODS / max(self.rate, 1e-9), SHORTEST_GAP
                )
                if is_close and a > first:
                    segments[-1] = (segments[-1][0], end)
                else:
                    segments.append((begin, end))
        rows, t, stamps = (values[is_used] for values in (self.rows, self.t, self.stamps))
        t = t - t[0] if len(t) else t
        return replace(self, rows=rows, t=t, stamps=stamps, segments=tuple(segments))


def clock_order(table: Table) -> ClockOrder:
    """Return the samples of a table in the order of time."""
    stamps, source = np.array(table.times), "stamps"
    if len(stamps) > 2 and (np.diff(stamps) > 0).mean() < 0.5:
        first_rows = range(0, len(stamps), 100_000)
        delays = np.concatenate([table.rows(start, start + 100_000)[:, 0] for start in first_rows])
        if delays.any():  # a file of columns has no log
            stamps, source = stamps + np.round(delays * 1e9).astype(np.int64), "log times"
    recorded_stamps = stamps
    stamps, reset_times = _without_resets(table, stamps)
    order = np.argsort(stamps, kind="stable")
    late_count = int((np.diff(order) < 0).sum())
    sorted_stamps = stamps[order]
    is_first = np.concatenate([[True], np.diff(sorted_stamps) > 0])
    rows, sorted_stamps = order[is_first], sorted_stamps[is_first]
    t = (sorted_stamps - sorted_stamps[0]) * 1e-9 if len(sorted_stamps) else np.empty(0)
    periods = np.diff(t)
    median_period = float(np.median(periods)) if len(periods) else 0.0
    is_gap = periods > max(GAP_PERIODS * median_period, SHORTEST_GAP)
    for time in reset_times:
        is_gap |= (sorted_stamps[1:] >= time) & (sorted_stamps[:-1] < time)
    borders = [0, *(np.flatnonzero(is_gap) + 1).tolist(), len(t)]
    regular_periods = periods[~is_gap]
    segments = tuple((a, b) for a, b in pairwise(borders) if b > a)
    rate = 1.0 / median_period if median_period > 0.0 else 0.0
    jitter = float(regular_periods.std()) if len(regular_periods) else 0.0
    statistics = rate, jitter, float(np.max(regular_periods, initial=0.0))
    resets = tuple((time - sorted_stamps[0]) * 1e-9 for time in reset_times)
    samples = rows, t, recorded_stamps[rows], segments
    return ClockOrder(*samples, source, *statistics, len(order) - len(rows), late_count, resets)


def _without_resets(table: Table, stamps: Array) -> tuple[Array, list[int]]:
    """Return times that go on where the clock was set back, and the times of these places."""
    steps = np.diff(stamps)
    drop_rows = np.flatnonzero(steps < 0) + 1
    stops = np.append(drop_rows, len(stamps))[1:]
    is_candidate = (steps[drop_rows - 1] < -_MIN_RESET_NS) | (stops - drop_rows >= _MIN_RUN)
    new_stamps, reset_times, latest_stamp, begin = np.array(stamps), list[int](), -(2**63), 0
    for k, stop in zip(drop_rows[is_candidate].tolist(), stops[is_candidate].tolist(), strict=True):
        latest_stamp, begin = max(latest_stamp, int(np.max(new_stamps[begin:k]))), k
        run = new_stamps[k:stop]
        count = int(np.searchsorted(run, latest_stamp, side="right"))
        # Late messages fill a hole; where a clock was set back, times are passed twice.
        times = new_stamps[max(k - 4 * max(count, _RUN_BEFORE), 0) : k]
        repeated_count = np.count_nonzero((times > run[0]) & (times < run[max(count, 1) - 1]))
        rows_before, rows_after = (table.rows(j, j + count) for j in (max(k - count, 0), k))
        is_copy = np.array_equal(rows_before, rows_after, equal_nan=True)
        is_repeated_run = count >= _MIN_RUN and 4 * repeated_count >= count and not is_copy
        is_repeated_run &= np.count_nonzero(np.diff(times) < 0) < _DISORDER * len(times)
        if steps[k - 1] < -_MIN_RESET_NS or is_repeated_run:
            new_stamps[k:] += latest_stamp + 10 * int(np.median(np.abs(steps))) - new_stamps[k]
            reset_times.append(int(new_stamps[k]))
    return new_stamps, reset_times

# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The times of recorded samples: which to use, in which order, and where they are interrupted."""

from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from vms_ph_dynamics import Array

from .recording import Table

GAP = 5.0
"""Periods without a sample that count as a gap."""

SHORTEST_GAP = 0.02
"""Shortest gap, s."""

_RESET = 1_000_000_000  # ns that a clock is set back if it is not merely a late message


@dataclass(frozen=True)
class ClockOrder:
    """Samples in the order of time.

    Attributes:
        index: (N,) rows of the table, without repeated times.
        t: (N,) s since the first, strictly increasing.
        stamps: (N,) ns, of the clock of the recording.
        segments: (first, stop) of samples without gaps between them.
        source: "stamps" or "log times".
        rate: Hz, from the median period.
        jitter: standard deviation of the periods, without gaps, s.
        longest: longest period that is no gap, s.
        repeated: samples left out because they repeat a time.
        late: samples that were out of order and are sorted in.
        set_back: times at which the clock was set back, s.
    """

    index: Array
    t: Array
    stamps: Array
    segments: tuple[tuple[int, int], ...]
    source: str
    rate: float
    jitter: float
    longest: float
    repeated: int
    late: int
    set_back: tuple[float, ...]

    @property
    def gaps(self) -> tuple[tuple[float, float], ...]:
        """Begin and length of the gaps, s."""
        ends = pairwise(self.segments)
        return tuple(
            (float(self.t[a[1] - 1]), float(self.t[b[0]] - self.t[a[1] - 1])) for a, b in ends
        )

    def select(self, used: npt.NDArray[np.bool_]) -> "ClockOrder":
        """Return the order of some samples (N,); what is left out between them is a gap."""
        if used.all():
            return self
        new_row: npt.NDArray[np.int_] = np.cumsum(used) - used
        segments: list[tuple[int, int]] = []
        for first, stop in self.segments:
            edges = np.flatnonzero(np.diff(used[first:stop], prepend=False, append=False))
            for a, b in edges.reshape(-1, 2) + first:
                begin, end = int(new_row[a]), int(new_row[b - 1]) + 1
                is_close = segments and self.t[a] - self.t[used][segments[-1][1] - 1] <= max(
                    GAP / max(self.rate, 1e-9), SHORTEST_GAP
                )
                if is_close and a > first:
                    segments[-1] = (segments[-1][0], end)
                else:
                    segments.append((begin, end))
        t = self.t[used]
        return replace(
            self,
            index=self.index[used],
            t=t - t[0] if len(t) else t,
            stamps=self.stamps[used],
            segments=tuple(segments),
        )


def clock_order(table: Table) -> ClockOrder:
    """Return the samples of a table in the order of time."""
    stamps, source = np.array(table.times), "stamps"
    advancing = np.diff(stamps) > 0
    if len(stamps) > 2 and advancing.mean() < 0.5:
        delays = np.concatenate(
            [table.rows(k, k + 100_000)[:, 0] for k in range(0, len(stamps), 100_000)]
        )
        stamps, source = stamps + np.round(delays * 1e9).astype(np.int64), "log times"
    recorded = stamps
    stamps, breaks = _without_resets(stamps)
    order = np.argsort(stamps, kind="stable")
    late = int((np.diff(order) < 0).sum())
    ordered = stamps[order]
    is_first = np.concatenate([[True], np.diff(ordered) > 0])
    index, ordered = order[is_first], ordered[is_first]
    t = (ordered - ordered[0]) * 1e-9 if len(ordered) else np.empty(0)
    period = np.diff(t)
    median = float(np.median(period)) if len(period) else 0.0
    gap = period > max(GAP * median, SHORTEST_GAP)
    for time in breaks:
        gap |= (ordered[1:] >= time) & (ordered[:-1] < time)
    borders = [0, *(np.flatnonzero(gap) + 1).tolist(), len(t)]
    regular = period[~gap]
    return ClockOrder(
        index,
        t,
        recorded[index],
        tuple((a, b) for a, b in pairwise(borders) if b > a),
        source,
        1.0 / median if median > 0.0 else 0.0,
        float(regular.std()) if len(regular) else 0.0,
        float(np.max(regular)) if len(regular) else 0.0,
        len(order) - len(index),
        late,
        tuple((time - ordered[0]) * 1e-9 for time in breaks),
    )


def _without_resets(stamps: Array) -> tuple[Array, list[int]]:
    """Return times that go on where the clock was set back, and the times of these places."""
    resets = np.flatnonzero(np.diff(stamps) < -_RESET) + 1
    if not len(resets):
        return stamps, []
    result, reset_times = np.array(stamps), []
    median = int(np.median(np.abs(np.diff(stamps))))
    for k in resets:
        result[k:] += np.max(result[:k]) + 10 * median - result[k]
        reset_times.append(int(result[k]))
    return result, reset_times

# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Timing of calls alternately in small batches, so that machine load affects all equally.

Benchmark libraries time one function after another; the ratio of two medians then changes by tens
of per cent when the load of the machine changes in between.
"""

import gc
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from vms_ph_io.progress import Progress, no_progress

# Duration of a batch, s: far above the clock resolution, far below a scheduler time slice.
_BATCH_SECONDS = 1e-3
_MIN_ROUNDS = 7


@dataclass(frozen=True)
class Case:
    """A call to be timed.

    Attributes:
        name: description of the call.
        call: function without arguments.
        max_ratio: largest accepted ratio to the reference, or None.
        max_median: largest accepted median, s, or None.
        units: units of work per call; times are per unit.
        max_p99: largest accepted 99th percentile, s, or None.
        reference: name of the case to compare with; that of the benchmark if None.
    """

    name: str
    call: Callable[[], object]
    max_ratio: float | None = None
    max_median: float | None = None
    units: int = 1
    reference: str | None = None
    max_p99: float | None = None


@dataclass(frozen=True)
class Tail:
    """Tail of the times of individually timed calls, s.

    Attributes:
        calls: number of calls.
        p99, p999: 99th and 99.9th percentile.
        worst: longest time.
    """

    calls: int
    p99: float
    p999: float
    worst: float


@dataclass(frozen=True)
class Timing:
    """Quartiles of the time per unit of work of a case, s, and the tail if measured.

    Attributes:
        case: what was timed.
        median: s.
        lower, upper: quartiles, s.
        tail: of calls that were timed one by one, or None.
    """

    case: Case
    median: float
    lower: float
    upper: float
    tail: Tail | None = None


def measure(
    cases: Sequence[Case], seconds: float, progress: Progress = no_progress
) -> list[Timing]:
    """Time the cases alternately for about ``seconds``, at least seven rounds.

    Args:
        cases: the calls.
        seconds: time for all of them together, s.
        progress: callback of the progress.
    """
    calls_per_batch = [_calls_per_batch(case.call) for case in cases]
    durations: list[list[float]] = [[] for _ in cases]
    gc_enabled = gc.isenabled()
    gc.disable()
    try:
        begin = time.perf_counter()
        deadline = begin + seconds
        while len(durations[0]) < _MIN_ROUNDS or time.perf_counter() < deadline:
            for case, calls, case_durations in zip(cases, calls_per_batch, durations, strict=True):
                start = time.perf_counter()
                for _ in range(calls):
                    case.call()
                case_durations.append((time.perf_counter() - start) / calls / case.units)
            duration = time.perf_counter() - begin
            round_share = len(durations[0]) / _MIN_ROUNDS
            progress(min(round_share, duration / seconds if seconds else 1.0, 1.0), "measuring")
    finally:
        if gc_enabled:
            gc.enable()
    quartiles = [np.percentile(case_durations, [50, 25, 75]) for case_durations in durations]
    return [
        Timing(case, float(median), float(lower), float(upper))
        for case, (median, lower, upper) in zip(cases, quartiles, strict=True)
    ]


def _calls_per_batch(call: Callable[[], object]) -> int:
    call()
    call_count = 1
    while True:
        start = time.perf_counter()
        for _ in range(call_count):
            call()
        duration = time.perf_counter() - start
        if duration >= _BATCH_SECONDS or call_count >= 1_000_000:
            return call_count
        call_count = max(2 * call_count, int(call_count * _BATCH_SECONDS / max(duration, 1e-7)))

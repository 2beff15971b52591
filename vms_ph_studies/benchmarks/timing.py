"""Timing of calls side by side: in turn, in small batches, so that load affects all alike.

Libraries for benchmarks time one function after the other; a ratio of two of their medians changes
by tens of per cent when the load of the machine changes in between.
"""

import gc
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

# A batch lasts about this long: far above the clock's resolution, far below a scheduler's slice.
_BATCH = 1e-3
_FEWEST_ROUNDS = 7


@dataclass(frozen=True)
class Case:
    """A call to be timed.

    Attributes:
        name: what it is.
        call: without arguments.
        limit: largest ratio to the reference; None where there is no limit.
        seconds: largest median, s; None where there is no limit.
        per: how many units of work one call does; times are given per unit.
        tail: largest 99th percentile, s; None where there is no limit.
        reference: the name of the case that this one is compared with; the subject's when None.
    """

    name: str
    call: Callable[[], object]
    limit: float | None = None
    seconds: float | None = None
    per: int = 1
    reference: str | None = None
    tail: float | None = None


@dataclass(frozen=True)
class Tail:
    """The longest of many calls, each timed by itself, s.

    Attributes:
        calls: how many.
        p99, p999: what 99 of 100, and 999 of 1000, do not exceed.
        worst: the longest.
    """

    calls: int
    p99: float
    p999: float
    worst: float


@dataclass(frozen=True)
class Timing:
    """Quartiles of the time of a unit of work of a case, s; and the tail where measured."""

    case: Case
    median: float
    lower: float
    upper: float
    tail: Tail | None = None


def measure(cases: Sequence[Case], seconds: float) -> list[Timing]:
    """Time the cases in turn until about ``seconds`` have passed; at least seven rounds."""
    batches = [_calls_per_batch(case.call) for case in cases]
    samples: list[list[float]] = [[] for _ in cases]
    collecting = gc.isenabled()
    gc.disable()
    try:
        end = time.perf_counter() + seconds
        while len(samples[0]) < _FEWEST_ROUNDS or time.perf_counter() < end:
            for case, calls, sample in zip(cases, batches, samples, strict=True):
                start = time.perf_counter()
                for _ in range(calls):
                    case.call()
                sample.append((time.perf_counter() - start) / calls / case.per)
    finally:
        if collecting:
            gc.enable()
    quartiles = [np.percentile(sample, [50, 25, 75]) for sample in samples]
    return [
        Timing(case, float(m), float(low), float(high))
        for case, (m, low, high) in zip(cases, quartiles, strict=True)
    ]


def _calls_per_batch(call: Callable[[], object]) -> int:
    call()
    calls = 1
    while True:
        start = time.perf_counter()
        for _ in range(calls):
            call()
        taken = time.perf_counter() - start
        if taken >= _BATCH or calls >= 1_000_000:
            return calls
        calls = max(2 * calls, int(calls * _BATCH / max(taken, 1e-7)))

# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The differences between two bags, such as of a simulation and of a robot."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from vms_ph_dynamics import Array

from .fields import Columns


@dataclass(frozen=True)
class Difference:
    """The difference of one number of one topic, over the time that both bags have.

    Attributes:
        topic, name: of the number.
        root_mean_square: of the difference, in the unit of the number.
        largest: its largest size, and ``time`` when, s since the first compared message.
        spread: standard deviation of the number in the first bag.
        samples: number of compared messages.
    """

    topic: str
    name: str
    root_mean_square: float
    largest: float
    time: float
    spread: float
    samples: int


@dataclass(frozen=True)
class Comparison:
    """The differences between two bags.

    Attributes:
        differences: of the topics that both have, the largest relative to its spread first.
        shift: time by which the second bag was moved, s.
        only_first, only_second: topics with numbers that the other bag lacks.
    """

    differences: list[Difference]
    shift: float
    only_first: tuple[str, ...]
    only_second: tuple[str, ...]


def compare(
    first: Mapping[str, Columns], second: Mapping[str, Columns], align: bool = False
) -> Comparison:
    """Compare two bags.

    Times are compared as they are where the bags overlap, and else from the first message of each.

    Args:
        first: columns by topic.
        second: likewise.
        align: whether the second bag is moved in time to where its joint states fit best.
    """
    shared = [topic for topic in first if topic in second]
    starts = [
        min((int(bag[t].table.times[0]) for t in shared if len(bag[t].table)), default=0)
        for bag in (first, second)
    ]
    ends = [
        max((int(bag[t].table.times[-1]) for t in shared if len(bag[t].table)), default=0)
        for bag in (first, second)
    ]
    overlap = min(ends) - max(starts)
    length = min(end - start for start, end in zip(starts, ends, strict=True))
    if length > 0 and overlap > 0.5 * length:
        starts[1] = starts[0]
    shift = 0.0
    if align:
        shift = _best_shift(first, second, shared, starts)
    differences = []
    for topic in shared:
        a, b = first[topic], second[topic]
        names = [name for name in a.names if name in b.names]
        if not names or not len(a.table) or not len(b.table):
            continue
        t_a, x_a = _series(a, names, starts[0])
        t_b, x_b = _series(b, names, starts[1])
        differences += _differences(topic, names, t_a, x_a, t_b + shift, x_b)
    differences.sort(key=lambda d: -d.root_mean_square / (d.spread or 1.0))
    return Comparison(
        differences,
        shift,
        tuple(topic for topic in first if topic not in second),
        tuple(topic for topic in second if topic not in first),
    )


def _differences(
    topic: str, names: list[str], t_a: Array, x_a: Array, t_b: Array, x_b: Array
) -> list[Difference]:
    inside = (t_a >= t_b[0] - 1e-9) & (t_a <= t_b[-1] + 1e-9)
    if not inside.any():
        return []
    differences = []
    for k, name in enumerate(names):
        d = x_a[inside, k] - np.interp(t_a[inside], t_b, x_b[:, k])
        d = np.where(np.isnan(x_a[inside, k]) & np.isnan(d), 0.0, d)
        if not np.isfinite(d).any():
            continue
        worst = int(np.nanargmax(np.abs(d)))
        differences.append(
            Difference(
                topic,
                name,
                float(np.sqrt(np.nanmean(d**2))),
                float(abs(d[worst])),
                float(t_a[inside][worst]),
                float(np.nanstd(x_a[:, k])) if np.isfinite(x_a[:, k]).any() else 0.0,
                int(inside.sum()),
            )
        )
    return differences


def _series(columns: Columns, names: list[str], start: int) -> tuple[Array, Array]:
    t = (columns.table.times - start) * 1e-9
    order = np.argsort(t, kind="stable")
    index = [columns.names.index(name) for name in names]
    return t[order], columns.values[order][:, index]


def _best_shift(
    first: Mapping[str, Columns],
    second: Mapping[str, Columns],
    shared: list[str],
    starts: list[int],
) -> float:
    """Return the shift of the second bag at which its joint positions fit best, s."""
    topic = next((t for t in shared if first[t].type.endswith("/JointState")), "")
    if not topic:
        return 0.0
    names = [n for n in first[topic].names if n in second[topic].names and n.startswith("position")]
    if not names:
        return 0.0
    t_a, x_a = _series(first[topic], names, starts[0])
    t_b, x_b = _series(second[topic], names, starts[1])
    step = max(float(np.median(np.diff(t_a))), 1e-4)
    reach = 0.5 * min(t_a[-1] - t_a[0], t_b[-1] - t_b[0])

    def misfit(shift: float) -> float:
        inside = (t_a >= t_b[0] + shift) & (t_a <= t_b[-1] + shift)
        if inside.sum() < 0.4 * min(len(t_a), len(t_b)):
            return np.inf
        shifted = [np.interp(t_a[inside], t_b + shift, column) for column in x_b.T]
        return float(np.mean((x_a[inside] - np.array(shifted).T) ** 2))

    span, centre = reach, 0.0
    while span > 0.1 * step:
        tried = centre + span * np.linspace(-1.0, 1.0, 41)
        centre = float(tried[int(np.argmin([misfit(s) for s in tried]))])
        span *= 0.1
    return centre

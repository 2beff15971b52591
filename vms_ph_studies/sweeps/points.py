# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The points of a sweep: parameters, run, seed and identity."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product

from .distributions import identifier_of, seed_of
from .parameters import Fixed, Grid, Parameter, Sampled, Value


@dataclass(frozen=True)
class Point:
    """One evaluation of the target.

    Attributes:
        id: hash of all that follows, of the target's name and of the seed of the study.
        parameters: the values by name.
        run: number of the sample; None in a study without samples.
        seed: for random numbers of the target; it follows from ``id``.
    """

    id: str
    parameters: Mapping[str, Value]
    run: int | None
    seed: int


def make_points(
    target: str, parameters: Mapping[str, Parameter], runs: int | None, seed: int
) -> Iterator[Point]:
    """Return all points in the order of the table: every run at every point of the grid.

    Sample k has the same values at every point of the grid, so that differences between grid points
    are not differences between samples.
    """
    axes = {name: p.values for name, p in parameters.items() if isinstance(p, Grid)}
    fixed: dict[str, Value] = {n: p.value for n, p in parameters.items() if isinstance(p, Fixed)}
    sampled = {name: p for name, p in parameters.items() if isinstance(p, Sampled)}
    samples: list[tuple[int | None, dict[str, Value]]] = [
        (k, {name: p.draw(seed, name, k) for name, p in sampled.items()}) for k in range(runs or 0)
    ]
    none: list[tuple[int | None, dict[str, Value]]] = [(None, {})]
    for cell in product(*axes.values()):
        for run, sample in samples or none:
            values = {**fixed, **dict(zip(axes, cell, strict=True)), **sample}
            yield _point(target, {name: values[name] for name in parameters}, run, seed)


def _point(target: str, values: dict[str, Value], run: int | None, seed: int) -> Point:
    identity = {"target": target, "parameters": values, "run": run, "seed": seed}
    name = identifier_of(json.dumps(identity, sort_keys=True, ensure_ascii=False))
    return Point(name, values, run, seed_of(name))

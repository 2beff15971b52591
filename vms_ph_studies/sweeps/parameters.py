# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The parameters of a sweep, fixed, varied over a grid, or sampled, and its points."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from math import exp, isfinite, log
from typing import Any

from vms_ph_dynamics import OptionError
from vms_ph_dynamics.errors import did_you_mean

from .distributions import (
    DISTRIBUTIONS,
    Distribution,
    Scalar,
    identifier_of,
    make_distribution,
    seed_of,
    uniform,
)

Value = Scalar | list[Scalar]

_LARGEST_INTEGER = 2**63  # of the table
_RANGE_SYNTAX = "{from: NUMBER, to: NUMBER, count: WHOLE NUMBER, spacing: linear or log}"
_SYNTAX = (
    "a value, a list of values (a grid), "
    f"{_RANGE_SYNTAX}, {{value: VALUE}}, or one of {', '.join(DISTRIBUTIONS)}"
)


@dataclass(frozen=True)
class FixedParameter:
    """A parameter with one value."""

    value: Value


@dataclass(frozen=True)
class Grid:
    """A parameter that takes each of its values."""

    values: tuple[Value, ...]


@dataclass(frozen=True)
class Samples:
    """A parameter that is drawn for every run; a list of ``size`` numbers if ``size`` is given."""

    distribution: Distribution
    size: int | None = None

    def draw(self, seed: int, name: str, run: int) -> Value:
        """Return the value of a run."""
        if self.size is None:
            return self.distribution.value(uniform(seed, name, run))
        return [self.distribution.value(uniform(seed, name, run, k)) for k in range(self.size)]


Parameter = FixedParameter | Grid | Samples


def read_parameter(name: str, entry: Any) -> Parameter:
    """Return a parameter as it is written in a study file.

    Raises:
        OptionError: it is not written in an accepted form.
    """
    try:
        if isinstance(entry, dict):
            return _read_mapping(entry)
        if isinstance(entry, list):
            return _make_grid([_read_value(item) for item in entry])
        return FixedParameter(_read_value(entry))
    except OptionError as error:
        raise OptionError(f"parameter '{name}': {error}") from None


def _read_mapping(entry: Mapping[Any, Any]) -> Parameter:
    keys = [str(key) for key in entry]
    if keys == ["value"]:
        return FixedParameter(_read_value(entry["value"]))
    if keys == ["values"] and isinstance(entry["values"], list):
        return _make_grid([_read_value(item) for item in entry["values"]])
    if "from" in keys or "to" in keys:
        return _read_range({str(key): value for key, value in entry.items()})
    names = [key for key in keys if key in DISTRIBUTIONS]
    if len(names) != 1 or not set(keys) <= {names[0], "size"}:
        unknown_key = next((key for key in keys if key not in (*DISTRIBUTIONS, "size")), "")
        hint = did_you_mean(unknown_key, [*DISTRIBUTIONS, "from", "value", "values"])
        raise OptionError(f"given: {', '.join(keys) or 'nothing'}{hint}; accepted are {_SYNTAX}")
    arguments, size = entry[names[0]], entry.get("size")
    if not isinstance(arguments, dict):
        raise OptionError(f"given: {arguments!r}; write {DISTRIBUTIONS[names[0]].syntax}")
    if size is not None and (isinstance(size, bool) or not isinstance(size, int) or size < 1):
        raise OptionError(f"'size' must be a whole number above zero; given: {size!r}")
    try:
        return Samples(make_distribution(names[0], {str(k): v for k, v in arguments.items()}), size)
    except OptionError as error:
        raise OptionError(f"{names[0]}: {error}") from None


def _read_range(entry: dict[str, Any]) -> Grid:
    unknown_keys = set(entry) - {"from", "to", "count", "spacing"}
    numbers = [entry.get("from"), entry.get("to")]
    count, spacing = entry.get("count"), entry.get("spacing", "linear")
    is_range = all(_is_number(number) for number in numbers) and not unknown_keys
    if not is_range or isinstance(count, bool) or not isinstance(count, int) or count < 2:
        raise OptionError(f"given: {entry}; a range is {_RANGE_SYNTAX}, with a count of at least 2")
    low, high = float(entry["from"]), float(entry["to"])
    if spacing not in ("linear", "log") or (spacing == "log" and min(low, high) <= 0.0):
        raise OptionError(
            f"spacing: {spacing}; accepted are linear, and log between numbers above zero"
        )
    if spacing == "log":
        points = [exp(log(low) + k * (log(high) - log(low)) / (count - 1)) for k in range(count)]
    else:
        points = [low + k * (high - low) / (count - 1) for k in range(count)]
    return _make_grid([low, *points[1:-1], high])


def _make_grid(values: list[Value]) -> Grid:
    if not values:
        raise OptionError("the list is empty; give at least one value")
    for k, value in enumerate(values):
        if any(value == other and type(value) is type(other) for other in values[:k]):
            raise OptionError(f"the value {value!r} is listed twice; every point is computed once")
    return Grid(tuple(values))


def _read_value(entry: Any) -> Value:
    if isinstance(entry, list) and entry and all(_is_scalar(item) for item in entry):
        return list(entry)
    if not _is_scalar(entry):
        raise OptionError(f"given: {entry!r}; accepted are {_SYNTAX}")
    return entry


def _is_number(entry: Any) -> bool:
    if isinstance(entry, bool) or not isinstance(entry, int | float):
        return False
    return abs(entry) < _LARGEST_INTEGER if isinstance(entry, int) else isfinite(entry)


def _is_scalar(entry: Any) -> bool:
    return isinstance(entry, str | bool) or _is_number(entry)


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
    target_name: str, parameters: Mapping[str, Parameter], runs: int | None, seed: int
) -> Iterator[Point]:
    """Return all points in the order of the table: every run at every point of the grid.

    Sample k has the same values at every point of the grid, so that differences between grid points
    are not differences between samples.
    """
    grid_values_by_name = {name: p.values for name, p in parameters.items() if isinstance(p, Grid)}
    fixed: dict[str, Value] = {
        n: p.value for n, p in parameters.items() if isinstance(p, FixedParameter)
    }
    samplers = {name: p for name, p in parameters.items() if isinstance(p, Samples)}
    draws: list[tuple[int | None, dict[str, Value]]] = [
        (k, {name: p.draw(seed, name, k) for name, p in samplers.items()}) for k in range(runs or 0)
    ]
    no_samples: list[tuple[int | None, dict[str, Value]]] = [(None, {})]
    for grid_values in product(*grid_values_by_name.values()):
        for run, sample in draws or no_samples:
            values = {**fixed, **dict(zip(grid_values_by_name, grid_values, strict=True)), **sample}
            yield _make_point(target_name, {name: values[name] for name in parameters}, run, seed)


def _make_point(target_name: str, values: dict[str, Value], run: int | None, seed: int) -> Point:
    identity = {"target": target_name, "parameters": values, "run": run, "seed": seed}
    identifier = identifier_of(json.dumps(identity, sort_keys=True, ensure_ascii=False))
    return Point(identifier, values, run, seed_of(identifier))

# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Study files: what a sweep computes, as YAML."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from math import prod
from pathlib import Path
from typing import Any

from vms_ph_dynamics import OptionError, VmsPhError
from vms_ph_dynamics.errors import did_you_mean
from vms_ph_io.settings.bounded_text import parse_yaml, read_text

from .evaluation import RESERVED_NAMES
from .parameters import Grid, Parameter, Point, Samples, make_points, read_parameter
from .target import Target

_KEYS = {
    "title": "text",
    "target": "what is computed",
    "parameters": "mapping of names to values, grids and distributions",
    "runs": "whole number of samples at every point of the grid",
    "seed": "whole number; default 0",
    "limit": "longest duration of a point, s; default none",
    "plots": "mapping with the lists 'results' and 'against'",
}
MAX_POINTS = 10_000_000
# PyYAML reads 1e-3, without a dot, as text.
_EXPONENT = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)[eE][-+]?\d+")


@dataclass(frozen=True)
class SweepStudy:
    """A study: a target and the points at which it is evaluated.

    Attributes:
        name: name of the study, that of its file.
        title: description in one line.
        target: what is evaluated.
        parameters: the parameters by name.
        runs: number of samples at every point of the grid; None without samples.
        seed: seed of the study.
        limit: longest accepted duration of a point, s; None for any.
        text: text of the study file.
        plotted: results that the report plots; empty for the first ones.
        against: parameters that it plots them over; empty for all varied ones.
    """

    name: str
    title: str
    target: Target
    parameters: Mapping[str, Parameter]
    runs: int | None = None
    seed: int = 0
    limit: float | None = None
    text: str = ""
    plotted: tuple[str, ...] = ()
    against: tuple[str, ...] = ()

    @cached_property
    def points(self) -> list[Point]:
        """All points, in the order of the table."""
        return list(make_points(self.target.name, self.parameters, self.runs, self.seed))

    @property
    def varied(self) -> list[str]:
        """Names of the parameters with more than one value."""
        return [
            name
            for name, p in self.parameters.items()
            if isinstance(p, Samples) or (isinstance(p, Grid) and len(p.values) > 1)
        ]


def read_study(path: str | Path) -> SweepStudy:
    """Return the study in a YAML file.

    Raises:
        VmsPhError: the file cannot be read, or is no study; the message says what is accepted.
    """
    file = Path(path)
    text = read_text(file)
    try:
        return _read_study(parse_yaml(text), text, file)
    except VmsPhError as error:
        raise OptionError(f"{file}: {error}") from None


def _read_study(content: Any, text: str, file: Path) -> SweepStudy:
    if not isinstance(content, dict):
        raise OptionError(f"a study is a mapping with the keys {', '.join(_KEYS)}")
    content = _with_numbers(content)
    for key in content:
        if key not in _KEYS:
            hint = did_you_mean(str(key), _KEYS)
            raise OptionError(f"unknown key '{key}'{hint}; accepted are {', '.join(_KEYS)}")
    for key in ("target", "parameters"):
        if key not in content:
            raise OptionError(f"the key '{key}' is missing: {_KEYS[key]}")
    if not isinstance(content["target"], str):
        raise OptionError(f"target: given: {content['target']!r}; expected the name of a function")
    target = Target.of(content["target"], file.parent)
    if not isinstance(content["parameters"], dict):
        raise OptionError(f"parameters: expected a {_KEYS['parameters']}")
    parameters = {str(n): read_parameter(str(n), p) for n, p in content["parameters"].items()}
    target.check(parameters)
    if reserved := [name for name in parameters if name in RESERVED_NAMES]:
        raise OptionError(f"parameter '{reserved[0]}': the name is that of a column of the table")
    runs = _read_runs(content.get("runs"), parameters)
    size = prod(len(p.values) for p in parameters.values() if isinstance(p, Grid))
    if size * (runs or 1) > MAX_POINTS:
        raise OptionError(
            f"{size} points of the grid with {runs or 1} runs each are {size * (runs or 1)}"
            f" points; at most {MAX_POINTS} are accepted"
        )
    plotted, against = _read_plots(content.get("plots", {}), parameters)
    return SweepStudy(
        file.stem,
        str(content.get("title", target.title)),
        target,
        parameters,
        runs,
        _read_integer("seed", content.get("seed", 0), 0),
        _read_limit(content.get("limit")),
        text,
        plotted,
        against,
    )


def _read_runs(entry: Any, parameters: Mapping[str, Parameter]) -> int | None:
    sampled_names = [name for name, p in parameters.items() if isinstance(p, Samples)]
    if entry is None and sampled_names:
        raise OptionError(
            f"the key 'runs' is missing: how many samples of {', '.join(sampled_names)} are drawn"
        )
    return None if entry is None else _read_integer("runs", entry, 1)


def _read_integer(key: str, entry: Any, minimum: int) -> int:
    if isinstance(entry, bool) or not isinstance(entry, int) or entry < minimum:
        raise OptionError(f"{key}: given: {entry!r}; expected a whole number of at least {minimum}")
    return entry


def _read_limit(entry: Any) -> float | None:
    if entry is None:
        return None
    if isinstance(entry, bool) or not isinstance(entry, int | float) or not 0.0 < entry < 1e7:
        raise OptionError(f"limit: given: {entry!r}; expected a duration above zero, s")
    return float(entry)


def _read_plots(
    entry: Any, parameters: Mapping[str, Parameter]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    names_by_key = entry if isinstance(entry, dict) else None
    if names_by_key is None or not set(names_by_key) <= {"results", "against"}:
        raise OptionError(f"plots: given: {entry!r}; expected a {_KEYS['plots']}")
    name_lists = []
    for key in ("results", "against"):
        names = names_by_key.get(key, [])
        if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
            raise OptionError(f"plots: {key}: given: {names!r}; expected a list of names")
        name_lists.append(tuple(names))
    for name in name_lists[1]:
        if name not in parameters:
            raise OptionError(
                f"plots: against: there is no parameter '{name}'; there are {', '.join(parameters)}"
            )
    return name_lists[0], name_lists[1]


def _with_numbers(entry: Any) -> Any:
    """Return the value with numbers like 1e-3 as numbers."""
    if isinstance(entry, dict):
        return {key: _with_numbers(value) for key, value in entry.items()}
    if isinstance(entry, list):
        return [_with_numbers(value) for value in entry]
    if isinstance(entry, str) and _EXPONENT.fullmatch(entry):
        return float(entry)
    return entry

# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Study files: what a sweep computes, as YAML."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property
from math import prod
from pathlib import Path
from typing import Any

from vms_ph_dynamics.errors import OptionError, VmsPhError
from vms_ph_io.settings.yaml_text import parse_yaml
from vms_ph_io.text_files import read_text

from .evaluation import RESERVED
from .parameters import Grid, Parameter, Sampled, read_parameter
from .points import Point, make_points
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
MOST_POINTS = 10_000_000
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
            if isinstance(p, Sampled) or (isinstance(p, Grid) and len(p.values) > 1)
        ]


def read_study(path: str | Path) -> SweepStudy:
    """Return the study in a YAML file.

    Raises:
        VmsPhError: the file cannot be read, or is no study; the message says what is accepted.
    """
    file = Path(path)
    try:
        text = read_text(file)
    except OSError as error:
        raise VmsPhError(f"{file} cannot be read: {error.strerror or error}") from None
    try:
        return _read(parse_yaml(text), text, file)
    except VmsPhError as error:
        raise OptionError(f"{file}: {error}") from None


def _read(given: Any, text: str, file: Path) -> SweepStudy:
    if not isinstance(given, dict):
        raise OptionError(f"a study is a mapping with the keys {', '.join(_KEYS)}")
    given = _with_numbers(given)
    for key in given:
        if key not in _KEYS:
            close = get_close_matches(str(key), _KEYS, n=1)
            hint = f" (did you mean '{close[0]}'?)" if close else ""
            raise OptionError(f"unknown key '{key}'{hint}; accepted are {', '.join(_KEYS)}")
    for key in ("target", "parameters"):
        if key not in given:
            raise OptionError(f"the key '{key}' is missing: {_KEYS[key]}")
    if not isinstance(given["target"], str):
        raise OptionError(f"target: given: {given['target']!r}; expected the name of a function")
    target = Target.of(given["target"], file.parent)
    if not isinstance(given["parameters"], dict):
        raise OptionError(f"parameters: expected a {_KEYS['parameters']}")
    parameters = {str(n): read_parameter(str(n), p) for n, p in given["parameters"].items()}
    target.check(parameters)
    if taken := [name for name in parameters if name in RESERVED]:
        raise OptionError(f"parameter '{taken[0]}': the name is that of a column of the table")
    runs = _runs(given.get("runs"), parameters)
    grid = prod(len(p.values) for p in parameters.values() if isinstance(p, Grid))
    if grid * (runs or 1) > MOST_POINTS:
        raise OptionError(
            f"{grid} points of the grid with {runs or 1} runs each are {grid * (runs or 1)} points;"
            f" at most {MOST_POINTS} are accepted"
        )
    plotted, against = _plots(given.get("plots", {}), parameters)
    return SweepStudy(
        file.stem,
        str(given.get("title", target.title)),
        target,
        parameters,
        runs,
        _whole("seed", given.get("seed", 0), 0),
        _limit(given.get("limit")),
        text,
        plotted,
        against,
    )


def _runs(given: Any, parameters: Mapping[str, Parameter]) -> int | None:
    sampled = [name for name, p in parameters.items() if isinstance(p, Sampled)]
    if given is None and sampled:
        raise OptionError(
            f"the key 'runs' is missing: how many samples of {', '.join(sampled)} are drawn"
        )
    return None if given is None else _whole("runs", given, 1)


def _whole(key: str, given: Any, least: int) -> int:
    if isinstance(given, bool) or not isinstance(given, int) or given < least:
        raise OptionError(f"{key}: given: {given!r}; expected a whole number of at least {least}")
    return given


def _limit(given: Any) -> float | None:
    if given is None:
        return None
    if isinstance(given, bool) or not isinstance(given, int | float) or not 0.0 < given < 1e7:
        raise OptionError(f"limit: given: {given!r}; expected a duration above zero, s")
    return float(given)


def _plots(
    given: Any, parameters: Mapping[str, Parameter]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    lists = given if isinstance(given, dict) else None
    if lists is None or not set(lists) <= {"results", "against"}:
        raise OptionError(f"plots: given: {given!r}; expected a {_KEYS['plots']}")
    found = []
    for key in ("results", "against"):
        names = lists.get(key, [])
        if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
            raise OptionError(f"plots: {key}: given: {names!r}; expected a list of names")
        found.append(tuple(names))
    for name in found[1]:
        if name not in parameters:
            raise OptionError(
                f"plots: against: there is no parameter '{name}'; there are {', '.join(parameters)}"
            )
    return found[0], found[1]


def _with_numbers(given: Any) -> Any:
    """Return the value with numbers like 1e-3 as numbers."""
    if isinstance(given, dict):
        return {key: _with_numbers(value) for key, value in given.items()}
    if isinstance(given, list):
        return [_with_numbers(value) for value in given]
    if isinstance(given, str) and _EXPONENT.fullmatch(given):
        return float(given)
    return given

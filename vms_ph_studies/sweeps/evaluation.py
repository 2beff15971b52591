# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Evaluation of points on a worker: a record for each, also for those that fail."""

import math
import traceback
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, is_dataclass
from enum import Enum
from time import perf_counter
from typing import Any

import numpy as np

from vms_ph_dynamics import OptionError

from .parameters import Point
from .target import Target
from .time_limit import TimeLimitError, run_within

_MAX_TRACE_LENGTH = 4000


@dataclass(frozen=True)
class Record:
    """What became of a point.

    Attributes:
        point: id of the point.
        results: what the target returned, by name; empty for a failed point.
        error: type and text of the error; empty for a computed point.
        trace: the traceback of the error.
        seconds: duration of the evaluation.
    """

    point: str
    results: Mapping[str, Any]
    error: str = ""
    trace: str = ""
    seconds: float = 0.0


def evaluate_points(
    target: Target, points: Sequence[Point], limit: float | None = None
) -> list[Record]:
    """Return the records of points.

    Args:
        target: the function.
        points: its points.
        limit: longest accepted duration of one of them, s; None for any.

    Raises:
        TargetError: the target cannot be loaded here; no point can.
    """
    target.function()
    return [_evaluate(target, point, limit) for point in points]


def _evaluate(target: Target, point: Point, limit: float | None) -> Record:
    start = perf_counter()

    def compute() -> object:
        return target.evaluate(point.parameters, point.seed)

    try:
        output = compute() if limit is None else run_within(limit, compute)
        results = plain_results(output, point.parameters)
    except (Exception, TimeLimitError) as error:  # a failed point is a result of the study
        text = _utf8_text(f"{type(error).__name__}: {error}")
        trace = _utf8_text(traceback.format_exc()[-_MAX_TRACE_LENGTH:])
        return Record(point.id, {}, text, trace, perf_counter() - start)
    return Record(point.id, results, seconds=perf_counter() - start)


def plain_results(output: object, parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a target returned as plain values by name.

    Raises:
        OptionError: it is no mapping of plain values, or a name is that of a parameter.
    """
    if is_dataclass(output) and not isinstance(output, type):
        output = asdict(output)
    if not isinstance(output, Mapping):
        output = {"result": output}
    results = {str(name): _as_plain(str(name), value) for name, value in output.items()}
    for name in results:
        if name in parameters or name in RESERVED_NAMES:
            raise OptionError(f"the result '{name}' has the name of another column; rename it")
    return results


def _utf8_text(text: str) -> str:
    """Return a text that can be written in UTF-8."""
    return text.encode("utf-8", "replace").decode("utf-8")


RESERVED_NAMES = ("point", "run", "seed", "status", "error")
"""Names of columns of the table besides parameters and results."""


def _as_plain(name: str, value: object) -> Any:
    if isinstance(value, Enum):
        value = value.value
    if isinstance(value, np.generic | np.ndarray):
        value = value.tolist()
    if isinstance(value, str):
        return _utf8_text(value)
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        return value if abs(value) < 2**63 else float(value)
    if isinstance(value, float):
        return value if not math.isnan(value) else math.nan  # one nan, whatever its bits
    if isinstance(value, list | tuple):
        return [_as_plain(name, item) for item in value]
    raise OptionError(
        f"the result '{name}' is of type {type(value).__name__}; accepted are numbers, text, "
        "true, false, None and lists of them"
    )

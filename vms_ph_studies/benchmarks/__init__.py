# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Benchmarks of computation time against other libraries, by subject."""

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from .timing import Case, Tail, Timing, measure


@dataclass(frozen=True)
class Benchmark:
    """A benchmark: cases to be timed together.

    Attributes:
        id: name on the command line.
        title: description in one line.
        reference: name of the case that the others are compared with.
        cases: returns the cases for the names of a robot and a base.
        robot, base: defaults; base is empty if it is predefined for every robot.
        files: writes plots and tables about a robot on a base into a folder; None where there are
            none.
        note: returns what is missing and how to install it, or an empty string.
        run: measurement for robot, base and seconds, instead of cases.
        ratios: what the ratios are to, where cases have several references.
        summary: returns a line that follows from the timings, as a fit, or None.
        versions: returns versions besides those of Python and libraries, or None.
        with_batches: returns the benchmark for batches of other sizes, or None.
    """

    id: str
    title: str
    reference: str
    cases: Callable[[str, str], list[Case]]
    robot: str = "panda"
    base: str = "floating"
    files: Callable[[str, str, Path], list[Path]] | None = None
    note: Callable[[], str] | None = None
    run: Callable[[str, str, float], list[Timing]] | None = None
    versions: Callable[[], dict[str, str]] | None = None
    ratios: str = ""
    summary: Callable[[list[Timing]], str] | None = None
    with_batches: "Callable[[tuple[int, ...]], Benchmark] | None" = None


# In the order in which they are listed; each module has its BENCHMARKS.
_MODULES = ("calls", "libraries", "integrators", "kernel", "native", "ephs", "gpu")


def benchmarks() -> dict[str, Benchmark]:
    """Return all benchmarks by their id."""
    modules = [import_module(f"{__name__}.{name}").BENCHMARKS for name in _MODULES]
    return {benchmark.id: benchmark for module in modules for benchmark in module}


__all__ = ["Benchmark", "Case", "Tail", "Timing", "benchmarks", "measure"]

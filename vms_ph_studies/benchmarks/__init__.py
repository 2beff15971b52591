"""The cost of calls beside those of other libraries: one file for each benchmark."""

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from .timing import Case, Tail, Timing, measure


@dataclass(frozen=True)
class Benchmark:
    """Cases that belong together.

    Attributes:
        id: its name on the command line.
        title: one line.
        reference: the name of the case that the others are compared with.
        cases: returns them for a robot on a base; both are names.
        robot, base: the defaults; no base where every robot has its own.
        files: writes plots and tables about a robot on a base into a folder; None where there are
            none.
        note: returns what is missing and how to install it; empty where nothing is.
        run: measures what is not a call, given robot, base and seconds; then there are no cases.
        versions: returns versions beside those of Python and libraries; None where there are none.
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


# In the order in which they are listed; each module has a BENCHMARK.
_MODULES = (
    "dynamics",
    "decoupling",
    "control",
    "task_space",
    "native",
    "integrators",
    "ephs",
)


def benchmarks() -> dict[str, Benchmark]:
    """Return all benchmarks by their id."""
    found = [import_module(f"{__name__}.{name}").BENCHMARK for name in _MODULES]
    return {benchmark.id: benchmark for benchmark in found}


__all__ = ["Benchmark", "Case", "Tail", "Timing", "benchmarks", "measure"]

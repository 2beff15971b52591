"""What our calls cost, beside those a user would make instead: one file a subject."""

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from .timing import Case, Tail, Timing, measure


@dataclass(frozen=True)
class Bench:
    """Cases that belong together.

    Attributes:
        id: its name on the command line.
        title: one line.
        reference: the name of the case that the others are compared with.
        cases: makes them for a robot on a base; both are names.
        robot, base: those it takes unless told otherwise; no base where a robot brings its own.
        files: writes plots and tables about a robot on a base into a folder; None where there are
            none.
        note: says what is missing and how to get it; empty where nothing is.
        run: measures by itself, given robot, base and seconds, what is no call; then no cases.
        versions: what it ran on beside Python and libraries; None where that is all.
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


# In the order in which they are listed; each module has a BENCH.
_MODULES = (
    "dynamics",
    "decoupling",
    "control",
    "task_space",
    "native",
    "integrators",
    "ephs",
)


def benches() -> dict[str, Bench]:
    """Return all subjects by their id."""
    found = [import_module(f"{__name__}.{name}").BENCH for name in _MODULES]
    return {bench.id: bench for bench in found}


__all__ = ["Bench", "Case", "Tail", "Timing", "benches", "measure"]

# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Progress of a sweep, and what is there after it."""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class SweepProgress:
    """How far a sweep is.

    Attributes:
        done: points with a record, those of earlier starts included.
        total: all points.
        failed: those of the done ones that failed.
    """

    done: int
    total: int
    failed: int


OnProgress = Callable[[SweepProgress], None]


def format_duration(seconds: float) -> str:
    """Return a duration in the largest fitting units."""
    if seconds < 60.0:
        return f"{seconds:.0f} s"
    if seconds < 3600.0:
        return f"{seconds // 60:.0f} min {seconds % 60:.0f} s"
    return f"{seconds // 3600:.0f} h {seconds % 3600 // 60:.0f} min"


@dataclass(frozen=True)
class SweepSummary:
    """What is there after a sweep.

    Attributes:
        total: points of the study.
        done: points that were computed.
        failed: points that failed.
        missing: points without a record.
        foreign: records in the journal of points that the study no longer has.
        files: the table and the report.
    """

    total: int
    done: int
    failed: int
    missing: int
    foreign: int
    files: tuple[str, ...] = ()

    def document(self) -> dict[str, Any]:
        """Return the summary as a JSON document."""
        return asdict(self)

# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Progress of a sweep: how much is done and what is left."""

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class SweepProgress:
    """How far a sweep is.

    Attributes:
        done: points with a record, those of earlier starts included.
        total: all points.
        failed: those of the done ones that failed.
        seconds_left: expected time that is left, s; None while it is not known.
    """

    done: int
    total: int
    failed: int
    seconds_left: float | None


OnProgress = Callable[[SweepProgress], None]


def format_duration(seconds: float) -> str:
    """Return a duration in the largest fitting units."""
    if seconds < 60.0:
        return f"{seconds:.0f} s"
    if seconds < 3600.0:
        return f"{seconds // 60:.0f} min {seconds % 60:.0f} s"
    return f"{seconds // 3600:.0f} h {seconds % 3600 // 60:.0f} min"

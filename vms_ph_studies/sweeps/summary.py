# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""What is there after a sweep."""

from dataclasses import asdict, dataclass
from typing import Any


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

# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Errors in a launch file, with their place."""

from dataclasses import dataclass
from pathlib import Path

from vms_ph_dynamics import VmsPhError

# Exit code of a program that cannot run as it is configured (EX_CONFIG of sysexits.h): a restart
# would not change that.
EXIT_CONFIG_ERROR = 78

SUBSET_REMARK = "this launcher reads a part of what ros2 launch reads, see COVERAGE.md"
"""The end of the sentence about a tag, an attribute or a substitution that is not accepted."""


@dataclass(frozen=True, slots=True)
class Location:
    """A place in a launch file; lines and columns count from one."""

    file: Path
    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


class LaunchError(VmsPhError):
    """A launch file, or the arguments given to it, cannot be carried out.

    Args:
        message: What was given, what is accepted, what to do.
        location: Where in a launch file; None when no file is to blame.
    """

    def __init__(self, message: str, location: Location | None = None) -> None:
        super().__init__(f"{location}: {message}" if location else message)
        self.location = location

# Copyright 2026 The vms_ph authors
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.

"""Errors in a launch file, with their place."""

from dataclasses import dataclass
from pathlib import Path

from vms_ph_dynamics.errors import VmsPhError

# Exit code of a program that cannot run as it is configured (EX_CONFIG of sysexits.h): a restart
# would not change that.
NOT_USABLE = 78


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

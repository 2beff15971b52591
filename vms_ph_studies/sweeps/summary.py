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

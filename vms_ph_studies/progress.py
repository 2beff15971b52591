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

"""Progress reports of a study through a callback; a study prints nothing."""

from collections.abc import Callable

Progress = Callable[[float, str], None]
"""A callback of the share of completed work, from 0 to 1, and the current task."""


def no_progress(share: float, task: str) -> None:
    """Ignore the report."""


class Stages:
    """The progress of work that consists of several stages."""

    def __init__(self, progress: Progress, length: int) -> None:
        """Report stages of this total length, in any unit of work, to a callback."""
        self._progress, self._length, self._begun = progress, max(length, 1), 0

    def begin(self, task: str, length: int = 1) -> Callable[[float], None]:
        """Begin a stage of a length; return the callback for its completed share."""
        begun = self._begun
        self._begun += length

        def report(share: float) -> None:
            self._progress(min((begun + share * length) / self._length, 1.0), task)

        report(0.0)

        return report

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

"""The work that a decision of an energy guard has not seen."""


class UnseenWork:
    """Energy given over the ``delay + 1`` samples from a decision to the sight of its outcome."""

    def __init__(self, delay: int) -> None:
        self._given = 0.0
        self._starts = [0.0] * (delay + 1)  # energy given at the start of each of them, J
        self._next = 0

    def add(self, work: float) -> float:
        """Count the work of a sample, J; return the largest of the last up to its end, J."""
        self._starts[self._next] = self._given
        self._next = (self._next + 1) % len(self._starts)
        self._given += work
        return max(0.0, self._given - min(self._starts))

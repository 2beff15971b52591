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

"""A compensated sum, in which small terms are not lost beside a large total."""

from typing import NamedTuple


class CompensatedSum(NamedTuple):
    """An energy as the sum of two numbers, so that a million small terms add up without rounding.

    Attributes:
        value: J.
        rest: the part below the last place of ``value``, J.
    """

    value: float
    rest: float = 0.0

    def plus(self, energy: float) -> "CompensatedSum":
        """Return the sum with one more term (Neumaier's algorithm)."""
        small = self.rest + energy
        total = self.value + small
        larger, lesser = (
            (self.value, small) if abs(self.value) >= abs(small) else (small, self.value)
        )
        return CompensatedSum(total, (larger - total) + lesser)

# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

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

"""A sum that does not lose what is small beside it."""

from typing import NamedTuple


class CompensatedSum(NamedTuple):
    """An energy as the sum of two numbers, so that a million small works leave no rounding.

    Attributes:
        value: J.
        rest: what is below the last place of it, J.
    """

    value: float
    rest: float = 0.0

    def plus(self, work: float) -> "CompensatedSum":
        """Return the budget after some work (Neumaier's sum)."""
        small = self.rest + work
        total = self.value + small
        larger, lesser = (
            (self.value, small) if abs(self.value) >= abs(small) else (small, self.value)
        )
        return CompensatedSum(total, (larger - total) + lesser)

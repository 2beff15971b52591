# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Scales that follow the largest value which was drawn lately, in steps of 1, 2 and 5."""

import math

# Of one drawn value to the next: the peak halves in 1.6 s at 25 values a second.
_DECAY = 0.5 ** (1 / 40)

_STEPS = (1.0, 2.0, 5.0, 10.0)


class FittedRange:
    """The range of a quantity for which a drawing has a given length.

    Attributes:
        full: the value that is drawn at full length, at least the largest one of late.
    """

    def __init__(self, least: float) -> None:
        """Begin with the least range.

        Args:
            least: values far below it are noise, and are drawn short.
        """
        self._least = self._peak = least
        self.full = round_up(least)

    def include(self, *values: float) -> float:
        """Return ``full`` after these values are taken into account, once for each picture."""
        largest = max((abs(value) for value in values if math.isfinite(value)), default=0.0)
        self._peak = max(largest, self._least, self._peak * _DECAY)
        # A peak at the border of two steps would make the drawing jump to and fro.
        if self._peak > self.full or self._peak < 0.3 * self.full:
            self.full = round_up(self._peak)
        return self.full


def round_up(value: float) -> float:
    """Return the smallest number 1, 2 or 5 times a power of ten that is not below a value > 0."""
    power = 10.0 ** math.floor(math.log10(value))
    return next((step * power for step in _STEPS if step * power >= value), 10.0 * power)

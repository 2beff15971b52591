# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Stumpff functions, of which exponentials of rotations consist; exact down to angle zero.

``c_n(s) = sum_k (-s)^k / (n + 2k)!`` with s the square of the angle t: ``c_0 = cos t``,
``c_1 = sin t / t``, ``c_2 = (1 - cos t) / t^2``, ``c_3 = (t - sin t) / t^3``. They satisfy
``c_n = 1/n! - s c_{n+2}`` and ``c_n' = (n c_{n+2} - c_{n+1}) / 2``, so neither they nor their
derivatives ever need a difference of nearly equal numbers.
"""

from dataclasses import dataclass
from math import cos, factorial, sin, sqrt

_SMALL = 4.0  # the series is used below, the closed forms above, where they have no cancellation
_TERMS = 12  # the first omitted term is below 1e-22
_INVERSE_FACTORIAL = [1.0 / factorial(n) for n in range(7 + 2 * _TERMS)]


@dataclass(frozen=True, slots=True)
class Dual:
    """A function of the squared angle and its derivative."""

    value: float
    slope: float


@dataclass(frozen=True, slots=True)
class Stumpff:
    """The functions c_0 to c_6 at one argument."""

    c: tuple[float, ...]

    def function(self, n: int) -> Dual:
        """Return c_n, n from 0 to 4, with its derivative."""
        c = self.c
        return Dual(c[n], 0.5 * (n * c[n + 2] - c[n + 1]))

    def inverse(self) -> Dual:
        """Return ``e(s) = (1 - (t/2) cot(t/2)) / t^2 = -c_2' / c_2`` with its derivative."""
        c = self.c
        first = c[4] - 0.5 * c[3]
        second = 2.0 * c[6] - 1.25 * c[5] + 0.25 * c[4]
        e = -first / c[2]
        return Dual(e, -second / c[2] + e * e)


def stumpff(s: float) -> Stumpff:
    """Return the Stumpff functions at ``s >= 0``, the square of an angle."""
    if s < _SMALL:
        c5, c6 = _series(5, s), _series(6, s)
        c4, c3 = 1 / 24 - s * c6, 1 / 6 - s * c5
        c2, c1 = 1 / 2 - s * c4, 1.0 - s * c3
        return Stumpff((1.0 - s * c2, c1, c2, c3, c4, c5, c6))
    t = sqrt(s)
    c1 = sin(t) / t
    half = sin(0.5 * t) / t
    c2 = 2.0 * half * half
    c3, c4 = (1.0 - c1) / s, (0.5 - c2) / s
    return Stumpff((cos(t), c1, c2, c3, c4, (1 / 6 - c3) / s, (1 / 24 - c4) / s))


def _series(n: int, s: float) -> float:
    total = 0.0
    for k in range(_TERMS, -1, -1):
        total = _INVERSE_FACTORIAL[n + 2 * k] - s * total
    return total

# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Extrapolation of the unknown of an implicit step from the steps before it."""

from typing import NamedTuple

from ..arrays import Array

_POINTS = 4


class Past(NamedTuple):
    """Velocities in the middle of the latest steps, the most recent last.

    Attributes:
        times: s.
        values: the unknown of :func:`solve` at these times.
    """

    times: tuple[float, ...] = ()
    values: tuple[Array, ...] = ()

    @property
    def is_full(self) -> bool:
        """Whether the maximum number of points is stored."""
        return len(self.times) == _POINTS

    def with_point(self, t: float, value: Array) -> "Past":
        """Return the past with one more point, without the oldest one if full."""
        keep = [i for i, time in enumerate(self.times) if time != t][1 - _POINTS :]
        return Past((*(self.times[i] for i in keep), t), (*(self.values[i] for i in keep), value))

    def extrapolated(self, t: float) -> Array:
        """Return the polynomial through the points, at another time."""
        total = 0.0 * self.values[0]
        for i, here in enumerate(self.times):
            weight = 1.0
            for j, other in enumerate(self.times):
                if j != i:
                    weight *= (t - other) / (here - other)
            total += weight * self.values[i]
        return total

# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Mean squares of residual efforts over windows, from impulses sample by sample."""

import numpy as np

from ..arrays import Array

WINDOW = 0.1
"""Length of the windows, s."""


class ResidualWindows:
    """Averages residual efforts over windows: noise of single samples cancels within one.

    Args:
        nv: number of momentum balances.
    """

    def __init__(self, nv: int) -> None:
        self._impulse, self._squares = np.zeros(nv), np.zeros(nv)
        self._time, self._since, self._windows = 0.0, 0.0, 0

    def add(self, impulses: Array, dt: Array) -> None:
        """Add residual impulses (N, nv) over intervals (N,), s."""
        if not len(dt):
            return
        elapsed = self._time + np.cumsum(dt)
        number = np.floor(np.concatenate([[self._time], elapsed]) / WINDOW + 1e-6)
        ends = np.flatnonzero(np.diff(number))
        whole = np.cumsum(impulses, axis=0)
        before, taken, since = self._impulse, np.zeros_like(self._impulse), self._since
        for k in ends:
            mean = (before + whole[k] - taken) / (elapsed[k] - since)
            self._squares = self._squares + mean**2
            self._windows += 1
            before, taken, since = np.zeros_like(before), whole[k], float(elapsed[k])
        self._impulse = before + whole[-1] - taken
        self._time, self._since = float(elapsed[-1]), since

    @property
    def root_mean_square(self) -> Array:
        """Of the residual efforts, (nv,), N m or N."""
        return np.asarray(np.sqrt(self._squares / max(self._windows, 1)))

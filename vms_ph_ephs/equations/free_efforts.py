# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Efforts that are determined by the balance of flows, not by a storage or constraint."""

from collections.abc import Callable

import numpy as np

from vms_ph_dynamics.arrays import Array

from ..errors import SingularConstraint

_ITERATIONS = 30
_STEP = 1e-6
_SHRINKING = 0.1
_SMALL = 1e-12
_ROUNDING = 2.0 * float(np.finfo(np.float64).eps)


class UndeterminedEfforts:
    """Solves ``Z^T phi(e, y + Z w) = 0`` for w, as for a spring and a damper in series.

    Args:
        directions: Z, (free,k).
        balance: takes stored efforts, free efforts and inputs, and returns the flows that must
            vanish along Z.
    """

    def __init__(
        self, directions: Array, balance: Callable[[Array, Array, Array | None], Array]
    ) -> None:
        self.count = directions.shape[1]
        self._z, self._balance = directions, balance
        self._slope: Array | None = None

    def solve(self, e: Array, free: Array, flow: Array | None) -> Array:
        """Return the free efforts, (free,).

        Raises:
            SingularConstraint: the balance does not depend on them, or has no solution.
        """
        w = np.zeros(self.count)
        last = np.inf
        for _ in range(_ITERATIONS):
            r = self._z.T @ self._balance(e, free + self._z @ w, flow)
            if self._slope is None:
                self._slope = self._slope_at(e, free, flow, w)
            try:
                change = np.linalg.solve(self._slope, r)
            except np.linalg.LinAlgError:
                self._slope = None
                break
            w = w - change
            size, scale = float(np.abs(change).max()), 1.0 + float(np.abs(w).max())
            shrinking = size < _SHRINKING * last
            # What is left after a change is that change times the share by which changes shrink;
            # where they do not, they are rounding.
            left = size * size / last if shrinking and last < np.inf else size
            if left <= _ROUNDING * scale or (size <= _SMALL * scale and not shrinking):
                return free + self._z @ w
            # The slope of an earlier state serves while it lets the changes shrink quickly.
            if not shrinking:
                self._slope = None
            last = size
        self._slope = None
        raise SingularConstraint(
            "a velocity is determined by no mass, no constraint and no friction; join one of them"
        )

    def _slope_at(self, e: Array, free: Array, flow: Array | None, w: Array) -> Array:
        slope = np.empty((self.count, self.count))
        for i in range(self.count):
            step = np.zeros(self.count)
            step[i] = _STEP * (1.0 + abs(w[i]))
            ahead = self._z.T @ self._balance(e, free + self._z @ (w + step), flow)
            behind = self._z.T @ self._balance(e, free + self._z @ (w - step), flow)
            slope[:, i] = (ahead - behind) / (2.0 * step[i])
        return slope

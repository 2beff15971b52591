# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Heat capacities that exchange heat with each other and the environment, step by step."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from vms_ph_dynamics.arrays import Array


class Conductor(NamedTuple):
    """A heat path between two capacities; ``None`` is the environment."""

    first: int
    second: int | None
    conductance: float


class HeatStep(NamedTuple):
    """The result of one step.

    Attributes:
        theta: (m,) temperatures after it, K.
        mean: (m,) energy over entropy that each capacity took, K.
        heat: (k,) that flowed along each conductor, J.
        destroyed: (k,) exergy that this destroyed, J; never negative.
    """

    theta: Array
    mean: Array
    heat: Array
    destroyed: Array


class ThermalNetwork:
    """The system of :class:`.HeatCapacity` and :class:`.Conduction` boxes on one environment.

    A step is that of discrete gradients: heat flows by the mean temperatures ``dU / dS`` of the
    step, at which energy is conserved and entropy produced exactly, however long the step is.

    Args:
        capacities: (m,) J/K.
        conductors: the heat paths.
        theta_0: temperature of the environment, K.
        dt: length of the steps, s.
    """

    def __init__(
        self, capacities: Array, conductors: Sequence[Conductor], theta_0: float, dt: float
    ) -> None:
        m, k = capacities.size, len(conductors)
        self._capacities, self._theta_0, self._dt = capacities, theta_0, dt
        # Rows give the difference of temperatures along each conductor, last column theta_0.
        self._along = np.zeros((k, m + 1))
        for row, each in zip(self._along, conductors, strict=True):
            row[each.first] = 1.0
            row[m if each.second is None else each.second] -= 1.0
        self._conductances = np.array([each.conductance for each in conductors])
        flow = dt * self._conductances[:, None] * self._along
        laplacian = self._along[:, :m].T @ flow
        left = np.diag(capacities) + 0.5 * laplacian[:, :m]
        self._to_end = np.linalg.solve(
            left,
            np.hstack([np.diag(capacities) - 0.5 * laplacian[:, :m], -laplacian[:, m:], np.eye(m)]),
        )
        self._flow, self._back = flow, np.ascontiguousarray(self._along[:, :m].T)
        self._first = np.array([each.first for each in conductors], dtype=np.intp)
        self._second = np.array(
            [m if each.second is None else each.second for each in conductors], dtype=np.intp
        )

    def step(self, theta: Array, heat: Array) -> HeatStep:
        """Return the step from temperatures (m,) while heat (m,), J, enters the capacities."""
        m, c = theta.size, self._capacities
        means = np.empty(m + 1)
        means[m] = self._theta_0
        end = self._to_end @ np.concatenate([theta, means[m:], heat])
        means[:m] = 0.5 * (theta + end)
        for _ in range(2):
            flows = self._flow @ means
            change = (heat - self._back @ flows) / c
            means[:m] = _mean(theta, change)
        inverse = 1.0 / means
        destroyed = self._theta_0 * flows * (inverse[self._second] - inverse[self._first])
        return HeatStep(theta + change, means[:m], flows, destroyed)


def _mean(theta: Array, change: Array) -> Array:
    """Return energy over entropy of a capacity whose temperature changes, K."""
    x = change / theta
    small = np.abs(x) < 1e-5
    # x / log(1 + x), whose series is exact to rounding where the quotient loses digits.
    safe = np.where(small, 1.0, x)
    ratio = np.where(small, 1.0 + x * (0.5 - x / 12.0), safe / np.log1p(safe))
    return np.asarray(theta * ratio)

# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Joint positions that move smoothly to a target."""

import numpy as np

from vms_ph_dynamics.arrays import Array


class JointReference:
    """Joint positions that follow a target with bounded rates and bounded accelerations.

    Attributes:
        positions, rates, accelerations: (n,).
        is_resting: whether the target has been reached.
    """

    def __init__(self, n: int) -> None:
        self.restart(np.zeros(n))

    def restart(self, positions: Array) -> None:
        """Restart at rest at positions (n,)."""
        self.positions = positions.copy()
        self.rates, self.accelerations = np.zeros_like(positions), np.zeros_like(positions)
        self._target = self.positions
        self.is_resting = True

    def go_to(self, target: Array) -> None:
        """Set the target positions (n,)."""
        self._target, self.is_resting = target.copy(), False

    def advance(self, speed: float | Array, bandwidth: float, dt: float) -> None:
        """Advance by one time step; see :meth:`PoseReference.advance`."""
        if self.is_resting:
            return
        bandwidth = min(bandwidth, 1.0 / dt) if dt > 0.0 else bandwidth
        self.positions = self.positions + dt * self.rates
        self.rates = self.rates + dt * self.accelerations
        wanted = np.clip(0.5 * bandwidth * (self._target - self.positions), -speed, speed)
        self.accelerations = bandwidth * (wanted - self.rates)
        if np.abs(self.rates).max() + np.abs(wanted).max() < 1e-9:
            self.restart(self._target)

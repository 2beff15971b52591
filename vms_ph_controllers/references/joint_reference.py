"""Joint positions that move smoothly to where they are told to go."""

import numpy as np

from vms_ph_dynamics.arrays import Array


class JointReference:
    """Follows target positions with bounded rates and a bounded change of rate.

    Attributes:
        positions, rates, accelerations: (n,).
        is_resting: whether the target is reached.
    """

    def __init__(self, n: int) -> None:
        self.restart(np.zeros(n))

    def restart(self, positions: Array) -> None:
        """Rest at positions (n,)."""
        self.positions = positions.copy()
        self.rates, self.accelerations = np.zeros_like(positions), np.zeros_like(positions)
        self._target = self.positions
        self.is_resting = True

    def go_to(self, target: Array) -> None:
        """Approach positions (n,) from now on."""
        self._target, self.is_resting = target.copy(), False

    def advance(self, speed: float, quickness: float, dt: float) -> None:
        """Move on by one time step; see :meth:`PoseReference.advance`."""
        if self.is_resting:
            return
        self.positions = self.positions + dt * self.rates
        self.rates = self.rates + dt * self.accelerations
        wish = np.clip(0.5 * quickness * (self._target - self.positions), -speed, speed)
        self.accelerations = quickness * (wish - self.rates)
        if np.abs(self.rates).max() + np.abs(wish).max() < 1e-9:
            self.restart(self._target)

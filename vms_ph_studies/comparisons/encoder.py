# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Joint encoders: quantised positions, and velocities as their differences."""

import numpy as np

from vms_ph_controllers import RobotState
from vms_ph_dynamics.arrays import Array


class Encoder:
    """Quantises positions, and differentiates them over a sample."""

    def __init__(self, counts: float) -> None:
        """Set the counts per revolution of the joint; zero for exact positions and velocities."""
        self._quantum = 2.0 * np.pi / counts if counts else 0.0
        self._last: Array | None = None

    def read(self, q: Array, v: Array, dt: float) -> RobotState:
        """Return measured position and velocity, ``dt`` seconds after the last reading."""
        if self._quantum == 0.0:
            return RobotState(q, v)
        measured = self._quantum * np.round(q / self._quantum)
        before = measured if self._last is None else self._last
        self._last = measured
        return RobotState(measured, (measured - before) / dt)

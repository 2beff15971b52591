# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Periodic disturbances at the end effector."""

import numpy as np
from rclpy.node import Node

from vms_ph_dynamics.arrays import Array

from ..node.parameters import declare


class Disturbances:
    """Force pulses defined by the parameters ``push.*`` of the simulator.

    Their directions alternate between x, y and z of the world.
    """

    def __init__(self, node: Node) -> None:
        self._force: float = declare(node, "push.force")
        self._duration: float = declare(node, "push.duration")
        self._period: float = declare(node, "push.period")
        self._first: float = declare(node, "push.first")

    def force(self, time: float) -> Array:
        """Return the wrench (6,) in world axes that acts from ``time`` (s) on."""
        wrench = np.zeros(6)
        # Pushes begin and end on a tick; half a microsecond covers the rounding of its time.
        since = time - self._first + 5e-7
        if self._period <= 0.0 or since < 0.0:
            return wrench
        count, within = divmod(since, self._period)
        if within < self._duration:
            wrench[int(count) % 3] = self._force
        return wrench

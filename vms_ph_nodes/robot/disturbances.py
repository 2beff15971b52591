# Copyright 2026 The vms_ph authors
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.

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

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

"""The measured state of a robot."""

from dataclasses import dataclass

import numpy as np

from vms_ph_dynamics import VMSModel
from vms_ph_dynamics.arrays import Array, is_finite

LONGEST_SAMPLE = 1.0
"""Longest time between updates that laws accept, s."""


def is_usable_step(dt: float) -> bool:
    """Return whether a time between updates, s, is in [0, :data:`LONGEST_SAMPLE`].

    Zero stands for the law in continuous time.
    """
    return 0.0 <= dt <= LONGEST_SAMPLE


@dataclass(frozen=True, slots=True)
class RobotState:
    """The measured state of a robot.

    Attributes:
        q: (nq,) configuration, laid out as in Pinocchio, m and rad.
        v: (nv,) velocity: base twist in the base frame, linear first, then joint rates; m/s and
            rad/s.
    """

    q: Array
    v: Array

    def is_usable(self, model: VMSModel) -> bool:
        """Return whether the state has the dimensions of this robot and is finite."""
        if np.shape(self.q) != (model.nq,) or np.shape(self.v) != (model.nv,):
            return False
        return is_finite(self.q) and is_finite(self.v)

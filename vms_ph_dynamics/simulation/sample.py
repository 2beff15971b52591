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

"""What a simulated robot does at one instant."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from ..arrays import Array


@dataclass(frozen=True)
class Sample:
    """The motion, the efforts and the port energies at one instant.

    Efforts that jump at this instant are given as the mean of both sides: the trapezoidal rule over
    samples then integrates them without error from the jumps.

    Attributes:
        time: simulated time, s.
        q: (nq,) configuration.
        v: (nv,) velocity.
        torque: (n,) total joint torques, N m or N.
        wrench_base: (b,) total wrench at the base in its own axes, N and N m.
        wrench_end_effector: (6,) wrench at the end effector in its own axes, N and N m.
        port_energy: supplied through each port since the last reset, J.
        dissipated: energy dissipated by friction and joint stops since then, J.
        wrench_tools: (6,) total wrench at each tool in its own axes, by name.
    """

    time: float
    q: Array
    v: Array
    torque: Array
    wrench_base: Array
    wrench_end_effector: Array
    port_energy: Mapping[str, float]
    dissipated: float
    wrench_tools: Mapping[str, Array] = field(default_factory=dict)

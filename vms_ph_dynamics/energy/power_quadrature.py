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

"""The energy that crosses the ports during a step, summed over its stages."""

from ..evaluation import Evaluation
from ..structure import PORTS, Ports


class PowerQuadrature:
    """The integral of port powers over time, with the weights of a scheme.

    Attributes:
        supplied: energy into the robot at each port, J.
        dissipated: energy dissipated by friction and drag, J.
    """

    __slots__ = ("dissipated", "supplied")

    def __init__(self) -> None:
        self.supplied = dict.fromkeys(PORTS, 0.0)
        self.dissipated = 0.0

    def add(self, acting: Ports, d: Evaluation, duration: float) -> None:
        """Add the energy supplied by the efforts at a state, held for ``duration`` s."""
        for name, power in acting.supplied(d).items():
            self.supplied[name] = self.supplied.get(name, 0.0) + duration * power
        self.dissipated += duration * acting.dissipated(d)

    @property
    def net(self) -> float:
        """Change of the energy of the robot, J: supplied less dissipated."""
        return sum(self.supplied.values()) - self.dissipated

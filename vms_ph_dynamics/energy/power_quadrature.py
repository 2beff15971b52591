# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The energy that crosses the ports during a step, summed over its stages."""

from ..evaluation import Evaluation
from ..forms import PORTS, Ports


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

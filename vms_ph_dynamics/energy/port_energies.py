"""The energy that crosses the ports during a step, summed stage by stage."""

from ..evaluation import Evaluation
from ..structure import Ports


class PortEnergies:
    """A quadrature of port powers.

    Attributes:
        supplied: energy into the robot at every port, J.
        dissipated: energy that friction and drag took, J.
    """

    __slots__ = ("dissipated", "supplied")

    def __init__(self) -> None:
        self.supplied = {"torque": 0.0, "wrench_base": 0.0, "wrench_end_effector": 0.0}
        self.dissipated = 0.0

    def add(self, acting: Ports, d: Evaluation, duration: float) -> None:
        """Add the work of the efforts at a state, held for ``duration`` s."""
        for name, power in acting.supplied(d).items():
            self.supplied[name] += duration * power
        self.dissipated += duration * acting.dissipated(d)

    @property
    def net(self) -> float:
        """Energy that the robot has gained, J."""
        return sum(self.supplied.values()) - self.dissipated

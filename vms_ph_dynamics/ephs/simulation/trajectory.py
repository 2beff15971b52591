"""What a simulation gives."""

from dataclasses import dataclass

from ...arrays import Array
from ..equations import Equations


@dataclass(frozen=True)
class Trajectory:
    """States at the recorded instants, with the account of energy; read-only arrays.

    Attributes:
        equations: of the system.
        t: (k,) s.
        states: (k,size).
        energy: (k,) total, mechanical, thermal and ``theta_0 s`` of environments, J.
        entropy: (k,) total, J/K.
        supplied: (k,) work that came in at outer ports since the beginning, J.
        violation: (k,) largest step by which a joint is open, m or rad.
    """

    equations: Equations
    t: Array
    states: Array
    energy: Array
    entropy: Array
    supplied: Array
    violation: Array

    @property
    def final(self) -> Array:
        """The last state, (size,)."""
        return self.states[-1]

    @property
    def first_law(self) -> Array:
        """(k,) energy that came from nowhere since the beginning, J; zero but for errors."""
        return self.energy - self.energy[0] - self.supplied

    def value(self, name: str) -> Array:
        """Return one state over time, (k, ...), by junction or ``"box.port"``."""
        held = self.equations.layout.find(name)
        return self.states[:, held.at].reshape(-1, *held.space.shape)

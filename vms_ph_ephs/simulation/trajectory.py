# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The recorded motion of a system, with its energy balance."""

from dataclasses import dataclass

from vms_ph_dynamics.arrays import Array

from ..equations import Equations


@dataclass(frozen=True)
class Trajectory:
    """States at the recorded instants, with the energy balance; read-only arrays.

    Attributes:
        equations: of the system.
        t: (k,) s.
        states: (k,size).
        energy: (k,) total, mechanical, thermal and ``theta_0 s`` of environments, J.
        entropy: (k,) total, J/K.
        supplied: (k,) energy supplied at the outer ports since the beginning, J.
        violation: (k,) largest violation of a joint closure, m or rad.
    """

    equations: Equations
    t: Array
    states: Array
    energy: Array
    entropy: Array
    supplied: Array
    violation: Array

    def __repr__(self) -> str:
        """Return the size of the run and the largest violation of the first law."""
        return (
            f"Trajectory({len(self.t)} instants from {self.t[0]:g} to {self.t[-1]:g} s, largest "
            f"unaccounted energy {abs(self.first_law).max():.1e} J, largest joint opening "
            f"{self.violation.max():.1e})"
        )

    @property
    def final(self) -> Array:
        """The last state, (size,)."""
        return self.states[-1]

    @property
    def first_law(self) -> Array:
        """(k,) unaccounted energy since the beginning, J; zero up to numerical errors."""
        return self.energy - self.energy[0] - self.supplied

    def value(self, name: str) -> Array:
        """Return one state over time, (k, ...), by junction or ``"box.port"``."""
        held = self.equations.layout.find(name)
        return self.states[:, held.at].reshape(-1, *held.space.shape)

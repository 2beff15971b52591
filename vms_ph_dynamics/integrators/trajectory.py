"""What a run gives: states, energies, momenta, and the books of every step."""

from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ..arrays import Array
from ..errors import StateError
from .stepper import Stepper


@dataclass(frozen=True)
class Audit:
    """Where the energy went between one recorded instant and the next; arrays of length N.

    Attributes:
        stored: change of the energy, computed from configuration and velocity alone, J.
        supplied: energy that every port brought, by the scheme's own quadrature, J.
        dissipated: energy that was dissipated, by the same, J.
        iterations: the most that a step of the interval took; 0 for explicit schemes.
    """

    stored: Array
    supplied: Mapping[str, Array]
    dissipated: Array
    iterations: npt.NDArray[np.int64]

    @property
    def residual(self) -> Array:
        """``stored - supplied + dissipated``: what the scheme misses, (N,), J."""
        return self.stored - sum(self.supplied.values(), 0.0 * self.stored) + self.dissipated


@dataclass(frozen=True)
class FailedStep:
    """A step that did not succeed and was taken again in halves.

    Attributes:
        t: where it began, s.
        dt: its length, s.
        reason: in words.
    """

    t: float
    dt: float
    reason: str


@dataclass(frozen=True)
class Occurrence:
    """An event that took place.

    Attributes:
        event: its name.
        t: s.
        state: just after it.
    """

    event: str
    t: float
    state: Any


@dataclass(frozen=True)
class Trajectory:
    """A run, recorded at N+1 instants.

    Attributes:
        t: (N+1,) s.
        states: at these instants; of a robot :class:`PHState`.
        energy: (N+1,) computed from configuration and velocity, not taken from the scheme, J.
        spatial_momentum: (N+1,b) about the inertial origin, in inertial axes.
        audit: the books between the instants.
        events: what took place, in order.
        failures: steps that were tried again, in order; empty for a smooth run.
    """

    t: Array
    states: tuple[Any, ...]
    energy: Array
    spatial_momentum: Array
    audit: Audit
    events: tuple[Occurrence, ...]
    failures: tuple[FailedStep, ...]
    _stepper: Stepper
    _ports: Any

    @property
    def q(self) -> Array:
        """Configurations, (N+1,nq), of a robot."""
        return np.stack([x.q for x in self.states])

    @property
    def z(self) -> Array:
        """Momenta, (N+1,nv), of a robot."""
        return np.stack([x.z for x in self.states])

    def at(self, t: float) -> Any:
        """Return the state at any time of the run, interpolated between recorded instants.

        The interpolation takes the motion between two instants for smooth: where an event or a jump
        of an effort lies between them, record more often, or look at the events.

        Raises:
            StateError: a time outside the run.
        """
        if not self.t[0] <= t <= self.t[-1]:
            raise StateError(f"t must be within [{self.t[0]}, {self.t[-1]}] s; given: {t}")
        k = min(bisect_right(self.t.tolist(), t), len(self.t) - 1) - 1
        if k < 0:
            return self.states[0]
        start, end = float(self.t[k]), float(self.t[k + 1])
        between = self._stepper.interpolant(
            self.states[k], self.states[k + 1], self._ports, start, end - start
        )
        return between(t)

# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The record of a run: states, energies, momenta, and the energy balance of every interval."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt

from ..arrays import Array
from ..energy.legend import label_of
from ..errors import WithHints
from .stepper import Stepper

# A balance is closed when less is unaccounted than this share of what was exchanged, and than the
# rounding of energies of robots at rest, J.
_CLOSED_SHARE, _ROUNDING = 1e-6, 1e-9


@dataclass(frozen=True)
class EnergyBalance(WithHints):
    """The energy balance between one recorded instant and the next; arrays of length N.

    Attributes:
        stored: change of the energy, computed from configuration and velocity alone, J.
        supplied: energy supplied through every port, by the quadrature of the scheme, J.
        dissipated: energy dissipated, by the same quadrature, J.
        iterations: the largest number in a step of the interval; 0 for explicit schemes.
        notes: sentences on the motion that the balance does not say.
    """

    stored: Array
    supplied: Mapping[str, Array]
    dissipated: Array
    iterations: npt.NDArray[np.int64]
    notes: tuple[str, ...] = ()

    HINTS: ClassVar[Mapping[str, str]] = {"residual": "unaccounted unaccounted_energy error"}

    @property
    def residual(self) -> Array:
        """``stored - supplied + dissipated``: the unaccounted energy, (N,), J."""
        return self.stored - sum(self.supplied.values(), 0.0 * self.stored) + self.dissipated

    @property
    def exchanged(self) -> float:
        """Energy that was stored, supplied and dissipated, each by its size, J."""
        energies = (*self.supplied.values(), self.dissipated, self.stored)
        return float(sum(np.abs(energy).sum() for energy in energies))

    @property
    def is_closed(self) -> bool:
        """Whether the largest unaccounted energy is below a millionth of what was exchanged."""
        largest_residual = np.abs(np.cumsum(self.residual)).max(initial=0.0)
        return bool(largest_residual <= _CLOSED_SHARE * self.exchanged + _ROUNDING)

    def __repr__(self) -> str:
        """Return the sums and the verdict, in one line."""
        supplied = sum(float(energy.sum()) for energy in self.supplied.values())
        return (
            f"EnergyBalance({len(self.stored)} intervals: stored {self.stored.sum():.4g} J, "
            f"supplied {supplied:.4g} J, dissipated {self.dissipated.sum():.4g} J, "
            f"{'closed' if self.is_closed else 'open'})"
        )

    def __str__(self) -> str:
        """Return the balance from start to end, in about ten lines."""
        largest_residual = float(np.abs(np.cumsum(self.residual)).max(initial=0.0))
        lines = ["energy balance (J), positive into the robot"]
        lines += [
            f"  supplied by {label_of(name):<21}{float(energy.sum()):+14.6g}"
            for name, energy in self.supplied.items()
        ]
        lines += [
            f"  {'dissipated':<33}{float(self.dissipated.sum()):+14.6g}",
            f"  {'stored':<33}{float(self.stored.sum()):+14.6g}",
            f"  {'unaccounted':<33}{float(self.residual.sum()):+14.3g}",
            f"  {'largest unaccounted at any time':<33}{largest_residual:+14.3g}",
        ]
        verdict = "closed" if self.is_closed else "open"
        share = f", {largest_residual / (self.exchanged or 1.0):.1e} of the energy exchanged"
        if self.exchanged <= np.abs(self.stored).sum():  # which is then the error itself
            share = ", as no port and no friction was active all of it is an error"
        lines.append(f"  verdict: {verdict}{share if largest_residual > _ROUNDING else ''}")
        return "\n".join([*lines, *self.notes])


@dataclass(frozen=True)
class FailedStep:
    """A failed step, which was repeated as two halves.

    Attributes:
        t: time of its beginning, s.
        dt: its length, s.
        reason: reason of the failure, in words.
    """

    t: float
    dt: float
    reason: str


@dataclass(frozen=True)
class Event:
    """An event, which takes place when ``value(t, state)`` crosses zero.

    The step ends at the event and the next one begins there: forces that begin or end at the event
    keep the order of the scheme.

    Attributes:
        name: name of the event in the trajectory.
        value: the function, such as the height of a foot above the floor.
        direction: the crossings that count: upwards, downwards or both.
        terminal: whether the run ends with it.
    """

    name: str
    value: Callable[[float, Any], float]
    direction: Literal["up", "down", "both"] = "both"
    terminal: bool = False

    def is_crossing(self, start: float, end: float) -> bool:
        """Return whether a change from one value to another is such a crossing."""
        is_upward, is_downward = start < 0.0 <= end, start > 0.0 >= end
        return (is_upward and self.direction != "down") or (is_downward and self.direction != "up")


@dataclass(frozen=True)
class Occurrence:
    """An event that took place in a run.

    Attributes:
        event: name of the event.
        t: time, s.
        state: state just after it.
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
        spatial_momentum: (N+1,b) about the inertial origin, in inertial axes; those of the mount on
            a planar base that is mounted with a tilt.
        audit: the energy balance between the instants.
        events: events of the run, in order.
        failures: failed steps, in order.
    """

    t: Array
    states: tuple[Any, ...]
    energy: Array
    spatial_momentum: Array
    audit: EnergyBalance
    events: tuple[Occurrence, ...]
    failures: tuple[FailedStep, ...]
    _stepper: Stepper

    def __repr__(self) -> str:
        """Return steps, duration, scheme and the largest residual of the energy balance."""
        fields = [
            f"{len(self.t) - 1} intervals",
            f"{self.t[0]:g} to {self.t[-1]:g} s",
            f"scheme {self._stepper.name or type(self._stepper).__name__}",
            f"largest audit residual {np.abs(self.audit.residual).max(initial=0.0):.1e} J",
        ]
        if self.events:
            fields.append(f"{len(self.events)} events")
        if self.failures:
            fields.append(f"{len(self.failures)} failed steps")
        return f"Trajectory({', '.join(fields)})"

    @property
    def q(self) -> Array:
        """Configurations, (N+1,nq), of a robot."""
        return np.stack([state.q for state in self.states])

    @property
    def v(self) -> Array:
        """Velocities, (N+1,nv), of a robot."""
        form = self._stepper.form  # type: ignore[attr-defined]
        return np.stack([form.velocity(state) for state in self.states])

    @property
    def z(self) -> Array:
        """Momenta, (N+1,nv), of a robot."""
        return np.stack([state.z for state in self.states])

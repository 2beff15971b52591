# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""What an identification found, with intervals, and what the data do not tell."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from ..actuation.friction import Friction
from ..arrays import Array
from .unknowns import Unknown


@dataclass(frozen=True)
class Parameter:
    """An identified parameter.

    Attributes:
        name: such as ``payload_mass`` or ``friction.joint1.viscous``.
        kind: payload, friction, gains, armature or inertia.
        unit: SI.
        value: the estimate, physically consistent; None if the data do not excite it.
        low, high: bounds of the 95 % interval; None if the data do not excite it.
        at_bound: whether the interval ends at a bound of physics, such as zero friction.
        meaning: the combination of parameters of which this is the value, or empty.
        reason: why there is no value, or empty.
    """

    name: str
    kind: str
    unit: str
    value: float | None
    low: float | None
    high: float | None
    at_bound: bool = False
    meaning: str = ""
    reason: str = ""

    def contains(self, truth: float) -> bool:
        """Return whether the interval contains a number; False if there is none."""
        return self.low is not None and self.high is not None and self.low <= truth <= self.high

    def overlaps(self, other: "Parameter") -> bool:
        """Return whether the intervals of two estimates have a number in common."""
        if self.low is None or self.high is None or other.low is None or other.high is None:
            return True
        return self.low <= other.high and other.low <= self.high


@dataclass(frozen=True)
class FoundLoad:
    """What was found in a recording whose load is known.

    Attributes:
        name: of the recording.
        session: see :class:`.Reference`.
        load: mass that it has, kg.
        estimate: mass that was found, kg.
        deviation: standard deviation of the estimate by the noise of this recording, kg.
    """

    name: str
    session: str
    load: float
    estimate: float
    deviation: float

    @property
    def error(self) -> float:
        """Estimate less load, kg."""
        return self.estimate - self.load


@dataclass(frozen=True)
class Belief:
    """The joint distribution of all unknowns, as a prior of a later identification.

    Attributes:
        names: of the unknowns.
        mean: (p,).
        covariance: (p,p).
        references: what such a belief found in recordings with known loads; or empty.
    """

    names: tuple[str, ...]
    mean: Array
    covariance: Array
    references: tuple[FoundLoad, ...] = ()


@dataclass(frozen=True)
class Identification:
    """The result of :func:`.identify`.

    Attributes:
        parameters: what was asked for, claimed or not.
        belief: of all unknowns, for a later identification of the same robot.
        gross: sum over the joints of the integral of ``|tau qdot|``, J.
        unaccounted_before: largest unaccounted energy at any time with the given model, J.
        unaccounted: the same with what was identified, J.
        residual: standard deviation of the windows' residuals, J.
        windows: number of windows; ``length`` of a window, s.
        frame: at which a payload is fixed.
        unknowns: all unknowns, and ``consistent``: their physically consistent estimates.
        outliers: share of the windows that were left out as outliers.
        torque: what the torque regressor finds in the same data, by name.
        quantile: number of standard deviations in half an interval (Student).
    """

    parameters: tuple[Parameter, ...]
    belief: Belief
    gross: float
    unaccounted_before: float
    unaccounted: float
    residual: float
    windows: int
    length: float
    outliers: float
    frame: str
    unknowns: tuple[Unknown, ...]
    consistent: Array
    torque: Mapping[str, Parameter] = field(default_factory=dict)
    quantile: float = 1.96

    def __getitem__(self, name: str) -> Parameter:
        for parameter in self.parameters:
            if parameter.name == name:
                return parameter
        raise KeyError(f"{name}; there are {', '.join(p.name for p in self.parameters)}")

    @property
    def claimed(self) -> tuple[Parameter, ...]:
        """The parameters that the data excite."""
        return tuple(p for p in self.parameters if p.value is not None)

    @property
    def not_excited(self) -> tuple[Parameter, ...]:
        """The parameters of which the data say nothing."""
        return tuple(p for p in self.parameters if p.value is None)

    def as_dictionary(self) -> dict[str, object]:
        """Return the claimed parameters by name and what is not excited, ready for JSON."""
        found: dict[str, object] = {}
        for p in self.parameters:
            if p.value is None:
                continue
            entry: dict[str, object] = {
                "value": p.value,
                "low": p.low,
                "high": p.high,
                "unit": p.unit,
            }
            if p.at_bound:
                entry["at_bound"] = True
            if p.meaning:
                entry["meaning"] = p.meaning
            if p.name in self.torque and self.torque[p.name].value is not None:
                other = self.torque[p.name]
                entry["torque_regressor"] = {
                    "value": other.value,
                    "low": other.low,
                    "high": other.high,
                    "agrees": p.overlaps(other),
                }
            found[p.name] = entry
        found["not_excited"] = {p.name: p.reason for p in self.not_excited}
        return found

    def friction(self, joints: tuple[str, ...]) -> Friction:
        """Return the identified friction as the simulator takes it; zero where not excited."""
        coefficients = {
            term: np.array([self._value(f"friction.{joint}.{term}") for joint in joints])
            for term in ("viscous", "coulomb")
        }
        return Friction(coefficients["viscous"], coefficients["coulomb"])

    def _value(self, name: str) -> float:
        try:
            return max(self[name].value or 0.0, 0.0)
        except KeyError:
            return 0.0

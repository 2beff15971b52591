# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The unknowns of an identification, with names, units and priors, and its result."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from ..arrays import Array
from ..energy.regressor import PARAMETER_NAMES, EnergyRegressor
from ..errors import OptionError

KINDS = ("payload", "friction", "gains", "armature", "inertia", "drag")
"""What can be identified."""

STRIBECK = (0, 20, 40, 80, 160, 320, 640)
"""Widths of the excess of dry friction at low speed, 1e-3 rad/s or m/s: together of any shape."""

LEFT_OUT = "left out: no multiple of the model"
"""Begin of the reason why a joint is left out."""

NO_EFFORT = "no effort of this joint is recorded"
"""Why a joint is left out without which no balance of energy closes."""

NO_TORQUES = "the efforts are no torques"
"""Begin of the reason why currents give gains only."""

UNSURE_GAINS = (
    "gains and friction are unsure, because an unknown load (payload) explains the efforts better: "
    "record without a load"
)
"""Why nothing is identified where a load that was not asked for fits better."""

UNSURE_LOAD = "unsure, because the load"
"""Begin of the meaning of a load whose mass is unsure."""

EFFORT_LAG = "timing.effort_lag"
"""Name of the time by which recorded efforts lag the positions; it is always estimated."""

# Standard deviations of what a description says of a body: mass, centre (m), size (m).
_MASS_STD, _CENTRE_STD, _SIZE_STD = 0.2, 0.03, 0.1
_PAYLOAD_SIZE = 0.15  # m, a length of loads that hands hold
_BODY_UNITS = ["kg", *3 * ["kg m"], *6 * ["kg m^2"]]  # of the ten parameters of a body


@dataclass(frozen=True)
class Unknown:
    """One unknown.

    Attributes:
        name: such as ``friction.joint1.viscous``.
        kind: of :data:`KINDS`.
        unit: SI.
        mean: what is believed beforehand.
        deviation: standard deviation of that prior.
        floor: smallest value that physics allows.
        body_deviation: standard deviation of an error that it shares with the others of its body.
    """

    name: str
    kind: str
    unit: str
    mean: float
    deviation: float
    floor: float = -np.inf
    body_deviation: float = 0.0


def prior_of(unknowns: Sequence[Unknown]) -> tuple[Array, Array]:
    """Return the mean (p,) and the covariance (p,p) of what is known beforehand."""
    bodies = np.array([unknown.name.rpartition(".")[0] for unknown in unknowns])
    body_deviations = np.array([u.body_deviation for u in unknowns])
    covariance = np.diag([u.deviation**2 for u in unknowns])
    covariance += (bodies[:, None] == bodies) * np.outer(body_deviations, body_deviations)
    return np.array([u.mean for u in unknowns]), covariance


def checked_kinds(kinds: Collection[str]) -> tuple[str, ...]:
    """Return the kinds in the order of :data:`KINDS`.

    Raises:
        OptionError: a kind is unknown, none is given, or two of them only fix each other's scale.
    """
    unknown_kinds = [kind for kind in kinds if kind not in KINDS]
    if unknown_kinds or not kinds:
        names = ", ".join(unknown_kinds) or "nothing"
        raise OptionError(f"{names} cannot be identified; choose from {', '.join(KINDS)}")
    if "gains" in kinds and "inertia" in kinds:
        raise OptionError(
            "gains and inertia fix each other's scale only; identify the inertia from torques, or "
            "the gains with the inertia of the description"
        )
    return tuple(kind for kind in KINDS if kind in kinds)


def payload_unknowns(total_mass: float) -> list[Unknown]:
    """Return the ten unknowns of a body fixed at a frame."""
    mass = 0.5 * total_mass
    deviations = [mass, *3 * [mass * _PAYLOAD_SIZE], *6 * [mass * _PAYLOAD_SIZE**2]]
    return [
        Unknown(f"payload.{name}", "payload", unit, 0.0, deviation)
        for name, unit, deviation in zip(PARAMETER_NAMES, _BODY_UNITS, deviations, strict=True)
    ]


def friction_unknowns(
    joints: Sequence[str], prismatic: Sequence[bool], rms: list[Array], by_load: bool, motors: Array
) -> list[Unknown]:
    """Return the unknowns of friction, term by term for every joint.

    Args:
        joints: names.
        prismatic: whether a joint is prismatic.
        rms: root mean squares of the efforts, which bound what friction can be, and of the joint
            rates, each (n,).
        by_load: whether friction may grow with the load of the gears.
        motors: (n,n), with a row for each motor, in which the joints that it moves are not zero.
    """
    unknowns = []
    for name, is_prismatic, effort, speed, row in zip(joints, prismatic, *rms, motors, strict=True):
        unit, rate_unit = ("N", "N s/m") if is_prismatic else ("N m", "N m s/rad")
        effort = max(float(effort), 1e-3)
        viscous = effort / max(float(speed), 1e-2)
        for term in ("", "motor_") if np.count_nonzero(row) > 1 else ("",):
            unknowns += [
                Unknown(f"friction.{name}.{term}viscous", "friction", rate_unit, 0.0, viscous, 0.0),
                Unknown(f"friction.{name}.{term}coulomb", "friction", unit, 0.0, effort, 0.0),
            ]
        unknowns.append(Unknown(f"friction.{name}.offset", "friction", unit, 0.0, effort))
        if by_load:
            unknowns.append(Unknown(f"friction.{name}.load", "friction", "1", 0.0, 0.1, 0.0))
    return unknowns


def armature_unknowns(
    joints: Sequence[str], prismatic: Sequence[bool], armatures: Array
) -> list[Unknown]:
    """Return what rotors add to the armature of the description, kg m^2; kg of prismatic joints."""
    return [
        Unknown(f"armature.{name}", "armature", "kg" if slides else "kg m^2", 0.0, 1.0, -armature)
        for name, slides, armature in zip(joints, prismatic, armatures.tolist(), strict=True)
    ]


def timing_unknown() -> Unknown:
    """Return by how much the recorded efforts lag the positions."""
    return Unknown(EFFORT_LAG, "timing", "s", 0.0, 0.005)


def inertia_unknowns(
    regressor: EnergyRegressor, share: float = 1.0, mass_error: float = 0.0
) -> list[Unknown]:
    """Return the deviations of the ten parameters of every body from the description.

    Args:
        regressor: has the bodies.
        share: of the usual deviation of a description.
        mass_error: share by which the mass of a body may be in error, with its moments.
    """
    unknowns = []
    for k, body in enumerate(regressor.bodies):
        described = regressor.parameters[10 * k : 10 * k + 10]
        mass = _MASS_STD * described[0] + 0.05
        centre = np.abs(described[1:4]) / max(described[0], 1e-3)
        moment_std = np.hypot(_CENTRE_STD * described[0], 0.02 * mass) + mass * centre
        inertia_std = (described[0] + mass) * _SIZE_STD**2 + 0.3 * np.abs(described[4:]).max()
        deviations = (share * np.array([mass, *moment_std, *6 * [inertia_std]])).tolist()
        columns = PARAMETER_NAMES, _BODY_UNITS, deviations, (mass_error * described).tolist()
        unknowns += [
            Unknown(f"inertia.{body}.{name}", "inertia", unit, 0.0, std, body_deviation=error)
            for name, unit, std, error in zip(*columns, strict=True)
        ]
    return unknowns


@dataclass(frozen=True)
class Parameter:
    """An identified parameter.

    Attributes:
        name: such as ``payload_mass`` or ``friction.joint1.viscous``.
        kind: payload, friction, gains, armature, inertia, drag, or timing.
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
    value: float | None = None
    low: float | None = None
    high: float | None = None
    at_bound: bool = False
    meaning: str = ""
    reason: str = ""

    @property
    def joint(self) -> str:
        """The joint whose friction, gain or armature it is, or empty."""
        parts = self.name.split(".", 1)
        if self.kind == "friction":
            return parts[-1].rpartition(".")[0]
        return parts[-1] if self.kind in ("gains", "armature") else ""

    @property
    def is_sure(self) -> bool:
        """Whether there is a value that is not called unsure."""
        return self.value is not None and not self.meaning.startswith("unsure")

    def times(self, gain: float) -> "Parameter":
        """Return the parameter of efforts that were multiplied by a gain before."""
        if gain == 1.0 or self.value is None or self.low is None or self.high is None:
            return self
        low, high = sorted((gain * self.low, gain * self.high))
        return replace(self, value=gain * self.value, low=low, high=high)

    def widen(self, other: "Parameter") -> "Parameter":
        """Return the parameter with an interval that contains that of another estimate too."""
        if self.low is None or self.high is None or other.low is None or other.high is None:
            return self
        low, high = min(self.low, other.low), max(self.high, other.high)
        meaning = self.meaning
        if high - low > max(1.5 * (self.high - self.low), 0.1 * abs(self.value or 0.0)):
            cause = "an unknown load" if self.kind == "gains" else "a delay of the effort"
            text = f"unsure, because it depends on the friction law at low speed or {cause}"
            meaning = meaning or text
        at_bound = self.at_bound or other.at_bound
        return replace(self, low=low, high=high, at_bound=at_bound, meaning=meaning)

    def without_value(self, reason: str) -> "Parameter":
        """Return the parameter as one that is not excited, with the reason."""
        return Parameter(self.name, self.kind, self.unit, meaning=self.meaning, reason=reason)

    def contains(self, number: float) -> bool:
        """Return whether the interval contains a number; False if there is none."""
        return self.low is not None and self.high is not None and self.low <= number <= self.high

    def overlaps(self, other: "Parameter", margin: float = 0.0, negligible: float = 0.0) -> bool:
        """Return whether two intervals have a number in common, or are near.

        Args:
            other: another estimate.
            margin: distance that counts as near, in sums of both half intervals.
            negligible: distance that counts as near in any case, in the unit of the parameter.
        """
        if self.low is None or self.high is None or other.low is None or other.high is None:
            return True
        tolerance = max(0.5 * margin * (self.high - self.low + other.high - other.low), negligible)
        return self.low <= other.high + tolerance and other.low <= self.high + tolerance


def parameter_named(parameters: Sequence[Parameter], name: str) -> Parameter:
    """Return the parameter of a name.

    Raises:
        KeyError: there is none; the message has the names.
    """
    for parameter in parameters:
        if parameter.name == name:
            return parameter
    raise KeyError(f"{name}; there are {', '.join(p.name for p in parameters)}")


@dataclass(frozen=True)
class LoadEstimate:
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
class Posterior:
    """The joint distribution of all unknowns, as a prior of a later identification.

    Attributes:
        names: of the unknowns.
        mean: (p,).
        covariance: (p,p).
        references: what such an estimate found in recordings with known loads; or empty.
    """

    names: tuple[str, ...]
    mean: Array
    covariance: Array
    references: tuple[LoadEstimate, ...] = ()

    def times(self, gains: Mapping[str, float]) -> "Posterior":
        """Return the distribution with some unknowns multiplied by gains."""
        factors = np.array([gains.get(name, 1.0) for name in self.names])
        covariance = self.covariance * np.outer(factors, factors)
        return replace(self, mean=self.mean * factors, covariance=covariance)


@dataclass(frozen=True)
class Identification:
    """The result of :func:`.identify`.

    Attributes:
        parameters: what was asked for, claimed or not.
        posterior: of all unknowns, for a later identification of the same robot.
        gross: sum over the joints of the integral of ``|tau qdot|``, J.
        unaccounted_before: largest unaccounted energy at any time with the given model, J.
        unaccounted: the same with what was identified, J.
        residual: standard deviation of the windows' residuals, J.
        windows: number of windows; ``length`` of a window, s.
        frame: at which a payload is fixed.
        unknowns: all unknowns, and ``consistent``: their physically consistent estimates.
        energy: what the balances of energy find in the same data, by name.
        quantile: number of standard deviations in half an interval (Student).
        error: by joint, the held-out error of the torques relative to the root mean square of the
            efforts, with what was identified and with friction alone.
        scaled: by joint, gains that were not asked for and with which the efforts fit far better.
        disturbed: times, s, that were left out, as other forces acted.
    """

    parameters: tuple[Parameter, ...]
    posterior: Posterior
    gross: float
    unaccounted_before: float
    unaccounted: float
    residual: float
    windows: int
    length: float
    frame: str
    unknowns: tuple[Unknown, ...]
    consistent: Array
    energy: Mapping[str, Parameter] = field(default_factory=dict)
    quantile: float = 1.96
    error: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    scaled: Mapping[str, float] = field(default_factory=dict)
    disturbed: tuple[tuple[float, float], ...] = ()

    def __getitem__(self, name: str) -> Parameter:
        return parameter_named(self.parameters, name)

    def __repr__(self) -> str:
        """Return how many parameters are claimed, and the first four of them."""
        rows = [
            f"{p.name} {p.value:.4g} {p.unit} ({p.low:.4g} to {p.high:.4g})" for p in self.claims
        ]
        first = f"Identification({len(rows)} of {len(self.parameters)} claimed)"
        return "\n  ".join([first, *rows[:4]])

    @property
    def claims(self) -> tuple[Parameter, ...]:
        """The parameters that the data excite."""
        return tuple(parameter for parameter in self.parameters if parameter.value is not None)

    @property
    def not_excited(self) -> tuple[Parameter, ...]:
        """The parameters of which the data say nothing."""
        return tuple(parameter for parameter in self.parameters if parameter.value is None)

    def without_values(self, reason: str) -> "Identification":
        """Return it where all that was identified is wrong, for a reason."""
        parameters = tuple(parameter.without_value(reason) for parameter in self.parameters)
        empty = Posterior((), np.zeros(0), np.zeros((0, 0)))
        return replace(self, parameters=parameters, posterior=empty)

    def as_dictionary(self) -> dict[str, object]:
        """Return the claimed parameters by name and what is not excited, ready for JSON."""
        entries: dict[str, object] = {}
        for p in self.claims:
            entry: dict[str, object] = {k: getattr(p, k) for k in ("value", "low", "high", "unit")}
            entry |= {key: getattr(p, key) for key in ("at_bound", "meaning") if getattr(p, key)}
            if (check := self.energy.get(p.name)) is not None and check.value is not None:
                energy_estimate = {"value": check.value, "low": check.low, "high": check.high}
                entry["energy"] = {**energy_estimate, "agrees": p.overlaps(check)}
            entries[p.name] = entry
        entries["held_out_error"] = {
            joint: {"identified": error, "friction_alone": null}
            for joint, (error, null) in self.error.items()
        }
        if self.disturbed:
            entries["disturbed"] = [{"begin": begin, "end": end} for begin, end in self.disturbed]
        entries["not_excited"] = {p.name: p.reason for p in self.not_excited}
        return entries

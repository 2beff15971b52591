# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Distributions of sampled parameters, each a map from (0, 1) to values."""

import hashlib
from abc import ABC, abstractmethod
from bisect import bisect_right
from dataclasses import dataclass, fields
from itertools import accumulate
from math import exp, floor, isfinite, log
from statistics import NormalDist
from typing import Any, ClassVar

from vms_ph_dynamics import OptionError

Scalar = float | int | str | bool


class Distribution(ABC):
    """A distribution: its inverse distribution function.

    Attributes:
        syntax: how it is written in a study file.
    """

    syntax: ClassVar[str]

    @abstractmethod
    def value(self, u: float) -> Scalar:
        """Return the value that a share ``u`` in (0, 1) of all values does not exceed."""


@dataclass(frozen=True)
class Uniform(Distribution):
    """Uniform between two bounds."""

    low: float
    high: float
    syntax: ClassVar[str] = "uniform: {low: NUMBER, high: NUMBER}"

    def __post_init__(self) -> None:
        _require(self.low < self.high, f"low={self.low:g} must be below high={self.high:g}")

    def value(self, u: float) -> Scalar:
        """Return the value at a share."""
        return self.low + u * (self.high - self.low)


@dataclass(frozen=True)
class LogUniform(Distribution):
    """Uniform in the logarithm between two positive bounds."""

    low: float
    high: float
    syntax: ClassVar[str] = "log_uniform: {low: NUMBER, high: NUMBER}"

    def __post_init__(self) -> None:
        _require(
            0.0 < self.low < self.high,
            f"0 < low < high is required; given: low={self.low:g}, high={self.high:g}",
        )

    def value(self, u: float) -> Scalar:
        """Return the value at a share."""
        return exp(log(self.low) + u * (log(self.high) - log(self.low)))


@dataclass(frozen=True)
class Normal(Distribution):
    """Normal, and truncated where bounds are given."""

    mean: float
    deviation: float
    low: float = float("-inf")
    high: float = float("inf")
    syntax: ClassVar[str] = "normal: {mean: NUMBER, deviation: NUMBER, low: NUMBER, high: NUMBER}"

    def __post_init__(self) -> None:
        _require(self.deviation > 0.0, f"deviation={self.deviation:g} must be above zero")
        _require(self.low < self.high, f"low={self.low:g} must be below high={self.high:g}")
        probability = self._distribution.cdf(self.high) - self._distribution.cdf(self.low)
        _require(probability > 1e-9, "no value of this distribution lies between low and high")

    @property
    def _distribution(self) -> NormalDist:
        return NormalDist(self.mean, self.deviation)

    def value(self, u: float) -> Scalar:
        """Return the value at a share."""
        distribution = self._distribution
        p_low, p_high = distribution.cdf(self.low), distribution.cdf(self.high)
        return min(max(distribution.inv_cdf(p_low + u * (p_high - p_low)), self.low), self.high)


@dataclass(frozen=True)
class Integers(Distribution):
    """Whole numbers between two bounds, both included, equally likely."""

    low: float
    high: float
    syntax: ClassVar[str] = "integers: {low: WHOLE NUMBER, high: WHOLE NUMBER}"

    def __post_init__(self) -> None:
        are_integers = float(self.low).is_integer() and float(self.high).is_integer()
        _require(
            are_integers and self.low <= self.high,
            f"whole numbers low <= high are required; given: low={self.low}, high={self.high}",
        )

    def value(self, u: float) -> Scalar:
        """Return the value at a share."""
        return int(self.low) + floor(u * (int(self.high) - int(self.low) + 1))


@dataclass(frozen=True)
class Choice(Distribution):
    """One of some values, equally likely or by weights."""

    of: tuple[Scalar, ...]
    weights: tuple[float, ...] = ()
    syntax: ClassVar[str] = "choice: {of: [VALUE, ...], weights: [NUMBER, ...]}"

    def __post_init__(self) -> None:
        _require(bool(self.of), "'of' must list at least one value")
        weights = self.weights or (1.0,) * len(self.of)
        _require(
            len(weights) == len(self.of) and all(weight > 0.0 for weight in weights),
            f"'weights' must be {len(self.of)} numbers above zero, one for each value",
        )

    def value(self, u: float) -> Scalar:
        """Return the value at a share."""
        weights = self.weights or (1.0,) * len(self.of)
        weight_sums = list(accumulate(weights))
        return self.of[min(bisect_right(weight_sums, u * weight_sums[-1]), len(self.of) - 1)]


DISTRIBUTIONS: dict[str, type[Distribution]] = {
    "uniform": Uniform,
    "log_uniform": LogUniform,
    "normal": Normal,
    "integers": Integers,
    "choice": Choice,
}


def make_distribution(name: str, arguments: dict[str, Any]) -> Distribution:
    """Return a distribution by its name and numbers.

    Raises:
        OptionError: a number is missing, unknown or not accepted.
    """
    kind = DISTRIBUTIONS[name]
    accepted = [field.name for field in fields(kind)]  # type: ignore[arg-type]
    for key, value in arguments.items():
        if key not in accepted:
            raise OptionError(f"'{key}' is unknown; it is written {kind.syntax}")
        if isinstance(value, list):
            arguments = {**arguments, key: tuple(value)}
        elif isinstance(value, bool) or not isinstance(value, int | float) or not isfinite(value):
            raise OptionError(f"'{key}' must be a number; given: {value!r}; write {kind.syntax}")
    try:
        return kind(**arguments)
    except TypeError:
        raise OptionError(
            f"it lacks numbers; given: {', '.join(arguments) or 'nothing'}; write {kind.syntax}"
        ) from None


def _require(is_met: bool, message: str) -> None:
    if not is_met:
        raise OptionError(message)


_BITS = 53


def uniform(seed: int, name: str, run: int, component: int = 0) -> float:
    """Return a number in the open interval (0, 1).

    It does not depend on other draws: further runs or parameters leave those there are as they are.
    """
    return (_digest(f"{seed}/{name}/{run}/{component}", _BITS) + 0.5) / 2**_BITS


def seed_of(text: str) -> int:
    """Return a seed below 2^63 for a text."""
    return _digest(text, 63)


def identifier_of(text: str) -> str:
    """Return a name of 20 hexadecimal digits for a text."""
    return hashlib.sha256(text.encode()).hexdigest()[:20]


def _digest(text: str, bits: int) -> int:
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") >> (64 - bits)

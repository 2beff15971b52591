# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Paths of the joints as functions of time."""

from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from ..arrays import Array
from ..model import VMSModel


class JointMotion(NamedTuple):
    """The motion of the joints at one time.

    Attributes:
        offset: (n,) from the start of the path, rad or m.
        rate: (n,) rad/s or m/s.
        acceleration: (n,) rad/s^2 or m/s^2.
    """

    offset: Array
    rate: Array
    acceleration: Array


class JointPath(Protocol):
    """A path of the joints from a start that is given elsewhere, at rest at both ends."""

    @property
    def duration(self) -> float:
        """Time from start to end, s."""

    def __call__(self, t: float) -> JointMotion:
        """Return the motion at a time in [0, duration], s."""


@dataclass(frozen=True)
class EllipticLoop:
    """``offset = cosine (cos phi - 1) + sine sin phi``, an ellipse run through ``loops`` times.

    The phase phi follows a quintic from rest to rest.

    Attributes:
        cosine, sine: (n,) conjugate half diameters of the ellipse, rad or m.
        loops: how often it is run through; negative: backwards.
        duration: of all loops, s.
    """

    cosine: Array
    sine: Array
    loops: int
    duration: float

    def __call__(self, t: float) -> JointMotion:
        """Return the motion at a time in [0, duration], s."""
        s, turn = t / self.duration, 2.0 * np.pi * self.loops
        phase = turn * s**3 * (10.0 + s * (6.0 * s - 15.0))
        rate = turn * 30.0 * s**2 * (1.0 - s) ** 2 / self.duration
        acceleration = turn * 60.0 * s * (1.0 - s) * (1.0 - 2.0 * s) / self.duration**2
        along = self.sine * np.cos(phase) - self.cosine * np.sin(phase)
        inwards = self.offset(phase) + self.cosine
        return JointMotion(
            self.offset(phase), along * rate, along * acceleration - inwards * rate**2
        )

    def offset(self, phase: float) -> Array:
        """Return the offset (n,) at a phase, rad."""
        return self.cosine * (np.cos(phase) - 1.0) + self.sine * np.sin(phase)

    def slope(self, phase: float) -> Array:
        """Return the derivative of the offset by the phase, (n,)."""
        return self.sine * np.cos(phase) - self.cosine * np.sin(phase)

    @property
    def lowest(self) -> Array:
        """Least offset of every joint, (n,)."""
        return -self.cosine - np.hypot(self.cosine, self.sine)

    @property
    def highest(self) -> Array:
        """Largest offset of every joint, (n,)."""
        return -self.cosine + np.hypot(self.cosine, self.sine)

    @property
    def fastest(self) -> Array:
        """Largest rate of every joint, at most, (n,)."""
        peak = 1.875 * 2.0 * np.pi * abs(self.loops) / self.duration
        return np.hypot(self.cosine, self.sine) * peak


@dataclass(frozen=True)
class StraightPath:
    """The straight way to an ``offset`` (n,) at constant rate, for integrals along it.

    Attributes:
        end: (n,) offset at the end, rad or m.
        duration: s.
    """

    end: Array
    duration: float = 1.0

    def __call__(self, t: float) -> JointMotion:
        """Return the motion at a time in [0, duration], s."""
        rate = self.end / self.duration
        return JointMotion(t * rate, rate, np.zeros_like(rate))


def displaced(model: VMSModel, q: Array, offset: Array) -> Array:
    """Return a configuration with its joints displaced by (n,), rad or m."""
    return model.integrate(q, np.concatenate([np.zeros(model.b), offset]))

# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Paths of the joints, and the rotation of a free base that a closed one causes."""

from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from ..arrays import Array, frozen
from ..errors import StateError
from ..evaluation import Evaluation, check_moving_rigid
from ..groups import Group, base_group
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


# The two Gauss points of a step and the weights of the commutator-free scheme of order four.
_GAUSS = 0.5 - np.sqrt(3.0) / 6.0, 0.5 + np.sqrt(3.0) / 6.0
_EARLY, _LATE = 0.25 + np.sqrt(3.0) / 6.0, 0.25 - np.sqrt(3.0) / 6.0

_LEAST_STEPS, _MOST_STEPS = 16, 1 << 14


def base_motion(model: VMSModel, q: Array, path: JointPath, steps: int) -> Array:
    """Return the poses of the base along a path of the joints at zero momentum.

    The base moves with the twist ``-A(q) qdot``, integrated by a commutator-free scheme of order
    four, whose poses are exact elements of the group.

    Args:
        model: a robot on a planar or floating base.
        q: (nq,) the start of the path; the pose of its base is not used.
        path: of the joints.
        steps: number of steps.

    Returns:
        (steps+1,4,4), or (steps+1,3,3) on a planar base: poses relative to the first one.

    Raises:
        ModelError: the base is fixed, or the robot is in a fluid.
        StateError: q is no configuration.
    """
    dt = path.duration / steps
    times = [(k + c) * dt for k in range(steps) for c in _GAUSS]
    motions = [path(t) for t in times]
    offsets, rates = (np.array([m[i] for m in motions]) for i in (0, 1))
    return _integrated(model, q, offsets, rates, dt)


def holonomy(model: VMSModel, q: Array, loop: EllipticLoop, tolerance: float = 1e-12) -> Array:
    """Return the pose of the base after one loop, relative to that before it, (4,4) or (3,3).

    It does not depend on the speed of the loop. After N loops it is the N-th power. The steps are
    halved until the pose changes by less than the tolerance.

    Raises:
        ModelError: the base is fixed, or the robot is in a fluid.
        StateError: q is no configuration, or the steps became too many.
    """
    steps, before = _LEAST_STEPS, once(model, q, loop, _LEAST_STEPS)
    while steps < _MOST_STEPS:
        steps *= 2
        after = once(model, q, loop, steps)
        # The error of order four is a fifteenth of the change.
        if np.abs(after - before).max() < 15.0 * tolerance:
            return frozen(after)
        before = after
    raise StateError(
        f"the motion of the base along the loop did not converge to {tolerance:g} in {_MOST_STEPS} "
        "steps; give a smaller loop, or a larger tolerance"
    )


def once(model: VMSModel, q: Array, loop: EllipticLoop, steps: int) -> Array:
    """Return :func:`holonomy` of one loop by a number of steps."""
    h = 2.0 * np.pi / steps
    phases = [(k + c) * h for k in range(steps) for c in _GAUSS]
    offsets = np.array([loop.offset(phase) for phase in phases])
    return _integrated(model, q, offsets, np.array([loop.slope(p) for p in phases]), h)[-1]


def _integrated(model: VMSModel, q: Array, offsets: Array, rates: Array, h: float) -> Array:
    start = model.checked_configuration(q)
    check_moving_rigid(Evaluation(model, start, np.zeros(model.nv)))
    configurations = _displaced(model, start, offsets)
    zero_velocities = np.zeros((len(offsets), model.nv))
    connections = model.evaluate_batch(configurations, zero_velocities, terms=("A",)).A
    twists = -np.einsum("kbi,ki->kb", connections, rates)
    return _composed(base_group(model.base), twists[0::2], twists[1::2], h)


def _displaced(model: VMSModel, q: Array, offsets: Array) -> Array:
    if model.nq - model.nq_base != model.n:  # endless joints, as (cos, sin)
        return np.array([displaced(model, q, offset) for offset in offsets])
    configurations = np.tile(q, (len(offsets), 1))
    configurations[:, model.nq_base :] += offsets
    return configurations


def _composed(group: Group, early: Array, late: Array, h: float) -> Array:
    pose: Array = group.identity()
    poses = [pose]
    for first, second in zip(
        h * (_EARLY * early + _LATE * late), h * (_LATE * early + _EARLY * late), strict=True
    ):
        pose = pose @ group.exp(first) @ group.exp(second)
        poses.append(pose)
    return np.array(poses)

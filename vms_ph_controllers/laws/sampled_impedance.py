# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Damping and stiffness of a sampled law that are stable at its rate, for all gains.

An effort is held for a sample ``dt``, is computed from a state of some age and arrives up to
``delay`` samples late, so it acts on a motion that has gone on. Held as they are, a damping D above
``2 M / dt`` reverses a velocity and enlarges it, and every stiffness K adds the power
``dt K v^2 / 2``. With the horizon ``h = (1 + 2 delay) dt + 2 age`` the law instead applies

- damping to the velocity w that it leaves: ``D w = D (M + h D)^-1 M v``, which is ``D v`` for small
  h and never more than stops the motion within h;
- stiffness up to ``M / (2 h^2)`` in every direction, and at the predicted pose, which damps by
  ``h K``;
- damping of the motion by as much as the compensation of gravity, held, pumps.

For symmetric M, D and K the linear closed loop is stable for all gains, with ``delay`` samples of
delay and the age together: for an eigenvector with the quotients ``kappa = dt^2 K / M``,
``gamma = dt D / M`` the characteristic polynomial is
``z^d (z - 1)^2 + (kappa/2 + gamma) z + kappa/2 - gamma``. All gains may be 2.6 times larger before
a root leaves the unit circle (2 without delay and age).
"""

from dataclasses import dataclass
from math import isfinite
from typing import Any

import numpy as np

from vms_ph_dynamics import Array, Evaluation, VMSModel

from ..controller import ControlEnergy
from ..safety.limits import join

# Of a reduction that is reported: damping power, share and W, and lost spring force, share and N.
_REPORTED_SHARE, _LEAST_POWER, _LOST_SHARE, _LEAST_LOST = 0.5, 1e-3, 0.05, 1e-6

# The pose at which the weight is looked up is at most this far ahead, rad or m.
_MAX_DISPLACEMENT = 0.5

# What the brake takes out of what is pumped, so that it suffices while both grow from one sample
# to the next.
_BRAKE_FACTOR = 1.25

# Largest h^2 G at which a weight is held, with the largest eigenvalue G of -dg/dq relative to the
# inertia, 1/s^2: late compensation pumps at the rate h G / 2, damping takes out at most 2 / h.
_MAX_WEIGHT_RATIO = 3.0

# Step of a difference of the weight, rad or m.
_DIFFERENCE = 1e-4

DAMPING_REDUCED = "damping reduced to what is stable at this rate"
STIFFNESS_REDUCED = "stiffness reduced to what is stable at this rate"


def horizon(dt: float, delay: float, age: float = 0.0) -> float:
    """Return ``h = (1 + 2 delay) dt + 2 age``, s; without a valid dt that of continuous time.

    Damping at a rate up to 1 / h, 1/s, and a stiffness up to M / (2 h^2) are stable.

    Args:
        dt: time for which an effort is held, s.
        delay: time from the law to the robot, samples.
        age: age of the state that the law is given, s.
    """
    return (1.0 + 2.0 * delay) * max(0.0, min(dt, 1.0)) + 2.0 * age


@dataclass(frozen=True, slots=True)
class SampledImpedance:
    """Spring and damping that may be held for a sample.

    Attributes:
        spring: (nv,) gradient of the potential, reduced where the stiffness is.
        velocity: w (nv,), to be multiplied by the damping.
        predicted_spring: (nv,) additional spring force at the predicted pose, ``h K w``.
        reason: what was reduced, in words; empty when nothing was.
    """

    spring: Array
    velocity: Array
    predicted_spring: Array
    reason: str

    @classmethod
    def at(cls, d: Evaluation, *terms: Any) -> "SampledImpedance":
        """Return what a law holds at a state, computed in C++ where the model's terms are.

        Args:
            d: the state.
            terms: the arguments of :meth:`from_terms` behind the mass matrix, by their position.
        """
        algebra = None if d.tree.cpp_core is None else d.tree.cpp_core.sampled_algebra
        return cls.from_terms(d.M, *terms) if algebra is None else cls(*algebra.hold(d.M, *terms))

    @classmethod
    def from_terms(
        cls,
        mass: Array,
        damping: Array,
        stiffness: Array,
        gradient: Array,
        velocity: Array,
        h: float,
        feedforward: Array | None = None,
    ) -> "SampledImpedance":
        """Return what a law holds for a sample.

        Args:
            mass: M (nv,nv).
            damping: D (nv,nv), symmetric and positive semidefinite, as are the stiffnesses.
            stiffness: K (nv,nv), an upper bound of the Hessian of the potential.
            gradient: (nv,) of the potential.
            velocity: (nv,) of the robot, or its error.
            h: the horizon, s.
            feedforward: (nv,) damping force at the velocity of the reference; None for none.
        """
        if h <= 0.0:
            return cls(gradient, velocity, np.zeros(len(velocity)), "")
        spring, is_softened, force = gradient, False, 0.0 if feedforward is None else feedforward
        stable_ratio = 0.5 / (h * h)
        if not _is_positive_definite(stable_ratio * mass - stiffness):
            cholesky_factor = np.linalg.cholesky(mass)
            scaled_stiffness = np.linalg.solve(cholesky_factor, stiffness)
            eigvals, eigvecs = np.linalg.eigh(np.linalg.solve(cholesky_factor, scaled_stiffness.T))
            modes = cholesky_factor @ eigvecs
            share = stable_ratio / np.maximum(eigvals, stable_ratio)
            spring = modes @ (share * np.linalg.solve(modes, gradient))
            stiffness = (modes * np.clip(eigvals, 0.0, stable_ratio)) @ modes.T
            lost_force, force_size = np.linalg.norm(gradient - spring), np.linalg.norm(gradient)
            is_softened = bool(lost_force > _LOST_SHARE * force_size + _LEAST_LOST)
        D_total = damping + h * stiffness
        damped_velocity = np.linalg.solve(mass + h * D_total, mass @ velocity + h * force)
        desired_power = float(velocity @ (damping @ velocity - force))
        obtained_power = float(velocity @ (damping @ damped_velocity - force))
        reduced = desired_power > _LEAST_POWER and obtained_power < _REPORTED_SHARE * desired_power
        reason = join(DAMPING_REDUCED if reduced else "", STIFFNESS_REDUCED if is_softened else "")
        return cls(spring, damped_velocity, h * (stiffness @ damped_velocity), reason)


@dataclass(frozen=True, slots=True)
class LawEffort:
    """What springs and damping of a law demand of a robot.

    Attributes:
        continuous: (nv,) the effort in which the energy balance is stated.
        sampled: (nv,) with the reduced spring and the brake.
        energy: energies of motion and springs, and the powers of damping, reference and routing.
        reason: what was reduced, in words; empty when nothing was.
        smallest_singular_value: smallest singular value of the Jacobian of what moves the task.
    """

    continuous: Array
    sampled: Array
    energy: ControlEnergy
    reason: str
    smallest_singular_value: float = np.inf


def brake(d: Evaluation, h: float, gyroscopic: Array | None = None) -> Array:
    """Return a force (nv,) that takes out the energy which holding the other forces pumps.

    Where the weight of an arm falls as it moves on, the compensation that is held, or arrives
    late, does more work than the weight; a gyroscopic force (nv,) that is held does work. The
    force is along the momentum and takes out a quarter more than the work for the whole horizon;
    it is zero for a motion on which holding dissipates.
    """
    if h <= 0.0:
        return np.zeros(len(d.v))
    half_travel = 0.5 * h * float(np.abs(d.v).max(initial=0.0))
    twice_kinetic = 2.0 * d.kinetic_energy
    if not (half_travel > 0.0 and isfinite(half_travel) and twice_kinetic > 0.0):
        return np.zeros(len(d.v))
    model, step = d.model, 0.5 * h * min(1.0, _MAX_DISPLACEMENT / half_travel)
    pumped_power = max(0.0, float(d.v @ d.g) - d.lifting_power(model.integrate(d.q, step * d.v)))
    if gyroscopic is not None:
        pumped_power += 0.5 * h * float(gyroscopic @ np.linalg.solve(d.M, gyroscopic))
    return -min(_BRAKE_FACTOR * pumped_power / twice_kinetic, 1.0 / h) * d.momentum


def holds_weight(model: VMSModel, q: Array, h: float) -> bool:
    """Return whether the weight can be held at a configuration (nq,) over a horizon, s.

    A robot falls from a configuration at a rate of its own; no law holds it there by states that
    are too old for that.
    """
    zero = np.zeros(model.nv)
    d = Evaluation(model, q, zero)
    qs = (model.integrate(q, step) for step in _DIFFERENCE * np.eye(model.nv))
    gradient = np.array([Evaluation(model, q_next, zero).g - d.g for q_next in qs]) / _DIFFERENCE
    return _is_positive_definite(_MAX_WEIGHT_RATIO / (h * h) * d.M + 0.5 * (gradient + gradient.T))


def _is_positive_definite(matrix: Array) -> bool:
    try:
        np.linalg.cholesky(matrix)
    except np.linalg.LinAlgError:
        return False
    return True

"""Damping and stiffness of a sampled law that are stable at its rate, for all gains.

An effort is held for a sample ``dt`` and arrives up to ``delay`` samples late, so it acts on a
motion that has gone on. Held as they are, a damping D above ``2 M / dt`` reverses a velocity and
enlarges it, and every stiffness K adds the power ``dt K v^2 / 2``. With the horizon
``h = (1 + 2 delay) dt`` the law instead applies

- damping to the velocity w that it leaves: ``D w = D (M + h D)^-1 M v``, which is ``D v`` for small
  h and never more than stops the motion within h;
- stiffness up to ``M / (2 h^2)`` in every direction, and at the predicted pose, which damps by
  ``h K``;
- the compensation of gravity at the pose in the middle of the horizon.

For symmetric M, D and K the linear closed loop is stable for all gains and up to ``delay`` samples
of delay: for an eigenvector with the quotients ``kappa = dt^2 K / M``, ``gamma = dt D / M`` the
characteristic polynomial is ``z^d (z - 1)^2 + (kappa/2 + gamma) z + kappa/2 - gamma``.
"""

from dataclasses import dataclass
from math import isfinite

import numpy as np

from vms_ph_dynamics.arrays import Array
from vms_ph_dynamics.evaluation import Evaluation



# Share of the damping power, and least power (W), from which a reduction is reported.
_NOTICEABLE, _LEAST_POWER = 0.5, 1e-3

# The pose that gravity is compensated at is at most this far ahead, rad or m.
_FARTHEST = 0.5

DAMPING_REDUCED = "damping reduced to what is stable at this rate"
STIFFNESS_REDUCED = "stiffness reduced to what is stable at this rate"


def horizon(dt: float, delay: float) -> float:
    """Return ``h = (1 + 2 delay) dt``, s; zero, the law in continuous time, without a valid dt."""
    return (1.0 + 2.0 * delay) * min(dt, 1.0) if dt > 0.0 else 0.0


@dataclass(frozen=True, slots=True)
class HeldImpedance:
    """Spring and damping that may be held for a sample.

    Attributes:
        spring: (nv,) gradient of the potential, reduced where the stiffness is.
        velocity: w (nv,), to be multiplied by the damping.
        ahead: (nv,) additional spring force at the predicted pose, ``h K w``.
        reason: what was reduced, in words; empty when nothing was.
    """

    spring: Array
    velocity: Array
    ahead: Array
    reason: str

    @classmethod
    def of(
        cls,
        mass: Array,
        damping: Array,
        stiffness: Array,
        gradient: Array,
        velocity: Array,
        h: float,
        drift: Array | float = 0.0,
    ) -> "HeldImpedance":
        """Return what a law holds for a sample.

        Args:
            mass: M (nv,nv).
            damping: D (nv,nv), symmetric and positive semidefinite, as are the stiffnesses.
            stiffness: K (nv,nv), an upper bound of the Hessian of the potential.
            gradient: (nv,) of the potential.
            velocity: (nv,) of the robot, or its error.
            h: the horizon, s.
            drift: (nv,) damping force at the velocity of the reference.
        """
        if h <= 0.0:
            return cls(gradient, velocity, np.zeros(len(velocity)), "")
        spring, reduced = gradient, False
        most = 0.5 / (h * h)
        if not _is_positive(most * mass - stiffness):
            factor = np.linalg.cholesky(mass)
            half = np.linalg.solve(factor, stiffness)
            values, vectors = np.linalg.eigh(np.linalg.solve(factor, half.T))
            modes = factor @ vectors
            share = most / np.maximum(values, most)
            spring = modes @ (share * np.linalg.solve(modes, gradient))
            stiffness = (modes * np.clip(values, 0.0, most)) @ modes.T
            reduced = bool(share.min() < 1.0)
        whole = damping + h * stiffness
        left = np.linalg.solve(mass + h * whole, mass @ velocity + h * drift)
        wanted = float(velocity @ (damping @ velocity - drift))
        given = float(velocity @ (damping @ left - drift))
        slowed = wanted > _LEAST_POWER and given < _NOTICEABLE * wanted
        reasons = (DAMPING_REDUCED if slowed else "", STIFFNESS_REDUCED if reduced else "")
        ahead = h * (stiffness @ left)
        return cls(spring, left, ahead, "; ".join(filter(None, reasons)))


def gravity_ahead(d: Evaluation, h: float) -> Array:
    """Return the generalised gravity (nv,) at the pose in the middle of the horizon.

    Held against gravity as it was at the beginning of a sample, an arm that moves upright gains
    energy.
    """
    farthest = 0.5 * h * float(np.abs(d.v).max(initial=0.0))
    if not 0.0 < farthest or not isfinite(farthest):
        return d.g
    step = 0.5 * h * min(1.0, _FARTHEST / farthest)
    model = d.model
    return Evaluation(model, model.integrate(d.q, step * d.v), np.zeros(model.nv)).g


def _is_positive(matrix: Array) -> bool:
    try:
        np.linalg.cholesky(matrix)
    except np.linalg.LinAlgError:
        return False
    return True

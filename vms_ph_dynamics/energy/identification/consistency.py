"""Estimates that a physical robot can have: the nearest one, by a barrier method."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...arrays import Array
from ..regressor import pseudo_inertia

# The matrices that the ten parameters of a body multiply in its pseudo-inertia.
_UNITS = np.stack([pseudo_inertia(unit) for unit in np.eye(10)])


@dataclass(frozen=True)
class Body:
    """Parameters ``constant + matrix x`` of a body that must have no negative mass anywhere."""

    constant: Array
    matrix: Array


def nearest(
    mean: Array, covariance: Array, start: Array, floor: Array, bodies: Sequence[Body]
) -> Array:
    """Return the x that minimises ``(x - mean)^T covariance^-1 (x - mean)`` within what is physical.

    Physical are x above their floors, and bodies with a positive semidefinite pseudo-inertia. The
    problem is convex; a logarithmic barrier with a decreasing weight solves it.

    Args:
        mean: (p,).
        covariance: (p,p), positive definite.
        start: (p,) a point strictly inside.
        floor: (p,) lower bounds; -inf where there is none.
        bodies: whose pseudo-inertia must be positive semidefinite.
    """
    unit = np.sqrt(np.diag(covariance))
    bounded = np.flatnonzero(np.isfinite(floor))
    if _inside(mean, floor, bodies):
        return mean
    hessian = np.linalg.inv(covariance / np.outer(unit, unit) + 1e-10 * np.eye(mean.size))
    x, barrier = start.copy(), 1.0
    for _ in range(28):
        for _ in range(30):
            off = (x - mean) / unit
            gradient, curvature = hessian @ off, hessian.copy()
            gap = (x[bounded] - floor[bounded]) / unit[bounded]
            gradient[bounded] -= barrier / gap
            curvature[bounded, bounded] += barrier / gap**2
            for body in bodies:
                inverse = np.linalg.inv(np.tensordot(body.constant + body.matrix @ x, _UNITS, 1))
                weighted = inverse @ np.tensordot((body.matrix * unit).T, _UNITS, 1)
                gradient -= barrier * np.trace(weighted, axis1=1, axis2=2)
                flat = weighted.reshape(mean.size, 16)
                other = weighted.transpose(0, 2, 1).reshape(mean.size, 16)
                curvature += barrier * flat @ other.T
            move = -np.linalg.solve(curvature, gradient)
            size = 1.0
            while size > 1e-10 and not _inside(x + size * move * unit, floor, bodies):
                size *= 0.5
            x = x + 0.98 * size * move * unit if size < 1.0 else x + move * unit
            if -(gradient @ move) < 1e-10:
                break
        barrier *= 0.3
    return x


def _inside(x: Array, floor: Array, bodies: Sequence[Body]) -> bool:
    if np.any(x <= floor):
        return False
    return all(
        np.linalg.eigvalsh(np.tensordot(body.constant + body.matrix @ x, _UNITS, 1))[0] > 0.0
        for body in bodies
    )

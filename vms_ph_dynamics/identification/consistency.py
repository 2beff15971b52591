# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Estimates that a physical robot can have: the nearest one, by a barrier method."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..arrays import Array
from ..energy.regressor import pseudo_inertia

# The matrices that the ten parameters of a body multiply in its pseudo-inertia.
_UNITS = np.stack([pseudo_inertia(unit).reshape(16) for unit in np.eye(10)])


@dataclass(frozen=True)
class Body:
    """Parameters ``constant + matrix x`` of a body that must have no negative mass anywhere."""

    constant: Array
    matrix: Array


def nearest(
    mean: Array, information: Array, start: Array, floor: Array, bodies: Sequence[Body]
) -> Array:
    """Return the x that minimises ``(x - mean)^T information (x - mean)`` within what is physical.

    Physical are x above their floors, and bodies with a positive semidefinite pseudo-inertia. The
    problem is convex; a logarithmic barrier with a decreasing weight solves it.

    Args:
        mean: (p,).
        information: (p,p), positive definite: what is known, as the inverse of a covariance.
        start: (p,) a point strictly inside.
        floor: (p,) lower bounds; -inf where there is none.
        bodies: whose pseudo-inertia must be positive semidefinite.
    """
    unit = 1.0 / np.sqrt(np.diag(information))
    bounded = np.flatnonzero(np.isfinite(floor))
    if _inside(mean, floor, bodies):
        return mean
    hessian = information * np.outer(unit, unit)
    x = start.copy()
    off = (x - mean) / unit
    # From the size of the objective down to a weight that no longer moves the result.
    barrier = max(1.0, float(off @ hessian @ off) / mean.size)
    while barrier > 1e-7:
        for _ in range(30):
            off = (x - mean) / unit
            gradient, curvature = hessian @ off, hessian.copy()
            gap = (x[bounded] - floor[bounded]) / unit[bounded]
            gradient[bounded] -= barrier / gap
            curvature[bounded, bounded] += barrier / gap**2
            for body in bodies:
                inverse = np.linalg.inv(_matrix(body, x))
                moved = np.flatnonzero(np.any(body.matrix != 0.0, axis=0))
                slopes = (body.matrix[:, moved] * unit[moved]).T @ _UNITS
                weighted = inverse @ slopes.reshape(-1, 4, 4)
                gradient[moved] -= barrier * np.trace(weighted, axis1=1, axis2=2)
                flat = weighted.reshape(-1, 16)
                other = weighted.transpose(0, 2, 1).reshape(-1, 16)
                curvature[np.ix_(moved, moved)] += barrier * flat @ other.T
            move = -np.linalg.solve(curvature, gradient)
            size = 1.0
            while size > 1e-8 and not _inside(x + size / 0.9 * move * unit, floor, bodies):
                size *= 0.5
            if size <= 1e-8:
                break
            x = x + size * move * unit
            if -(gradient @ move) < 1e-9 * (1.0 + barrier):
                break
        barrier *= 0.1
    return x


def _inside(x: Array, floor: Array, bodies: Sequence[Body]) -> bool:
    if np.any(x <= floor):
        return False
    return all(np.linalg.eigvalsh(_matrix(body, x))[0] > 0.0 for body in bodies)


def _matrix(body: Body, x: Array) -> Array:
    return ((body.constant + body.matrix @ x) @ _UNITS).reshape(4, 4)

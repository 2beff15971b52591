# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Rotations in space."""

from math import atan2, sqrt

import numpy as np

from ..arrays import Array
from .group import Group
from .stumpff import stumpff


def skew(w: Array) -> Array:
    """Return the matrix (3,3) of the cross product with ``w`` (3,)."""
    x, y, z = np.asarray(w).tolist()  # numbers of Python make the matrix in half the time
    return np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])


class SO3(Group):
    """Rotation matrices, (3,3); the algebra is the angular velocity in the body, (3,)."""

    name = "SO(3)"
    dimension = 3

    def identity(self) -> Array:
        """Return the identity matrix."""
        return np.eye(3)

    def inverse(self, g: Array) -> Array:
        """Return the transpose."""
        return g.T

    def exp(self, x: Array) -> Array:
        """Return ``I + c_1 x^ + c_2 x^2``, Rodrigues' formula."""
        c, hat = stumpff(float(x @ x)).c, skew(x)
        return np.eye(3) + c[1] * hat + c[2] * hat @ hat

    def log(self, g: Array) -> Array:
        """Return the rotation vector, computed from the unit quaternion; exact at 0 and at pi."""
        w, v = _quaternion(g)
        sine = sqrt(float(v @ v))
        # Half the angle is atan2(sine, w); the ratio has a limit as sine and angle vanish.
        if sine < 1e-10:
            return (2.0 / w) * v
        return (2.0 * atan2(sine, w) / sine) * v

    def dexp(self, x: Array) -> Array:
        """Return ``I - c_2 x^ + c_3 x^2``."""
        c, hat = stumpff(float(x @ x)).c, skew(x)
        return np.eye(3) - c[2] * hat + c[3] * hat @ hat

    def dexp_inverse(self, x: Array) -> Array:
        """Return ``I + x^/2 + e x^2``, e from :meth:`Stumpff.inverse`."""
        e, hat = stumpff(float(x @ x)).inverse().value, skew(x)
        return np.eye(3) + 0.5 * hat + e * hat @ hat

    def cayley(self, x: Array) -> Array:
        """Return ``(I - x^/2)^-1 (I + x^/2)``."""
        hat = skew(x)
        return np.eye(3) + (hat + 0.5 * hat @ hat) / (1.0 + 0.25 * float(x @ x))

    def cayley_inverse(self, g: Array) -> Array:
        """Return ``2 tan(angle/2)`` along the axis."""
        return 2.0 * self.vee(g - g.T) / (1.0 + np.trace(g))

    def dcayley(self, x: Array) -> Array:
        """Return ``(I - x^/2) / (1 + |x|^2/4)``."""
        return (np.eye(3) - 0.5 * skew(x)) / (1.0 + 0.25 * float(x @ x))

    def dcayley_inverse(self, x: Array) -> Array:
        """Return ``I + x^/2 + x x^T/4``."""
        return np.eye(3) + 0.5 * skew(x) + 0.25 * np.outer(x, x)

    def Ad(self, g: Array) -> Array:
        """Return the matrix itself."""
        return g

    def ad(self, x: Array) -> Array:
        """Return ``x^``."""
        return skew(x)

    def hat(self, x: Array) -> Array:
        """Return ``x^``."""
        return skew(x)

    def vee(self, matrix: Array) -> Array:
        """Return the vector of the skew part of a matrix."""
        m = matrix
        return 0.5 * np.array([m[2, 1] - m[1, 2], m[0, 2] - m[2, 0], m[1, 0] - m[0, 1]])


def _quaternion(r: Array) -> tuple[float, Array]:
    """Return the unit quaternion of a rotation matrix as real part, not negative, and vector part.

    The largest of the four components is computed first, so that none is a small difference.
    """
    squares = np.array([np.trace(r), r[0, 0], r[1, 1], r[2, 2]])
    largest = int(np.argmax(squares))
    if largest == 0:
        w = 0.5 * sqrt(1.0 + squares[0])
        v = np.array([r[2, 1] - r[1, 2], r[0, 2] - r[2, 0], r[1, 0] - r[0, 1]]) / (4.0 * w)
        return w, v
    i, j, k = {1: (0, 1, 2), 2: (1, 2, 0), 3: (2, 0, 1)}[largest]
    v = np.empty(3)
    v[i] = 0.5 * sqrt(max(1.0 + r[i, i] - r[j, j] - r[k, k], 0.0))
    v[j] = (r[j, i] + r[i, j]) / (4.0 * v[i])
    v[k] = (r[k, i] + r[i, k]) / (4.0 * v[i])
    w = (r[k, j] - r[j, k]) / (4.0 * v[i])
    return (w, v) if w >= 0.0 else (-w, -v)

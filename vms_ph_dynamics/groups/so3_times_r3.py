# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Poses as the direct product of rotation and position, the second group structure of source C."""

import numpy as np

from ..arrays import Array
from .group import Group
from .se3 import pose
from .so3 import SO3, skew

_SO3 = SO3()


class SO3TimesR3(Group):
    """Homogeneous matrices, (4,4), whose rotations multiply and whose positions add.

    The algebra is (velocity of the origin in the inertial frame, angular velocity in the body),
    linear first, (6,).
    """

    name = "SO(3) x R^3"
    dimension = 6

    def identity(self) -> Array:
        """Return the identity matrix."""
        return np.eye(4)

    def compose(self, g: Array, h: Array) -> Array:
        """Return the product: rotations multiplied, positions added."""
        return pose(g[:3, :3] @ h[:3, :3], g[:3, 3] + h[:3, 3])

    def inverse(self, g: Array) -> Array:
        """Return the inverse: rotation transposed, position negated."""
        return pose(g[:3, :3].T, -g[:3, 3])

    def exp(self, x: Array) -> Array:
        """Return the exponential of each part."""
        return pose(_SO3.exp(x[3:]), x[:3])

    def log(self, g: Array) -> Array:
        """Return the logarithm of each part."""
        return np.concatenate([g[:3, 3], _SO3.log(g[:3, :3])])

    def dexp(self, x: Array) -> Array:
        """Return the differential of each part."""
        return _beside(np.eye(3), _SO3.dexp(x[3:]))

    def dexp_inverse(self, x: Array) -> Array:
        """Return the inverse of :meth:`dexp`."""
        return _beside(np.eye(3), _SO3.dexp_inverse(x[3:]))

    def cayley(self, x: Array) -> Array:
        """Return the Cayley map of the rotation; the position is unchanged."""
        return pose(_SO3.cayley(x[3:]), x[:3])

    def cayley_inverse(self, g: Array) -> Array:
        """Return the algebra element whose Cayley map is g."""
        return np.concatenate([g[:3, 3], _SO3.cayley_inverse(g[:3, :3])])

    def dcayley(self, x: Array) -> Array:
        """Return the differential of each part."""
        return _beside(np.eye(3), _SO3.dcayley(x[3:]))

    def dcayley_inverse(self, x: Array) -> Array:
        """Return the inverse of :meth:`dcayley`."""
        return _beside(np.eye(3), _SO3.dcayley_inverse(x[3:]))

    def Ad(self, g: Array) -> Array:
        """Return ``diag(I, R)``."""
        return _beside(np.eye(3), g[:3, :3])

    def ad(self, x: Array) -> Array:
        """Return ``diag(0, w^)``."""
        return _beside(np.zeros((3, 3)), skew(x[3:]))

    def hat(self, x: Array) -> Array:
        """Return rotation and position parts as one matrix (not that of a matrix product)."""
        matrix = np.zeros((4, 4))
        matrix[:3, :3], matrix[:3, 3] = skew(x[3:]), x[:3]
        return matrix

    def vee(self, matrix: Array) -> Array:
        """Return the algebra element of a matrix."""
        return np.concatenate([matrix[:3, 3], _SO3.vee(matrix[:3, :3])])


def _beside(first: Array, second: Array) -> Array:
    zero = np.zeros((3, 3))
    return np.block([[first, zero], [zero, second]])

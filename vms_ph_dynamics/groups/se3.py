# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Rigid motions in space.

All maps are those of SO(3) with dual numbers in place of real ones: a twist (v, w) is the dual
vector ``w + eps v``, its square ``w.w + eps 2 w.v``, and a function f of the square has the dual
part ``f' 2 w.v``. A dual number ``a + eps b`` multiplies a twist by the matrix [[a, b], [0, a]].
"""

import numpy as np

from ..arrays import Array
from .group import Group
from .so3 import SO3, skew
from .stumpff import Dual, stumpff

_SO3 = SO3()


class SE3(Group):
    """Homogeneous matrices, (4,4); the algebra is the body twist, linear first, (6,)."""

    name = "SE(3)"
    dimension = 6

    def identity(self) -> Array:
        """Return the identity matrix."""
        return np.eye(4)

    def inverse(self, g: Array) -> Array:
        """Return the inverse pose."""
        rotation = g[:3, :3].T
        return pose(rotation, -rotation @ g[:3, 3])

    def exp(self, x: Array) -> Array:
        """Return the pose reached by the twist x in unit time."""
        v, w = x[:3], x[3:]
        c, hat = stumpff(float(w @ w)).c, skew(w)
        square = hat @ hat
        rotation = np.eye(3) + c[1] * hat + c[2] * square
        return pose(rotation, v + c[2] * hat @ v + c[3] * square @ v)

    def log(self, g: Array) -> Array:
        """Return the twist that reaches g in unit time."""
        w = _SO3.log(g[:3, :3])
        # The position is V(w) v with V the right-trivialised differential, dexp(-w).
        return np.concatenate([_SO3.dexp_inverse(-w) @ g[:3, 3], w])

    def dexp(self, x: Array) -> Array:
        """Return ``I - c_2 ad + c_3 ad^2``, dual c."""
        functions, ad = stumpff(float(x[3:] @ x[3:])), self.ad(x)
        c2, c3 = (_dual(functions.function(n), x) for n in (2, 3))
        return np.eye(6) - c2 @ ad + c3 @ ad @ ad

    def dexp_inverse(self, x: Array) -> Array:
        """Return ``I + ad/2 + e ad^2``, dual e."""
        e, ad = _dual(stumpff(float(x[3:] @ x[3:])).inverse(), x), self.ad(x)
        return np.eye(6) + 0.5 * ad + e @ ad @ ad

    def cayley(self, x: Array) -> Array:
        """Return the pose of the unit dual quaternion along ``1 + x/2``."""
        v, w = x[:3], x[3:]
        position = (v + 0.5 * skew(w) @ v) / (1.0 + 0.25 * float(w @ w))
        return pose(_SO3.cayley(w), position)

    def cayley_inverse(self, g: Array) -> Array:
        """Return the twist whose Cayley map is g."""
        w, t = _SO3.cayley_inverse(g[:3, :3]), g[:3, 3]
        # v + w x v / 2 = (1 + |w|^2/4) t, solved for v.
        return np.concatenate([t - 0.5 * skew(w) @ t + 0.25 * (w @ t) * w, w])

    def dcayley(self, x: Array) -> Array:
        """Return ``(I - ad/2) / (1 + x.x/4)``, a dual quotient."""
        scale = 1.0 + 0.25 * float(x[3:] @ x[3:])
        inverse = _dual(Dual(1.0 / scale, -0.25 / scale**2), x)
        return inverse @ (np.eye(6) - 0.5 * self.ad(x))

    def dcayley_inverse(self, x: Array) -> Array:
        """Return ``I + ad/2 + x (x.)/4``, dual products."""
        v, w = x[:3], x[3:]
        outer = np.outer(w, w)
        mixed = np.outer(v, w) + np.outer(w, v)
        return np.eye(6) + 0.5 * self.ad(x) + 0.25 * _triangular(outer, mixed)

    def Ad(self, g: Array) -> Array:
        """Return ``[[R, p^ R], [0, R]]``."""
        rotation = g[:3, :3]
        return _triangular(rotation, skew(g[:3, 3]) @ rotation)

    def ad(self, x: Array) -> Array:
        """Return ``[[w^, v^], [0, w^]]``."""
        return _triangular(skew(x[3:]), skew(x[:3]))

    def hat(self, x: Array) -> Array:
        """Return ``[[w^, v], [0, 0]]``."""
        matrix = np.zeros((4, 4))
        matrix[:3, :3], matrix[:3, 3] = skew(x[3:]), x[:3]
        return matrix

    def vee(self, matrix: Array) -> Array:
        """Return the twist of a matrix."""
        return np.concatenate([matrix[:3, 3], _SO3.vee(matrix[:3, :3])])


def pose(rotation: Array, position: Array) -> Array:
    """Return the homogeneous matrix (4,4) of a rotation (3,3) and a position (3,), m."""
    matrix = np.zeros((4, 4))  # numpy.eye takes ten times as long
    matrix[:3, :3], matrix[:3, 3], matrix[3, 3] = rotation, position, 1.0
    return matrix


def _triangular(diagonal: Array, corner: Array) -> Array:
    """Return ``[[diagonal, corner], [0, diagonal]]``; np.block takes many times as long."""
    matrix = np.zeros((6, 6))
    matrix[:3, :3] = matrix[3:, 3:] = diagonal
    matrix[:3, 3:] = corner
    return matrix


def _dual(f: Dual, x: Array) -> Array:
    matrix = f.value * np.eye(6)
    matrix[:3, 3:] = f.slope * 2.0 * float(x[:3] @ x[3:]) * np.eye(3)
    return matrix

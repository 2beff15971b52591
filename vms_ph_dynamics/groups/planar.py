# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Rigid motions in the plane, and the group of a kind of base."""

from math import atan2

import numpy as np

from ..arrays import Array
from ..errors import ModelError
from .group import Group
from .spatial import SE3, stumpff

_QUARTER_TURN = np.array([[0.0, -1.0], [1.0, 0.0]])


class SE2(Group):
    """Rigid motions of the plane, (3,3); the algebra is (vx, vy, w) in the body, (3,)."""

    name = "SE(2)"
    dimension, size = 3, 3

    def inverse(self, g: Array) -> Array:
        """Return the inverse pose."""
        rotation = g[:2, :2].T
        return _pose(rotation, -rotation @ g[:2, 2])

    def exp(self, x: Array) -> Array:
        """Return the pose reached by the twist x in unit time."""
        v, w = x[:2], x[2]
        c, rotation = stumpff(w * w).c, plane_rotation(np.cos(w), np.sin(w))
        return _pose(rotation, c[1] * v + c[2] * w * (_QUARTER_TURN @ v))

    def log(self, g: Array) -> Array:
        """Return the twist that reaches g in unit time."""
        w = atan2(g[1, 0], g[0, 0])
        e = stumpff(w * w).inverse().value
        # V^-1 = I - w J/2 + e w^2 J^2 with J the rotation by pi/2, J^2 = -I.
        t = g[:2, 2]
        return np.append((1.0 - e * w * w) * t - 0.5 * w * (_QUARTER_TURN @ t), w)

    def dexp(self, x: Array) -> Array:
        """Return ``I - c_2 ad + c_3 ad^2``."""
        c, ad = stumpff(x[2] ** 2).c, self.ad(x)
        return np.eye(3) - c[2] * ad + c[3] * ad @ ad

    def dexp_inverse(self, x: Array) -> Array:
        """Return ``I + ad/2 + e ad^2``."""
        e, ad = stumpff(x[2] ** 2).inverse().value, self.ad(x)
        return np.eye(3) + 0.5 * ad + e * ad @ ad

    def cayley(self, x: Array) -> Array:
        """Return the Cayley map, that of SE(3) within the plane."""
        v, w = x[:2], x[2]
        scale = 1.0 + 0.25 * w * w
        rotation = plane_rotation((1.0 - 0.25 * w * w) / scale, w / scale)
        return _pose(rotation, (v + 0.5 * w * (_QUARTER_TURN @ v)) / scale)

    def cayley_inverse(self, g: Array) -> Array:
        """Return the twist whose Cayley map is g."""
        w, t = 2.0 * g[1, 0] / (1.0 + g[0, 0]), g[:2, 2]
        return np.append(t - 0.5 * w * (_QUARTER_TURN @ t), w)

    def dcayley_inverse(self, x: Array) -> Array:
        """Return ``I + ad/2 + w [0, 0, x]/4`` with x as third column, the plane of SE(3)'s."""
        v, w = x[:2], x[2]
        rotation_term = np.zeros((3, 3))
        rotation_term[:2, 2], rotation_term[2, 2] = w * v, w * w
        return np.eye(3) + 0.5 * self.ad(x) + 0.25 * rotation_term

    def Ad(self, g: Array) -> Array:
        """Return ``[[R, -J p], [0, 1]]`` with J the rotation by pi/2."""
        matrix = g.copy()
        matrix[:2, 2] = -_QUARTER_TURN @ g[:2, 2]
        return matrix

    def ad(self, x: Array) -> Array:
        """Return ``[[w J, -J v], [0, 0]]``."""
        matrix = np.zeros((3, 3))
        matrix[:2, :2], matrix[:2, 2] = x[2] * _QUARTER_TURN, -_QUARTER_TURN @ x[:2]
        return matrix

    def hat(self, x: Array) -> Array:
        """Return ``[[w J, v], [0, 0]]``."""
        matrix = np.zeros((3, 3))
        matrix[:2, :2], matrix[:2, 2] = x[2] * _QUARTER_TURN, x[:2]
        return matrix

    def vee(self, matrix: Array) -> Array:
        """Return the twist of a matrix."""
        return np.append(matrix[:2, 2], 0.5 * (matrix[1, 0] - matrix[0, 1]))


def plane_rotation(cosine: float, sine: float) -> Array:
    """Return the rotation of a plane by an angle with this cosine and sine, (2,2)."""
    return np.array([[cosine, -sine], [sine, cosine]])


def _pose(rotation: Array, position: Array) -> Array:
    matrix = np.eye(3)
    matrix[:2, :2], matrix[:2, 2] = rotation, position
    return matrix


_GROUPS: dict[str, Group] = {"planar": SE2(), "floating": SE3()}


def base_group(base: str) -> Group:
    """Return SE(2) for a planar and SE(3) for a floating base.

    Raises:
        ModelError: the base is of another kind, such as fixed.
    """
    if base not in _GROUPS:
        raise ModelError(
            f"only a {' or '.join(_GROUPS)} base has a group of poses; given: '{base}'"
        )
    return _GROUPS[base]

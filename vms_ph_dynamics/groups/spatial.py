# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The groups of motions in space: SO(3) and SE(3).

``c_n(s) = sum_k (-s)^k / (n + 2k)!`` with s the square of the angle t: ``c_0 = cos t``,
``c_1 = sin t / t``, ``c_2 = (1 - cos t) / t^2``, ``c_3 = (t - sin t) / t^3``. They satisfy
``c_n = 1/n! - s c_{n+2}`` and ``c_n' = (n c_{n+2} - c_{n+1}) / 2``, so neither they nor their
derivatives ever need a difference of nearly equal numbers.

All maps are those of SO(3) with dual numbers in place of real ones: a twist (v, w) is the dual
vector ``w + eps v``, its square ``w.w + eps 2 w.v``, and a function f of the square has the dual
part ``f' 2 w.v``. A dual number ``a + eps b`` multiplies a twist by the matrix [[a, b], [0, a]].
"""

from dataclasses import dataclass
from math import atan2, cos, factorial, sin, sqrt

import numpy as np

from ..arrays import Array
from .group import Group

_SERIES_LIMIT = 4.0  # the series is used below, above the closed forms have no cancellation
_TERMS = 12  # the first omitted term is below 1e-22
_INVERSE_FACTORIAL = [1.0 / factorial(n) for n in range(7 + 2 * _TERMS)]


@dataclass(frozen=True, slots=True)
class Dual:
    """A function of the squared angle and its derivative."""

    value: float
    slope: float


@dataclass(frozen=True, slots=True)
class Stumpff:
    """The functions c_0 to c_6 at one argument."""

    c: tuple[float, ...]

    def function(self, n: int) -> Dual:
        """Return c_n, n from 0 to 4, with its derivative."""
        c = self.c
        return Dual(c[n], 0.5 * (n * c[n + 2] - c[n + 1]))

    def inverse(self) -> Dual:
        """Return ``e(s) = (1 - (t/2) cot(t/2)) / t^2 = -c_2' / c_2`` with its derivative."""
        c = self.c
        c_1 = c[4] - 0.5 * c[3]
        c_2 = 2.0 * c[6] - 1.25 * c[5] + 0.25 * c[4]
        e = -c_1 / c[2]
        return Dual(e, -c_2 / c[2] + e * e)


def stumpff(s: float) -> Stumpff:
    """Return the Stumpff functions at ``s >= 0``, the square of an angle."""
    if s < _SERIES_LIMIT:
        c5, c6 = _series(5, s), _series(6, s)
        c4, c3 = 1 / 24 - s * c6, 1 / 6 - s * c5
        c2, c1 = 1 / 2 - s * c4, 1.0 - s * c3
        return Stumpff((1.0 - s * c2, c1, c2, c3, c4, c5, c6))
    t = sqrt(s)
    c1 = sin(t) / t
    half_sine = sin(0.5 * t) / t
    c2 = 2.0 * half_sine * half_sine
    c3, c4 = (1.0 - c1) / s, (0.5 - c2) / s
    return Stumpff((cos(t), c1, c2, c3, c4, (1 / 6 - c3) / s, (1 / 24 - c4) / s))


def _series(n: int, s: float) -> float:
    series_sum = 0.0
    for k in range(_TERMS, -1, -1):
        series_sum = _INVERSE_FACTORIAL[n + 2 * k] - s * series_sum
    return series_sum


def skew(w: Array) -> Array:
    """Return the matrix (3,3) of the cross product with ``w`` (3,)."""
    x, y, z = np.asarray(w).tolist()  # numbers of Python make the matrix in half the time
    return np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])


def cross(a: Array, b: Array) -> Array:
    """Return the cross product of two vectors (3,); ten times as fast as np.cross."""
    (x, y, z), (u, v, w) = a.tolist(), b.tolist()
    return np.array([y * w - z * v, z * u - x * w, x * v - y * u])


class SO3(Group):
    """Rotation matrices, (3,3); the algebra is the angular velocity in the body, (3,)."""

    name = "SO(3)"
    dimension, size = 3, 3

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
        return 2.0 / w * v if sine < 1e-10 else 2.0 * atan2(sine, w) / sine * v

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
    candidates = np.array([np.trace(r), r[0, 0], r[1, 1], r[2, 2]])
    largest = int(np.argmax(candidates))
    if largest == 0:
        w = 0.5 * sqrt(1.0 + candidates[0])
        v = np.array([r[2, 1] - r[1, 2], r[0, 2] - r[2, 0], r[1, 0] - r[0, 1]]) / (4.0 * w)
        return w, v
    i, j, k = {1: (0, 1, 2), 2: (1, 2, 0), 3: (2, 0, 1)}[largest]
    v = np.empty(3)
    v[i] = 0.5 * sqrt(max(1.0 + r[i, i] - r[j, j] - r[k, k], 0.0))
    v[j] = (r[j, i] + r[i, j]) / (4.0 * v[i])
    v[k] = (r[k, i] + r[i, k]) / (4.0 * v[i])
    w = (r[k, j] - r[j, k]) / (4.0 * v[i])
    return (w, v) if w >= 0.0 else (-w, -v)


_SO3 = SO3()


class SE3(Group):
    """Homogeneous matrices, (4,4); the algebra is the body twist, linear first, (6,)."""

    name = "SE(3)"
    dimension, size = 6, 4

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
        c2, c3 = (_dual_matrix(functions.function(n), x) for n in (2, 3))
        return np.eye(6) - c2 @ ad + c3 @ ad @ ad

    def dexp_inverse(self, x: Array) -> Array:
        """Return ``I + ad/2 + e ad^2``, dual e."""
        e, ad = _dual_matrix(stumpff(float(x[3:] @ x[3:])).inverse(), x), self.ad(x)
        return np.eye(6) + 0.5 * ad + e @ ad @ ad

    def cayley(self, x: Array) -> Array:
        """Return the pose of the unit dual quaternion along ``1 + x/2``."""
        v, w = x[:3], x[3:]
        return pose(_SO3.cayley(w), (v + 0.5 * skew(w) @ v) / (1.0 + 0.25 * float(w @ w)))

    def cayley_inverse(self, g: Array) -> Array:
        """Return the twist whose Cayley map is g."""
        w, t = _SO3.cayley_inverse(g[:3, :3]), g[:3, 3]
        # v + w x v / 2 = (1 + |w|^2/4) t, solved for v.
        return np.concatenate([t - 0.5 * skew(w) @ t + 0.25 * (w @ t) * w, w])

    def dcayley_inverse(self, x: Array) -> Array:
        """Return ``I + ad/2 + x (x.)/4``, dual products."""
        v, w = x[:3], x[3:]
        outer_product = np.outer(w, w)
        mixed_product = np.outer(v, w) + np.outer(w, v)
        return np.eye(6) + 0.5 * self.ad(x) + 0.25 * _triangular(outer_product, mixed_product)

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


_AD = np.stack([SE3().ad(twist).ravel() for twist in np.eye(6)])


def adjoints(twists: Array) -> Array:
    """Return ``ad`` of twists (...,6), as (...,6,6)."""
    return (twists @ _AD).reshape(*twists.shape, 6)


def _dual_matrix(f: Dual, x: Array) -> Array:
    matrix = f.value * np.eye(6)
    matrix[:3, 3:] = f.slope * 2.0 * float(x[:3] @ x[3:]) * np.eye(3)
    return matrix

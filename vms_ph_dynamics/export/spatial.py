# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Twists, wrenches, poses and inertias of bodies over an array namespace, linear part first.

All vectors are columns, (k,1). Arrays are never written to: what changes is made anew, as libraries
with immutable arrays need it.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..arrays import Array
from ..groups import skew

Expression = Any
"""A matrix of a library of arrays or of symbols, with ``@``, ``.T`` and slices by two indices."""


class ArrayNamespace(ABC):
    """What the recursions over the tree need of a library, beside operators and slices.

    Attributes:
        module: of the library, with numpy's names for what is not defined otherwise.
    """

    module: Any = np

    @abstractmethod
    def constant(self, numbers: npt.ArrayLike) -> Expression:
        """Return a matrix of numbers; entries that are zero may be left out."""

    def zeros(self, row_count: int, column_count: int) -> Expression:
        """Return a matrix of zeros."""
        return self.module.zeros((row_count, column_count))

    def vstack(self, parts: Sequence[Expression]) -> Expression:
        """Return matrices one below the other."""
        return self.module.vstack(parts)

    def hstack(self, parts: Sequence[Expression]) -> Expression:
        """Return matrices side by side."""
        return self.module.hstack(parts)

    def cos(self, x: Expression) -> Expression:
        """Return the cosine of every entry."""
        return self.module.cos(x)

    def sin(self, x: Expression) -> Expression:
        """Return the sine of every entry."""
        return self.module.sin(x)

    def skew(self, x: Expression) -> Expression:
        """Return the matrix of the cross product with a vector (3,1)."""
        zero = self.zeros(1, 1)
        a, b, c = (x[k : k + 1, :] for k in range(3))
        rows = ((zero, -c, b), (c, zero, -a), (-b, a, zero))
        return self.vstack([self.hstack(row) for row in rows])

    def cross(self, x: Expression, y: Expression) -> Expression:
        """Return the cross product of vectors (3,1)."""
        return self.skew(x) @ y

    def symmetric_from_upper(self, upper_triangle: Expression) -> Expression:
        """Return the symmetric matrix whose upper triangle is that of a matrix (n,n)."""
        mask = np.triu(np.ones(upper_triangle.shape, dtype=int))
        return upper_triangle * mask + (upper_triangle * np.triu(mask, 1)).T

    def ad(self, x: Expression, y: Expression) -> Expression:
        """Return ``ad_x y`` of two twists, (6,1)."""
        w = x[3:, :]
        linear = self.cross(w, y[:3, :]) + self.cross(x[:3, :], y[3:, :])
        return self.vstack([linear, self.cross(w, y[3:, :])])

    def coad(self, x: Expression, momentum: Expression) -> Expression:
        """Return ``ad_x^T p`` of a twist and a momentum, (6,1)."""
        f, n, w = momentum[:3, :], momentum[3:, :], x[3:, :]
        return self.vstack([self.cross(f, w), self.cross(n, w) + self.cross(f, x[:3, :])])


class Placement(NamedTuple):
    """The pose of a body in its parent.

    Attributes:
        xp: the array namespace.
        rotation: (3,3).
        position: (3,1) m.
    """

    xp: ArrayNamespace
    rotation: Expression
    position: Expression

    @property
    def matrix(self) -> Expression:
        """The homogeneous matrix, (4,4)."""
        upper = self.xp.hstack([self.rotation, self.position])
        return self.xp.vstack([upper, self.xp.constant([[0.0, 0.0, 0.0, 1.0]])])

    def compose(self, inner: "Placement") -> "Placement":
        """Return the pose of a frame that is given in this one."""
        position = self.position + self.rotation @ inner.position
        return Placement(self.xp, self.rotation @ inner.rotation, position)

    def twist_in_body(self, twist: Expression) -> Expression:
        """Return a twist of the parent in the axes and at the origin of the body, (6,1)."""
        linear = twist[:3, :] + self.xp.cross(twist[3:, :], self.position)
        return self.xp.vstack([self.rotation.T @ linear, self.rotation.T @ twist[3:, :]])

    def wrench_in_parent(self, wrench: Expression) -> Expression:
        """Return a wrench or momentum of the body in the parent, (6,1)."""
        linear = self.rotation @ wrench[:3, :]
        moment = self.rotation @ wrench[3:, :] + self.xp.cross(self.position, linear)
        return self.xp.vstack([linear, moment])

    def inverse_adjoint(self) -> Expression:
        """Return the matrix that maps twists in the parent to those in the body, (6,6)."""
        xp, transposed = self.xp, self.rotation.T
        corner = xp.skew(-transposed @ self.position) @ transposed
        return xp.vstack([xp.hstack([transposed, corner]), xp.hstack([xp.zeros(3, 3), transposed])])


class BodyInertia(NamedTuple):
    """The inertia of a body, or of several that are locked together, about an origin.

    Attributes:
        xp: the array namespace.
        mass: (1,1) kg.
        moment: mass times centre of mass, (3,1) kg m.
        rotational: about the origin, (3,3) kg m^2.
        added_mass: of a surrounding fluid, (6,6).
        net_mass: mass less that of the displaced fluid, (1,1) kg.
        net_moment: first moment of mass less that of the displaced fluid, (3,1) kg m.
    """

    xp: ArrayNamespace
    mass: Expression
    moment: Expression
    rotational: Expression
    added_mass: Expression
    net_mass: Expression
    net_moment: Expression

    @classmethod
    def of_parameters(cls, xp: ArrayNamespace, parameters: Expression) -> "BodyInertia":
        """Return the inertia of ten parameters: m, m c (3), Ixx, Ixy, Iyy, Ixz, Iyz, Izz."""
        p = [parameters[k : k + 1, :] for k in range(10)]
        rows = ((p[4], p[5], p[7]), (p[5], p[6], p[8]), (p[7], p[8], p[9]))
        rotational = xp.vstack([xp.hstack(row) for row in rows])
        moment = parameters[1:4, :]
        return cls(xp, p[0], moment, rotational, xp.zeros(6, 6), p[0], moment)

    def in_fluid(self, added_mass: Array, displaced_mass: float, centre: Array) -> "BodyInertia":
        """Return the inertia with the added mass (6,6) and the displaced mass of a fluid."""
        moment = self.xp.constant(displaced_mass * np.reshape(centre, (3, 1)))
        return self._replace(
            added_mass=self.added_mass + self.xp.constant(added_mass),
            net_mass=self.net_mass - displaced_mass,
            net_moment=self.net_moment - moment,
        )

    def momentum(self, twist: Expression) -> Expression:
        """Return the momentum of a twist, (6,1)."""
        return self.rigid_momentum(twist) + self.added_mass @ twist

    def rigid_momentum(self, twist: Expression) -> Expression:
        """Return the momentum of a twist without that of the fluid, (6,1)."""
        v, w = twist[:3, :], twist[3:, :]
        linear = self.mass * v + self.xp.cross(w, self.moment)
        return self.xp.vstack([linear, self.rotational @ w + self.xp.cross(self.moment, v)])

    def weight_wrench(self, gravity: Expression) -> Expression:
        """Return the wrench of gravity and buoyancy, (6,1), under gravity (3,1) in body axes."""
        return self.xp.vstack([self.net_mass * gravity, self.xp.cross(self.net_moment, gravity)])

    def in_parent(self, placement: Placement) -> "BodyInertia":
        """Return the inertia in the axes and about the origin of the parent."""
        xp, rotation, p = self.xp, placement.rotation, placement.position
        moment = rotation @ self.moment
        m_hat, p_hat = xp.skew(moment), xp.skew(p)
        # Symmetric products are computed once: their upper triangle is mirrored.
        moment_shift = m_hat @ p_hat + (m_hat @ p_hat).T + self.mass * (p_hat @ p_hat)
        rotational = xp.symmetric_from_upper(rotation @ self.rotational @ rotation.T - moment_shift)
        adjoint = placement.inverse_adjoint()
        added_mass = adjoint.T @ self.added_mass @ adjoint
        net_moment = rotation @ self.net_moment + self.net_mass * p
        return BodyInertia(
            xp, self.mass, moment + self.mass * p, rotational, added_mass, self.net_mass, net_moment
        )

    def plus(self, other: "BodyInertia") -> "BodyInertia":
        """Return the inertia of both together."""
        return BodyInertia(self.xp, *(x + y for x, y in zip(self[1:], other[1:], strict=True)))


def rotation_of(xp: ArrayNamespace, quaternion: Expression) -> Expression:
    """Return the rotation of a unit quaternion [x y z w] (4,1), (3,3), as Eigen computes it."""
    x, y, z, w = (quaternion[k : k + 1, :] for k in range(4))
    rows = (
        (1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)),
        (2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)),
        (2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)),
    )
    return xp.vstack([xp.hstack(row) for row in rows])


def joint_pose(xp: ArrayNamespace, joint: Any, subspace: Array, q: Expression) -> Placement:
    """Return the pose of a body against its place in the parent.

    Args:
        xp: the array namespace.
        joint: Pinocchio's model of the joint.
        subspace: (6,k) of its motion.
        q: (nq_joint,1), its entries of the configuration.
    """
    if joint.nv == 6:
        return Placement(xp, rotation_of(xp, q[3:7, :]), q[:3, :])
    if joint.nv == 3:
        c, s, zero = q[2:3, :], q[3:4, :], xp.zeros(1, 1)
        rows = ((c, -s, zero), (s, c, zero), (zero, zero, xp.constant([[1.0]])))
        position = xp.vstack([q[:2, :], zero])
        return Placement(xp, xp.vstack([xp.hstack(row) for row in rows]), position)
    linear, axis = xp.constant(subspace[:3, :1]), subspace[3:, 0]
    if not axis.any():
        return Placement(xp, xp.constant(np.eye(3)), linear * q)
    c, s = (q[:1, :], q[1:2, :]) if joint.nq == 2 else (xp.cos(q), xp.sin(q))
    # Of a helical joint the translation is along the axis.
    axial = np.outer(axis, axis)
    projector, cross = np.eye(3) - axial, skew(axis)
    rotation = c * xp.constant(projector) + s * xp.constant(cross) + xp.constant(axial)
    return Placement(xp, rotation, linear * q[:1, :])

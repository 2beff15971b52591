# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The interface of a Lie group: functions of arrays, the same for every group."""

from abc import ABC, abstractmethod

import numpy as np

from ..arrays import Array


class Group(ABC):
    """A matrix Lie group; elements are matrices, algebra elements are vectors, linear part first.

    Velocities are body velocities: ``gdot = g hat(v)``. The differentials of exponential and Cayley
    map are left-trivialised accordingly: along a curve x(t), ``exp(x)`` has the body velocity
    ``dexp(x) xdot``.

    The linear part of positions and velocities is in m and m/s, angles in rad. d is the dimension;
    arguments are not checked.

    Attributes:
        name: as in "SE(3)".
        dimension: dimension of the algebra.
        size: number of rows of the matrices.
    """

    name: str
    dimension: int
    size: int

    def identity(self) -> Array:
        """Return the neutral element."""
        return np.eye(self.size)

    def compose(self, g: Array, h: Array) -> Array:
        """Return the product g h."""
        return g @ h

    @abstractmethod
    def inverse(self, g: Array) -> Array:
        """Return the inverse of g."""

    @abstractmethod
    def exp(self, x: Array) -> Array:
        """Return the exponential of an algebra element."""

    @abstractmethod
    def log(self, g: Array) -> Array:
        """Return the algebra element, of a rotation angle of at most pi, whose exponential is g."""

    @abstractmethod
    def dexp(self, x: Array) -> Array:
        """Return the left-trivialised differential of the exponential, (d,d)."""

    @abstractmethod
    def dexp_inverse(self, x: Array) -> Array:
        """Return the inverse of :meth:`dexp`, (d,d), for rotation angles below 2 pi."""

    @abstractmethod
    def cayley(self, x: Array) -> Array:
        """Return the Cayley map of an algebra element; its Ad is the Cayley transform of ad_x."""

    @abstractmethod
    def cayley_inverse(self, g: Array) -> Array:
        """Return the algebra element whose Cayley map is g, for rotation angles below pi."""

    @abstractmethod
    def dcayley_inverse(self, x: Array) -> Array:
        """Return the inverse of the differential of :meth:`cayley`, (d,d); exists for every x."""

    @abstractmethod
    def Ad(self, g: Array) -> Array:
        """Return the adjoint of g, (d,d): ``hat(Ad_g v) = g hat(v) g^-1``."""

    @abstractmethod
    def ad(self, x: Array) -> Array:
        """Return the adjoint of an algebra element, (d,d): ``ad_x y = [x, y]``."""

    @abstractmethod
    def hat(self, x: Array) -> Array:
        """Return the matrix of an algebra element."""

    @abstractmethod
    def vee(self, matrix: Array) -> Array:
        """Return the algebra element of a matrix; the inverse of :meth:`hat`."""

    def coad(self, x: Array) -> Array:
        """Return ``ad_x^T``, (d,d), which gives the rate of a conserved momentum in body axes."""
        return self.ad(x).T

    def coadjoint_matrix(self, p: Array) -> Array:
        """Return ``ad~_p``, the skew matrix of the map ``v -> ad_v^T p``, (d,d) [A (38)]."""
        return np.stack([self.coad(e) @ p for e in np.eye(self.dimension)], axis=1)

    def random(self, rng: np.random.Generator) -> Array:
        """Return the exponential of an algebra element, drawn uniformly from a cube.

        The entries of that are within pi / sqrt(3), so that the rotation is by at most pi.
        """
        return self.exp(np.pi * rng.uniform(-1, 1, self.dimension) / np.sqrt(3))

    def __repr__(self) -> str:
        return self.name

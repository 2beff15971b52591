# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Twists, wrenches and inertias of bodies in CasADi expressions, linear part first."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import casadi as ca
import numpy as np

from ...arrays import Array

Expression = Any
"""A CasADi expression, ``casadi.SX``."""


def ad(x: Expression, y: Expression) -> Expression:
    """Return ``ad_x y`` of two twists, (6,)."""
    linear = ca.cross(x[3:], y[:3]) + ca.cross(x[:3], y[3:])
    return ca.vertcat(linear, ca.cross(x[3:], y[3:]))


def coad(x: Expression, momentum: Expression) -> Expression:
    """Return ``ad_x^T p`` of a twist and a momentum, (6,)."""
    f, n = momentum[:3], momentum[3:]
    return ca.vertcat(ca.cross(f, x[3:]), ca.cross(n, x[3:]) + ca.cross(f, x[:3]))


class Placement(NamedTuple):
    """The pose of a body in its parent.

    Attributes:
        rotation: (3,3).
        position: (3,) m.
    """

    rotation: Expression
    position: Expression

    def then(self, inner: "Placement") -> "Placement":
        """Return the pose of a frame that is given in this one."""
        return Placement(
            self.rotation @ inner.rotation, self.position + self.rotation @ inner.position
        )

    def twist_inside(self, twist: Expression) -> Expression:
        """Return a twist of the parent in the axes and at the origin of the body, (6,)."""
        linear = twist[:3] + ca.cross(twist[3:], self.position)
        return ca.vertcat(self.rotation.T @ linear, self.rotation.T @ twist[3:])

    def wrench_outside(self, wrench: Expression) -> Expression:
        """Return a wrench or momentum of the body in the parent, (6,)."""
        linear = self.rotation @ wrench[:3]
        moment = self.rotation @ wrench[3:] + ca.cross(self.position, linear)
        return ca.vertcat(linear, moment)

    def adjoint(self) -> Expression:
        """Return the matrix that maps twists in the body to those in the parent, (6,6)."""
        turned = ca.skew(self.position) @ self.rotation
        lower = ca.horzcat(ca.SX(3, 3), self.rotation)
        return ca.vertcat(ca.horzcat(self.rotation, turned), lower)


@dataclass(frozen=True)
class BodyInertia:
    """The inertia of a body, or of several that are locked together, about an origin.

    Attributes:
        mass: kg.
        moment: mass times centre of mass, (3,) kg m.
        rotational: about the origin, (3,3) kg m^2.
        added: of a surrounding fluid, (6,6), or None.
        weight: mass less that of the displaced fluid, kg.
        weight_moment: the same for the moment, (3,) kg m.
    """

    mass: Expression
    moment: Expression
    rotational: Expression
    added: Expression | None
    weight: Expression
    weight_moment: Expression

    @classmethod
    def of_parameters(cls, parameters: Expression) -> "BodyInertia":
        """Return the inertia of ten parameters: m, m c (3), Ixx, Ixy, Iyy, Ixz, Iyz, Izz."""
        p = parameters
        rows = ((p[4], p[5], p[7]), (p[5], p[6], p[8]), (p[7], p[8], p[9]))
        rotational = ca.vertcat(*(ca.horzcat(*row) for row in rows))
        return cls(p[0], p[1:4], rotational, None, p[0], p[1:4])

    def in_fluid(self, added: Array, displaced: float, centre: Array) -> "BodyInertia":
        """Return the inertia with the added mass (6,6) and the displaced mass of a fluid."""
        matrix = ca.SX(added) if self.added is None else self.added + ca.SX(added)
        return BodyInertia(
            self.mass,
            self.moment,
            self.rotational,
            matrix,
            self.weight - displaced,
            self.weight_moment - displaced * np.asarray(centre),
        )

    def momentum(self, twist: Expression) -> Expression:
        """Return the momentum of a twist, (6,)."""
        own = self.rigid_momentum(twist)
        return own if self.added is None else own + self.added @ twist

    def rigid_momentum(self, twist: Expression) -> Expression:
        """Return the momentum of a twist without that of the fluid, (6,)."""
        v, w = twist[:3], twist[3:]
        linear = self.mass * v + ca.cross(w, self.moment)
        return ca.vertcat(linear, self.rotational @ w + ca.cross(self.moment, v))

    def weight_at(self, gravity: Expression) -> Expression:
        """Return the wrench of gravity and buoyancy, (6,), under gravity (3,) in body axes."""
        return ca.vertcat(self.weight * gravity, ca.cross(self.weight_moment, gravity))

    def outside(self, at: Placement) -> "BodyInertia":
        """Return the inertia in the axes and about the origin of the parent."""
        rotation, p = at
        moment = rotation @ self.moment
        lever, arm = ca.skew(moment), ca.skew(p)
        # Symmetric products are computed once: their upper triangle is mirrored.
        shift = lever @ arm + (lever @ arm).T + self.mass * (arm @ arm)
        turned = rotation @ self.rotational @ rotation.T
        added = self.added
        if added is not None:
            inverse = Placement(rotation.T, -rotation.T @ p).adjoint()
            added = inverse.T @ added @ inverse
        return BodyInertia(
            self.mass,
            moment + self.mass * p,
            ca.triu2symm(ca.triu(turned - shift)),
            added,
            self.weight,
            rotation @ self.weight_moment + self.weight * p,
        )

    def plus(self, other: "BodyInertia") -> "BodyInertia":
        """Return the inertia of both together."""
        added = self.added if other.added is None else other.added
        if self.added is not None and other.added is not None:
            added = self.added + other.added
        return BodyInertia(
            self.mass + other.mass,
            self.moment + other.moment,
            self.rotational + other.rotational,
            added,
            self.weight + other.weight,
            self.weight_moment + other.weight_moment,
        )

# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Coordinates, velocities and derivatives along the motion in symbols [B, table A.1]."""

from dataclasses import dataclass

import sympy as sp

from .planar import Expression, Matrix, inverse, pose, rotation, small_adjoint


@dataclass(frozen=True)
class Motion:
    """A base in the plane with n joints.

    Attributes:
        coordinates: (x, y, theta, q_1 .. q_n).
        velocities: (vx, vy, w, qdot_1 .. qdot_n), base part in base axes.
    """

    coordinates: tuple[Expression, ...]
    velocities: tuple[Expression, ...]

    @classmethod
    def of(cls, joints: int) -> "Motion":
        """Return the symbols of a robot with this number of joints."""
        x, y, theta, vx, vy, w = sp.symbols("x y theta vx vy w", real=True)
        q = sp.symbols(f"q1:{joints + 1}", real=True)
        rates = sp.symbols(f"qdot1:{joints + 1}", real=True)
        return cls((x, y, theta, *q), (vx, vy, w, *rates))

    @property
    def base(self) -> Matrix:
        """H_ib, (3,3)."""
        x, y, theta = self.coordinates[:3]
        return pose(theta, (x, y))

    @property
    def coordinate_rates(self) -> Matrix:
        """The derivatives of the coordinates, (3+n,1): ``odot = R v``."""
        linear = rotation(self.coordinates[2]) * sp.Matrix(self.velocities[:2])
        return sp.Matrix([*linear, *self.velocities[2:]])

    def rate(self, expression: Expression) -> Expression:
        """Return the derivative of a scalar or matrix of coordinates along the motion."""
        rates = self.coordinate_rates
        terms = (
            sp.diff(expression, c) * rate for c, rate in zip(self.coordinates, rates, strict=True)
        )
        first = next(terms)
        for term in terms:
            first = first + term
        return first

    def output_jacobian(self, output: Matrix) -> Matrix:
        """Return J with ``ydot = J v`` for a function of the coordinates [Jacobian_Jydot]."""
        by_coordinates = sp.Matrix([output]).jacobian(sp.Matrix(self.coordinates))
        spread = sp.eye(len(self.coordinates))
        spread[:2, :2] = rotation(self.coordinates[2])
        return by_coordinates * spread

    def origin_jacobian(self, origin: Matrix) -> Matrix:
        """Return J with ``odot_xy = J v`` for an origin, (2,3+n) [Jacobian_Jodot_xy]."""
        return self.output_jacobian(origin)

    def twist_jacobian(self, h: Matrix) -> Matrix:
        """Return J with ``nu_xy = J v`` for the body twist of a pose, (3,3+n) [Jacobian_Jnu_xy]."""
        columns = []
        for unit in range(len(self.velocities)):
            values = {v: int(i == unit) for i, v in enumerate(self.velocities)}
            hdot = self.rate(h).subs(values)
            body = inverse(h) * hdot
            columns.append([body[0, 2], body[1, 2], body[1, 0]])
        return sp.Matrix(columns).T.applyfunc(sp.simplify)

    def adjoint_of(self, h: Matrix) -> Matrix:
        """Return a_xy of the body twist of a pose, (3,3) [adjoint_a_xy]."""
        return small_adjoint(list(self.twist_jacobian(h) * sp.Matrix(self.velocities)))

# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The algebra of SE(2) x R^n in symbols: the functions of [B, table A.1].

Names in brackets are those of the table. Twists are linear first, body velocities in body axes.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import sympy as sp

Matrix = Any
"""A sympy matrix."""

Expression = Any
"""A sympy expression."""

S = sp.ImmutableMatrix([[0, -1], [1, 0]])
"""The rotation by pi/2, the basis of so(2)."""


class LinkInertia(NamedTuple):
    """The inertia of a link.

    Attributes:
        matrix: Lambda_j (3,3).
        mass: of the link.
        centre: of mass, (2,1).
    """

    matrix: Matrix
    mass: Expression
    centre: Matrix


class LinearPart(NamedTuple):
    """``vector = matrix variables + rest``."""

    matrix: Matrix
    rest: Matrix


def rotation(theta: Expression) -> Matrix:
    """Return R_xy, (2,2) [rotationmatrix_R_xy]."""
    return sp.Matrix([[sp.cos(theta), -sp.sin(theta)], [sp.sin(theta), sp.cos(theta)]])


def pose(theta: Expression, origin: Sequence[Expression]) -> Matrix:
    """Return H_xy, (3,3), by its angle and origin [framepose_H_xy]."""
    h = sp.eye(3)
    h[:2, :2] = rotation(theta)
    h[0, 2], h[1, 2] = origin[0], origin[1]
    return h


def frame_origin(h: Matrix) -> Matrix:
    """Return the origin of a pose, (2,1) [frameorigin_o_xy]."""
    return h[:2, 2]


def frame_orientation(h: Matrix) -> Matrix:
    """Return the rotation of a pose, (2,2) [frameorientaton_R_o_xy]."""
    return h[:2, :2]


def frame_angle(h: Matrix) -> Expression:
    """Return the angle of a pose, in (-pi, pi] [frameangle_theta_o_xy]."""
    return sp.atan2(h[1, 0], h[0, 0])


def inverse(h: Matrix) -> Matrix:
    """Return the inverse of a pose, (3,3)."""
    transposed = h[:2, :2].T
    result = sp.eye(3)
    result[:2, :2], result[:2, 2] = transposed, -transposed * h[:2, 2]
    return result


def adjoint(h: Matrix) -> Matrix:
    """Return A_xy, (3,3): twists in y to twists in x [Adjoint_A_xy]."""
    a = sp.eye(3)
    a[:2, :2], a[:2, 2] = h[:2, :2], -S * h[:2, 2]
    return a


def small_adjoint(twist: Sequence[Expression]) -> Matrix:
    """Return a_xy of a body twist (vx, vy, w), (3,3) [bodyvelocity2adjoint_a_xy]."""
    a = sp.zeros(3, 3)
    a[:2, :2] = twist[2] * S
    a[:2, 2] = -S * sp.Matrix([twist[0], twist[1]])
    return a


def link_inertia(
    centres: Sequence[Sequence[Expression]],
    masses: Sequence[Expression],
    inertias: Sequence[Expression],
) -> LinkInertia:
    """Return inertia, mass and centre of a link of several bodies [massmatrix_Lambda_j; B (4.9)].

    Args:
        centres: (x, y) of each in the link's frame.
        masses: of each.
        inertias: of each about its own centre.
    """
    total, centre, matrix = sp.Integer(0), sp.zeros(2, 1), sp.zeros(3, 3)
    for position, m, inertia in zip(centres, masses, inertias, strict=True):
        o = sp.Matrix([position[0], position[1]])
        total, centre = total + m, centre + m * o
        matrix[:2, :2] += m * sp.eye(2)
        matrix[:2, 2] += m * S * o
        matrix[2, :2] += (m * S * o).T
        matrix[2, 2] += inertia + m * (o.T * o)[0]
    return LinkInertia(matrix, total, centre / total)


def coefficients(vector: Matrix, variables: Sequence[Expression]) -> LinearPart:
    """Return M and r with ``vector = M variables + r`` [vec2mat].

    Of a product of variables, one factor goes into M; which one is arbitrary, as in the table.
    """
    rows, rest = [], []
    for entry in sp.Matrix(vector):
        left, row = sp.expand(entry), []
        for variable in variables:
            part = sp.expand(sp.cancel((left - left.subs(variable, 0)) / variable))
            row.append(part)
            left = left.subs(variable, 0)
        rows.append(row)
        rest.append(left)
    return LinearPart(sp.Matrix(rows), sp.Matrix(rest))


def row12(matrix: Matrix) -> Matrix:
    """Return the first two rows: the linear part of a Jacobian of twists [row12]."""
    return matrix[:2, :]


def matrix_of(entries: Any) -> Matrix:
    """Return anything that sympy converts to a matrix as a matrix [symmat]."""
    return sp.Matrix(entries)


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

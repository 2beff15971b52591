# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The dynamics of a serial robot in the plane, and of hoppers, in symbols [B, 4.1, A.2.1]."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
import sympy as sp

from ...arrays import Array
from .planar import (
    Expression,
    LinkInertia,
    Matrix,
    Motion,
    S,
    adjoint,
    frame_origin,
    inverse,
    link_inertia,
    pose,
    rotation,
    row12,
    small_adjoint,
)


@dataclass(frozen=True)
class Link:
    """A link and the joint that carries it [B, tables 4.1 to 4.3].

    Attributes:
        joint: ``"base"``, or the joint between it and the previous link: a ``"revolute"`` joint at
            ``length`` along x of that link, or a ``"prismatic"`` one along x.
        length: of the previous link; 0 for base and prismatic joints.
        centres: (x, y) of its bodies in its frame.
        masses: of each.
        inertias: of each about its own centre; zero for point masses.
    """

    joint: Literal["base", "revolute", "prismatic"]
    length: Expression = 0
    centres: tuple[tuple[Expression, Expression], ...] = ()
    masses: tuple[Expression, ...] = ()
    inertias: tuple[Expression, ...] = ()


class SymbolicRobot:
    """Mass, Coriolis and gravity terms of a serial robot on SE(2) x R^n.

    Attributes:
        motion: its symbols.
        g: the symbol of gravity, which pulls along -y.
        poses: H_bj of every link in the base frame, (3,3).
        foot: H_bf of the end, (3,3).
    """

    def __init__(self, links: Sequence[Link], foot: Sequence[Expression] = (0, 0)) -> None:
        """Build the robot from its links, base first, and the foot in the last of them.

        Args:
            links: of the robot, base first.
            foot: (x, y) in the frame of the last link.
        """
        self._links = tuple(links)
        self.motion = Motion.of(len(self._links) - 1)
        self.g = sp.Symbol("g", positive=True)
        self.poses, self._steps = [sp.eye(3)], []
        for link, q in zip(self._links[1:], self.motion.coordinates[3:], strict=True):
            step = pose(q, (link.length, 0)) if link.joint == "revolute" else pose(0, (q, 0))
            self._steps.append(step)
            self.poses.append(self.poses[-1] * step)
        self._foot = pose(0, foot)
        self.foot = self.poses[-1] * self._foot

    @cached_property
    def _inertias(self) -> list[LinkInertia]:
        return [
            link_inertia(link.centres, link.masses, link.inertias or (0,) * len(link.masses))
            for link in self._links
        ]

    @cached_property
    def _jacobians(self) -> list[Matrix]:
        """J_jb of every link, (3,3+n) [B (4.7)], each from that of the previous link."""
        first = sp.zeros(3, len(self.motion.velocities))
        first[:, :3] = sp.eye(3)
        jacobians = [first]
        for i, (link, step) in enumerate(zip(self._links[1:], self._steps, strict=True)):
            jacobian = adjoint(inverse(step)) * jacobians[-1]
            jacobian[0 if link.joint == "prismatic" else 2, 3 + i] += 1
            jacobians.append(jacobian)
        return jacobians

    @cached_property
    def total_mass(self) -> Expression:
        """The total mass."""
        return sum(mass for _, mass, _ in self._inertias)

    @cached_property
    def centre(self) -> Matrix:
        """o_bc, the centre of mass in the base frame, (2,1)."""
        moments = sp.zeros(2, 1)
        for h, (_, mass, centre) in zip(self.poses, self._inertias, strict=True):
            moments += mass * (frame_origin(h) + h[:2, :2] * centre)
        return self._tidy(moments) / self.total_mass

    @cached_property
    def M(self) -> Matrix:
        """Mass matrix, (3+n,3+n) [B (4.10)]."""
        parts = zip(self._jacobians, self._inertias, strict=True)
        return self._tidy(sum((j.T * inertia[0] * j for j, inertia in parts), self._zero))

    @cached_property
    def C_passive(self) -> Matrix:
        """Passive Coriolis matrix, (3+n,3+n) [B (3.41)]."""
        velocities = sp.Matrix(self.motion.velocities)
        c = self._zero
        for j, (inertia, _, _) in zip(self._jacobians, self._inertias, strict=True):
            a = small_adjoint(list(j * velocities))
            c = c + j.T * (inertia * self.motion.rate(j) + (inertia * a - a.T * inertia) * j)
        return self._tidy(c)

    @cached_property
    def C_hamel(self) -> Matrix:
        """Coriolis matrix of the Hamel equations, (3+n,3+n) [B (3.39)]."""
        v = sp.Matrix(self.motion.velocities)
        c = self.motion.rate(self.M)
        c[:3, :] = c[:3, :] - small_adjoint(list(v[:3, :])).T * self.M[:3, :]
        for i, q in enumerate(self.motion.coordinates[3:]):
            slope = sp.diff(self.M, q)
            c[3 + i, :3] = c[3 + i, :3] - (v[:3, :].T * slope[:3, :3]) / 2
            arm = v[:3, :].T * slope[:3, 3:] + (v[3:, :].T * slope[3:, 3:]) / 2
            c[3 + i, 3:] = c[3 + i, 3:] - arm
        return c

    @cached_property
    def potential(self) -> Expression:
        """Gravity potential; [B (4.11)] prints the vector o_ib in place of its height."""
        return self.g * self.total_mass * self.inertial(self.centre)[1]

    @cached_property
    def gravity(self) -> Matrix:
        """Generalised gravity, (3+n,1) [B (4.12)], the force that holds the robot at rest."""
        return self._tidy(self.motion.output_jacobian(sp.Matrix([self.potential])).T)

    @cached_property
    def J_foot(self) -> Matrix:
        """Jacobian of the foot's twist in its own axes, (3,3+n)."""
        return adjoint(inverse(self._foot)) * self._jacobians[-1]

    @cached_property
    def J_foot_origin(self) -> Matrix:
        """Jacobian of the foot's velocity in the inertial frame, (2,3+n)."""
        return self.motion.origin_jacobian(frame_origin(self.motion.base * self.foot))

    @cached_property
    def J_line(self) -> Matrix:
        """Jacobian of the line from the centre of mass to the foot, inertial axes, (2,3+n)."""
        line = rotation(self.motion.coordinates[2]) * self.line
        return self.motion.origin_jacobian(line)

    @cached_property
    def line(self) -> Matrix:
        """Vector from the centre of mass to the foot, base axes, (2,1)."""
        return frame_origin(self.foot) - self.centre

    @cached_property
    def J_length(self) -> Matrix:
        """Jacobian of the leg's length, (1,3+n) [B (4.23), (4.24)]."""
        line = rotation(self.motion.coordinates[2]) * self.line
        return (line.T * self.J_line) / sp.sqrt((line.T * line)[0])

    @cached_property
    def J_angle(self) -> Matrix:
        """Jacobian of the leg's angle, (1,3+n) [B (4.23), (4.24)]."""
        line = rotation(self.motion.coordinates[2]) * self.line
        return ((S * line).T * self.J_line) / (line.T * line)[0]

    @cached_property
    def connection(self) -> Matrix:
        """``M_bb^-1 M_bq``, (3,n)."""
        return (self.M[:3, :3].inv() * self.M[:3, 3:]).applyfunc(sp.simplify)

    @cached_property
    def J_foot_internal(self) -> Matrix:
        """Jacobian of the foot's internal velocity, (2,n) [B (3.96)]."""
        return row12(self.J_foot[:, 3:] - self.J_foot[:, :3] * self.connection)

    def inertial(self, point: Matrix) -> Matrix:
        """Return a point of the base frame in the inertial frame, (2,1)."""
        x, y, theta = self.motion.coordinates[:3]
        return sp.Matrix([x, y]) + rotation(theta) * point

    def _tidy(self, matrix: Matrix) -> Matrix:
        """Return a matrix with squared sines replaced by cosines, a fast normal form."""
        angles = self.motion.coordinates[2:]
        squares = {sp.sin(angle) ** 2: 1 - sp.cos(angle) ** 2 for angle in angles}

        def written(entry: Expression) -> Expression:
            return sp.expand(sp.expand(entry).subs(squares))

        return matrix.applyfunc(written)

    @property
    def _zero(self) -> Matrix:
        size = len(self.motion.velocities)
        return sp.zeros(size, size)


@dataclass(frozen=True)
class SymbolicHopper:
    """A hopper with its parameters.

    Attributes:
        robot: its dynamics.
        parameters: the symbols of masses, lengths and gravity with the values of the source.
    """

    robot: SymbolicRobot
    parameters: dict[Expression, float]


def prismatic_hopper() -> SymbolicHopper:
    """Return the leg with one prismatic joint [B, tables 4.4 and 4.5]."""
    m0, m1 = sp.symbols("m0 m1", positive=True)
    robot = SymbolicRobot(
        [
            Link("base", centres=((0, 0),), masses=(m0,)),
            Link("prismatic", centres=((0, 0),), masses=(m1,)),
        ]
    )
    return SymbolicHopper(robot, {m0: 0.957, m1: 0.050, robot.g: 9.81})


def revolute_hopper() -> SymbolicHopper:
    """Return the leg with a knee [B, tables 4.9 and 4.10; program A.2.1]."""
    length, m01, m02, m11 = sp.symbols("l m01 m02 m11", positive=True)
    robot = SymbolicRobot(
        [
            Link("base", centres=((0, 0), (length / 2, 0)), masses=(m01, m02)),
            Link("revolute", length, centres=((length / 2, 0),), masses=(m11,)),
        ],
        foot=(length, 0),
    )
    values = {length: 0.12, m01: 0.835, m02: 0.122, m11: 0.050, robot.g: 9.81}
    return SymbolicHopper(robot, values)


def revolute_frame_angle(hopper: SymbolicHopper) -> Expression:
    """Return theta_bc of the revolute hopper for knees within (-pi, pi) [B, A.2.1, line 228].

    The angle of the centre-of-mass frame that is aligned with the locked velocity, zero for a
    straight leg. The coefficients a, b and A, B of the source are those of the locked inertia.
    """
    by_name = {symbol.name: symbol for symbol in hopper.parameters}
    m01, m02, m11 = by_name["m01"], by_name["m02"], by_name["m11"]
    q = hopper.robot.motion.coordinates[3]
    upper_a, upper_b = m01 * m11 + m02 * m11, 2 * m01 * m11 + m02 * m11
    a, b = m01 * m02 + 5 * m01 * m11 + 2 * m02 * m11, 2 * upper_b
    root = sp.sqrt(a**2 - b**2)
    turned = sp.atan(sp.tan(q / 2) * root / (a + b))
    return upper_b * q / b + 2 * turned * (upper_a * b - upper_b * a) / (b * root)


Numeric = Callable[..., Array]
"""A function from the values of the arguments to an array."""


def source(
    name: str,
    matrix: Matrix,
    arguments: Sequence[Expression],
    values: Mapping[Expression, float] | None = None,
) -> str:
    """Return Python code of a function that computes a matrix, with common subexpressions.

    Args:
        name: of the function.
        matrix: the matrix to compute.
        arguments: the symbols that are its arguments, in order.
        values: values of symbols that are constants.

    Raises:
        ValueError: a symbol is neither an argument nor has a value.
    """
    filled = sp.Matrix(matrix).subs(dict(values or {}))
    unknown = filled.free_symbols - set(arguments)
    if unknown:
        listed = ", ".join(sorted(str(symbol) for symbol in unknown))
        raise ValueError(
            f"{name} needs values of {listed}; give them, or add them to the arguments"
        )
    shared, (reduced,) = sp.cse(filled, symbols=sp.numbered_symbols("_c"))
    printer = sp.pycode
    lines = [f"def {name}({', '.join(str(a) for a in arguments)}):"]
    lines += [f"    {symbol} = {printer(value)}" for symbol, value in shared]
    rows = [
        "[" + ", ".join(printer(reduced[i, k]) for k in range(reduced.cols)) + "]"
        for i in range(reduced.rows)
    ]
    lines.append("    return numpy.array([" + ", ".join(rows) + "])")
    return "\n".join(lines) + "\n"


def numeric(
    matrix: Matrix,
    arguments: Sequence[Expression],
    values: Mapping[Expression, float] | None = None,
) -> Numeric:
    """Return the function of :func:`source` as a callable.

    The arguments but for the name are those of that function.

    Raises:
        ValueError: a symbol is neither an argument nor has a value.
    """
    import math

    space: dict[str, Any] = {"math": math, "numpy": np}
    exec(source("generated", matrix, arguments, values), space)
    function: Numeric = space["generated"]
    return function

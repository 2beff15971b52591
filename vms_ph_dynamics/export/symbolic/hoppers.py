# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Both hoppers of the source in symbols, and the frame angle of the revolute one."""

from dataclasses import dataclass

import sympy as sp

from .planar import Expression
from .robot import Link, SymbolicRobot


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

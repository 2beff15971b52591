# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The configuration of a robot that a velocity reaches, in CasADi expressions."""

from collections.abc import Callable

import casadi as ca

from ...model import VMSModel
from ..spatial import Expression, rotation_of
from .linear_algebra import CASADI


def retraction(model: VMSModel, q: Expression, dv: Expression) -> Expression:
    """Return the configuration reached by a constant velocity in unit time, (nq,)."""
    parts: list[Expression] = []
    if model.base == "planar":
        c, s = ca.cos(dv[2]), ca.sin(dv[2])
        sine, versine = _sine_quotient(dv[2] ** 2), _versine_quotient(dv[2] ** 2)
        local = ca.vertcat(
            sine * dv[0] - versine * dv[2] * dv[1], versine * dv[2] * dv[0] + sine * dv[1]
        )
        turn = ca.vertcat(ca.horzcat(q[2], -q[3]), ca.horzcat(q[3], q[2]))
        parts = [q[:2] + turn @ local, q[2] * c - q[3] * s, q[3] * c + q[2] * s]
    elif model.base == "floating":
        parts = _moved_base(q, dv)
    row = model.nq_base
    for k in range(model.b, model.nv):
        if model.is_continuous(row):
            c, s = ca.cos(dv[k]), ca.sin(dv[k])
            parts += [q[row] * c - q[row + 1] * s, q[row + 1] * c + q[row] * s]
            row += 2
        else:
            parts.append(q[row] + dv[k])
            row += 1
    return ca.vertcat(*parts)


def _moved_base(q: Expression, dv: Expression) -> list[Expression]:
    v, w = dv[:3], dv[3:6]
    square = ca.dot(w, w)
    versine, cubic = _versine_quotient(square), _cubic_quotient(square)
    turn = ca.skew(w)
    local = v + versine * (turn @ v) + cubic * (turn @ (turn @ v))
    half = _sine_quotient(square / 4.0)
    x, y = q[3:7], ca.vertcat(0.5 * half * w, _cosine(square / 4.0))
    position = q[:3] + rotation_of(CASADI, x) @ local
    vector = x[3] * y[:3] + y[3] * x[:3] + ca.cross(x[:3], y[:3])
    return [position, vector, x[3] * y[3] - ca.dot(x[:3], y[:3])]


# Below this square of an angle the series replace the quotients; they leave out less
# than 1e-17.
_SMALL = 1e-3


def _sine_quotient(square: Expression) -> Expression:
    """Return ``sin x / x`` of the square of x."""
    coefficients = (1.0, -1 / 6, 1 / 120, -1 / 5040, 1 / 362880, -1 / 39916800)
    return _even(square, coefficients, lambda x: ca.sin(x) / x)


def _versine_quotient(square: Expression) -> Expression:
    """Return ``(1 - cos x) / x^2`` of the square of x."""
    coefficients = (1 / 2, -1 / 24, 1 / 720, -1 / 40320, 1 / 3628800, -1 / 479001600)
    return _even(square, coefficients, lambda x: (1 - ca.cos(x)) / x**2)


def _cubic_quotient(square: Expression) -> Expression:
    """Return ``(x - sin x) / x^3`` of the square of x."""
    coefficients = (1 / 6, -1 / 120, 1 / 5040, -1 / 362880, 1 / 39916800)
    return _even(square, coefficients, lambda x: (x - ca.sin(x)) / x**3)


def _cosine(square: Expression) -> Expression:
    coefficients = (1.0, -1 / 2, 1 / 24, -1 / 720, 1 / 40320, -1 / 3628800)
    return _even(square, coefficients, ca.cos)


def _even(
    square: Expression,
    coefficients: tuple[float, ...],
    function: Callable[[Expression], Expression],
) -> Expression:
    """Return an even function of x, by its series in the square of x where that is small."""
    small = square < _SMALL
    x = ca.sqrt(ca.if_else(small, 1.0, square))
    return ca.if_else(small, _series(square, coefficients), function(x))


def _series(x: Expression, coefficients: tuple[float, ...]) -> Expression:
    total = ca.SX(0)
    for c in reversed(coefficients):
        total = total * x + c
    return total

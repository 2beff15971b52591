# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The configuration of a robot that a velocity reaches, in CasADi expressions."""

from math import factorial

import casadi as ca

from ...model import VMSModel
from ..spatial import Expression, rotation_of
from .linear_algebra import CASADI


def retraction(model: VMSModel, q: Expression, dv: Expression) -> Expression:
    """Return the configuration reached by a constant velocity in unit time, (nq,)."""
    q_parts: list[Expression] = []
    if model.base == "planar":
        c, s = ca.cos(dv[2]), ca.sin(dv[2])
        c1, c2 = (_stumpff(n, dv[2] ** 2) for n in (1, 2))
        displacement = ca.vertcat(c1 * dv[0] - c2 * dv[2] * dv[1], c2 * dv[2] * dv[0] + c1 * dv[1])
        rotation = ca.vertcat(ca.horzcat(q[2], -q[3]), ca.horzcat(q[3], q[2]))
        q_parts = [q[:2] + rotation @ displacement, q[2] * c - q[3] * s, q[3] * c + q[2] * s]
    elif model.base == "floating":
        q_parts = _base_pose(q, dv)
    entry = model.nq_base
    for k in range(model.b, model.nv):
        if model.is_continuous(entry):
            c, s = ca.cos(dv[k]), ca.sin(dv[k])
            q_parts += [q[entry] * c - q[entry + 1] * s, q[entry + 1] * c + q[entry] * s]
            entry += 2
        else:
            q_parts.append(q[entry] + dv[k])
            entry += 1
    return ca.vertcat(*q_parts)


def _base_pose(q: Expression, dv: Expression) -> list[Expression]:
    v, w = dv[:3], dv[3:6]
    angle_squared = ca.dot(w, w)
    c2, c3 = (_stumpff(n, angle_squared) for n in (2, 3))
    hat = ca.skew(w)
    displacement = v + c2 * (hat @ v) + c3 * (hat @ (hat @ v))
    half_cosine, half_sinc = (_stumpff(n, angle_squared / 4.0) for n in (0, 1))
    quat, dquat = q[3:7], ca.vertcat(0.5 * half_sinc * w, half_cosine)
    position = q[:3] + rotation_of(CASADI, quat) @ displacement
    vector_part = quat[3] * dquat[:3] + dquat[3] * quat[:3] + ca.cross(quat[:3], dquat[:3])
    return [position, vector_part, quat[3] * dquat[3] - ca.dot(quat[:3], dquat[:3])]


# Below this square of an angle the series replace the closed forms; they leave out less
# than 1e-17.
_SERIES_LIMIT, _SERIES_TERMS = 1e-3, 6
_CLOSED_FORMS = (
    ca.cos,
    lambda x: ca.sin(x) / x,
    lambda x: (1 - ca.cos(x)) / x**2,
    lambda x: (x - ca.sin(x)) / x**3,
)


def _stumpff(n: int, square: Expression) -> Expression:
    """Return c_n, n from 0 to 3, of the square of an angle, see :mod:`.groups.spatial`."""
    series = ca.SX(0)
    for k in reversed(range(_SERIES_TERMS)):
        series = series * square + (-1) ** k / factorial(n + 2 * k)
    is_small = square < _SERIES_LIMIT
    x = ca.sqrt(ca.if_else(is_small, 1.0, square))
    return ca.if_else(is_small, series, _CLOSED_FORMS[n](x))

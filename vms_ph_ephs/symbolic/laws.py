# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The laws of declared parts, as expressions: efforts of storages, brackets, constraints, flows.

They are written once more here, from the equations in the docstrings of the parts; that they agree
with the assembled system is tested at random states.
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ..library.electrics import LEAST_GROWTH
from ..library.propulsion import STEFAN_BOLTZMANN
from .algebra import Algebra

Values = Mapping[str, Any]

_ADVANCE = np.eye(6)


def differential(a: Algebra, p: Values, states: list[Any]) -> Any | None:
    """Return the differential of the energy of a storage as a column, None if it has another kind.

    Args:
        a: the algebra.
        p: the description of the storage.
        states: a matrix for each port.
    """
    kind, x = p["kind"], states[0]
    if kind == "quadratic":
        return p["matrix"] @ _stacked(a, states)
    if kind == "heat":
        if p["capacity"] == 0.0:
            return a.column([p["theta"]])
        return a.column([p["theta"] * a.function("exp", x[0, 0] / p["capacity"])])
    if kind in ("no_potential", "signal"):
        return a.column([0] * p["width"])
    if kind == "spring":
        return a.column(
            [p["stiffness"][i, 0] * (x[i, 0] - p["rest"][i, 0]) for i in range(p["width"])]
        )
    if kind == "linear_spring":
        return a.column([p["stiffness"] * (x[0, 0] - p["rest"])])
    if kind == "gravity":
        weight = x[:3, :3].T @ p["weight"]
        return a.column([*(weight[i, 0] for i in range(3)), 0, 0, 0])
    if kind == "weights":
        return _weights(a, p, x)
    if kind == "battery_cell":
        return a.column([_open_voltage(a, p, x[0, 0])])
    return None


def bracket(a: Algebra, p: Values, states: list[Any], e: Any) -> Any | None:
    """Return ``J(x) e`` of a reversible part as a column, None if it has another kind."""
    kind = p["kind"]
    if kind in ("reversible", "coupling"):
        return p["skew"] @ e
    if kind in ("ground", "offset", "joint"):
        return a.column([0] * p["width"])
    if kind == "lie_poisson":
        m = states[0]
        u, v, w, x, y, z = (e[i, 0] for i in range(6))
        q = [m[i, 0] for i in range(6)]
        return a.column(
            [
                q[2] * y - q[1] * z,
                q[0] * z - q[2] * x,
                q[1] * x - q[0] * y,
                q[5] * y - q[4] * z + q[2] * v - q[1] * w,
                q[3] * z - q[5] * x + q[0] * w - q[2] * u,
                q[4] * x - q[3] * y + q[1] * u - q[0] * v,
            ]
        )
    if kind == "inverter_bridge":
        u = states[0][0, 0]
        return a.column([u * e[1, 0], -u * e[0, 0]])
    if kind == "thrust":
        m = states[0][0, 0]
        k = p["spin"] * p["thrust"] * a.function("abs", m) / p["inertia"]
        return a.column([k * e[3, 0], 0, 0, -k * e[0, 0], m * e[5, 0], -m * e[4, 0], 0])
    return None


def constraint(a: Algebra, p: Values, states: list[Any]) -> Any:
    """Return C of a joint, (6,width), from the matrix of its pair."""
    d = p["subspace"].shape[1]
    transported = adjoint_of_inverse(a, inclusion(a, p, states[0]))
    rows = []
    for i in range(6):
        axes = [p["subspace"][i, j] for j in range(d)]
        rows.append([*axes, *(transported[i, j] for j in range(6)), *(-_ADVANCE[i]).tolist()])
    return a.matrix(rows)


def constraint_rate(a: Algebra, p: Values, states: list[Any], u_r: Any, e: Any) -> Any:
    """Return ``Cdot e`` of a joint: ``-ad_{i u_r} Ad_{I(q_r)^-1} u_j1``."""
    d = p["subspace"].shape[1]
    twist = p["subspace"] @ u_r
    first = adjoint_of_inverse(a, inclusion(a, p, states[0])) @ e[d : d + 6, :]
    v, w = [twist[i, 0] for i in range(3)], [twist[i, 0] for i in range(3, 6)]
    b, c = [first[i, 0] for i in range(3)], [first[i, 0] for i in range(3, 6)]
    linear = [x + y for x, y in zip(_cross(w, b), _cross(v, c), strict=True)]
    return a.column([-x for x in (*linear, *_cross(w, c))])


def flows(a: Algebra, p: Values, states: list[Any], e: Any, theta_0: Any) -> Any | None:
    """Return the flows of an irreversible part as a column, None if it has another kind."""
    law = _FLOWS.get(p["kind"])
    return None if law is None else law(a, p, states, e, theta_0)


def inclusion(a: Algebra, p: Values, q: Any) -> Any:
    """Return the pose of C2 in C1 of a pair, (4,4)."""
    if p["pair"] in ("about_z", "cylindrical"):
        both = p["pair"] == "cylindrical"
        angle = q[1, 0] if both else p["turn"] * q[0, 0]
        z = q[0, 0] if both else p["advance"] * q[0, 0]
        c, s = a.function("cos", angle), a.function("sin", angle)
        return a.matrix([[c, -s, 0, 0], [s, c, 0, 0], [0, 0, 1, z], [0, 0, 0, 1]])
    n = 2 if p["pair"] == "planar" else 3
    rows: list[list[Any]] = np.eye(4).tolist()
    for i in range(n):
        rows[i][:n] = [q[i, j] for j in range(n)]
        if n == 2:
            rows[i][3] = q[i, 2]
    return a.matrix(rows)


def adjoint_of_inverse(a: Algebra, pose: Any) -> Any:
    """Return ``Ad_{g^-1}``, (6,6)."""
    x, y, z = (pose[i, 3] for i in range(3))
    rt = pose[:3, :3].T
    corner = rt @ a.matrix([[0, z, -y], [-z, 0, x], [y, -x, 0]])
    rows = [[*(rt[i, j] for j in range(3)), *(corner[i, j] for j in range(3))] for i in range(3)]
    rows += [[0, 0, 0, *(rt[i, j] for j in range(3))] for i in range(3)]
    return a.matrix(rows)


def _friction(a: Algebra, p: Values, states: list[Any], e: Any, theta_0: Any) -> Any:
    d = p["width"] - 1
    if "tensor" in p:
        force = [(p["tensor"] @ e[:d, :])[i, 0] for i in range(d)]
    else:
        force = [_damping(a, p, e[0, 0], theta_0 + e[d, 0])]
    return _with_heat(a, force, [e[i, 0] for i in range(d)], theta_0 + e[d, 0])


def _damping(a: Algebra, p: Values, v: Any, theta: Any = None) -> Any:
    force = p["viscous"] * v
    if theta is not None and not _is_zero(p.get("softening", 0.0)):
        force = force * a.function("exp", -p["softening"] * (theta - p["reference"]))
    # A part without dry friction has the equation of the source, without a function.
    return force if _is_zero(p["dry"]) else force + p["dry"] * a.function("tanh", v / p["slip"])


def _damper(a: Algebra, p: Values, states: list[Any], e: Any, theta_0: Any) -> Any:
    return _with_heat(a, [_damping(a, p, e[0, 0])], [e[0, 0]], theta_0 + e[1, 0])


def _conduction(a: Algebra, p: Values, states: list[Any], e: Any, theta_0: Any) -> Any:
    first, second = theta_0 + e[0, 0], theta_0 + e[1, 0]
    heat = p["conductance"] * (first - second)
    if p["kind"] == "radiator":
        k = STEFAN_BOLTZMANN * p["area"] * p["emissivity"]
        heat = heat + k * (first**4 - second**4)
    return a.column([heat / first, -heat / second])


def _resistance(a: Algebra, p: Values, states: list[Any], e: Any, theta_0: Any) -> Any:
    i, theta = e[0, 0], theta_0 + e[1, 0]
    growth = 1 + p["coefficient"] * (theta - p["reference"])
    if not _is_zero(p["coefficient"]):
        growth = a.choose([(growth - LEAST_GROWTH, growth)], LEAST_GROWTH)
    return _with_heat(a, [p["resistance"] * growth * i], [i], theta)


def _series(a: Algebra, p: Values, states: list[Any], e: Any, theta_0: Any) -> Any:
    i = (e[0, 0] - e[1, 0]) / p["resistance"]
    return _with_heat(a, [i, -i], [e[0, 0], e[1, 0]], theta_0 + e[2, 0])


def _mesh(a: Algebra, p: Values, states: list[Any], e: Any, theta_0: Any) -> Any:
    load = p["share"] * p["stiffness"] * a.function("abs", states[0][0, 0])
    force = load * a.function("tanh", e[0, 0] / p["slip"])
    return _with_heat(a, [force], [e[0, 0]], theta_0 + e[1, 0])


def _fluid(a: Algebra, p: Values, states: list[Any], e: Any, theta_0: Any) -> Any:
    v = [e[i, 0] for i in range(6)]
    d, d_2 = p["linear"], p["quadratic"]
    force = [(d[i, 0] + d_2[i, 0] * a.function("abs", v[i])) * v[i] for i in range(6)]
    return _with_heat(a, force, v, theta_0 + e[6, 0])


def _air(a: Algebra, p: Values, states: list[Any], e: Any, theta_0: Any) -> Any:
    v = [e[i, 0] for i in range(7)]
    speed = a.function("abs", v[0])
    k = [p["torque"], p["lateral"], p["lateral"], p["axial"], 0, 0, 0]
    force = [speed * k[i] * v[i] for i in range(7)]
    return _with_heat(a, force, v, theta_0 + e[7, 0])


_FLOWS: Mapping[str, Callable[[Algebra, Values, list[Any], Any, Any], Any]] = {
    "friction": _friction,
    "damper": _damper,
    "conduction": _conduction,
    "radiator": _conduction,
    "resistance": _resistance,
    "series_resistance": _series,
    "mesh_friction": _mesh,
    "fluid_drag": _fluid,
    "air_drag": _air,
}


def _with_heat(a: Algebra, force: list[Any], v: list[Any], theta: Any) -> Any:
    power = sum((f * u for f, u in zip(force, v, strict=True)), start=0)
    return a.column([*force, -power / theta])


def _weights(a: Algebra, p: Values, q: Any) -> Any:
    total: list[Any] = [0] * 6
    for k in range(p["forces"].shape[0]):
        forces = q[:3, :3].T @ p["forces"][k, :].T
        f = [forces[i, 0] for i in range(3)]
        moment = _cross([p["points"][k, i] for i in range(3)], f)
        total = [t - x for t, x in zip(total, (*f, *moment), strict=True)]
    return a.column(total)


def _open_voltage(a: Algebra, p: Values, q: Any) -> Any:
    v = [p["voltage"][i, 0] for i in range(p["voltage"].shape[0])]
    step = p["charge"] / (len(v) - 1)
    pieces = [v[k] + (v[k + 1] - v[k]) / step * (q - k * step) for k in range(len(v) - 1)]
    bounds = [(k + 1) * step - q for k in range(len(v) - 2)]
    return a.choose(list(zip(bounds, pieces, strict=False)), pieces[-1])


def _stacked(a: Algebra, states: list[Any]) -> Any:
    return a.column([x[i, 0] for x in states for i in range(x.shape[0])])


def _cross(x: list[Any], y: list[Any]) -> list[Any]:
    return [x[1] * y[2] - x[2] * y[1], x[2] * y[0] - x[0] * y[2], x[0] * y[1] - x[1] * y[0]]


def _is_zero(x: Any) -> bool:
    return isinstance(x, float | int) and x == 0

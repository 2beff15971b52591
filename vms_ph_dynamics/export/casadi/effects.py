# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Port efforts, friction and drag in CasADi expressions."""

import casadi as ca
import numpy as np

from ...actuation.friction import Friction
from ...model import VMSModel
from ..spatial import Expression
from ..tree import ExportedTree

# Below this ratio of a joint rate to the slip speed, tanh(x) / x is its series: the first term left
# out is 2 x^4 / 15.
_SERIES_LIMIT = 1e-4


def port_symbols(model: VMSModel) -> dict[str, Expression]:
    """Return a symbol for the effort at each port; the tools are stacked."""
    sizes = {"torque": model.n, "wrench_base": model.b, "wrench_end_effector": 6}
    if model.tools:
        sizes["wrench_tools"] = 6 * len(model.tools)
    return {name: ca.SX.sym(name, size) for name, size in sizes.items()}


def port_force(
    tree: ExportedTree, v: Expression, ports: dict[str, Expression], friction: Friction | None
) -> Expression:
    """Return the generalised force of all efforts with friction and drag, (nv,)."""
    model = tree.model
    force = ca.vertcat(ports["wrench_base"], ports["torque"])
    force += tree.jacobian(model.end_effector).T @ ports["wrench_end_effector"]
    for k, name in enumerate(model.tools):
        force += tree.jacobian(name).T @ ports["wrench_tools"][6 * k : 6 * k + 6]
    return force - dissipation_matrix(tree, v, friction) @ v


def port_powers(
    tree: ExportedTree, v: Expression, ports: dict[str, Expression], friction: Friction | None
) -> dict[str, Expression]:
    """Return the power into each port and the dissipated power, W."""
    model, b = tree.model, tree.model.b
    powers = {
        "torque_power": ca.dot(ports["torque"], v[b:]),
        "wrench_base_power": ca.dot(ports["wrench_base"], v[:b]) if b else ca.SX(0),
        "wrench_end_effector_power": ca.dot(
            ports["wrench_end_effector"], tree.jacobian(model.end_effector) @ v
        ),
    }
    if model.tools:
        twists = ca.vertcat(*(tree.jacobian(name) @ v for name in model.tools))
        powers["wrench_tools_power"] = ca.dot(ports["wrench_tools"], twists)
    powers["dissipated"] = ca.dot(v, dissipation_matrix(tree, v, friction) @ v)
    return powers


def dissipation_matrix(tree: ExportedTree, v: Expression, friction: Friction | None) -> Expression:
    """Return D(q, v) with the force ``-D v`` of friction and drag, (nv,nv), semidefinite."""
    model, b = tree.model, tree.model.b
    damping = ca.SX(model.nv, model.nv)
    if friction is not None:
        for k in range(model.n):
            x = v[b + k] / friction.slip
            is_small = ca.fabs(x) < _SERIES_LIMIT
            nonzero = ca.if_else(is_small, 1.0, x)
            quotient = ca.if_else(is_small, 1 - x * x / 3, ca.tanh(nonzero) / nonzero)
            dry_coefficient = float(friction.coulomb[k]) / friction.slip
            dry_damping = dry_coefficient * quotient if dry_coefficient else 0
            damping[b + k, b + k] = float(friction.viscous[k]) + dry_damping
    for body in () if model.fluid is None else model.fluid.bodies:
        jacobian = tree.jacobian(body.link)
        speeds = ca.fabs(jacobian @ v)
        drag = ca.DM(np.asarray(body.linear_drag)) + ca.DM(np.asarray(body.quadratic_drag)) * speeds
        damping += jacobian.T @ ca.diag(drag) @ jacobian
    return damping

# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Conversion between minimal coordinates of a robot and the states of its bodies and joints."""

from typing import TYPE_CHECKING, Any

import numpy as np
import pinocchio as pin

from vms_ph_dynamics.arrays import Array
from vms_ph_dynamics.errors import ModelError
from vms_ph_dynamics.groups import pose as pose_of

from ..equations import Equations
from ..patterns import split
from .environment import Weights
from .placement import consistent_state, joint_positions, joint_velocities
from .urdf import body_names, joint_name

if TYPE_CHECKING:
    from vms_ph_dynamics.model import VMSModel


def state_of(
    equations: Equations,
    model: "VMSModel",
    q: Array,
    v: Array,
    others: Any = None,
    *,
    box: str | None = None,
) -> Array:
    """Return the state vector of a robot's bodies and joints at a configuration and velocity.

    Args:
        equations: of the system returned by :func:`.from_urdf` for the same URDF.
        model: its minimal-coordinate model.
        q: (nq,) configuration.
        v: (nv,) velocity.
        others: further states, such as entropies, by name.
        box: name of the box that the robot fills in a larger system, as in ``"cell.left"``; found
            by the names of its joints when None.

    Returns:
        (size,).

    Raises:
        ModelError: the robot is in a fluid that the system does not have; the system does not
            contain the robot, or contains several and no box is given.
    """
    prefix = _prefix(equations, model, box)
    tree = model.tree
    full = tree.pinocchio
    q, v = tree.full_configuration(q), tree.full_velocity(v)
    positions: dict[str, Array] = {}
    velocities: dict[str, Array] = {}
    poses, twists = {}, {}
    for i in range(1, full.njoints):
        joint = full.joints[i]
        mine = q[joint.idx_q : joint.idx_q + joint.nq]
        rate = v[joint.idx_v : joint.idx_v + joint.nv]
        if joint.nv == 6:
            name = prefix + body_names(full)[i]
            shift = pose_of(np.eye(3), full.inertias[i].lever)
            poses[name] = np.array(pin.XYZQUATToSE3(mine).homogeneous) @ shift
            lever = full.inertias[i].lever
            twists[name] = np.concatenate([rate[:3] + np.cross(rate[3:], lever), rate[3:]])
            continue
        name = prefix + joint_name(full.names[i])
        velocities[name], positions[name] = rate, _element(mine, joint.nv)
    return consistent_state(
        equations, positions, velocities, poses=poses, twists=twists, others=others
    )


def configuration_of(
    equations: Equations, model: "VMSModel", x: Array, *, box: str | None = None
) -> tuple[Array, Array]:
    """Return configuration and velocity of a robot at a state of its bodies and joints.

    Args:
        equations: as for :func:`state_of`.
        model: the minimal-coordinate model of the robot.
        x: state vector.
        box: as for :func:`state_of`.

    Returns:
        q (nq,) and v (nv,), as the model has them.

    Raises:
        ModelError: as for :func:`state_of`.
    """
    prefix = _prefix(equations, model, box)
    full = model.tree.pinocchio
    q, v = pin.neutral(full), np.zeros(full.nv)
    positions, velocities = joint_positions(equations, x), joint_velocities(equations, x)
    for i in range(1, full.njoints):
        joint, name = full.joints[i], prefix + joint_name(full.names[i])
        at, rate = (
            slice(joint.idx_q, joint.idx_q + joint.nq),
            slice(joint.idx_v, joint.idx_v + joint.nv),
        )
        if joint.nv == 6:
            body = prefix + body_names(full)[i]
            lever = full.inertias[i].lever
            pose = equations.states.value(x, f"{body}.q") @ pose_of(np.eye(3), -lever)
            moving = {entry.junction: effort for entry, effort in equations.couplings}
            twist = equations.storages.efforts(x)[moving[f"{body}.q"]]
            q[at] = pin.SE3ToXYZQUAT(pin.SE3(pose))
            v[rate] = np.concatenate([twist[:3] - np.cross(twist[3:], lever), twist[3:]])
            continue
        element, v[rate] = positions[name], velocities[name]
        if joint.nv == 3:
            q[at] = [element[0, 2], element[1, 2], element[0, 0], element[1, 0]]
        elif joint.nq == 2:
            q[at] = [np.cos(element[0]), np.sin(element[0])]
        else:
            q[at] = element
    if model.tree.projection is not None:
        v = np.linalg.lstsq(model.tree.projection, v, rcond=None)[0]
    return model.tree.independent(q), v


def _prefix(equations: Equations, model: "VMSModel", box: str | None) -> str:
    """Return what stands before the names of a robot's bodies and joints in a system."""
    full = model.tree.pinocchio
    names = [
        f"{body_names(full)[i]}.q" if full.joints[i].nv == 6 else joint_name(full.names[i])
        for i in range(1, full.njoints)
    ]
    if not names:
        return ""
    names_of_states = {*equations.layout.states, *(split(name)[0] for name in equations.closures)}
    if box is None:
        ends = (name.removesuffix(names[0]) for name in names_of_states if name.endswith(names[0]))
        prefixes = [p for p in ends if p == "" or p.endswith(".")]
    else:
        prefixes = [f"{box}." if box else ""]
    prefixes = sorted(p for p in prefixes if {p + name for name in names} <= names_of_states)
    if len(prefixes) != 1:
        boxes = ", ".join(repr(p[:-1]) for p in prefixes)
        raise ModelError(
            f"the system holds '{model.name}' in the boxes {boxes}; name one with box="
            if prefixes
            else f"the system does not hold the joints {', '.join(names)} of '{model.name}'"
            + (f" in the box '{box}'" if box else "")
            + "; assemble it from the URDF of the model"
        )
    wet = any(
        isinstance(component, Weights) and name.startswith(prefixes[0])
        for name, component in equations.layout.components.items()
    )
    if wet != (model.fluid is not None):
        raise ModelError(
            f"'{model.name}' is in a fluid, but the system was made without; give "
            "fluid=model.fluid to from_urdf"
            if model.fluid is not None
            else f"the system has '{model.name}' in a fluid, but its model is without; give "
            "model.in_fluid(...)"
        )
    return prefixes[0]


def _element(q: Array, freedoms: int) -> Array:
    if freedoms == 3:
        return np.array([[q[2], -q[3], q[0]], [q[3], q[2], q[1]], [0.0, 0.0, 1.0]])
    if q.size == 2:
        return np.array([np.arctan2(q[1], q[0])])
    return q

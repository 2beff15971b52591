# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Conversion between minimal coordinates of a robot and the states of its bodies and joints."""

from typing import TYPE_CHECKING, Any

import numpy as np
import pinocchio as pin

from vms_ph_dynamics import Array, ModelError
from vms_ph_dynamics.groups import pose as pose_of

from ..equations import Equations
from ..equations.layout import StateEntry
from ..patterns import split
from .environment import Weights
from .placement import consistent_state
from .urdf import body_names, joint_name

if TYPE_CHECKING:
    from vms_ph_dynamics import VMSModel


class Coordinates:
    """Maps between minimal coordinates of a robot and the states of its bodies and joints.

    Attributes:
        body_names: of the bodies that the joints of the model move, by index.
        port: name of the outer port of a moving base; empty without one.
        lever: (3,) from the origin of a floating base to its centre of mass, m; None otherwise.

    Args:
        equations: of the system returned by :func:`.from_urdf` for the same URDF.
        model: its minimal-coordinate model.
        box: name of the box that the robot fills in a larger system, as in ``"cell.left"``; found
            by the names of its joints when None.

    Raises:
        ModelError: the robot is in a fluid that the system does not have; the system does not
            contain the robot, or contains several and no box is given.
    """

    def __init__(self, equations: Equations, model: "VMSModel", box: str | None = None) -> None:
        self._equations, self._model, self._pin_model = equations, model, model.tree.pinocchio
        self._prefix, self.body_names = _prefix(equations, model, box), body_names(self._pin_model)
        pin_model, layout = self._pin_model, equations.layout
        self.port = ""
        self.lever: Array | None = None
        self._entries: dict[int, StateEntry] = {}
        rate_indices, indices = np.zeros(pin_model.nv, dtype=np.intp), np.arange(layout.total_size)
        for i in range(1, pin_model.njoints):
            joint, name = pin_model.joints[i], self._prefix + joint_name(pin_model.names[i])
            if joint.nv == 6:
                self.port, self.lever = self.body_names[i], np.array(pin_model.inertias[i].lever)
                self._entries[i] = layout.states[f"{self._prefix}{self.port}.q"]
                effort_at = {coupling.junction: places for coupling, places in equations.couplings}
                places = effort_at[self._entries[i].junction]
            else:
                self.port = joint_name(pin_model.names[i]) if joint.nv == 3 else self.port
                self._entries[i] = layout.states[layout.junctions[f"{name}.hc.q_r"]]
                places = layout.entries[layout.junctions[f"{name}.hc.p_r"]]
            rate_indices[joint.idx_v : joint.idx_v + joint.nv] = indices[places]
        self._rate_indices = rate_indices
        projection = model.tree.projection
        self._projection_pinv = None if projection is None else np.linalg.pinv(projection)

    def state(self, q: Array, v: Array, others: Any = None) -> Array:
        """Return the state vector at a configuration (nq,) and velocity (nv,); others by name."""
        pin_model, tree = self._pin_model, self._model.tree
        q, v = tree.full_configuration(q), tree.full_velocity(v)
        positions: dict[str, Array] = {}
        velocities: dict[str, Array] = {}
        poses, twists = {}, {}
        for i in range(1, pin_model.njoints):
            joint = pin_model.joints[i]
            coordinates = q[joint.idx_q : joint.idx_q + joint.nq]
            rate = v[joint.idx_v : joint.idx_v + joint.nv]
            if joint.nv == 6:
                name, lever = self._prefix + self.body_names[i], pin_model.inertias[i].lever
                lever_pose = pose_of(np.eye(3), lever)
                poses[name] = np.array(pin.XYZQUATToSE3(coordinates).homogeneous) @ lever_pose
                twists[name] = np.concatenate([rate[:3] + np.cross(rate[3:], lever), rate[3:]])
                continue
            name = self._prefix + joint_name(pin_model.names[i])
            velocities[name], positions[name] = rate, _pair_element(coordinates, joint.nv)
        return consistent_state(
            self._equations, positions, velocities, poses=poses, twists=twists, others=others
        )

    def motion(self, x: Array) -> tuple[Array, Array]:
        """Return configuration (nq,) and velocity (nv,) at a state vector."""
        pin_model = self._pin_model
        q, v = pin.neutral(pin_model), self._equations.tangent(x, None)[1][self._rate_indices]
        for i, entry in self._entries.items():
            joint, element = pin_model.joints[i], x[entry.indices]
            indices, start = slice(joint.idx_q, joint.idx_q + joint.nq), joint.idx_v
            if self.lever is not None and joint.nv == 6:
                pose = element.reshape(4, 4) @ pose_of(np.eye(3), -self.lever)
                q[indices] = pin.SE3ToXYZQUAT(pin.SE3(pose))
                v[start : start + 3] -= np.cross(v[start + 3 : start + 6], self.lever)
            elif joint.nv == 3:
                q[indices] = element[[2, 5, 0, 3]]  # of the (3,3) of SE(2): x, y, cos, sin
            else:
                q[indices] = element if joint.nq == 1 else (np.cos(element[0]), np.sin(element[0]))
        if self._projection_pinv is not None:
            return self._model.tree.without_mimics(q), self._projection_pinv @ v
        return q, v


def state_of(
    equations: Equations,
    model: "VMSModel",
    q: Array,
    v: Array,
    others: Any = None,
    *,
    box: str | None = None,
) -> Array:
    """Return the state vector (size,) of a robot at q (nq,) and v (nv,); see :class:`Coordinates`.

    Args:
        equations: as there.
        model: as there.
        q: configuration.
        v: velocity.
        others: further states, such as entropies, by name.
        box: as there.
    """
    return Coordinates(equations, model, box).state(q, v, others)


def configuration_of(
    equations: Equations, model: "VMSModel", x: Array, *, box: str | None = None
) -> tuple[Array, Array]:
    """Return configuration (nq,) and velocity (nv,) of a robot at a state; see :func:`state_of`."""
    return Coordinates(equations, model, box).motion(x)


def _prefix(equations: Equations, model: "VMSModel", box: str | None) -> str:
    """Return what stands before the names of a robot's bodies and joints in a system."""
    robot = model.tree.pinocchio
    names = [
        f"{body_names(robot)[i]}.q" if robot.joints[i].nv == 6 else joint_name(robot.names[i])
        for i in range(1, robot.njoints)
    ]
    if not names:
        return ""
    state_names = {*equations.layout.states, *(split(name)[0] for name in equations.joint_closures)}
    if box is None:
        candidates = (n.removesuffix(names[0]) for n in state_names if n.endswith(names[0]))
        prefixes = [p for p in candidates if p == "" or p.endswith(".")]
    else:
        prefixes = [f"{box}." if box else ""]
    prefixes = sorted(p for p in prefixes if {p + name for name in names} <= state_names)
    if len(prefixes) != 1:
        boxes = ", ".join(repr(prefix[:-1]) for prefix in prefixes)
        raise ModelError(
            f"the system holds '{model.name}' in the boxes {boxes}; name one with box="
            if prefixes
            else f"the system does not hold the joints {', '.join(names)} of '{model.name}'"
            + (f" in the box '{box}'" if box else "")
            + "; assemble it from the URDF of the model"
        )
    is_immersed = any(
        isinstance(component, Weights) and name.startswith(prefixes[0])
        for name, component in equations.layout.components.items()
    )
    if is_immersed != (model.fluid is not None):
        raise ModelError(
            f"'{model.name}' is in a fluid, but the system was made without; give "
            "fluid=model.fluid to from_urdf"
            if model.fluid is not None
            else f"the system has '{model.name}' in a fluid, but its model is without; give "
            "model.in_fluid(...)"
        )
    return prefixes[0]


def _pair_element(q: Array, dimension: int) -> Array:
    if dimension == 3:
        return np.array([[q[2], -q[3], q[0]], [q[3], q[2], q[1]], [0.0, 0.0, 1.0]])
    if q.size == 2:
        return np.array([np.arctan2(q[1], q[0])])
    return q

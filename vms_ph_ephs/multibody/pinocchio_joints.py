# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The bodies and joints of a Pinocchio model: their names, and the pairs with their axes."""

from typing import Any

import numpy as np
import pinocchio as pin

from vms_ph_dynamics.arrays import Array
from vms_ph_dynamics.errors import ModelError
from vms_ph_dynamics.groups import pose as pose_of

from .mechanism import GROUND
from .pairs import LowerPair, Planar, Prismatic, Revolute

_AXES = {"X": (1.0, 0.0, 0.0), "Y": (0.0, 1.0, 0.0), "Z": (0.0, 0.0, 1.0)}


def body_names(model: Any) -> dict[int, str]:
    """Return the name of the body that every joint of a Pinocchio model moves: that of its link."""
    found: dict[int, str] = {0: GROUND}
    joints = {joint_name(name) for name in model.names}
    for frame in model.frames:
        if frame.type == pin.FrameType.BODY and frame.parentJoint not in found:
            name = joint_name(frame.name)
            found[frame.parentJoint] = f"{name}_body" if name in joints | {GROUND} else name
    for i in range(1, model.njoints):
        found.setdefault(i, f"{joint_name(model.names[i])}_body")
    return found


def joint_name(name: str) -> str:
    """Return the name of a box for a name in a URDF; dots, which separate boxes, are replaced."""
    return str(name).replace(".", "_")


def pair_of(model: Any, i: int) -> tuple[LowerPair, Array]:
    """Return the pair of a joint, and the rotation from its z axis to the joint's axis."""
    kind = model.joints[i].shortname()
    name = kind.removeprefix("JointModel")
    if name == "Planar":
        return Planar(), np.eye(4)
    if name.startswith(("R", "P")) and name[-1] in _AXES:
        axis = np.array(_AXES[name[-1]])
    elif name.endswith("Unaligned"):
        state = model.joints[i].createData()
        model.joints[i].calc(state, pin.neutral(model)[model.idx_qs[i] :][: model.nqs[i]])
        subspace = np.array(state.S).ravel()
        axis = subspace[:3] if name.startswith("P") else subspace[3:]
    else:
        raise ModelError(
            f"the joint '{model.names[i]}' is a {kind}; revolute, continuous, prismatic and planar "
            "joints and a floating base are covered"
        )
    return (Prismatic() if name.startswith("P") else Revolute()), _turn(axis)


def _turn(axis: Array) -> Array:
    """Return the shortest rotation from the z axis to an axis, (4,4)."""
    axis = axis / np.linalg.norm(axis)
    z = np.array([0.0, 0.0, 1.0])
    v, c = np.cross(z, axis), float(axis[2])
    if c < -1.0 + 1e-12:
        return pose_of(np.diag([1.0, -1.0, -1.0]), np.zeros(3))
    hat = np.array([[0.0, -v[2], v[1]], [v[2], 0.0, -v[0]], [-v[1], v[0], 0.0]])
    return pose_of(np.eye(3) + hat + hat @ hat / (1.0 + c), np.zeros(3))

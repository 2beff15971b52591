# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Actuators of an MJCF as properties of the joints that they drive."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from .tree import HINGE, SLIDE, Tree, joints_of


@dataclass(frozen=True)
class Drives:
    """What all actuators of a joint add up to, by index of the joint.

    Attributes:
        effort: largest torque or force, N m or N; infinite without a limit.
        armature: inertia of rotors at the joint, kg m^2 or kg.
        damping: N m s/rad or N s/m at the joint.
    """

    effort: dict[int, float]
    armature: dict[int, float]
    damping: dict[int, float]


def covered_actuators(mujoco: Any, m: Any, tree: Tree) -> list[int]:
    """Return the indices of the actuators that drive one hinge or slide of the robot."""
    ours = {j for i in tree.bodies for j in joints_of(m, i) if m.jnt_type[j] in (HINGE, SLIDE)}
    kinds = mujoco.mjtTrn.mjTRN_JOINT, mujoco.mjtTrn.mjTRN_JOINTINPARENT
    return [
        i
        for i, kind in enumerate(m.actuator_trntype)
        if int(kind) in [int(k) for k in kinds] and int(m.actuator_trnid[i, 0]) in ours
    ]


def drives(mujoco: Any, m: Any, tree: Tree) -> Drives:
    """Return what the actuators of a ``mujoco.MjModel`` add to the joints of the robot.

    An actuator with the gear ``g`` and a force within ``[a, b]`` gives an effort of at most
    ``|g| max(|a|, |b|)``, rotors of the inertia ``g^2 armature`` and damping ``g^2 damping``.
    """
    totals = Drives({}, {}, {})
    for i in covered_actuators(mujoco, m, tree):
        joint, gear = int(m.actuator_trnid[i, 0]), float(m.actuator_gear[i, 0])
        for name in ("armature", "damping"):
            values = getattr(m, f"actuator_{name}", None)  # MuJoCo 3 has none
            if values is not None and values[i]:
                here = getattr(totals, name)
                here[joint] = here.get(joint, 0.0) + gear**2 * float(values[i])
        largest = abs(gear) * _largest_force(mujoco, m, i) if gear else 0.0
        totals.effort[joint] = totals.effort.get(joint, 0.0) + largest
    for joint in range(m.njnt):
        if m.jnt_actfrclimited[joint]:
            bound = float(np.abs(m.jnt_actfrcrange[joint]).max())
            totals.effort[joint] = min(totals.effort.get(joint, np.inf), bound)
    return totals


def _largest_force(mujoco: Any, m: Any, i: int) -> float:
    if m.actuator_forcelimited[i]:
        return float(np.abs(m.actuator_forcerange[i]).max())
    motor = (
        m.actuator_dyntype[i] == mujoco.mjtDyn.mjDYN_NONE
        and m.actuator_gaintype[i] == mujoco.mjtGain.mjGAIN_FIXED
        and m.actuator_biastype[i] == mujoco.mjtBias.mjBIAS_NONE
    )
    if motor and m.actuator_ctrllimited[i]:
        return float(np.abs(m.actuator_gainprm[i, 0] * m.actuator_ctrlrange[i]).max())
    return float(np.inf)

# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The bodies of a compiled MuJoCo model that are the robot, their names in a URDF, their motors."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from vms_ph_dynamics import ModelError

FREE, BALL, SLIDE, HINGE = 0, 1, 2, 3  # mjtJoint
WORLD = 0


@dataclass(frozen=True)
class Tree:
    """The robot among the bodies of a model.

    Attributes:
        free_base: the body with a free joint that is the base; None for a fixed base.
        bodies: all bodies of the robot without the world, parents first.
        joints: names of its hinges and slides, by index.
        objects: names of free bodies without joints that are not part of the robot.
        scenery: names of bodies fixed to the world beside a free robot, with one joint or none.
    """

    free_base: int | None
    bodies: tuple[int, ...]
    joints: Mapping[int, str]
    objects: tuple[str, ...]
    scenery: tuple[str, ...]


def robot_tree(m: Any) -> Tree:
    """Return the robot among the bodies of a ``mujoco.MjModel``.

    Raises:
        ModelError: there is no robot, there are several, or a joint is a ball.
    """
    roots = [i for i in range(1, m.nbody) if m.body_parentid[i] == WORLD]
    root_of = [WORLD]
    for i, parent in enumerate(m.body_parentid[1:], 1):
        root_of.append(i if parent == WORLD else root_of[parent])
    subtrees = {root: [i for i in range(root, m.nbody) if root_of[i] == root] for root in roots}
    joint_counts = {root: sum(int(m.body_jntnum[i]) for i in subtrees[root]) for root in roots}
    free_roots = [root for root in roots if is_free(m, root)]
    fixed_roots = [root for root in roots if root not in free_roots]
    arms = [root for root in fixed_roots if joint_counts[root]]
    robots = [root for root in free_roots if joint_counts[root] > 1] or ([] if arms else free_roots)
    # One joint is that of a door, or holds what stands for a joint that the robot lacks.
    if len(robots) > 1 or (robots and any(joint_counts[root] > 1 for root in arms)):
        names = ", ".join(f"'{body_name(m, i)}'" for i in (*robots, *arms))
        text = f"it has several robots: {names}; give a file with one of them (a body with a free "
        text += "joint, or bodies fixed to the world)"
        raise ModelError(text)
    if not robots and not arms:
        raise ModelError("it has no joint that moves a body")
    base = robots[0] if robots else None
    robot_roots = [base] if base is not None else fixed_roots
    bodies = tuple(body for root in sorted(robot_roots) for body in subtrees[root])
    balls = [joint_name(m, j) for i in bodies for j in joints_of(m, i) if m.jnt_type[j] == BALL]
    if balls:
        raise ModelError(
            f"joint{'s' * (len(balls) > 1)} {', '.join(repr(name) for name in balls)}: ball joints "
            "are not covered; write three hinges in a row instead, or remove the joint"
        )
    return Tree(
        base,
        bodies,
        _joint_names(m, bodies, base is not None),
        tuple(body_name(m, free_root) for free_root in free_roots if free_root != base),
        tuple(body_name(m, fixed_root) for fixed_root in fixed_roots) if base is not None else (),
    )


def is_free(m: Any, body: int) -> bool:
    """Return whether a body has a free joint."""
    return bool(m.body_jntnum[body]) and m.jnt_type[m.body_jntadr[body]] == FREE


def joints_of(m: Any, body: int) -> range:
    """Return the indices of the joints of a body."""
    first_joint = int(m.body_jntadr[body])
    return range(first_joint, first_joint + int(m.body_jntnum[body]))


def body_name(m: Any, body: int) -> str:
    """Return the name of a body."""
    return m.body(body).name or f"body{body}"


def joint_name(m: Any, joint: int) -> str:
    """Return the name of a joint."""
    return m.joint(joint).name or f"joint{joint}"


class UniqueNames:
    """Unique names."""

    def __init__(self) -> None:
        self._names: set[str] = set()

    def reserve(self, preferred_name: str) -> str:
        """Return the name, or the name with the first number that makes it a new one."""
        name, k = preferred_name, 2
        while name in self._names:
            name, k = f"{preferred_name}_{k}", k + 1
        self._names.add(name)
        return name


def _joint_names(m: Any, bodies: tuple[int, ...], has_free_base: bool) -> dict[int, str]:
    names = UniqueNames()
    if has_free_base:
        names.reserve("root_joint")  # Pinocchio's name of a floating base
    movable_joints = [j for body in bodies for j in joints_of(m, body) if m.jnt_type[j] != FREE]
    return {joint: names.reserve(joint_name(m, joint)) for joint in movable_joints}


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
    joints = {j for i in tree.bodies for j in joints_of(m, i) if m.jnt_type[j] in (HINGE, SLIDE)}
    kinds = mujoco.mjtTrn.mjTRN_JOINT, mujoco.mjtTrn.mjTRN_JOINTINPARENT
    return [
        i
        for i, kind in enumerate(m.actuator_trntype)
        if int(kind) in kinds and int(m.actuator_trnid[i, 0]) in joints
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
                sums = getattr(totals, name)
                sums[joint] = sums.get(joint, 0.0) + gear**2 * float(values[i])
        max_effort = abs(gear) * _largest_force(mujoco, m, i) if gear else 0.0
        totals.effort[joint] = totals.effort.get(joint, 0.0) + max_effort
    for joint in range(m.njnt):
        if m.jnt_actfrclimited[joint]:
            max_effort = float(np.abs(m.jnt_actfrcrange[joint]).max())
            totals.effort[joint] = min(totals.effort.get(joint, np.inf), max_effort)
    return totals


def is_motor(mujoco: Any, m: Any, i: int) -> bool:
    """Return whether the force of an actuator is its input times a constant."""
    return bool(
        m.actuator_dyntype[i] == mujoco.mjtDyn.mjDYN_NONE
        and m.actuator_gaintype[i] == mujoco.mjtGain.mjGAIN_FIXED
        and m.actuator_biastype[i] == mujoco.mjtBias.mjBIAS_NONE
    )


def _largest_force(mujoco: Any, m: Any, i: int) -> float:
    if m.actuator_forcelimited[i]:
        return float(np.abs(m.actuator_forcerange[i]).max())
    if is_motor(mujoco, m, i) and m.actuator_ctrllimited[i]:
        return float(np.abs(m.actuator_gainprm[i, 0] * m.actuator_ctrlrange[i]).max())
    return float(np.inf)

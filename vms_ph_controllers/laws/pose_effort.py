# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The effort of an impedance of the end effector at a state; it has no memory."""

from dataclasses import dataclass

import numpy as np

from vms_ph_dynamics.arrays import Array
from vms_ph_dynamics.evaluation import Evaluation

from ..potentials.base_spring import SpringForce
from ..potentials.pose_potential import PosePotential
from ..potentials.shaped_potential import JointLimitPotential
from ..references.pose_reference import PoseReference
from .sampled_impedance import SampledImpedance, brake

USED_UP = "the energy for pushing is used up"


@dataclass(frozen=True, slots=True)
class Push:
    """A push of the end effector along one direction; all in end-effector axes.

    Attributes:
        wrench: (6,) that the law adds, N and N m.
        across: (6,6) projection on the directions of the impedance.
        damping: (6,6) damping along the direction of the push.
        authority: share of the desired force in force, in [0, 1].
        reason: why it is not the whole, in words; empty otherwise.
    """

    wrench: Array
    across: Array
    damping: Array
    authority: float
    reason: str

    @classmethod
    def along(cls, direction: Array, force: float, damping: float, authority: float) -> "Push":
        """Return the push with a force, N, and a damping, N s/m, along a unit vector (3,)."""
        axis = np.concatenate([direction, np.zeros(3)])
        projection = np.outer(axis, axis)
        reason = USED_UP if authority < 1.0 else ""
        return cls(force * axis, np.eye(6) - projection, damping * projection, authority, reason)


# Added to the eigenvalues of the task mobility ``J M^-1 J^T``: it bounds the task inertia where the
# arm is stretched out.
_REGULARISATION = 1e-6


@dataclass(frozen=True, slots=True)
class ToolImpedance:
    """What spring and damper of the end effector see.

    Attributes:
        potential: of its pose; it follows the error.
        reference: of its pose.
        error: (4,4) its pose in that reference.
        is_relative: whether its pose is that in the frame of the base.
        push: what replaces the impedance along one direction; None where nothing does.
        stiffness: N/m; ``stiffness_rotation``: of its attitude, N m/rad.
        damping: N s/m; ``damping_rotation``: N m s/rad.
    """

    potential: PosePotential
    reference: PoseReference
    error: Array
    is_relative: bool
    push: Push | None
    stiffness: float
    stiffness_rotation: float
    damping: float
    damping_rotation: float


@dataclass(frozen=True, slots=True)
class NullSpaceImpedance:
    """What holds the remaining motion.

    Attributes:
        base: springs of the base.
        limits: springs at the limits of the joints.
        wall: (n,) stiffness of these.
        margin: distance from a limit at which its spring begins, rad or m.
        damping_null: rate of the damping of the null space, 1/s.
        turning: rate of the damping of the attitude of the base, 1/s.
    """

    base: SpringForce
    limits: JointLimitPotential
    wall: Array
    margin: float
    damping_null: float
    turning: float


@dataclass(frozen=True, slots=True)
class PoseEffort:
    """What springs and damping demand.

    Attributes:
        continuous: (nv,) the effort in which the energy balance is stated, without that of a push.
        sampled: (nv,) with the reduced spring and the brake, without that of a push.
        potential: energy of all springs, J.
        kinetic: kinetic energy of the robot, J.
        kinetic_task: of the end effector, J.
        damping_task: power that the damping of the end effector takes out, W.
        damping_null: power that the damping of the remaining motion takes out, W.
        reference_power: with which the reference of the end effector moves the minimum, W.
        smallest: smallest singular value of the Jacobian of what moves the end effector.
        reason: what was reduced, in words; empty when nothing was.
    """

    continuous: Array
    sampled: Array
    potential: float
    kinetic: float
    kinetic_task: float
    damping_task: float
    damping_null: float
    reference_power: float
    smallest: float
    reason: str


def pose_effort(
    d: Evaluation, tool: ToolImpedance, null: NullSpaceImpedance, h: float
) -> PoseEffort:
    """Return the effort at a state for a horizon (s)."""
    model, b, push = d.model, d.model.b, tool.push
    tool.potential.follow(tool.error)
    j = d.J_end_effector
    moving = j[:, b:] if tool.is_relative and model.n else j
    if tool.is_relative:
        j = np.concatenate([np.zeros((6, b)), j[:, b:]], axis=1)
    reference_twist = tool.reference.twist_at(tool.error)
    k = (tool.stiffness, tool.stiffness_rotation)
    spring = tool.potential.gradient(tool.error, *k)
    stiffness = np.diag([k[0]] * 3 + [k[1]] * 3)
    damping = np.diag([tool.damping] * 3 + [tool.damping_rotation] * 3)
    if push is not None:
        spring, stiffness = push.across @ spring, push.across @ stiffness @ push.across
        damping = push.across @ damping @ push.across + push.damping

    inverse = np.linalg.solve(d.M, j.T)
    inertia = np.linalg.inv(j @ inverse + _REGULARISATION * np.eye(6))
    eta = j @ d.v
    drift = h * (stiffness @ reference_twist)
    positions = model.joint_positions(d.q)
    depth = null.limits.depth(positions, null.margin)
    predicted_depth = null.limits.depth(positions + h * d.v[b:], null.margin)
    reached = (depth != 0.0) | (predicted_depth != 0.0)
    pull = np.concatenate([null.base.force, null.wall * depth])
    pull_stiffness = np.concatenate([null.base.stiffness, np.where(reached, null.wall, 0.0)])
    rest_damping = null.damping_null * (d.M - j.T @ inertia @ j)
    turn = slice(2 if model.base == "planar" else 3, b)
    rest_damping[turn, turn] += null.turning * d.M_b[turn, turn]
    impedance = SampledImpedance.at(
        d,
        j.T @ damping @ j + rest_damping,
        j.T @ stiffness @ j + np.diag(pull_stiffness),
        j.T @ (spring - drift) + pull,
        d.v,
        h,
        j.T @ (damping @ reference_twist),
    )
    on_task = damping @ (j @ impedance.velocity - reference_twist)
    force = spring + on_task - drift
    on_null = rest_damping @ impedance.velocity + impedance.predicted_spring
    potential = tool.potential.value(tool.error, *k) + null.base.energy
    return PoseEffort(
        d.g - j.T @ force - pull - on_null,
        d.g + brake(d, h) - impedance.spring - j.T @ on_task - on_null,
        potential + 0.5 * float(null.wall @ (depth * depth)),
        d.kinetic_energy,
        0.5 * float(eta @ inertia @ eta),
        float((eta - reference_twist) @ (on_task - drift)),
        float(d.v @ on_null),
        -float(force @ reference_twist),
        float(np.linalg.svd(moving, compute_uv=False)[-1]),
        impedance.reason,
    )

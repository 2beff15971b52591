# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The effort of an impedance of the end effector at a state; it has no memory."""

from dataclasses import dataclass

import numpy as np

from vms_ph_dynamics.arrays import Array
from vms_ph_dynamics.evaluation import Evaluation

from ..potentials.base_spring import Held
from ..potentials.joint_limit_potential import JointLimitPotential
from ..potentials.pose_potential import PosePotential
from ..references.pose_reference import PoseReference
from .held_impedance import HeldImpedance, brake
from .push import Push

# Added to the eigenvalues of the task mobility ``J M^-1 J^T``: it bounds the task inertia where the
# arm is stretched out.
_REGULARISATION = 1e-6


@dataclass(frozen=True, slots=True)
class Aim:
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
class Rest:
    """What holds the remaining motion.

    Attributes:
        base: springs of the base.
        limits: springs at the limits of the joints.
        wall: (n,) stiffness of these.
        margin: distance from a limit at which its spring begins, rad or m.
        damping_null: rate of the damping of the null space, 1/s.
        turning: rate of the damping of the attitude of the base, 1/s.
    """

    base: Held
    limits: JointLimitPotential
    wall: Array
    margin: float
    damping_null: float
    turning: float


@dataclass(frozen=True, slots=True)
class PoseEffort:
    """What springs and damping demand.

    Attributes:
        wanted: (nv,) the effort in which the energy balance is stated, without that of a push.
        sent: (nv,) with the reduced spring and the brake, without that of a push.
        potential: energy of all springs, J.
        kinetic: kinetic energy of the robot, J.
        kinetic_task: of the end effector, J.
        damping_task: power that the damping of the end effector takes out, W.
        damping_null: power that the damping of the remaining motion takes out, W.
        reference_power: with which the reference of the end effector moves the minimum, W.
        smallest: smallest singular value of the Jacobian of what moves the end effector.
        reason: what was reduced, in words; empty when nothing was.
    """

    wanted: Array
    sent: Array
    potential: float
    kinetic: float
    kinetic_task: float
    damping_task: float
    damping_null: float
    reference_power: float
    smallest: float
    reason: str


def pose_effort(d: Evaluation, aim: Aim, rest: Rest, h: float) -> PoseEffort:
    """Return the effort at a state for a horizon (s), in one call of C++ where the terms are."""
    if d.law_algebra is not None and aim.push is None:
        return _in_cpp(d, aim, rest, h)
    model, b, push = d.model, d.model.b, aim.push
    aim.potential.follow(aim.error)
    j = d.J_end_effector
    moving = j[:, b:] if aim.is_relative and model.n else j
    if aim.is_relative:
        j = np.concatenate([np.zeros((6, b)), j[:, b:]], axis=1)
    wanted_twist = aim.reference.twist_at(aim.error)
    k = (aim.stiffness, aim.stiffness_rotation)
    spring = aim.potential.gradient(aim.error, *k)
    stiffness = np.diag([k[0]] * 3 + [k[1]] * 3)
    damping = np.diag([aim.damping] * 3 + [aim.damping_rotation] * 3)
    if push is not None:
        spring, stiffness = push.across @ spring, push.across @ stiffness @ push.across
        damping = push.across @ damping @ push.across + push.damping

    inverse = np.linalg.solve(d.M, j.T)
    inertia = np.linalg.inv(j @ inverse + _REGULARISATION * np.eye(6))
    eta = j @ d.v
    drift = h * (stiffness @ wanted_twist)
    positions = model.joint_positions(d.q)
    depth = rest.limits.depth(positions, rest.margin)
    ahead = rest.limits.depth(positions + h * d.v[b:], rest.margin)
    reached = (depth != 0.0) | (ahead != 0.0)
    pull = np.concatenate([rest.base.force, rest.wall * depth])
    pull_stiffness = np.concatenate([rest.base.stiffness, np.where(reached, rest.wall, 0.0)])
    rest_damping = rest.damping_null * (d.M - j.T @ inertia @ j)
    turn = slice(2 if model.base == "planar" else 3, b)
    rest_damping[turn, turn] += rest.turning * d.M_b[turn, turn]
    held = HeldImpedance.at(
        d,
        j.T @ damping @ j + rest_damping,
        j.T @ stiffness @ j + np.diag(pull_stiffness),
        j.T @ (spring - drift) + pull,
        d.v,
        h,
        j.T @ (damping @ wanted_twist),
    )
    on_task = damping @ (j @ held.velocity - wanted_twist)
    force = spring + on_task - drift
    on_null = rest_damping @ held.velocity + held.ahead
    potential = aim.potential.value(aim.error, *k) + rest.base.energy
    return PoseEffort(
        d.g - j.T @ force - pull - on_null,
        d.g + brake(d, h) - held.spring - j.T @ on_task - on_null,
        potential + 0.5 * float(rest.wall @ (depth * depth)),
        d.kinetic_energy,
        0.5 * float(eta @ inertia @ eta),
        float((eta - wanted_twist) @ (on_task - drift)),
        float(d.v @ on_null),
        -float(force @ wanted_twist),
        float(np.linalg.svd(moving, compute_uv=False)[-1]),
        held.reason,
    )


def _in_cpp(d: Evaluation, aim: Aim, rest: Rest, h: float) -> PoseEffort:
    base = rest.base
    found, *state, g = d.law_algebra.pose(
        *(d.q, d.v, d.model.end_effector_id, aim.is_relative, aim.error, *aim.potential.state),
        *(aim.reference.twist, aim.stiffness, aim.stiffness_rotation),
        *(aim.damping, aim.damping_rotation, base.energy, base.force, base.stiffness),
        *(rest.wall, rest.margin, rest.damping_null, rest.turning, h),
    )
    aim.potential.state = state[0], state[1]
    d.adopt(g)
    return PoseEffort(*found)

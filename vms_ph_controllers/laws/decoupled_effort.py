# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The effort of the decoupled law for a potential and a reference; it has no memory."""

from dataclasses import dataclass

import numpy as np

from vms_ph_dynamics.arrays import Array
from vms_ph_dynamics.evaluation import Evaluation

from ..potentials.pose_potential import PosePotential
from .held_impedance import HeldImpedance, brake


@dataclass(frozen=True, slots=True)
class ReferenceMotion:
    """Velocity and acceleration of the reference, (nv,) each."""

    velocity: Array
    acceleration: Array


@dataclass(frozen=True, slots=True)
class ShapedEnergy:
    """The shaped potential: its energy, J, its gradient (nv,) and its stiffnesses (nv,)."""

    energy: float
    gradient: Array
    stiffness: Array


@dataclass(frozen=True, slots=True)
class DecoupledEffort:
    """What a potential, a reference and damping demand of a robot on a moving base [A (59)].

    Attributes:
        error: (nv,) of the velocity.
        wanted: (nv,) the effort in which the energy balance is stated.
        sent: (nv,) with the reduced spring and the brake.
        kinetic_base: kinetic energy of the locked motion, J.
        kinetic_shape: kinetic energy of the shape, J.
        damping_base: power that the damping of the locked motion takes out, W.
        damping_shape: power that the damping of the shape takes out, W.
        reason: what was reduced, in words; empty when nothing was.
    """

    error: Array
    wanted: Array
    sent: Array
    kinetic_base: float
    kinetic_shape: float
    damping_base: float
    damping_shape: float
    reason: str


@dataclass(frozen=True, slots=True)
class Springs:
    """Springs of base and joints, and the rates of the damping.

    Attributes:
        position: stiffness of the base, N/m.
        rotation: of its attitude, N m/rad.
        shape: (n,) of the joints.
        limit: (n,) at the limits of the joints.
        margin: distance from a joint limit at which its spring begins, rad or m.
        rate_base: of the damping of the locked motion, 1/s.
        rate_shape: of the damping of the shape, 1/s.
    """

    position: float
    rotation: float
    shape: Array
    limit: Array
    margin: float
    rate_base: float
    rate_shape: float


@dataclass(frozen=True, slots=True)
class SprungEffort:
    """An effort with the springs behind it.

    Attributes:
        effort: what springs, damping and reference demand.
        energy: of the springs, J.
        gradient: (nv,) of that energy.
        error: (4,4) pose of the base in the minimum.
        pose: (4,4) of the base in the inertial frame.
        is_switched: whether the sign of the attitude error was switched.
    """

    effort: DecoupledEffort
    energy: float
    gradient: Array
    error: Array
    pose: Array
    is_switched: bool


def sprung_effort(
    d: Evaluation,
    springs: Springs,
    potential: PosePotential,
    begins: bool,
    minimum: Array,
    offset: Array,
    motion: tuple[Array, ...] | None,
    h: float,
) -> SprungEffort | None:
    """Return effort and springs in one call of C++; None without it.

    Args:
        d: the state.
        springs: of base and joints.
        potential: of the base; it follows the pose error.
        begins: whether the potential restarts there.
        minimum: (4,4) pose of the base of the least energy.
        offset: (n,) displacement of the joints from that minimum.
        motion: of the reference: (3,3) its axes in those of the minimum, twist (6,) in its axes,
            the rate of that, rates (n,) and accelerations (n,) of the joints; None at rest.
        h: the horizon, s.
    """
    algebra = d.law_algebra
    if algebra is None:
        return None
    quaternion, sign = potential.state
    s = springs
    found, energy, gradient, error, pose, quaternion, sign, switched, g = algebra.decoupled_springs(
        *(d.q, d.v, minimum, offset, None if begins else quaternion, sign, motion),
        *(s.position, s.rotation, s.shape, s.limit, s.margin, s.rate_base, s.rate_shape, h),
    )
    potential.state = quaternion, sign
    d.adopt(g)
    return SprungEffort(DecoupledEffort(*found), energy, gradient, error, pose, switched)


def decoupled_effort(
    d: Evaluation,
    shaped: ShapedEnergy,
    motion: ReferenceMotion | None,
    base: float,
    shape: float,
    h: float,
) -> DecoupledEffort:
    """Return the effort at a state, computed in C++ where the terms of the model are.

    Args:
        d: the state.
        shaped: the potential.
        motion: of the reference; None where it rests.
        base: rate of the damping of the locked motion, 1/s.
        shape: rate of the damping of the shape, 1/s.
        h: the horizon, s.
    """
    algebra = d.law_algebra
    if algebra is not None:
        velocity = None if motion is None else motion.velocity
        acceleration = None if motion is None else motion.acceleration
        return DecoupledEffort(
            *algebra.decoupled(
                *(d.q, d.v, shaped.gradient, shaped.stiffness, velocity, acceleration),
                *(base, shape, h),
            )
        )
    b = d.model.b
    e = d.v if motion is None else d.v - motion.velocity
    locked = e[:b] + d.A @ e[b:]
    held = _held(d, shaped, base, shape, e, h)
    left = held.velocity
    damping_base = base * (d.M_b @ (left[:b] + d.A @ left[b:]))
    damping_shape = shape * (d.M_hat_m @ left[b:])
    wanted = (
        d.g.copy() if motion is None else d.g + d.M @ motion.acceleration + d.C @ motion.velocity
    )
    wanted -= shaped.gradient + held.ahead
    wanted[:b] -= damping_base
    # The damping of the locked motion also acts on the joints; its potential does not.
    wanted[b:] -= damping_shape + d.A.T @ damping_base
    return DecoupledEffort(
        e,
        wanted,
        wanted + (shaped.gradient - held.spring) + brake(d, h),
        0.5 * float(locked @ d.M_b @ locked),
        0.5 * float(e[b:] @ d.M_hat_m @ e[b:]),
        float(damping_base @ locked + held.ahead[:b] @ e[:b]),
        float(damping_shape @ e[b:] + held.ahead[b:] @ e[b:]),
        held.reason,
    )


def _held(
    d: Evaluation, shaped: ShapedEnergy, base: float, shape: float, e: Array, h: float
) -> HeldImpedance:
    """Return what is held of springs and damping, at rates of the base and of the shape."""
    if h <= 0.0:
        return HeldImpedance.continuous(shaped.gradient, e)
    b = d.model.b
    damping = np.zeros_like(d.M)
    damping[:b] = base * d.M[:b]
    damping[b:, :b] = damping[:b, b:].T
    damping[b:, b:] = base * (d.A.T @ d.M_bm) + shape * d.M_hat_m
    return HeldImpedance.at(d, damping, np.diag(shaped.stiffness), shaped.gradient, e, h)

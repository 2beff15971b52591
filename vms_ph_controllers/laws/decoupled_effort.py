# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The effort of the decoupled law for a potential and a reference; it has no memory."""

from dataclasses import dataclass

import numpy as np

from vms_ph_dynamics import Array, Evaluation

from .sampled_impedance import SampledImpedance, brake


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
        continuous: (nv,) the effort in which the energy balance is stated.
        sampled: (nv,) with the reduced spring and the brake.
        kinetic_base: kinetic energy of the locked motion, J.
        kinetic_shape: kinetic energy of the shape, J.
        damping_base: power that the damping of the locked motion takes out, W.
        damping_shape: power that the damping of the shape takes out, W.
        reason: what was reduced, in words; empty when nothing was.
    """

    error: Array
    continuous: Array
    sampled: Array
    kinetic_base: float
    kinetic_shape: float
    damping_base: float
    damping_shape: float
    reason: str


def decoupled_effort(
    d: Evaluation,
    shaped: ShapedEnergy,
    motion: ReferenceMotion | None,
    base: float,
    shape: float,
    h: float,
) -> DecoupledEffort:
    """Return the effort at a state.

    Args:
        d: the state.
        shaped: the potential.
        motion: of the reference; None where it rests.
        base: rate of the damping of the locked motion, 1/s.
        shape: rate of the damping of the shape, 1/s.
        h: the horizon, s.
    """
    b = d.model.b
    e = d.v if motion is None else d.v - motion.velocity
    locked = e[:b] + d.A @ e[b:]
    impedance = _impedance(d, shaped, base, shape, e, h)
    damped_velocity = impedance.velocity
    damping_base = base * (d.M_b @ (damped_velocity[:b] + d.A @ damped_velocity[b:]))
    damping_shape = shape * (d.M_hat_m @ damped_velocity[b:])
    continuous = (
        d.g.copy() if motion is None else d.g + d.M @ motion.acceleration + d.C @ motion.velocity
    )
    continuous -= shaped.gradient + impedance.predicted_spring
    continuous[:b] -= damping_base
    # The damping of the locked motion also acts on the joints; its potential does not.
    continuous[b:] -= damping_shape + d.A.T @ damping_base
    return DecoupledEffort(
        e,
        continuous,
        continuous + (shaped.gradient - impedance.spring) + brake(d, h),
        0.5 * float(locked @ d.M_b @ locked),
        0.5 * float(e[b:] @ d.M_hat_m @ e[b:]),
        float(damping_base @ locked + impedance.predicted_spring[:b] @ e[:b]),
        float(damping_shape @ e[b:] + impedance.predicted_spring[b:] @ e[b:]),
        impedance.reason,
    )


def _impedance(
    d: Evaluation, shaped: ShapedEnergy, base: float, shape: float, e: Array, h: float
) -> SampledImpedance:
    """Return what is held of springs and damping, at rates of the base and of the shape."""
    if h <= 0.0:
        return SampledImpedance.continuous(shaped.gradient, e)
    b = d.model.b
    damping = np.zeros_like(d.M)
    damping[:b] = base * d.M[:b]
    damping[b:, :b] = damping[:b, b:].T
    damping[b:, b:] = base * (d.A.T @ d.M_bm) + shape * d.M_hat_m
    return SampledImpedance.at(d, damping, np.diag(shaped.stiffness), shaped.gradient, e, h)

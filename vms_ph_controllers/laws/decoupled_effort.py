# Copyright 2026 The vms_ph authors
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.

"""The effort of the decoupled law for a potential and a reference; it has no memory."""

from dataclasses import dataclass

import numpy as np

from vms_ph_dynamics.arrays import Array
from vms_ph_dynamics.evaluation import Evaluation

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

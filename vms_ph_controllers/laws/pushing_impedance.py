# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Pushing with a desired force, with bounded energy and bounded speed where contact is lost."""

from dataclasses import dataclass
from typing import cast

import numpy as np

from vms_ph_dynamics import Array, Evaluation

from ..controller import Reference, RobotState, gain, if_finite
from ..observers import ImpulseBalance, MomentumObserver, WrenchMap
from ..safety.energy_tank import EnergyTank
from .cartesian_impedance import CartesianImpedance
from .pose_effort import Push

# Bandwidth of the observer of the force, 1/s, and of its correction.
_OBSERVER_RATE, _CORRECTION_RATE = 30.0, 4.0

# Share of the desired force by which the correction may change it.
_CORRECTION_SHARE = 0.5

# Share of the capacity of the tank below which the force decreases with its level.
_RESERVE_SHARE = 0.1

# Below this force nothing is pushed, N.
_SMALLEST_FORCE = 1e-6


class PushingImpedance(CartesianImpedance):
    r"""The impedance of the end effector, and along one direction a force instead.

    ``Reference.wrench`` is what the end effector is to exert on its surroundings. Along its force,
    with the unit vector n, spring and damping of the impedance are replaced by

    ``F - D n^T v``,

    which is F at rest and zero at the speed ``push_speed``: without contact, or where it is lost,
    the end effector approaches that speed from below. Before any damping can act, F adds
    ``h F / Lambda`` to the speed, where h is the horizon, which includes the delay, and Lambda the
    effective mass of the end effector; D accounts for it up to half of ``push_speed``. The bound of
    the speed is ``max(push_speed, push_speed / 2 + h F / Lambda)``, with the corrected force F (see
    below).

    - **Energy**: the work of the force, ``F n^T (x_next - x)`` over a sample, is taken from a
      tank of ``push_energy`` joules, and the share ``push_routing`` of what the other damping takes
      out of the robot is routed to it. Below a tenth of the capacity the force decreases with the
      level: a wall that yields, or is not there, gets no more than the tank had.
    - **Force**: the force that the surroundings return is observed by the balance of momentum, and
      F is corrected slowly by up to a half, with ``push_feedback``.

    With no reference the push continues; a wrench of zero ends it, and the impedance then holds the
    pose that was reached.
    """

    IGNORES = ("twist",)

    @dataclass(frozen=True)
    class Gains(CartesianImpedance.Gains):
        """Gains of the law."""

        push_force: float = gain(50.0, "largest force of a push, N", 0.0, 1e4)
        push_speed: float = gain(0.05, "speed of a push without contact, m/s", 1e-3, 2.0)
        push_energy: float = gain(2.0, "energy that pushes may give, J", 0.0, 1e6, "none")
        push_routing: float = gain(0.5, "share of other damping that pushes may give", 0.0, 1.0)
        push_rate: float = gain(100.0, "rate at which the force of a push changes, N/s", 0.1, 1e5)
        push_feedback: float = gain(1.0, "corrected share of the observed force error", 0.0, 1.0)

    gains: Gains

    def _prepare(self) -> None:
        self._balance = ImpulseBalance(self.model, coordinates="decoupled")
        self._observer = MomentumObserver(self.model, _OBSERVER_RATE)
        self._wrench_map = WrenchMap(self._balance, wind_force=0.0, wind_moment=0.0)
        super()._prepare()

    def _start_holding(self, d: Evaluation) -> None:
        super()._start_holding(d)
        self._balance.restart()
        self._observer.restart()
        self._desired_force, self._ramped_force, self._force_correction = np.zeros(3), 0.0, 0.0
        self._direction = np.array([1.0, 0.0, 0.0])
        # Position of the end effector, force in N and direction, as held since the last sample.
        self._held_push: tuple[Array, float, Array] | None = None
        self._observed_force = self._routable_power = 0.0

    def _reset(self, state: RobotState) -> None:
        super()._reset(state)
        self._tank: EnergyTank | None = None

    def _note_missed_updates(self) -> None:
        super()._note_missed_updates()
        self._balance.restart()
        self._held_push = None

    @property
    def push_level(self) -> float:
        """Energy that is left for pushing, J."""
        if self.twin is not None:
            return float(self.synchronise().push_level)
        return self.gains.push_energy if self._tank is None else self._tank.level

    @property
    def observed_force(self) -> float:
        """Force on the surroundings along the direction of the push, as observed, N."""
        return self._observed_force if self.twin is None else float(self.twin.observed_force)

    def _update_push(self, d: Evaluation, reference: Reference, dt: float, h: float) -> Push | None:
        gains = cast("PushingImpedance.Gains", self._ramp.gains)
        placement = d.placement(self.model.end_effector)
        self._update_tank(d, placement, gains, dt)
        wrench = if_finite(reference.wrench, (6,))
        if wrench is not None:
            self._desired_force = np.array(wrench[:3])
        desired_norm = float(np.linalg.norm(self._desired_force))
        aligned_force = self._desired_force @ self._direction
        has_new_direction = desired_norm > _SMALLEST_FORCE and aligned_force < 0.999 * desired_norm
        # Before the direction changes, the force goes down to zero.
        target_force = 0.0 if has_new_direction else min(desired_norm, gains.push_force)
        max_change = gains.push_rate * dt if dt > 0.0 else np.inf
        self._ramped_force += min(max(target_force - self._ramped_force, -max_change), max_change)
        if self._ramped_force <= _SMALLEST_FORCE:
            self._ramped_force, self._force_correction = 0.0, 0.0
            if desired_norm <= _SMALLEST_FORCE:
                self._balance.restart()
                self._observer.restart()
                self._held_push = None
                return None
            self._direction = self._desired_force / desired_norm
        self._slide_reference(d, placement)
        force = self._ramped_force + self._update_correction(d, placement, gains, dt)
        capacity = max(gains.push_energy, 1e-12)
        authority = min(1.0, max(0.0, self.push_level) / (_RESERVE_SHARE * capacity))
        force *= authority
        self._held_push = (placement[:3, 3].copy(), force, self._direction)
        direction_in_tool = self._direction @ placement[:3, :3]
        push_jacobian = direction_in_tool @ d.J_end_effector[:3]
        added_speed = h * force * float(push_jacobian @ np.linalg.solve(d.M, push_jacobian))
        damping = force / max(gains.push_speed - added_speed, 0.5 * gains.push_speed)
        if authority < 1.0:
            damping = max(damping, gains.damping)
        return Push.along(direction_in_tool, force, damping, authority)

    def _update_tank(self, d: Evaluation, placement: Array, gains: Gains, dt: float) -> None:
        """Take the work of the held force from the tank, and add a share of what damping took."""
        if self._tank is None:
            self._tank = EnergyTank(gains.push_energy, gains.push_energy)
        self._tank.capacity = gains.push_energy
        if self._held_push is not None:
            last_position, force, direction = self._held_push
            self._tank.withdraw(force * float(direction @ (placement[:3, 3] - last_position)))
            self._tank.deposit(gains.push_routing * max(0.0, self._routable_power) * max(dt, 0.0))
        twist = d.J_end_effector @ d.v
        direction_in_tool = self._direction @ placement[:3, :3]
        lateral_velocity = twist[:3] - float(direction_in_tool @ twist[:3]) * direction_in_tool
        # The smallest share of all directions: no more energy is routed than was taken out.
        damping_share = min(gains.damping_share_x, gains.damping_share_y, gains.damping_share_z)
        rotation_share = min(gains.damping_share_rx, gains.damping_share_ry, gains.damping_share_rz)
        lateral_power = damping_share * gains.damping * float(lateral_velocity @ lateral_velocity)
        rotation_power = rotation_share * gains.damping_rotation * float(twist[3:] @ twist[3:])
        self._routable_power = lateral_power + rotation_power

    def _slide_reference(self, d: Evaluation, placement: Array) -> None:
        """Let the reference pose, in axes of world or base, follow along the push."""
        direction, position = self._direction, placement[:3, 3]
        if self._is_relative and self.model.b:
            base = self.model.base_pose(d.q)
            direction = direction @ base[:3, :3]
            position = (position - base[:3, 3]) @ base[:3, :3]
        self._tool_ref.slide(direction * float(direction @ (position - self._tool_ref.pose[:3, 3])))

    def _update_correction(self, d: Evaluation, placement: Array, gains: Gains, dt: float) -> float:
        """Update the correction of the force by the observed one, and return it, N."""
        impulse = self._balance.add(RobotState(d.q, d.v), self._last_effort, dt)
        if impulse is None:
            return self._force_correction
        external_force = self._wrench_map.estimate(self._observer.add(impulse)).end_effector[:3]
        self._observed_force = -float(self._direction @ (placement[:3, :3] @ external_force))
        correction_limit = _CORRECTION_SHARE * self._ramped_force
        # A force that only accelerates the end effector is no contact: it is not corrected.
        if gains.push_feedback > 0.0 and self._observed_force > correction_limit:
            force_error = gains.push_feedback * (self._ramped_force - self._observed_force)
            correction = self._force_correction + min(1.0, _CORRECTION_RATE * dt) * force_error
            self._force_correction = min(max(correction, -correction_limit), correction_limit)
        else:
            self._force_correction *= 1.0 - min(1.0, _OBSERVER_RATE * dt)
        return self._force_correction

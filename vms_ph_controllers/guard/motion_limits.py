# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Limits of power, speeds and kinetic energy: a share between an effort and a brake."""

from dataclasses import dataclass, replace

import numpy as np

from vms_ph_dynamics import Array, Evaluation, OptionError

from ..controller import convert_to_floats, gain, switch


@dataclass(frozen=True)
class EnergyGuardSettings:
    """Tank and limits of an energy guard; they may change while it acts.

    Over ``engagement_time`` a jump of the effort fades out: at the engagement, and after every
    reflex.
    """

    tank_capacity: float = gain(5.0, "capacity of the energy tank, J; more is discarded", 0.0, 1e6)
    tank_initial: float = gain(5.0, "level of the tank at engagement, J", 0.0, 1e6)
    refill_power: float = gain(0.0, "power into the tank, for work against friction, W", 0.0, 1e6)
    power: float = gain(0.0, "largest power through the guarded ports, W; 0: no limit", 0.0, 1e6)
    kinetic_energy: float = gain(0.0, "end-effector kinetic energy, J; 0: no limit", 0.0, 1e6)
    speed: float = gain(0.0, "largest speed of the end effector, m/s; 0: no limit", 0.0, 1e3)
    joint_speed: float = gain(0.0, "largest rate of a joint, rad/s or m/s; 0: no limit", 0.0, 1e3)
    torque: float = gain(1.0, "largest torque of a joint, as a share of its limit", 0.0, 1.0)
    torque_rate: float = gain(0.0, "largest rate of a torque, N m/s; 0: no limit", 0.0, 1e6)
    engagement_time: float = gain(0.2, "time in which a jump at engagement fades, s", 0.0, 10.0)
    freeze: bool = switch(False, "grant nothing out of the tank: only efforts that brake act")

    def __post_init__(self) -> None:
        """Take whole numbers and numbers of other types as floating-point numbers."""
        convert_to_floats(self)


def settings_with_budget(
    settings: EnergyGuardSettings | None, budget: float | None
) -> EnergyGuardSettings:
    """Return settings, the defaults when None, with a budget in the tank, J; None for theirs.

    Raises:
        OptionError: the budget is no energy.
    """
    settings = EnergyGuardSettings() if settings is None else settings
    if budget is None:
        return settings
    if not isinstance(budget, (int, float, np.number)) or not 0.0 <= budget < np.inf:
        raise OptionError(f"budget must be an energy, J, of at least 0; given: {budget!r}")
    return replace(settings, tank_capacity=budget, tank_initial=budget)


LARGEST_DELAY = 5
"""Largest delay from measurement to effort, samples."""


def checked_delay(delay: int) -> int:
    """Return a delay, samples.

    Raises:
        OptionError: it is not a number of samples from 0 to :data:`LARGEST_DELAY`.
    """
    if delay not in range(LARGEST_DELAY + 1):
        raise OptionError(
            f"the delay must be a number of samples from 0 to {LARGEST_DELAY}; given: {delay!r}"
        )
    return int(delay)


# A speed below this, m/s, has no direction.
_MIN_SPEED = 1e-9


@dataclass(frozen=True, slots=True)
class EffortShare:
    """A share of an effort, the rest of which is a brake.

    Attributes:
        share: share of the active effort that may act, in [0, 1].
        reason: which limit it meets, in words; empty for a share of one.
    """

    share: float
    reason: str


def largest_share(
    d: Evaluation,
    v: Array,
    desired_effort: Array,
    brake: Array,
    compensation: Array,
    settings: EnergyGuardSettings,
    dt: float,
) -> EffortShare:
    """Return the largest share of an effort with which a sample meets the limits.

    With accelerations a linear in the share, velocities after the sample are ``v + dt a(share)``.
    Speeds at the end of the sample and the mean power over it are limited.

    Args:
        d: the present state.
        v: (nv,) velocity at which the effort begins to act.
        desired_effort: (nv,) effort.
        brake: (nv,) effort that takes its place.
        compensation: (nv,) effort that compensates gravity; it is no power of the controller.
        settings: the limits.
        dt: duration of the sample, s.
    """
    M_inverse = np.linalg.inv(d.M)
    braked_velocity = v + dt * (M_inverse @ (brake - d.C @ d.v - d.g))
    velocity_step = dt * (M_inverse @ (desired_effort - brake))
    shares = [EffortShare(1.0, "")]
    if settings.power > 0.0:
        net_brake, effort_change = brake - compensation, desired_effort - brake
        mean_velocity = 0.5 * (v + braked_velocity)
        share = _largest_root(
            0.5 * float(effort_change @ velocity_step),
            float(effort_change @ mean_velocity) + 0.5 * float(net_brake @ velocity_step),
            float(net_brake @ mean_velocity) - settings.power,
        )
        shares.append(EffortShare(share, f"power at its limit of {settings.power:g} W"))
    if settings.joint_speed > 0.0:
        b = d.model.b
        share = _largest_rate_share(braked_velocity[b:], velocity_step[b:], settings.joint_speed)
        shares.append(EffortShare(share, f"joint rate at its limit of {settings.joint_speed:g}"))
    if settings.speed > 0.0 or settings.kinetic_energy > 0.0:
        jacobian = d.J_end_effector[:3]
        v_brake, v_step = jacobian @ braked_velocity, jacobian @ velocity_step
        v_squared = float(v_step @ v_step), 2.0 * float(v_brake @ v_step), float(v_brake @ v_brake)
        if settings.speed > 0.0:
            share = _largest_root(v_squared[0], v_squared[1], v_squared[2] - settings.speed**2)
            shares.append(EffortShare(share, f"speed at its limit of {settings.speed:g} m/s"))
        if settings.kinetic_energy > 0.0:
            v_start = jacobian @ v
            is_moving = float(np.sqrt(v_start @ v_start)) > _MIN_SPEED
            v_tool = v_start if is_moving else v_brake + v_step
            tool_speed = float(np.sqrt(v_tool @ v_tool))
            if tool_speed > _MIN_SPEED:
                direction = jacobian.T @ (v_tool / tool_speed)
                mobility = float(direction @ M_inverse @ direction)
                squared_limit = 2.0 * settings.kinetic_energy * mobility
                share = _largest_root(v_squared[0], v_squared[1], v_squared[2] - squared_limit)
                reason = f"kinetic energy at its limit of {settings.kinetic_energy:g} J"
                shares.append(EffortShare(share, reason))
    return min(shares, key=lambda candidate: candidate.share)


def has_motion_limits(settings: EnergyGuardSettings) -> bool:
    """Return whether any limit of the motion is set."""
    return max(settings.power, settings.kinetic_energy, settings.speed, settings.joint_speed) > 0.0


def _largest_rate_share(braked_velocity: Array, step: Array, limit: float) -> float:
    """Return the largest s in [0, 1] with ``|braked_velocity + s step| <= limit`` everywhere."""
    is_exceeded = np.abs(braked_velocity + step) > limit
    if not is_exceeded.any():
        return 1.0
    rate, change = braked_velocity[is_exceeded], step[is_exceeded]
    bound = np.sign(rate + change) * limit
    share = np.where(np.abs(rate) < limit, (bound - rate) / np.where(change == 0.0, 1.0, change), 0)
    return float(np.clip(share, 0.0, 1.0).min())


def _largest_root(a: float, b: float, c: float) -> float:
    """Return the largest share s in [0, 1] with ``a s^2 + b s + c <= 0``, for a >= 0; else 0."""
    if a + b + c <= 0.0:
        return 1.0
    if c > 0.0:
        return 0.0
    root = float(np.sqrt(max(0.0, b * b - 4.0 * a * c)))
    # c <= 0 < a + b + c: the larger zero is in [0, 1).
    share = (root - b) / (2.0 * a) if b <= 0.0 else -2.0 * c / (b + root)
    return min(max(share, 0.0), 1.0)

# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Limits of joint torques: effort, rate of effort, and power."""

from dataclasses import dataclass

import numpy as np

from vms_ph_dynamics import Array, VMSModel
from vms_ph_dynamics.arrays import exceeds

from ..controller import convert_to_floats, gain, limit


@dataclass(frozen=True)
class LimitGains:
    """The limits that a user sets, for all laws."""

    torque_rate: float = limit(0.0, "largest rate of a torque, N m/s; 0: no limit", 1e6)
    power: float = limit(0.0, "largest power into the joints, W; 0: no limit", 1e6)
    delay: float = gain(1.0, "largest delay at which damping is stable, samples", 0.0, 3.0)

    def __post_init__(self) -> None:
        """Take whole numbers and numbers of other types as floating-point numbers."""
        convert_to_floats(self)


@dataclass(frozen=True, slots=True)
class LimitedEfforts:
    """Efforts within their limits.

    Attributes:
        effort: torques (n,), a base wrench (b,), or both (nv,), N and N m.
        reason: what was limited, in words; empty when nothing was limited.
    """

    effort: Array
    reason: str


def join(*reasons: str) -> str:
    """Return reasons in words as one; empty ones are left out."""
    return "; ".join(filter(None, reasons))


class TorqueLimits:
    """Applies the effort limits of a robot's joints and the limits set by its user.

    Args:
        model: the robot.
        bound: further limits of the torques, (n,) or one number, N m or N.

    Attributes:
        limited: rate (N m/s) and power (W) of the last torques before these limits, by the name of
            the limit.
    """

    def __init__(self, model: VMSModel, bound: Array | float = np.inf) -> None:
        self._model, self.limited = model, dict[str, float]()
        self._bound = np.minimum(model.joints.effort, bound)
        self._last_torque: Array | None = None
        self._last_dt = 0.0

    def restart(self) -> None:
        """Discard the last torque; the next one may jump."""
        self._last_torque = None

    def replace_torque(self, torque: Array) -> None:
        """Note that other torques (n,) are sent instead of the last ones."""
        self._last_torque = torque

    def scale(self, compensation: Array, effort: Array) -> Array:
        """Return efforts (nv,), brought towards others until the joints are within their limits.

        Args:
            compensation: (nv,) efforts that compensate gravity.
            effort: (nv,) base wrench, then torques.
        """
        b, step = self._model.b, effort - compensation
        size, torque_margin = np.abs(step[b:]), self._model.joints.effort - np.abs(compensation[b:])
        is_exceeded = size > torque_margin
        share = max(0.0, float(np.min(torque_margin[is_exceeded] / size[is_exceeded], initial=1.0)))
        return compensation + share * step

    def apply(
        self,
        desired_torque: Array,
        compensation: Array,
        joint_velocities: Array,
        torque_rate: float,
        power: float,
        dt: float,
    ) -> LimitedEfforts:
        """Return torques within the limits.

        Args:
            desired_torque: (n,) torques of the law.
            compensation: (n,) torques that compensate gravity; only the difference to them is
                scaled down to meet the power limit.
            joint_velocities: (n,) rad/s or m/s.
            torque_rate: largest rate of a torque, N m/s; 0 for none. A late sample may change a
                torque by no more than the one before it.
            power: largest power into the joints, W; 0 for none.
            dt: time since the last torques, s.
        """
        torque, reason = desired_torque, ""
        desired_power = self.limited["power"] = float(desired_torque @ joint_velocities)
        if 0.0 < power < desired_power:
            gravity_power = float(compensation @ joint_velocities)
            share = max(0.0, power - gravity_power) / max(desired_power - gravity_power, 1e-12)
            torque = compensation + min(1.0, share) * (desired_torque - compensation)
            reason = f"power at its limit of {power:g} W"
        self.limited["torque_rate"] = 0.0
        if self._last_torque is not None:
            step, torque_change = min(dt, self._last_dt), torque - self._last_torque
            largest_change = float(np.abs(torque_change).max(initial=0.0))
            self.limited["torque_rate"] = largest_change / max(step, 1e-9)
            max_change = torque_rate * step
            if torque_rate > 0.0 and largest_change > max_change + 1e-12:
                torque = self._last_torque + np.clip(torque_change, -max_change, max_change)
                reason = "rate of torque at its limit"
        bound = self._bound
        if exceeds(torque, bound):
            exceeding_joints = np.flatnonzero(np.abs(torque) > bound)
            names = ", ".join(self._model.joint_names[joint] for joint in exceeding_joints)
            torque, reason = np.clip(torque, -bound, bound), f"torque at its limit: {names}"
        self._last_torque, self._last_dt = torque, dt
        return LimitedEfforts(torque, reason)

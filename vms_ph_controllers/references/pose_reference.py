# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Poses and joint positions that move smoothly to a target, with velocity and acceleration."""

from math import sqrt

import numpy as np
import numpy.typing as npt

from vms_ph_dynamics import Array
from vms_ph_dynamics.groups import SE3

from ..controller import Reference, if_finite


class JointReference:
    """Joint positions that follow a target with bounded rates and bounded accelerations.

    Continuous joints take the shorter way to it.

    Attributes:
        positions, rates, accelerations: (n,).
        is_resting: whether the target has been reached.
    """

    def __init__(self, is_continuous: npt.NDArray[np.bool_]) -> None:
        """Begin at zero; the joints are those of :attr:`.Joints.continuous`, (n,)."""
        self._turn = 2.0 * np.pi * is_continuous
        self.restart(np.zeros(is_continuous.size))

    def restart(self, positions: Array) -> None:
        """Restart at rest at positions (n,)."""
        self.positions = positions.copy()
        self.rates, self.accelerations = np.zeros_like(positions), np.zeros_like(positions)
        self._target, self.is_resting = self.positions, True

    def error_of(self, positions: Array) -> Array:
        """Return positions (n,) relative to these, of continuous joints without whole turns."""
        return self._nearest(positions) - self.positions

    def _nearest(self, positions: Array) -> Array:
        turns = np.round((positions - self.positions) / (2.0 * np.pi))
        return np.asarray(positions - self._turn * turns)

    def set_target(self, reference: Reference) -> None:
        """Go to the joint positions of a reference, where it has any for this robot."""
        target = if_finite(reference.joints, self.positions.shape)
        if target is not None:
            self._target, self.is_resting = self._nearest(target), False

    def advance(self, speed: float | Array, bandwidth: float, dt: float) -> None:
        """Advance by one time step; see :meth:`PoseReference.advance`."""
        if self.is_resting:
            return
        bandwidth = min(bandwidth, 0.5 / dt) if dt > 0.0 else bandwidth
        self.positions = self.positions + dt * self.rates
        self.rates = self.rates + dt * self.accelerations
        desired_rates = np.clip(0.5 * bandwidth * (self._target - self.positions), -speed, speed)
        self.accelerations = 2.0 * bandwidth * (desired_rates - self.rates)
        if np.abs(self.rates).max() + np.abs(desired_rates).max() < 1e-9:
            self.restart(self._target)


_SE3 = SE3()


class PoseReference:
    """A pose that follows a target pose, or a twist, with bounded speed and acceleration.

    Attributes:
        pose: (4,4) in the inertial frame.
        twist: (6,) in the axes of the reference, linear first.
        acceleration: (6,) rate of ``twist``.
        is_resting: whether the target has been reached.
    """

    def __init__(self) -> None:
        self.restart(np.eye(4))

    def restart(self, pose: Array) -> None:
        """Restart at rest at a pose (4,4)."""
        self.pose = pose.copy()
        self.twist, self.acceleration = np.zeros(6), np.zeros(6)
        self._target: Array | None = None
        self.is_resting, self._target_is_new, self._target_moves = True, False, False

    def go_to(self, target: Array) -> None:
        """Set the target pose (4,4)."""
        self._target, self.is_resting, self._target_is_new = target.copy(), False, True

    def slide(self, displacement: Array) -> None:
        """Displace the pose and its target by (3,) in the frame of the pose, m."""
        self.pose = self.pose.copy()
        self.pose[:3, 3] += displacement
        if self._target is not None:
            self._target[:3, 3] += displacement

    def follow(
        self, reference: Reference, speed: float, angular_speed: float, bandwidth: float, dt: float
    ) -> None:
        """Advance towards the pose or position of a reference, and with its velocity.

        Fields of a wrong shape or not finite are ignored; the other arguments are those of
        :meth:`advance`.
        """
        target, position = if_finite(reference.pose, (4, 4)), if_finite(reference.position, (3,))
        if reference.pose is None and position is not None:
            target = self.pose.copy()
            target[:3, 3] = position
        if target is not None:
            self.go_to(target)
        twist, velocity = None, if_finite(reference.velocity, (3,))
        if velocity is not None:
            twist = np.concatenate([velocity @ self.pose[:3, :3], np.zeros(3)])
        self.advance(twist, speed, angular_speed, bandwidth, dt)

    def twist_at(self, error: Array) -> Array:
        """Return the twist (6,) of the reference in the axes of a body with a pose error (4,4)."""
        return np.zeros(6) if self.is_resting else _SE3.Ad(_SE3.inverse(error)) @ self.twist

    def advance(
        self, twist: Array | None, speed: float, angular_speed: float, bandwidth: float, dt: float
    ) -> None:
        """Advance by one time step.

        Args:
            twist: (6,) to move with, in the axes of the reference; None to approach the target. A
                target that was set together with a twist moves with that twist.
            speed: largest linear speed, m/s.
            angular_speed: largest angular speed, rad/s.
            bandwidth: rate of the critically damped approach to the target, 1/s; speeds change at
                twice this rate. A higher one than 0.5 / dt is reduced to it: steps stay stable.
            dt: time step, s.
        """
        if twist is None and self.is_resting:
            return
        self._target_moves = twist is not None and (self._target_is_new or self._target_moves)
        self._target_is_new = False
        bandwidth = min(bandwidth, 0.5 / dt) if dt > 0.0 else bandwidth
        self.pose = self.pose @ _SE3.exp(dt * self.twist)
        self.twist = self.twist + dt * self.acceleration
        desired_twist: Array = np.zeros(6)
        if twist is not None and not self._target_moves:
            desired_twist, self._target, self.is_resting = twist, None, False
        elif self._target is not None:
            target_error = _SE3.inverse(self.pose) @ self._target
            desired_twist = 0.5 * bandwidth * _SE3.log(target_error)
            if twist is not None:
                desired_twist = desired_twist + _SE3.Ad(target_error) @ twist
                self._target = self._target @ _SE3.exp(dt * twist)
        linear, angular = _norm(*desired_twist[:3].tolist()), _norm(*desired_twist[3:].tolist())
        share = min(1.0, speed / max(linear, 1e-12), angular_speed / max(angular, 1e-12))
        desired_twist = desired_twist * share
        self.acceleration = 2.0 * bandwidth * (desired_twist - self.twist)
        if np.abs(self.twist).max() + np.abs(desired_twist).max() < 1e-9:
            self.restart(self.pose if self._target is None else self._target)


def _norm(x: float, y: float, z: float) -> float:
    return sqrt(x * x + y * y + z * z)

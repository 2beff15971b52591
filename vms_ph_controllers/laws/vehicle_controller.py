# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""What laws have in common that follow a pose of the base and positions of the joints."""

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any

from vms_ph_dynamics import Array, Evaluation

from ..controller import Reference, gain, if_finite
from ..potentials.pose_potential import PosePotential
from ..references.integral_action import IntegralAction
from ..references.pose_reference import JointReference, PoseReference
from ..safety.output_stage import OutputGains
from .staged_controller import StagedController

CORRECTION_REVERSED = "attitude error past half a turn: its correction is reversed"


class VehicleController(StagedController):
    """A law with references of the base and of the joints, which integral action displaces."""

    @dataclass(frozen=True)
    class Gains(OutputGains):
        """Gains of the law."""

        frequency_shape: float = gain(4.0, "natural frequency of the joints, rad/s", 0.0, 100.0)
        damping_ratio: float = gain(0.9, "damping ratio of all motions; 1 is critical", 0.0, 10.0)
        base_speed: float = gain(0.3, "largest linear speed of the base reference, m/s", 1e-3, 20.0)
        base_turn: float = gain(0.5, "largest turn rate of the base reference, rad/s", 1e-3, 20.0)
        joint_speed: float = gain(0.5, "largest joint reference rate, rad/s or m/s", 1e-3, 20.0)
        integral: float = gain(0.0, "integral action: correction rate, share of damping", 0.0, 1.0)

    gains: Gains
    FOLLOWS_JOINTS = True
    IGNORES = ("position", "velocity", "wrench")

    def _prepare(self) -> None:
        model, self._potential = self.model, PosePotential()
        self._base_ref, self._joint_ref = PoseReference(), JointReference(model.joints.continuous)
        self._integral = IntegralAction(model.n)

    def _start_holding(self, d: Evaluation) -> None:
        pose = self.model.base_pose(d.q).copy()
        pose[:3, :3] = self._level_attitude(pose[:3, :3])
        self._base_ref.restart(pose)
        self._joint_ref.restart(self.model.joint_positions(d.q))
        self._integral.restart()
        self._potential.restart()

    def _follow(self, reference: Reference, dt: float) -> None:
        """Advance the references; values of a wrong shape or not finite are ignored."""
        gains = self._ramp.gains
        pose = if_finite(reference.pose, (4, 4))
        if pose is not None:
            goal = pose.copy()
            goal[:3, :3] = self._level_attitude(pose[:3, :3])
            self._base_ref.go_to(goal)
        self._joint_ref.set_target(reference)
        twist = if_finite(reference.twist, (6,))
        twist = None if twist is None else self._level_twist(twist)
        self._base_ref.advance(twist, gains.base_speed, gains.base_turn, self._bandwidth(gains), dt)
        self._joint_ref.advance(gains.joint_speed, gains.frequency_shape, dt)

    def _integrate(self, frequency: float, *errors_and_steps: Any) -> None:
        """Advance the integral action; it rests while the efforts are limited.

        Args:
            frequency: natural frequency of the place of the base, rad/s; 0 if it is not held.
            errors_and_steps: further arguments of :meth:`IntegralAction.advance`.
        """
        gains = self._ramp.gains
        if self._was_limited:
            self._integral.pause()
            return
        rate_share = gains.integral * gains.damping_ratio
        self._integral.advance(rate_share, frequency, gains.frequency_shape, *errors_and_steps)

    def _level_attitude(self, rotation: Array) -> Array:
        """Return the attitude of reference for a wanted one, (3,3)."""
        return rotation

    def _level_twist(self, twist: Array) -> Array:
        """Return the twist of the reference for a wanted one, (6,)."""
        return twist

    @abstractmethod
    def _bandwidth(self, gains: Any) -> float:
        """Return the bandwidth of the reference of the base, 1/s."""

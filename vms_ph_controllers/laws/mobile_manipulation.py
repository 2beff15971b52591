# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""An end effector that is held or moved while the base drives."""

from dataclasses import dataclass, replace
from typing import cast

import numpy as np

from vms_ph_dynamics import Evaluation, ModelError
from vms_ph_dynamics.groups import SE3

from ..controller import Command, Reference, RobotState, gain, if_finite
from ..potentials.shaped_potential import SpringForce
from ..references.pose_reference import PoseReference
from .cartesian_impedance import CartesianImpedance

_SE3 = SE3()


class MobileManipulation(CartesianImpedance):
    r"""The impedance of an end effector, on a base with a reference of its own.

    ``Reference.position`` is that of the end effector in the inertial frame, ``Reference.pose``
    that of the base. The base moves in the null space of the end effector: its potential ``V_b``
    about the reference is weaker than ``V_e`` by the weight ``(frequency_base^2 m_b) / stiffness``
    with the mass ``m_b`` (kg) that the base moves while its joints are locked. The damping of the
    null space does not act on the end effector. The base also takes over the share ``base_share``
    of what the reference of the end effector moves: 0 leaves all of it to the
    arm, and with 1 the arm keeps its posture; a planar base takes over what is horizontal.

    The reference of the base moves with at most ``base_speed`` and ``base_turn``, which keeps the
    wheels within their rates; their torques are limits of the output stage. The power with which
    it moves the minimum of ``V_b`` is part of ``ControlEnergy.reference_power``.
    """

    @dataclass(frozen=True)
    class Gains(CartesianImpedance.Gains):
        """Gains of the law."""

        stiffness: float = gain(800.0, "stiffness of the end-effector position, N/m", 0.0, 5000.0)
        stiffness_rotation: float = gain(40.0, "stiffness of its attitude, N m/rad", 0.0, 500.0)
        damping: float = gain(120.0, "damping of its velocity, N s/m", 0.0, 1000.0)
        damping_rotation: float = gain(6.0, "damping of its rotation, N m s/rad", 0.0, 100.0)
        frequency_base: float = gain(1.5, "natural frequency of the base, rad/s", 0.0, 50.0)
        base_speed: float = gain(0.2, "largest linear speed of the base reference, m/s", 1e-3, 20.0)
        base_turn: float = gain(0.3, "largest turn rate of the base reference, rad/s", 1e-3, 20.0)
        base_share: float = gain(0.0, "share of the reference motion that the base takes", 0.0, 1.0)

    gains: Gains
    LEADS_BASE_AND_TOOL = True

    def _prepare(self) -> None:
        model, allocation = self.model, self._allocation
        is_fully_actuated = allocation is None or allocation.is_fully_actuated
        if not (model.b and self._base_actuated and is_fully_actuated):
            raise ModelError(
                f"MobileManipulation moves a base that can apply every wrench; that of "
                f"'{model.name}' cannot"
            )
        self._base_reference = PoseReference()
        super()._prepare()

    def _start_holding(self, d: Evaluation) -> None:
        super()._start_holding(d)
        self._base_reference.restart(self.model.base_pose(d.q))
        self._base_goal = self._base_reference.pose
        self._tool_start = self._tool_ref.pose[:3, 3].copy()

    def _update(self, state: RobotState, reference: Reference, dt: float) -> Command:
        pose = if_finite(reference.pose, (4, 4))
        if pose is not None:
            self._base_goal = pose.copy()
        return super()._update(state, reference, dt)

    def _tool_target(self, reference: Reference) -> Reference:
        """Return the reference of the end effector: its position and velocity."""
        return replace(reference, pose=None)

    def _base_springs(self, d: Evaluation, dt: float) -> SpringForce:
        """Return the potential of the base about its reference, which moves."""
        gains = cast("MobileManipulation.Gains", self._ramp.gains)
        goal_shift = gains.base_share * (self._tool_ref.pose[:3, 3] - self._tool_start)
        if self.model.base == "planar":
            goal_shift[2] = 0.0
        goal = self._base_goal.copy()
        goal[:3, 3] += goal_shift
        is_goal_new = np.abs(goal - self._base_reference.pose).max() > 1e-12
        if is_goal_new or not self._base_reference.is_resting:
            self._base_reference.go_to(goal)
        bandwidth = 2.0 * gains.frequency_base
        self._base_reference.advance(None, gains.base_speed, gains.base_turn, bandwidth, dt)
        self._base_spring.rest_pose = self._base_reference.pose
        spring = super()._base_springs(d, dt)
        pose_error = _SE3.inverse(self._base_reference.pose) @ self.model.base_pose(d.q)
        twist = self._base_reference.twist_at(pose_error)[self._base_spring.components]
        self._base_power = -float(spring.force @ twist)
        return spring

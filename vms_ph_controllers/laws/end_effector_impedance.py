# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Impedance of the end effector on any base, with damping or holding of the remaining motion."""

from dataclasses import dataclass
from math import hypot

import numpy as np

from vms_ph_dynamics import Evaluation, VMSModel
from vms_ph_dynamics.actuation.allocation import Allocation
from vms_ph_dynamics.arrays import Array, is_finite
from vms_ph_dynamics.groups import SE3

from ..controller import (
    Command,
    ControlEnergy,
    Reference,
    RobotState,
    gain,
    switch,
)
from ..potentials.base_spring import BaseSpring, SpringForce
from ..potentials.pose_potential import PosePotential
from ..references.pose_reference import PoseReference
from ..safety.output_stage import OutputGains
from .gain_ramp import GainRamp, SwitchRamp
from .pose_effort import NullSpaceImpedance, Push, ToolImpedance, pose_effort
from .sampled_impedance import horizon
from .staged_controller import StagedController

_SE3 = SE3()

# Damping ratio of an attitude of the base that is held by itself.
_RATIO = 0.9


class EndEffectorImpedance(StagedController):
    r"""The shaped energy and split damping of source D for the robots of source A.

    ``f = g - J^T (dV_e + D_t e) - (M - J^T Lambda J) d v - dV_b - dV_q`` with the potential ``V_e``
    of the end effector's pose (:class:`PosePotential`), its velocity error ``e`` and the inertia of
    the null space ``M - J^T Lambda J``, whose motion is damped at the rate ``d``.

    - ``relative_to_base`` off: the end effector is held in the inertial frame. On: it is held in
      the frame of the base and moves with it. Its reference is ``Reference.pose``, or
      ``Reference.position`` where no pose is given.
    - ``hold_base`` on: a potential of its own holds the base at its pose of the reset. Off: the
      base belongs to the null space and moves under the spring and damping of the end effector.
    - ``hold_attitude`` on: the attitude of the base is held and damped even where its place is
      not. A base that carries its weight by rotors can push sideways only so far, which bounds
      the tilt at which it can hover; nothing else in this law bounds its tilt.

    With a reference at rest the energy ``H_cl = 1/2 v^T M v + V_e + V_b + V_q`` decreases by the
    damping; the power supplied by a moving reference is ``ControlEnergy.reference_power``.
    """

    @dataclass(frozen=True)
    class Gains(OutputGains):
        """Gains of the law."""

        stiffness: float = gain(200.0, "stiffness of the end-effector position, N/m", 0.0, 5000.0)
        stiffness_rotation: float = gain(10.0, "stiffness of its attitude, N m/rad", 0.0, 500.0)
        damping: float = gain(40.0, "damping of its velocity, N s/m", 0.0, 1000.0)
        damping_rotation: float = gain(
            2.0, "damping of its angular velocity, N m s/rad", 0.0, 100.0
        )
        damping_null: float = gain(
            2.0, "rate at which the null-space motion is damped, 1/s", 0.0, 100.0
        )
        frequency_base: float = gain(
            3.0, "natural frequency of the base where it is held, rad/s", 0.0, 50.0
        )
        hold_base: bool = switch(True, "hold the base where it was at the reset")
        hold_attitude: bool = switch(
            False, "hold the attitude of the base also where its place is not held"
        )
        relative_to_base: bool = switch(False, "hold the end effector in the frame of the base")
        speed: float = gain(0.2, "largest linear speed of the reference, m/s", 1e-3, 20.0)
        turn: float = gain(0.5, "largest angular speed of the reference, rad/s", 1e-3, 20.0)

    gains: Gains

    def __init__(
        self,
        model: VMSModel,
        gains: Gains | None = None,
        allocation: Allocation | None = None,
        base_actuated: bool = True,
    ) -> None:
        """Control the end effector of a robot on any base.

        Args:
            model: the robot.
            gains: the gains; None for the defaults.
            allocation: the actuators of the base; None for a base that can apply any wrench.
            base_actuated: False for a base without actuators; it is then not held.

        Raises:
            ModelError: the allocation is for another base.
        """
        super().__init__(model, gains, allocation, base_actuated)
        self._tool_potential, self._spring = PosePotential(), BaseSpring(model)
        self._tool, self._ramp = PoseReference(), GainRamp(self.gains)
        self._holding, self._attached = SwitchRamp(), SwitchRamp()
        self._attitude_ramp = SwitchRamp()
        self._base_power = 0.0  # with which the base's reference moves the minimum, W
        self._reset(RobotState(model.neutral_configuration(), np.zeros(model.nv)))

    def _start_holding(self, state: RobotState) -> Evaluation:
        model = self.model
        d = model.evaluate(state.q, np.zeros(model.nv))
        self._relative = self.gains.relative_to_base
        self._tool.restart(self._tool_pose(d))
        self._tool_potential.restart(np.eye(4))
        self._spring.restart(d)
        self._limit_stiffness = np.diag(d.M_hat_m).copy()
        self._last_force = np.array(d.g)
        self._base_power = 0.0
        self._ramp.restart(self.gains)
        self._holding.restart()
        self._attitude_ramp.restart()
        self._attached.restart()
        return d

    def _update(self, state: RobotState, reference: Reference, dt: float) -> Command:
        fallback = self._fallback(state, dt)
        if fallback is not None:
            return fallback
        gains = self._ramp.follow(self.gains, dt)
        d = Evaluation(self.model, state.q, state.v)
        h = horizon(dt, gains.delay, state.age)
        # Spring and damping fade out before the frame is changed, and in again.
        if gains.relative_to_base != self._relative and self._attached.share == 0.0:
            self._relative = gains.relative_to_base
            self._tool.restart(self._tool_pose(d))
        attached = self._attached.follow(gains.relative_to_base == self._relative, dt)
        bandwidth = 2.0 * gains.stiffness / max(gains.damping, 1e-3)
        self._tool.follow(self._tool_reference(reference), gains.speed, gains.turn, bandwidth, dt)
        push = self._push(d, reference, dt, h)
        error = _SE3.inverse(self._tool.pose) @ self._tool_pose(d)
        base = self._base(d, dt)
        effort = pose_effort(
            d,
            ToolImpedance(
                self._tool_potential,
                self._tool,
                error,
                self._relative,
                push,
                attached * gains.stiffness,
                attached * gains.stiffness_rotation,
                attached * gains.damping,
                attached * gains.damping_rotation,
            ),
            NullSpaceImpedance(
                base,
                self._joint_limits,
                gains.limit_frequency**2 * self._limit_stiffness,
                gains.limit_margin,
                gains.damping_null,
                self._turning_rate(),
            ),
            h,
        )
        continuous, sampled, pushing = effort.continuous, effort.sampled, 0.0
        if push is not None:
            along = d.J_end_effector.T @ push.wrench
            continuous, sampled, pushing = continuous + along, sampled + along, float(along @ d.v)
        if not is_finite(continuous):
            return self._output.refuse(d)
        output = self._output.apply(d, sampled, gains, dt)
        self._last_force = output.force

        energy = ControlEnergy(
            closed_loop_energy=effort.kinetic + effort.potential,
            shaped_potential=effort.potential,
            kinetic_task=effort.kinetic_task,
            kinetic_null=effort.kinetic - effort.kinetic_task,
            damping_task=effort.damping_task,
            damping_null=effort.damping_null,
            reference_power=self._base_power + pushing + effort.reference_power,
            clipped_power=float((output.force - continuous) @ d.v),
            tank_level=self._output.tank_level,
        )
        return self._command(
            output,
            energy,
            effort.reason,
            "" if push is None else push.reason,
            task_error=hypot(*error[:3, 3].tolist()),
            smallest_singular_value=effort.smallest,
            authority=1.0 if push is None else push.authority,
        )

    def _tool_reference(self, reference: Reference) -> Reference:
        """Return the reference of the end effector."""
        return reference

    def _push(self, d: Evaluation, reference: Reference, dt: float, h: float) -> Push | None:
        """Return what replaces the impedance along one direction; None where nothing does."""
        return None

    def _tool_pose(self, d: Evaluation) -> Array:
        """Return the pose of the end effector in the frame that it is held in, (4,4)."""
        pose = d.frame_placement(self.model.end_effector_id)
        if not self._relative:
            return pose
        return _SE3.inverse(self.model.base_pose(d.q)) @ pose

    def _turning_rate(self) -> float:
        """Return the rate at which an attitude of the base that is held by itself is damped."""
        share = max(self._attitude_ramp.share - self._holding.share, 0.0)
        return 2.0 * _RATIO * share * self._ramp.now.frequency_base

    def _base(self, d: Evaluation, dt: float) -> SpringForce:
        """Return the potential that holds the base."""
        gains = self._ramp.now
        able = self._output.base_is_actuated
        hold_share = self._holding.follow(gains.hold_base and able, dt)
        attitude_share = self._attitude_ramp.follow(
            (gains.hold_base or gains.hold_attitude) and able, dt
        )
        return self._spring.at(
            self.model.base_pose(d.q), gains.frequency_base, hold_share, attitude_share
        )

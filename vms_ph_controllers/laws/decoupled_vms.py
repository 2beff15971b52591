# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Decoupled control of vehicle-manipulator systems: one energy for each of vehicle and shape."""

from dataclasses import dataclass
from math import dist
from typing import Any

import numpy as np

from vms_ph_dynamics import Evaluation, ModelError, VMSModel
from vms_ph_dynamics.actuation.allocation import Allocation
from vms_ph_dynamics.arrays import Array, is_finite
from vms_ph_dynamics.groups import SE3

from ..controller import (
    Command,
    ControlEnergy,
    Reference,
    RobotState,
    gain,
    usable,
)
from ..potentials.pose_potential import PosePotential
from ..references.integral_action import IntegralAction
from ..references.joint_reference import JointReference
from ..references.pose_reference import PoseReference
from ..safety.output_stage import OutputGains, OutputStage
from .decoupled_effort import (
    ReferenceMotion,
    ShapedEnergy,
    Springs,
    SprungEffort,
    decoupled_effort,
    sprung_effort,
)
from .gain_ramp import GainRamp
from .held_impedance import horizon
from .staged_controller import StagedController
from .unchanged import is_unchanged

_SE3 = SE3()

# Indices of the components of a base twist in a spatial twist.
_COMPONENTS = {"planar": np.array([0, 1, 5]), "floating": np.arange(6)}


class DecoupledVMSController(StagedController):
    r"""Energy shaping and damping in the inertially decoupled coordinates of [A (59)].

    The storage function is ``H_cl = 1/2 e^T M e + V_b(h) + V_m(q)`` with the velocity error ``e``.
    It decreases by the damping of the locked velocity error ``e_b + A e_m`` and of the shape part
    ``e_m``. ``V_b`` is a potential of the base's *pose* h: the locked velocity is not the
    derivative of a configuration [B (3.72)], so the force of ``V_b`` enters the decoupled equations
    through ``v = v_hat - A qdot``. With a reference at rest ``e`` is the velocity, and the kinetic
    energy is that of the robot; its inertia is not changed.

    In decoupled coordinates the law computes ``(w_hat, tau_hat)``. The base applies ``w``, as close
    to ``w_hat`` as its actuators allow (:class:`OutputStage`), and the joints receive
    ``tau = tau_hat + A^T w``: limits of the base do not disturb the shape.

    Stiffness is given by frequencies relative to the locked inertia and the shape inertia at the
    last reset, so that the same gains serve robots of different mass.
    """

    @dataclass(frozen=True)
    class Gains(OutputGains):
        """Gains of the law."""

        frequency_base: float = gain(1.5, "natural frequency of the base motion, rad/s", 0.0, 50.0)
        frequency_shape: float = gain(
            4.0, "natural frequency of the joint motion, rad/s", 0.0, 100.0
        )
        damping_ratio: float = gain(
            0.8, "damping ratio of both motions; 1 is critical damping", 0.0, 10.0
        )
        base_speed: float = gain(0.3, "largest linear speed of the base reference, m/s", 1e-3, 20.0)
        base_turn: float = gain(
            0.5, "largest angular speed of the base reference, rad/s", 1e-3, 20.0
        )
        joint_speed: float = gain(
            0.5, "largest speed of the joint reference, rad/s or m/s", 1e-3, 20.0
        )
        integral: float = gain(
            0.0, "integral action: rate of the correction, as a share of the damping", 0.0, 1.0
        )

    gains: Gains
    FOLLOWS_JOINTS = True

    def __init__(
        self,
        model: VMSModel,
        gains: Gains | None = None,
        allocation: Allocation | None = None,
        base_actuated: bool = True,
    ) -> None:
        """Control the pose of the base and the joints of a robot.

        Args:
            model: the robot.
            gains: the gains; None for the defaults.
            allocation: the actuators of the base; None for a base that can apply any wrench.
            base_actuated: False for a base without actuators; its pose is then not controlled.

        Raises:
            ModelError: the base is fixed, or the allocation is for another base.
        """
        if model.base == "fixed":
            raise ModelError(
                f"DecoupledVMSController is for robots on a planar or floating base; "
                f"'{model.name}' has a fixed one"
            )
        super().__init__(model, gains, OutputStage(model, allocation, base_actuated))
        self._potential, self._ramp = PosePotential(), GainRamp(self.gains)
        self._base, self._joints = PoseReference(), JointReference(model.n)
        self._integral = IntegralAction(model.n)
        self._active = 1.0 if self._output.base_is_actuated else 0.0
        self._components = _COMPONENTS[model.base]
        joints = model.joints
        self._endless = (
            np.isinf(joints.lower)
            & np.isinf(joints.upper)
            & ~np.array(joints.prismatic, dtype=bool)
        )
        self._has_endless = bool(self._endless.any())
        own = ("_shaped", "_switched", "_reference_motion")
        self._is_own = is_unchanged(self, DecoupledVMSController, *own)
        self.set_minimum(model.neutral_configuration())

    def set_minimum(self, q: Array) -> None:
        """Set the minimum of the shaped energy to a configuration (nq,) at once.

        Raises:
            StateError: it is not a configuration of the model.
        """
        self._output.restart(self._hold(RobotState(q, np.zeros(self.model.nv))))

    def _hold(self, state: RobotState) -> Evaluation:
        d = self.model.evaluate(state.q, np.zeros(self.model.nv))
        angular = self.model.b - 3 if self.model.base == "floating" else 2
        diagonal = np.diag(d.M_b)
        self._mass = float(diagonal[:angular].mean())
        self._inertia = float(diagonal[angular:].mean())
        self._shape_inertia = np.diag(d.M_hat_m).copy()
        self._base.restart(self.model.base_pose(d.q))
        self._joints.restart(self.model.joint_positions(d.q))
        self._integral.restart()
        self._ramp.restart(self.gains)
        self._begun = False
        self._springs_known: tuple[Any, Springs] | None = None
        return d

    def update(self, state: RobotState, reference: Reference, dt: float) -> Command:
        """Return the base wrench and the torques for a state; see :meth:`Controller.update`."""
        refused = self._refused(state, dt)
        if refused is not None:
            return refused
        gains = self._ramp.follow(self.gains, dt)
        d = Evaluation(self.model, state.q, state.v)
        h = horizon(dt, gains.delay)
        self._follow(reference, dt)
        offset = self._integrate(d, dt)
        demand = self._demand(d, offset, h)
        effort = demand.effort
        if not is_finite(effort.wanted):
            return self._output.refuse(d)
        output = self._output.apply(d, effort.sent, gains, dt)

        energy = ControlEnergy(
            closed_loop_energy=effort.kinetic_base + effort.kinetic_shape + demand.energy,
            shaped_potential=demand.energy,
            kinetic_base=effort.kinetic_base,
            kinetic_shape=effort.kinetic_shape,
            damping_base=effort.damping_base,
            damping_shape=effort.damping_shape,
            reference_power=0.0 if self._integral.is_none else self._displacing(demand, offset),
            clipped_power=float((output.force - effort.wanted) @ effort.error),
            tank_level=self._output.tank_level,
        )
        turned = "attitude error past half a turn: its correction is reversed"
        return self._command(
            output,
            energy,
            effort.reason,
            turned if demand.is_switched else "",
            task_error=dist(demand.pose[:3, 3].tolist(), self._base.pose[:3, 3].tolist()),
        )

    def _demand(self, d: Evaluation, offset: Array, h: float) -> SprungEffort:
        """Return what springs, damping and reference demand, in one call of C++ where possible."""
        gains, b = self._ramp.now, self.model.b
        if self._is_own:
            found = self._demand_in_one_call(d, offset, h)
            if found is not None:
                return found
        pose, positions = self.model.base_pose(d.q), self.model.joint_positions(d.q)
        error = _SE3.inverse(self._minimum()) @ pose
        switched = self._switched(error)
        motion = self._reference_motion(error, d.v)
        shaped = self._shaped(error, offset, positions, positions + h * d.v[b:])
        rate_base = self._active * 2.0 * gains.damping_ratio * gains.frequency_base
        rate_shape = 2.0 * gains.damping_ratio * gains.frequency_shape
        effort = decoupled_effort(d, shaped, motion, rate_base, rate_shape, h)
        return SprungEffort(effort, shaped.energy, shaped.gradient, error, pose, switched)

    def _demand_in_one_call(self, d: Evaluation, offset: Array, h: float) -> SprungEffort | None:
        """Return the same as what the other methods compute; None without the C++ core."""
        base, joints = self._base, self._joints
        motion = None
        if not self._is_resting:
            turn = self._integral.turn
            motion = (turn, base.twist, base.acceleration, joints.rates, joints.accelerations)
        found = sprung_effort(
            *(d, self._springs(), self._potential, not self._begun),
            *(self._minimum(), offset, motion, h),
        )
        self._begun = self._begun or found is not None
        return found

    def _springs(self) -> Springs:
        """Return springs and damping at the gains in force; they are computed when these change."""
        gains = self._ramp.now
        if self._springs_known is None or self._springs_known[0] is not gains:
            base, shape = self._active * gains.frequency_base**2, gains.frequency_shape**2
            rate = 2.0 * gains.damping_ratio
            springs = Springs(
                base * self._mass,
                base * self._inertia,
                shape * self._shape_inertia,
                gains.limit_frequency**2 * self._shape_inertia,
                gains.limit_margin,
                self._active * rate * gains.frequency_base,
                rate * gains.frequency_shape,
            )
            self._springs_known = gains, springs
        return self._springs_known[1]

    @property
    def _is_resting(self) -> bool:
        return self._base.is_resting and self._joints.is_resting

    def _switched(self, error: Array) -> bool:
        if not self._begun:
            self._begun = True
            self._potential.restart(error)
        return self._potential.follow(error)

    def _integrate(self, d: Evaluation, dt: float) -> Array:
        """Advance the integral action; return the displacements of the joints from the minimum."""
        gains, integral = self._ramp.now, self._integral
        offset = self.model.joint_positions(d.q) - self._joints.positions
        if self._has_endless:
            turns = np.round(offset / (2.0 * np.pi))
            offset = offset - np.where(self._endless, 2.0 * np.pi * turns, 0.0)
        if gains.integral == 0.0 and integral.is_none:
            return offset
        frequency = self._active * gains.frequency_base
        pose = self.model.base_pose(d.q)
        away = pose[:3, 3] - self._base.pose[:3, 3]
        turned = self._base.pose[:3, :3].T @ pose[:3, :3]
        self._correct(integral, gains, frequency, away, turned, offset, dt)
        return np.asarray(offset - integral.joints)

    def _minimum(self) -> Array:
        """Return the pose of the least energy."""
        if self._ramp.now.integral == 0.0:
            return self._base.pose
        pose = self._base.pose.copy()
        pose[:3, :3] = pose[:3, :3] @ self._integral.turn
        pose[:3, 3] += self._integral.place
        return pose

    def _displacing(self, demand: SprungEffort, offset: Array) -> float:
        """Return the power by which the integral action moves the minimum, W."""
        by, pose, error = self._integral, demand.pose, demand.error
        twist = np.concatenate([by.place_rate @ pose[:3, :3], by.turn_rate @ error[:3, :3]])
        spring = self._ramp.now.frequency_shape**2 * self._shape_inertia * offset
        base = demand.gradient[: self.model.b] @ twist[self._components]
        return -float(base + spring @ by.joint_rates)

    def _shaped(self, error: Array, offset: Array, positions: Array, ahead: Array) -> ShapedEnergy:
        gains = self._ramp.now
        k_position = self._active * gains.frequency_base**2 * self._mass
        k_rotation = self._active * gains.frequency_base**2 * self._inertia
        k_shape = gains.frequency_shape**2 * self._shape_inertia
        k_limit = gains.limit_frequency**2 * self._shape_inertia
        depth = self._joint_limits.depth(positions, gains.limit_margin)
        energy = self._potential.value(error, k_position, k_rotation)
        energy += 0.5 * float(k_shape @ (offset * offset))
        energy += 0.5 * float(k_limit @ (depth * depth))
        wrench = self._potential.gradient(error, k_position, k_rotation)
        shape = k_shape * offset + k_limit * depth
        reached = (depth != 0.0) | (self._joint_limits.depth(ahead, gains.limit_margin) != 0.0)
        k_base = np.array([k_position] * 3 + [k_rotation] * 3)[self._components]
        return ShapedEnergy(
            energy,
            np.concatenate([wrench[self._components], shape]),
            np.concatenate([k_base, k_shape + np.where(reached, k_limit, 0.0)]),
        )

    def _follow(self, reference: Reference, dt: float) -> None:
        """Advance the references; values of a wrong shape or not finite are ignored."""
        gains = self._ramp.now
        pose, joints = usable(reference.pose, (4, 4)), usable(reference.joints, (self.model.n,))
        if pose is not None:
            self._base.go_to(pose)
        if joints is not None:
            self._joints.go_to(joints)
        twist = usable(reference.twist, (6,))
        self._base.advance(twist, gains.base_speed, gains.base_turn, gains.frequency_base, dt)
        self._joints.advance(gains.joint_speed, gains.frequency_shape, dt)

    def _reference_motion(self, error: Array, v: Array) -> ReferenceMotion | None:
        """Return the motion of the reference in the frame of the base; None at rest."""
        if self._is_resting:
            return None
        b, rows = self.model.b, self._components
        from_reference = error.copy()  # in the axes of the reference, not of the minimum
        from_reference[:3] = self._integral.turn @ error[:3]
        to_body = _SE3.Ad(_SE3.inverse(from_reference))
        twist = to_body @ self._base.twist
        velocity, acceleration = np.zeros(self.model.nv), np.zeros(self.model.nv)
        velocity[:b], velocity[b:] = twist[rows], self._joints.rates
        relative = np.zeros(6)
        relative[rows] = v[:b] - velocity[:b]
        turning = to_body @ self._base.acceleration - _SE3.ad(relative) @ twist
        acceleration[:b], acceleration[b:] = turning[rows], self._joints.accelerations
        return ReferenceMotion(velocity, acceleration)

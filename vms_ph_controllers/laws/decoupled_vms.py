# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Decoupled control of vehicle-manipulator systems: one energy for each of vehicle and shape."""

from dataclasses import dataclass
from math import dist

import numpy as np

from vms_ph_dynamics import Allocation, Array, Evaluation, ModelError, VMSModel
from vms_ph_dynamics.arrays import is_finite
from vms_ph_dynamics.groups import SE3

from ..controller import Command, ControlEnergy, Reference, RobotState, gain, usable
from ..potentials.pose_potential import BASE_COMPONENTS, PosePotential
from ..references.integral_action import IntegralAction
from ..references.pose_reference import JointReference, PoseReference
from ..safety.output_stage import OutputGains
from .sampled_impedance import SampledImpedance, brake, horizon
from .staged_controller import StagedController


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


_SE3 = SE3()


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

    Examples:
        >>> from vms_ph_io import simulate
        >>> simulate("hextilt", DecoupledVMSController, 0.1)
        Trajectory(hextilt_flying_arm_5, 0.1 s, energy balance closed)
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
        super().__init__(model, gains, allocation, base_actuated)
        self._potential = PosePotential()
        self._base, self._joints = PoseReference(), JointReference(model.n)
        self._integral = IntegralAction(model.n)
        self._active = 1.0 if self._output.base_is_actuated else 0.0
        self._components = BASE_COMPONENTS[model.base]
        joints = model.joints
        self._endless = (
            np.isinf(joints.lower)
            & np.isinf(joints.upper)
            & ~np.array(joints.prismatic, dtype=bool)
        )
        self._reset(RobotState(model.neutral_configuration(), np.zeros(model.nv)))

    def set_minimum(self, q: Array) -> None:
        """Set the minimum of the shaped energy to a configuration (nq,) at once.

        Raises:
            StateError: it is not a configuration of the model.
        """
        self.reset(RobotState(q, np.zeros(self.model.nv)))

    def _start_holding(self, d: Evaluation) -> None:
        angular = self.model.b - 3 if self.model.base == "floating" else 2
        diagonal = np.diag(d.M_b)
        self._mass = float(diagonal[:angular].mean())
        self._inertia = float(diagonal[angular:].mean())
        self._shape_inertia = np.diag(d.M_hat_m).copy()
        self._base.restart(self.model.base_pose(d.q))
        self._joints.restart(self.model.joint_positions(d.q))
        self._integral.restart()
        self._potential.restart()

    def _control(self, d: Evaluation, reference: Reference, dt: float, age: float) -> Command:
        gains = self._ramp.now
        h = horizon(dt, gains.delay, age)
        self._follow(reference, dt)
        offset = self._integrate(d, dt, h)
        b, positions = self.model.b, self.model.joint_positions(d.q)
        pose = self.model.base_pose(d.q)
        error = _SE3.inverse(self._minimum()) @ pose
        switched = self._potential.follow(error)
        motion = self._reference_motion(error, d.v)
        shaped = self._shaped(error, offset, positions, positions + h * d.v[b:])
        rate_base = self._active * 2.0 * gains.damping_ratio * gains.frequency_base
        rate_shape = 2.0 * gains.damping_ratio * gains.frequency_shape
        effort = decoupled_effort(d, shaped, motion, rate_base, rate_shape, h)
        if not is_finite(effort.continuous):
            return self._output.refuse(d)
        output = self._output.apply(d, effort.sampled, gains, dt)

        energy = ControlEnergy(
            closed_loop_energy=effort.kinetic_base + effort.kinetic_shape + shaped.energy,
            shaped_potential=shaped.energy,
            kinetic_base=effort.kinetic_base,
            kinetic_shape=effort.kinetic_shape,
            damping_base=effort.damping_base,
            damping_shape=effort.damping_shape,
            reference_power=self._displacing(pose, error, shaped.gradient, offset),
            clipped_power=float((output.force - effort.continuous) @ effort.error),
            tank_level=self._output.tank_level,
        )
        reversal = "attitude error past half a turn: its correction is reversed"
        return self._command(
            output,
            energy,
            effort.reason,
            reversal if switched else "",
            task_error=dist(pose[:3, 3].tolist(), self._base.pose[:3, 3].tolist()),
        )

    @property
    def _is_resting(self) -> bool:
        return self._base.is_resting and self._joints.is_resting

    def _integrate(self, d: Evaluation, dt: float, h: float) -> Array:
        """Advance the integral action; return the displacements of the joints from the minimum."""
        gains, integral = self._ramp.now, self._integral
        offset = self.model.joint_positions(d.q) - self._joints.positions
        turns = np.round(offset / (2.0 * np.pi))
        offset = offset - np.where(self._endless, 2.0 * np.pi * turns, 0.0)
        if gains.integral == 0.0 and integral.is_none:
            return offset
        frequency = self._active * gains.frequency_base
        pose = self.model.base_pose(d.q)
        position_error = pose[:3, 3] - self._base.pose[:3, 3]
        rotation_error = self._base.pose[:3, :3].T @ pose[:3, :3]
        self._correct(integral, gains, frequency, position_error, rotation_error, offset, dt, h)
        return np.asarray(offset - integral.joints)

    def _minimum(self) -> Array:
        """Return the pose of the least energy."""
        pose = self._base.pose.copy()
        pose[:3, :3] = pose[:3, :3] @ self._integral.turn
        pose[:3, 3] += self._integral.position
        return pose

    def _displacing(self, pose: Array, error: Array, gradient: Array, offset: Array) -> float:
        """Return the power by which the integral action moves the minimum, W."""
        integral = self._integral
        twist = np.concatenate(
            [integral.position_rate @ pose[:3, :3], integral.turn_rate @ error[:3, :3]]
        )
        spring = self._ramp.now.frequency_shape**2 * self._shape_inertia * offset
        base = gradient[: self.model.b] @ twist[self._components]
        return -float(base + spring @ integral.joint_rates)

    def _shaped(
        self, error: Array, offset: Array, positions: Array, predicted: Array
    ) -> ShapedEnergy:
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
        reached = (depth != 0.0) | (self._joint_limits.depth(predicted, gains.limit_margin) != 0.0)
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

# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The usual alternative: a PD law for the base and one for every joint, which ignore each other."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from vms_ph_controllers import Command, Controller, DifferentialDrive, Reference, RobotState, gain
from vms_ph_controllers.controller import if_finite
from vms_ph_controllers.laws.attitude_and_shape import centre_and_inertia
from vms_ph_controllers.laws.underactuated_flight import ThrustDirection, single_axis
from vms_ph_controllers.potentials.pose_potential import BASE_COMPONENTS
from vms_ph_controllers.references.integral_action import IntegralAction
from vms_ph_controllers.references.pose_reference import JointReference, PoseReference
from vms_ph_dynamics import Allocation, Array, Evaluation, VMSModel
from vms_ph_dynamics.groups import SE3, SO3
from vms_ph_dynamics.nonholonomic import NonholonomicForm, NonholonomicTerms

_SE3, _SO3 = SE3(), SO3()

# Rates at which the error of the place and that of the posture fade, 1/s.
_POSITION_RATE, _POSTURE_RATE = 20.0, 1.0

# Added to the eigenvalues of J J^T, m^2: it bounds the rates where the arm is stretched out.
_DAMPING = 1e-4


class InverseKinematics:
    """Joints that lead an end effector along a moving place, on a base that moves as it should.

    The rates are those of the damped pseudo-inverse of the Jacobian of the place; the posture
    returns to that at the start as far as the place allows. Nothing is measured.

    Attributes:
        positions, rates: (n,).
        has_target: whether a place has been given.
    """

    def __init__(self, model: VMSModel) -> None:
        self._model, self._base_rows = model, BASE_COMPONENTS[model.base]
        self._tool_reference, self.has_target = PoseReference(), False

    def restart(self, d: Evaluation) -> None:
        """Restart at rest at a configuration."""
        model = self._model
        self._configuration, self._base_pose = np.array(d.q), model.base_pose(d.q)
        self._home_positions = self.positions = model.joint_positions(d.q)
        self.rates = np.zeros(model.n)
        self._tool_reference.restart(d.placement(model.end_effector))
        self.has_target = False

    def go_to(self, position: Array) -> None:
        """Lead the end effector to a place (3,) in inertial axes, m."""
        pose = self._tool_reference.pose.copy()
        pose[:3, 3] = position
        self._tool_reference.go_to(pose)
        self.has_target = True

    def advance(self, base_pose: Array, speed: float, bandwidth: float, dt: float) -> None:
        """Advance by one time step.

        Args:
            base_pose: (4,4) pose of the base that is wanted at its end.
            speed: largest speed of the place, m/s.
            bandwidth: of its motion, rad/s.
            dt: s.
        """
        if not self.has_target or dt <= 0.0:
            return
        model, b = self._model, self._model.b
        self._tool_reference.advance(None, speed, 1.0, bandwidth, dt)
        d = model.evaluate(self._configuration, np.zeros(model.nv))
        tool_pose = d.placement(model.end_effector)
        J = tool_pose[:3, :3] @ d.J_end_effector[:3]
        step = np.zeros(model.nv)
        step[:b] = _SE3.log(_SE3.inverse(self._base_pose) @ base_pose)[self._base_rows]
        position_error = self._tool_reference.pose[:3, 3] - tool_pose[:3, 3]
        reference_velocity = self._tool_reference.pose[:3, :3] @ self._tool_reference.twist[:3]
        velocity = reference_velocity + _POSITION_RATE * position_error - J[:, :b] @ step[:b] / dt
        J_arm = J[:, b:]
        posture_rates = _POSTURE_RATE * (self._home_positions - self.positions)
        inverse = np.linalg.inv(J_arm @ J_arm.T + _DAMPING * np.eye(3))
        self.rates = posture_rates + J_arm.T @ (inverse @ (velocity - J_arm @ posture_rates))
        step[b:] = dt * self.rates
        self._configuration, self._base_pose = model.integrate(self._configuration, step), base_pose
        self.positions = model.joint_positions(self._configuration)


# Largest products of damping rates and the lag, of a joint by itself and of the fastest motion of
# all: a loop with that lag alone becomes unstable at pi / 2.
_MAX_JOINT_RATE_LAG, _MAX_TOTAL_RATE_LAG = 0.5, 0.75

# Of the integral of joints, which feel each other and a base that flies: faster ones make some arms
# swing, slower ones correct less in time.
_INTEGRAL_RATIO = 0.2


class DecentralisedPD(Controller):
    """PD control of the base as one rigid body, and of every joint, each with its weight.

    Stiffness and damping are those of the law that it is compared with. The base has the locked
    inertia of the initial posture, and a joint the diagonal entry of the shape inertia there; the
    inertial coupling of base and joints and of the joints among each other is ignored. Gravity is
    compensated in every posture. A base whose rotors push along one axis is led by a cascade: a PD
    law of the position wants a force, another one turns the base towards it. Where the end effector
    is led, the joints follow inverse kinematics of its reference and that of the base. References
    move, and errors are integrated, as those of the laws of this project.
    """

    @dataclass(frozen=True)
    class Gains:
        """Gains of the law."""

        frequency_base: float = gain(1.5, "natural frequency of the base position, rad/s", 0, 50)
        frequency_turn: float = gain(1.5, "natural frequency of its attitude, rad/s", 0, 50)
        frequency_shape: float = gain(4.0, "natural frequency of the joints, rad/s", 0, 100)
        stiffness: float = gain(
            0.0,
            "mean stiffness of the end effector, from which frequency_shape follows; 0: as given, "
            "N/m",
            0,
            1e5,
        )
        damping_ratio: float = gain(0.8, "damping ratio of all motions", 0, 10)
        base_speed: float = gain(0.3, "largest speed of the base reference, m/s", 1e-3, 20)
        base_turn: float = gain(0.5, "largest angular speed of it, rad/s", 1e-3, 20)
        joint_speed: float = gain(0.5, "largest speed of the joint reference, rad/s", 1e-3, 20)
        speed: float = gain(0.2, "largest speed of the end effector's reference, m/s", 1e-3, 20)
        integral: float = gain(0.0, "integral action, as a share of the damping", 0, 1)
        largest_tilt: float = gain(0.6, "of a thrust along one axis, rad", 0, 1.2)
        lag: float = gain(
            0.0, "from measurement to effort, for which joint gains are reduced, s", 0, 1
        )
        delay: float = gain(0.0, "beyond that lag, samples", 0, 0)

    gains: Gains
    FOLLOWS_JOINTS = True

    def __init__(
        self, model: VMSModel, gains: Gains | None = None, allocation: Allocation | None = None
    ) -> None:
        """Control base and joints of a robot; see :class:`Controller`."""
        super().__init__(model)
        self.gains = self._checked_gains(gains)
        self._base_rows = BASE_COMPONENTS[model.base]
        self._thrust_direction: ThrustDirection | None = None
        has_weight = model.base == "floating" and bool(np.any(model.gravity))
        if allocation is not None and has_weight and not allocation.is_fully_actuated:
            self._thrust_axis = single_axis(allocation, model.name)[0]
            self._thrust_direction = ThrustDirection(self._thrust_axis)
        self._base_target = PoseReference()
        self._joint_reference = JointReference(model.joints.continuous)
        self._integral = IntegralAction(model.n)
        self._kinematics = InverseKinematics(model)
        self.reset(RobotState(model.neutral_configuration(), np.zeros(model.nv)))

    @classmethod
    def like(
        cls, law: Controller, model: VMSModel, allocation: Allocation | None, lag: float = 0.0
    ) -> "DecentralisedPD":
        """Return one with the frequencies, stiffness, damping ratio and speeds of another law.

        Args:
            law: the other law.
            model: the robot.
            allocation: the actuators of its base.
            lag: from measurement to effort, s; joint gains are reduced to what it allows.
        """
        law_gains: Any = law.gains
        base_frequency = getattr(law_gains, "frequency_base", 1.5)
        gains = {
            "frequency_base": getattr(law_gains, "frequency_position", base_frequency),
            "frequency_turn": getattr(law_gains, "frequency_attitude", base_frequency),
            "lag": lag,
        }
        speed_names = ("base_speed", "base_turn", "joint_speed")
        alternatives = {"stiffness": "task_stiffness stiffness", "speed": "reference_speed speed"}
        for name in ("frequency_shape", "damping_ratio", "integral", *speed_names, *alternatives):
            # Of several names the first counts.
            for candidate in alternatives.get(name, name).split():
                if hasattr(law_gains, candidate):
                    gains.setdefault(name, getattr(law_gains, candidate))
        return cls(model, cls.Gains(**gains), allocation)

    def reset(self, state: RobotState) -> None:
        """Hold the present pose and joints; see :meth:`Controller.reset`."""
        model, b = self.model, self.model.b
        d = model.evaluate(state.q, np.zeros(model.nv))
        self._base_target.restart(model.base_pose(d.q))
        self._joint_reference.restart(model.joint_positions(d.q))
        self._kinematics.restart(d)
        self._integral.restart()
        self._locked_inertia = d.M_b.copy()
        inertia = np.diag(d.M_hat_m).copy()
        gains = self.gains
        lever_sq = (d.J_end_effector[:3, b:] ** 2).sum(axis=0)
        self._frequency = gains.frequency_shape
        if gains.stiffness > 0.0 and (lever_sq > 0.0).any():
            self._frequency = float(np.sqrt(gains.stiffness / 3.0 * (lever_sq / inertia).sum()))
        damping_rate = 2.0 * gains.damping_ratio * self._frequency
        if damping_rate * gains.lag > 0.0:
            # What a joint feels where all others are free is less than its diagonal entry.
            mobility, lag_ratio = np.linalg.inv(d.M_hat_m), 1.0 / (damping_rate * gains.lag)
            inertia = np.minimum(inertia, _MAX_JOINT_RATE_LAG * lag_ratio / np.diag(mobility))
            inertia_root = np.sqrt(inertia)
            fastest_ratio = np.linalg.eigvalsh(inertia_root[:, None] * mobility * inertia_root)[-1]
            inertia *= min(1.0, _MAX_TOTAL_RATE_LAG * lag_ratio / fastest_ratio)
        self._joint_inertia = inertia
        # Where the lag has reduced stiffness and damping, the integral is slower as well.
        self._integral_rates = _INTEGRAL_RATIO * self._frequency * inertia / np.diag(d.M_hat_m)

    def update(self, state: RobotState, reference: Reference, dt: float) -> Command:
        """Return base wrench and torques for a state; see :meth:`Controller.update`."""
        model, gains, b = self.model, self.gains, self.model.b
        if not state.is_usable(model, dt):
            return self.safe_output(model.neutral_configuration())
        pose, position = if_finite(reference.pose, (4, 4)), if_finite(reference.position, (3,))
        if pose is not None:
            self._base_target.go_to(pose)
        self._joint_reference.set_target(reference)
        if position is not None:
            self._kinematics.go_to(position)
        self._base_target.advance(None, gains.base_speed, gains.base_turn, gains.frequency_base, dt)
        self._joint_reference.advance(gains.joint_speed, self._frequency, dt)
        self._kinematics.advance(self._base_target.pose, gains.speed, self._frequency, dt)
        self._integrate(state.q, dt)
        force = self.force(state.q, state.v)
        max_torque = model.joints.effort
        return Command(force[:b], np.clip(force[b:], -max_torque, max_torque))

    def _integrate(self, q: Array, dt: float) -> None:
        gains, pose, target = self.gains, self.model.base_pose(q), self._base_target.pose
        # Rotors that push along one axis need the attitude for the place.
        rotation_error = target[:3, :3].T @ pose[:3, :3] if self._thrust_direction is None else None
        self._integral.advance(
            gains.integral * gains.damping_ratio,
            gains.frequency_base,
            self._integral_rates,
            pose[:3, 3] - target[:3, 3],
            rotation_error,
            self.model.joint_positions(q) - self._joint_target.positions,
            dt,
            dt,
        )

    @property
    def _joint_target(self) -> InverseKinematics | JointReference:
        """What leads the joints."""
        return self._kinematics if self._kinematics.has_target else self._joint_reference

    def force(self, q: Array, v: Array) -> Array:
        """Return the generalised force (nv,) at a state."""
        model, gains, b, joint_target = self.model, self.gains, self.model.b, self._joint_target
        translation_count = {"floating": 3, "planar": 2}.get(model.base, 0)
        frequency = np.repeat(
            (gains.frequency_base, gains.frequency_turn, self._frequency),
            (translation_count, b - translation_count, model.n),
        )
        base_pose = model.base_pose(q)
        target = self._base_target.pose.copy()
        target[:3, :3] = target[:3, :3] @ self._integral.rotation
        target[:3, 3] += self._integral.position
        pose_error = _SE3.inverse(target) @ base_pose
        position_error = pose_error[:3, 3] @ pose_error[:3, :3]
        base_error = np.concatenate([position_error, _SO3.log(pose_error[:3, :3])])[self._base_rows]
        joint_error = model.joint_positions(q) - joint_target.positions
        joint_error -= self._integral.joint_offset
        error = np.concatenate([base_error, joint_error])
        reference_twist = _SE3.Ad(_SE3.inverse(pose_error)) @ self._base_target.twist
        reference_velocity = np.concatenate([reference_twist[self._base_rows], joint_target.rates])
        d = model.evaluate(q, v)
        damping = 2.0 * gains.damping_ratio * frequency
        acceleration = -(frequency**2) * error - damping * (v - reference_velocity)
        forces = [self._locked_inertia @ acceleration[:b], self._joint_inertia * acceleration[b:]]
        force = np.concatenate(forces) + d.g
        if self._thrust_direction is not None:
            force[:6] = self._thrust_and_moment(d, acceleration[:3], base_pose[:3, :3])
        return force

    def _thrust_and_moment(self, d: Evaluation, acceleration: Array, rotation: Array) -> Array:
        """Return the thrust along the axis and the moment that turns it towards a wanted one.

        Args:
            d: the state.
            acceleration: (3,) acceleration, in the axes of the base, m/s^2.
            rotation: (3,3) of the base.
        """
        assert self._thrust_direction is not None
        weight_force = d.g[:3]
        weight = float(np.linalg.norm(weight_force))
        thrust: Array = rotation @ (self.model.total_mass * acceleration + weight_force)
        vertical = rotation @ weight_force / max(weight, 1e-12)
        thrust = self._thrust_direction.in_cone(thrust, vertical, weight, self.gains.largest_tilt)
        attitude = self._thrust_direction.attitude(thrust, self._base_target.pose[:3, :3])
        attitude_error = _SO3.log(attitude.T @ rotation)
        force = float(thrust @ (rotation @ self._thrust_axis)) * self._thrust_axis
        frequency, ratio = self.gains.frequency_turn, self.gains.damping_ratio
        angular_acceleration = -(frequency**2) * attitude_error - 2.0 * ratio * frequency * d.v[3:6]
        centre, inertia = centre_and_inertia(d)
        return np.concatenate([force, inertia @ angular_acceleration + np.cross(centre, force)])


# Largest rates of velocities and joints by the time from measurement to effort: the best of those
# tried. Above them joints that ignore each other swing until their torques end.
_MAX_RATE_LAG, _MAX_JOINT_LAG = 0.5, 0.1


class DecentralisedDrive(DifferentialDrive):
    """Velocity control of speed, turn and every joint, which ignore each other, with its weight.

    References, rates and the compensation of weight and friction are those of
    :class:`.DifferentialDrive`. Each velocity has its own inertia, that at the last reset; coupling
    and velocity-dependent forces are ignored. A reset lowers the rates to what the delay allows.
    """

    def __init__(self, form: NonholonomicForm, lag: float) -> None:
        """Construct the law.

        Args:
            form: robot on wheels.
            lag: from measurement to effort, with the step of the law, s; above zero.
        """
        self._lag = lag
        super().__init__(form)

    def reset(self, state: RobotState) -> None:
        """Hold the present pose; see :meth:`Controller.reset`."""
        self.gains = replace(
            self.gains,
            rate=min(self.gains.rate, _MAX_RATE_LAG / self._lag),
            rate_joints=min(self.gains.rate_joints, _MAX_JOINT_LAG / self._lag),
        )
        super().reset(state)
        terms = self.form.terms(state.q, np.zeros(self.form.dimension))
        inverse_basis = np.linalg.inv(terms.basis[self.output_rows])
        self._output_inertias = np.diag(inverse_basis.T @ terms.mass @ inverse_basis)

    def inertial_force(self, terms: NonholonomicTerms, velocity: Array, rate: Array) -> Array:
        """Return the forces (m,) of the inertias alone."""
        output_basis = terms.basis[self.output_rows]
        return output_basis.T @ (self._output_inertias * (output_basis @ rate))

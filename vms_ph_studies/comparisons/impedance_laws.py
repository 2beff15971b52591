# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Laws for an impedance of the end effector that others publish, and one rule of gains for all.

The equations are written anew from the sources: cartesian_impedance_example_controller of
franka_ros (franka_ros2 has none), CartesianController of crisp_controllers 8093548, and
CartesianComplianceController of cartesian_controllers f53f798. The first two send torques without
weight and leave the torques of the motors to the driver; the third sends positions of the joints.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import pinocchio as pin

from vms_ph_controllers import CartesianImpedance, EnergyGuard, Reference, RobotState
from vms_ph_controllers.guard import EnergyGuardSettings, PositionGuard, spring_positions
from vms_ph_dynamics import Array, VMSModel
from vms_ph_io.drivers import Driver

# The rule: stiffnesses in N/m, N m/rad and N m/rad of the posture; a damping ratio about the
# effective masses at home; least dampings in N s/m and N m s/rad, which remain for hand guiding.
_STIFFNESS, _ZETA, _LEAST_DAMPING = (400.0, 30.0, 10.0), 0.7, (10.0, 1.0)

# Torque rate that every law keeps under the rule, N m/s.
_TORQUE_RATE = 900.0

# Of servos that follow positions, 1/s: those of an industrial arm are late by about 20 ms.
_SERVO_FREQUENCY = 100.0

# Of the guard before servos, as in config/arms/so101.yaml.
_SERVO_TANK = EnergyGuardSettings(tank_capacity=20.0, tank_initial=20.0, refill_power=8.0)


@dataclass(frozen=True)
class ImpedanceGains:
    """Stiffness and damping.

    Attributes:
        stiffness: of position, attitude and posture, N/m, N m/rad and N m/rad.
        damping: N s/m, N m s/rad and N m s/rad.
        null_inertia: of the motion that leaves the end effector at rest, kg m^2.
    """

    stiffness: tuple[float, float, float]
    damping: tuple[float, float, float]
    null_inertia: float

    @classmethod
    def by_rule(cls, model: VMSModel, scale: float) -> "ImpedanceGains":
        """Return ``D = 2 zeta sqrt(K Lambda)`` for a scale of the position's stiffness.

        ``Lambda`` is three over the trace of the mobility of position or attitude; at a scale of
        zero the stiffness of the attitude vanishes too.
        """
        d = model.evaluate(model.home, np.zeros(model.nv))
        j = d.J_end_effector
        mobility = j @ np.linalg.solve(d.M, j.T)
        z = np.linalg.svd(j)[2][-1]
        masses = (3.0 / np.trace(mobility[:3, :3]), 3.0 / np.trace(mobility[3:, 3:]), z @ d.M @ z)
        k = (scale * _STIFFNESS[0], _STIFFNESS[1] * (scale > 0.0), _STIFFNESS[2])
        damping = [2.0 * _ZETA * float(np.sqrt(a * m)) for a, m in zip(k, masses, strict=True)]
        min_damping = (*_LEAST_DAMPING, 0.0)
        position_damping, attitude_damping, null_damping = map(max, damping, min_damping)
        return cls(k, (position_damping, attitude_damping, null_damping), float(masses[2]))

    @classmethod
    def critical(cls, stiffness: tuple[float, float, float], scale: float) -> "ImpedanceGains":
        """Return published stiffnesses, with the published damping ``2 sqrt(K)``."""
        translational, rotational, posture = stiffness
        k = (scale * translational, rotational * (scale > 0.0), posture)
        a, b, c = (2.0 * float(np.sqrt(value)) for value in k)
        return cls(k, (a, b, c), 1.0)

    @classmethod
    def of_law(cls, gains: CartesianImpedance.Gains, scale: float) -> "ImpedanceGains":
        """Return those of this project's law."""
        x, y = scale * gains.stiffness, gains.stiffness_rotation * (scale > 0.0)
        damping = gains.damping, gains.damping_rotation, gains.damping_null
        return cls((x, y, gains.null_stiffness), damping, 1.0)


class PublishedLaw(ABC):
    """A law of others at the home pose of a robot, with its published settings or by the rule."""

    STIFFNESS: ClassVar[tuple[float, float, float]]

    def __init__(self, model: VMSModel, has_published_gains: bool) -> None:
        self._model, self._is_published, self._scale = model, has_published_gains, -1.0
        d = model.evaluate(model.home, np.zeros(model.nv))
        self._target = pin.SE3(np.array(d.placement(model.end_effector)))
        self.set_scale(1.0)

    def set_scale(self, scale: float) -> None:
        """Scale the stiffness of the position; zero for guiding by hand."""
        if scale == self._scale:
            return
        self._scale = scale
        if self._is_published:
            self._gains = ImpedanceGains.critical(self.STIFFNESS, scale)
        else:
            self._gains = ImpedanceGains.by_rule(self._model, scale)

    def _kinematics(self, state: RobotState) -> tuple[Any, Any, Array]:
        """Return model, pose and, in base axes, Jacobian (6,n) of the end effector at a state."""
        d = self._model.evaluate(state.q, state.v)
        pose = pin.SE3(np.array(d.placement(self._model.end_effector)))
        return d, pose, np.concatenate([pose.rotation @ j for j in np.split(d.J_end_effector, 2)])


class TorqueLaw(PublishedLaw):
    """A law of others that sends torques; it carries the weight that the model has."""

    TORQUE_RATE: ClassVar[float]

    def __init__(self, model: VMSModel, has_published_gains: bool, dt: float = 1e-3) -> None:
        """Hold the home pose at a period."""
        super().__init__(model, has_published_gains)
        self._home_joints = model.joint_positions(model.home)
        self._last_torque = np.zeros(model.n)
        self._max_step = dt * (self.TORQUE_RATE if has_published_gains else _TORQUE_RATE)

    def command(self, state: RobotState, target: Array) -> Array:
        """Return the torques (n,) for a position (3,) of the reference."""
        d, pose, jacobian = self._kinematics(state)
        desired_torque = self._desired_torque(d, pose, jacobian, target) + d.g
        change = np.clip(desired_torque - self._last_torque, -self._max_step, self._max_step)
        self._last_torque = self._last_torque + change
        return self._last_torque

    @abstractmethod
    def _desired_torque(self, d: Any, pose: Any, jacobian: Array, target: Array) -> Array:
        """Return the torques (n,) before the limit of their rate."""

    def _posture_torque(self, d: Any) -> Array:
        offset = self._home_joints - self._model.joint_positions(d.q)
        return self._gains.stiffness[2] * offset - self._gains.damping[2] * d.v

    @staticmethod
    def _damped_inverse(matrix: Array, damping: float) -> Array:
        u, s, vt = np.linalg.svd(matrix, full_matrices=False)
        return vt.T @ ((s / (s**2 + damping**2))[:, None] * u.T)


class ExampleLaw(TorqueLaw):
    """``J^T (-K e - D J qdot) + (1 - J^T J^T+) (K_n (q_n - q) - D_n qdot) + C qdot``.

    Position error and vector part of the quaternion in base axes; stiffness and damping follow with
    the factor 0.005 in each sample, as published the reference too; ``J^T+`` is damped by 0.2.
    """

    STIFFNESS, TORQUE_RATE = (200.0, 20.0, 0.0), 1000.0
    _FILTER_FACTOR = 0.005
    _filtered_gains: Array | None = None

    def _desired_torque(self, d: Any, pose: Any, jacobian: Array, target: Array) -> Array:
        factor = self._FILTER_FACTOR if self._is_published else 1.0
        self._target.translation += factor * (target - self._target.translation)
        gains = np.array([self._gains.stiffness[:2], self._gains.damping[:2]])
        previous_gains = gains if self._filtered_gains is None else self._filtered_gains
        self._filtered_gains = previous_gains + self._FILTER_FACTOR * (gains - previous_gains)
        k, damping = np.repeat(self._filtered_gains, 3, axis=1)
        quaternion = pin.Quaternion(pose.rotation.T @ self._target.rotation)
        vector = np.sign(quaternion.w or 1.0) * np.array([quaternion.x, quaternion.y, quaternion.z])
        position_error = pose.translation - self._target.translation
        error = np.concatenate([position_error, -pose.rotation @ vector])
        null_projector = np.eye(len(d.v)) - jacobian.T @ self._damped_inverse(jacobian.T, 0.2)
        force = -k * error - damping * (jacobian @ d.v)
        return jacobian.T @ force + null_projector @ self._posture_torque(d) + d.C @ d.v


class CrispLaw(TorqueLaw):
    """``J^T (K e - D J qdot) + clip((1 - J+ J) (K_n (q_n - q) - D_n qdot)) + tau_limits``.

    Errors in base axes, of the attitude the rotation vector, are clipped at 0.1 m and 0.5 rad, the
    torques of the posture at 5 N m; within 0.3 rad of a limit up to 5 N m push a joint back.
    As published, the logarithm of the reference's pose moves by nine tenths in each sample.
    """

    STIFFNESS, TORQUE_RATE = (500.0, 30.0, 1.0), 500.0

    def _desired_torque(self, d: Any, pose: Any, jacobian: Array, target: Array) -> Array:
        target_pose = pin.SE3(self._target.rotation, target)
        if self._is_published:
            target_pose = pin.exp6(
                0.9 * pin.log6(target_pose).vector + 0.1 * pin.log6(self._target).vector
            )
        self._target = target_pose
        rotation_error = pin.log3(target_pose.rotation @ pose.rotation.T)
        error = np.concatenate([target_pose.translation - pose.translation, rotation_error])
        max_error = np.repeat([0.1, 0.5], 3)
        k, damping = (np.repeat(x[:2], 3) for x in (self._gains.stiffness, self._gains.damping))
        force = k * np.clip(error, -max_error, max_error) - damping * (jacobian @ d.v)
        null_projector = np.eye(len(d.v)) - self._damped_inverse(jacobian, 1e-6) @ jacobian
        posture_torque = np.clip(null_projector @ self._posture_torque(d), -5.0, 5.0)
        q, joints = self._model.joint_positions(d.q), self._model.joints
        limit_torque = np.zeros(len(q))
        if np.isfinite([joints.lower, joints.upper]).all():
            distances = q - joints.lower, joints.upper - q
            lower_share, upper_share = (np.clip(1.0 - x / 0.3, 0.0, 1.0) for x in distances)
            limit_torque = 5.0 * (lower_share - upper_share)
        return jacobian.T @ force + posture_torque + limit_torque


class ComplianceLaw(PublishedLaw):
    """``H a = J^T (P f + D df/dt)``, ``q += v h``, ``v = 0.9 (v + a h)``, with ``f = K e + f_m``.

    A virtual arm of 1 kg and 1 kg m^2 at the end effector and 0.1 kg at each joint starts in each
    sample where the joints are measured, and moves on by h = 20 ms, whatever the sample is. The
    errors e, in base axes, are those of its last pose, clipped at 1 m and 1 rad; f_m is the
    measured wrench. Servos follow its positions. They carry the weight and overcome friction.
    """

    STIFFNESS = (500.0, 20.0, 0.0)
    _P, _D, _STEP = np.repeat([0.025, 0.75], 3), np.repeat([0.0025, 0.0], 3), 0.02

    def __init__(self, model: VMSModel, has_published_gains: bool) -> None:
        """Hold the home pose."""
        super().__init__(model, has_published_gains)
        self._pose, self._last_force = self._target, np.zeros(6)
        self._velocity, self._data = np.zeros(model.nv), model.tree.pinocchio.createData()

    def command(self, state: RobotState, target: Array) -> Array:
        """Return how far (n,) the joints shall move from where they are measured, rad.

        ``state`` has a wrench; the position of the reference is (3,).
        """
        model, pinocchio, h = self._model, self._model.tree.pinocchio, self._STEP
        _, pose, jacobian = self._kinematics(state)
        rotation = pin.log3(self._target.rotation @ self._pose.rotation.T)
        errors = (target - self._pose.translation, rotation)
        error = np.concatenate([e / max(1.0, float(np.linalg.norm(e))) for e in errors])
        wrench = np.asarray(state.wrench).reshape(2, 3) @ pose.rotation.T
        force = np.repeat(self._gains.stiffness[:2], 3) * error + wrench.ravel()
        pull = self._P * force + self._D * (force - self._last_force) / h
        self._last_force, inertia = force, jacobian.T @ jacobian
        pin.computeJointJacobians(pinocchio, self._data, state.q)
        for joint in range(1, pinocchio.njoints):
            j = pin.getJointJacobian(pinocchio, self._data, joint, pin.LOCAL)[:3]
            inertia += 0.1 * j.T @ j
        q, joints = model.joint_positions(state.q), model.joints
        step = np.clip(q + h * self._velocity, joints.lower, joints.upper) - q
        acceleration = np.linalg.solve(inertia, jacobian.T @ pull)
        self._velocity = 0.9 * (self._velocity + h * acceleration)
        d = model.evaluate(model.integrate(state.q, step), self._velocity)
        self._pose = pin.SE3(np.array(d.placement(model.end_effector)))
        return step

    @staticmethod
    def servo_torque(d: Any, offset: Array) -> Array:
        """Return the torques (n,) of servos at a motion whose commands are an offset (n,) ahead."""
        acceleration = _SERVO_FREQUENCY * (_SERVO_FREQUENCY * offset - 2.0 * d.v)
        return d.M @ acceleration + d.C @ d.v + d.g


class GuardedImpedance:
    """CartesianImpedance by the rule of gains, behind a guard, for a driver."""

    def __init__(self, model: VMSModel, driver: Driver, has_published_gains: bool = False) -> None:
        """Hold the home pose of a robot with its weight, by the rule of gains or the defaults."""
        self._dt, self.law = 1.0 / driver.rate, driver.law(CartesianImpedance, model)
        if not has_published_gains:
            self.law.gains = replace(self.law.gains, torque_rate=_TORQUE_RATE, speed=1.0)
        self._is_published = has_published_gains
        self._model, self._scale = model, -1.0
        self.set_scale(1.0)
        self.guard: Any = EnergyGuard(self.law, budget=60.0, delay=int(driver.delay))
        self.guard.reset(RobotState(model.home, np.zeros(model.nv)))

    def set_scale(self, scale: float) -> None:
        """Scale the stiffness of the position; zero for guiding by hand."""
        if scale == self._scale:
            return
        self._scale, gains = scale, ImpedanceGains.by_rule(self._model, scale)
        if self._is_published:
            gains = ImpedanceGains.of_law(CartesianImpedance.Gains(), scale)
        self.law.gains = replace(
            self.law.gains,
            stiffness=gains.stiffness[0],
            stiffness_rotation=gains.stiffness[1],
            damping=gains.damping[0],
            damping_rotation=gains.damping[1],
            damping_null=gains.damping[2] / gains.null_inertia,
            null_stiffness=gains.stiffness[2],
        )

    def command(self, state: RobotState, target: Array) -> Array:
        """Return the torques (n,) for a position (3,) of the reference."""
        return self.guard.update(state, Reference(position=target), self._dt).torque


class ServoImpedance(GuardedImpedance):
    """CartesianImpedance by the rule of gains, through position servos behind a PositionGuard."""

    def __init__(self, model: VMSModel, driver: Driver, stiffness: float) -> None:
        """Hold the home pose of a robot with its weight, by servos of a stiffness, N m/rad."""
        super().__init__(model, driver)
        self._stiffness, delay = stiffness, int(driver.delay)
        self.guard = PositionGuard(model, stiffness, settings=_SERVO_TANK, delay=delay)
        gravity_torque = model.evaluate(model.home, np.zeros(model.nv)).g
        positions = model.joint_positions(model.home)
        self.guard.engage(positions, positions + gravity_torque / stiffness)

    def command(self, state: RobotState, target: Array) -> Array:
        """Return the torques (n,) that guarded positions ask for at the measured ones."""
        positions = self._model.joint_positions(state.q)
        desired_torque = self.law.update(state, Reference(position=target), self._dt).torque
        command = spring_positions(self._model, state.q, desired_torque, self._stiffness)
        sent_command = self.guard.update(positions, command, self._dt).command
        return self._stiffness * (sent_command - positions)

# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The attitude of a base and the joints of its arm, in the inertially decoupled coordinates."""

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np

from vms_ph_dynamics import Array, Evaluation, ModelError

from ..controller import Command, ControlEnergy, Reference, gain
from ..safety.base_actuation import PrioritisedActuation
from .sampled_impedance import SampledImpedance, brake, horizon
from .vehicle_controller import CORRECTION_REVERSED, VehicleController


@dataclass(frozen=True, slots=True)
class BaseDemand:
    """What a law wants of the base.

    Attributes:
        force: (3,) in the axes of the base, N.
        rotation: (3,3) of the base.
        attitude: (3,3) wanted.
        desired_omega: (3,) angular velocity of the wanted attitude, in the axes of the base, rad/s.
        centre: (3,) centre of mass in the frame of the base, m.
        inertia: (3,3) about it, of the locked robot.
        energy: of the centre of mass: ``kinetic_base``, ``shaped_potential`` of its place and
            ``damping_base``; ``clipped_power`` of the force that the base does not have, and
            ``reference_power`` by the arm moving the centre in the base, and by the reference.
        reason: why the status is not OK, in words.
    """

    force: Array
    rotation: Array
    attitude: Array
    desired_omega: Array
    centre: Array
    inertia: Array
    energy: ControlEnergy
    reason: str = ""


def centre_and_inertia(d: Evaluation) -> tuple[Array, Array]:
    """Return the centre of mass in the frame of the base (3,) and the inertia about it (3,3)."""
    # M_b has m [c]x in its corner, with the centre of mass c in the frame of the base.
    mass = float(d.M_b[0, 0])
    skew_c = d.M_b[3:, :3] / mass
    centre_of_mass = np.array([skew_c[2, 1], skew_c[0, 2], skew_c[1, 0]])
    return centre_of_mass, d.M_b[3:, 3:] + mass * (skew_c @ skew_c)


class AttitudeAndShape(VehicleController):
    """Energy shaping of the attitude of a base and of the shape, with a force on the base given.

    In the locked momenta of [A (59)] the momentum about the centre of mass changes by the moment
    about it alone, whatever the arm does. The base is turned by a potential of its attitude error
    and damping of the locked angular velocity; the joints are held by a potential and damping of
    the shape, and receive ``A^T w`` besides. What the force on the base is, and which attitude is
    wanted, a law derived from this one says.
    """

    @dataclass(frozen=True)
    class Gains(VehicleController.Gains):
        """Gains of the law."""

        frequency_attitude: float = gain(7.0, "natural frequency of the attitude, rad/s", 0.0, 50.0)
        frequency_shape: float = gain(10.0, "natural frequency of the joints, rad/s", 0.0, 100.0)
        base_speed: float = gain(0.5, "largest linear speed of the base reference, m/s", 1e-3, 20.0)

    gains: Gains

    def _actuation(self) -> PrioritisedActuation | None:
        return None if self._allocation is None else PrioritisedActuation(self._allocation)

    def _start_holding(self, d: Evaluation) -> None:
        super()._start_holding(d)
        self._mean_inertia = float(np.diag(d.M_b)[3:].mean())

    def _control(self, d: Evaluation, reference: Reference, dt: float, age: float) -> Command:
        b, gains = 6, self._ramp.gains
        h = horizon(dt, gains.delay, age)
        self._follow(reference, dt)
        position_error = self.model.base_pose(d.q)[:3, 3] - self._base_ref.pose[:3, 3]
        joint_error = self._joint_ref.error_of(self.model.joint_positions(d.q))
        self._integrate(self._position_frequency(gains), position_error, None, joint_error, dt, h)
        joint_error = joint_error - self._integral.joint_offset
        demand = self._base_demand(d, gains, h)
        attitude_error = np.eye(4)
        attitude_error[:3, :3] = demand.attitude.T @ demand.rotation
        is_reversed = self._potential.follow(attitude_error)
        velocity_error = d.v.copy()
        velocity_error[3:6] -= demand.desired_omega
        velocity_error[b:] -= self._joint_ref.rates
        k_attitude = gains.frequency_attitude**2 * self._mean_inertia
        k_shape = gains.frequency_shape**2 * self._shape_inertia
        joint_springs = self._limit_springs(d, gains).with_spring(k_shape, joint_error)
        gradient = np.zeros(self.model.nv)
        attitude_spring = self._potential.spring(attitude_error, 0.0, k_attitude)
        gradient[3:6] = attitude_spring.force[3:]
        gradient[b:] = joint_springs.force
        stiffness = np.zeros(self.model.nv)
        stiffness[3:6] = k_attitude
        stiffness[b:] = joint_springs.stiffness
        attitude_damping_rate = 2.0 * gains.damping_ratio * gains.frequency_attitude
        shape_damping_rate = 2.0 * gains.damping_ratio * gains.frequency_shape
        J_locked = np.hstack([np.zeros((3, 3)), np.eye(3), d.A[3:]])  # to the angular velocity
        damping = attitude_damping_rate * (J_locked.T @ demand.inertia @ J_locked)
        damping[b:, b:] += shape_damping_rate * d.M_hat_m
        impedance = SampledImpedance.at(d, damping, np.diag(stiffness), gradient, velocity_error, h)
        spring_force = impedance.spring + impedance.predicted_spring
        damping_moment = attitude_damping_rate * (demand.inertia @ (J_locked @ impedance.velocity))
        shape_damping_force = shape_damping_rate * (d.M_hat_m @ impedance.velocity[b:])
        angular_momentum = demand.inertia @ demand.desired_omega
        moment = np.cross(d.v_hat[3:], angular_momentum) - spring_force[3:6] - damping_moment
        shape_force = d.A[3:].T @ spring_force[3:6] - spring_force[b:] - shape_damping_force

        effort = np.empty(self.model.nv)
        effort[:3] = demand.force
        effort[3:6] = moment + np.cross(demand.centre, effort[:3])
        effort[b:] = d.g[b:] + shape_force + d.A.T @ (effort[:b] - d.g[:b]) + brake(d, h)[b:]
        if not np.isfinite(effort.sum()):
            return self._output.reject_effort(d)
        output = self._output.apply(d, effort, gains, dt)

        e_hat = J_locked @ velocity_error
        kinetic_base = 0.5 * float(e_hat @ demand.inertia @ e_hat) + demand.energy.kinetic_base
        kinetic_shape = 0.5 * float(velocity_error[b:] @ d.M_hat_m @ velocity_error[b:])
        potential = demand.energy.shaped_potential + (attitude_spring.energy + joint_springs.energy)
        displacement_power = float((k_shape * joint_error) @ self._integral.joint_rates)
        clipped_power = float((output.effort - effort) @ velocity_error)
        energy = ControlEnergy(
            closed_loop_energy=kinetic_base + kinetic_shape + potential,
            shaped_potential=potential,
            kinetic_base=kinetic_base,
            kinetic_shape=kinetic_shape,
            damping_base=float(damping_moment @ e_hat) + demand.energy.damping_base,
            damping_shape=float(shape_damping_force @ velocity_error[b:]),
            reference_power=demand.energy.reference_power - displacement_power,
            clipped_power=demand.energy.clipped_power + clipped_power,
        )
        return self._command(
            output,
            energy,
            impedance.reason,
            CORRECTION_REVERSED if is_reversed else "",
            demand.reason,
            task_error=float(np.sqrt(position_error @ position_error)),
        )

    @abstractmethod
    def _base_demand(self, d: Evaluation, gains: Any, h: float) -> BaseDemand:
        """Return the wanted force and attitude of the base, for a horizon h, s."""

    def _position_frequency(self, gains: Any) -> float:
        """Return the natural frequency of the place of the base, rad/s; 0 if it is not held."""
        return 0.0


# Singular values below this share of the largest count as zero.
_SINGULAR_SHARE = 1e-6


class AttitudeControl(AttitudeAndShape):
    """Holds the attitude of a base by moments alone, and its joints; the position is free.

    For satellites on reaction wheels: with the attitude held, all angular momentum of the robot
    ends in the wheels, which dumps that of a captured body. The storage function decreases by
    damping of the locked angular velocity and of the shape, and changes by clipped power where the
    wheels are at their limits. Gravity is not compensated.
    """

    @dataclass(frozen=True)
    class Gains(AttitudeAndShape.Gains):
        """Gains of the law."""

        frequency_attitude: float = gain(0.3, "natural frequency of the attitude, rad/s", 0.0, 50.0)
        frequency_shape: float = gain(4.0, "natural frequency of the joints, rad/s", 0.0, 100.0)

    gains: Gains

    def _prepare(self) -> None:
        model, allocation = self.model, self._allocation
        if model.base != "floating" or model.fluid is not None or np.any(model.tree.gravity):
            raise ModelError(
                f"AttitudeControl is for robots that float freely in space, without gravity and "
                f"fluid; '{model.name}' does not"
            )
        if allocation is None or not self._base_actuated:
            raise ModelError(
                f"AttitudeControl needs what turns '{model.name}'; give its allocation, as "
                "actuators:=own does"
            )
        singular_values = np.linalg.svd(allocation.matrix[3:], compute_uv=False)
        if len(singular_values) < 3 or singular_values[2] <= _SINGULAR_SHARE * singular_values[0]:
            raise ModelError(f"the actuators of '{model.name}' cannot turn it about all axes")
        super()._prepare()

    def _base_demand(self, d: Evaluation, gains: "AttitudeControl.Gains", h: float) -> BaseDemand:
        rotation, attitude = self.model.base_pose(d.q)[:3, :3], self._base_ref.pose[:3, :3]
        centre, inertia = centre_and_inertia(d)
        desired_omega = rotation.T @ attitude @ self._base_ref.twist[3:]
        energy = ControlEnergy()
        return BaseDemand(np.zeros(3), rotation, attitude, desired_omega, centre, inertia, energy)

    def _bandwidth(self, gains: "AttitudeControl.Gains") -> float:
        return gains.frequency_attitude

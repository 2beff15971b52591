# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Decoupled control of vehicle-manipulator systems: one energy for each of vehicle and shape."""

from dataclasses import dataclass, replace
from math import dist

import numpy as np

from vms_ph_dynamics import Array, Evaluation, ModelError
from vms_ph_dynamics.arrays import is_finite
from vms_ph_dynamics.groups import SE3

from ..controller import Command, ControlEnergy, Reference, gain
from ..potentials.pose_potential import BASE_COMPONENTS, base_inertia
from ..potentials.shaped_potential import SpringForce
from .sampled_impedance import LawEffort, SampledImpedance, brake, horizon
from .vehicle_controller import CORRECTION_REVERSED, VehicleController


@dataclass(frozen=True, slots=True)
class ReferenceMotion:
    """Velocity and acceleration of the reference, (nv,) each."""

    velocity: Array
    acceleration: Array


def decoupled_effort(
    d: Evaluation,
    springs: SpringForce,
    motion: ReferenceMotion | None,
    base_damping_rate: float,
    shape_damping_rate: float,
    h: float,
) -> LawEffort:
    """Return the effort at a state [A (59)].

    Args:
        d: the state.
        springs: the potential.
        motion: motion of the reference; None where it rests.
        base_damping_rate: rate at which the locked motion is damped, 1/s.
        shape_damping_rate: rate at which the motion of the joints is damped, 1/s.
        h: the horizon, s.
    """
    b = d.model.b
    e = d.v if motion is None else d.v - motion.velocity
    locked_error = e[:b] + d.A @ e[b:]
    damping = np.zeros_like(d.M)
    damping[:b] = base_damping_rate * d.M[:b]
    damping[b:, :b] = damping[:b, b:].T
    damping[b:, b:] = base_damping_rate * (d.A.T @ d.M_bm) + shape_damping_rate * d.M_hat_m
    impedance = SampledImpedance.at(d, damping, np.diag(springs.stiffness), springs.force, e, h)
    damped_velocity = impedance.velocity
    base_force = base_damping_rate * (d.M_b @ (damped_velocity[:b] + d.A @ damped_velocity[b:]))
    shape_force = shape_damping_rate * (d.M_hat_m @ damped_velocity[b:])
    continuous = (
        d.g.copy() if motion is None else d.g + d.M @ motion.acceleration + d.C @ motion.velocity
    )
    continuous -= springs.force + impedance.predicted_spring
    continuous[:b] -= base_force
    # The damping of the locked motion also acts on the joints; its potential does not.
    continuous[b:] -= shape_force + d.A.T @ base_force
    sampled_force = continuous + (springs.force - impedance.spring) + brake(d, h)
    kinetic_base = 0.5 * float(locked_error @ d.M_b @ locked_error)
    kinetic_shape = 0.5 * float(e[b:] @ d.M_hat_m @ e[b:])
    energy = ControlEnergy(
        closed_loop_energy=kinetic_base + kinetic_shape + springs.energy,
        shaped_potential=springs.energy,
        kinetic_base=kinetic_base,
        kinetic_shape=kinetic_shape,
        damping_base=float(base_force @ locked_error + impedance.predicted_spring[:b] @ e[:b]),
        damping_shape=float(shape_force @ e[b:] + impedance.predicted_spring[b:] @ e[b:]),
    )
    return LawEffort(continuous, sampled_force, energy, impedance.reason)


_SE3 = SE3()


class DecoupledVMSController(VehicleController):
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

    The attitude bears a moment of at most ``2 frequency_base^2 I``, with the mean inertia ``I`` of
    the locked robot about the axes of its base. A push with a larger moment turns the base over,
    whatever its actuators can make. The defaults are soft: 0.07 N m for the bundled Hextilt, which
    0.3 N at its end effector turn over (its rotors make 3 N m). Raise ``frequency_base``, and keep
    ``frequency_shape`` above it, as a softer arm swings far under a push: simulated for 2 s at 1
    kHz along all axes of the world, with rotor lag and a damping ratio of 1, 6 and 15 rad/s bear
    1 N (34 deg), not 2 N; 10 and 15 rad/s bear 4 N (33 deg).

    Examples:
        >>> from vms_ph_io import simulate
        >>> simulate("hextilt", DecoupledVMSController, 0.1)
        Trajectory(hextilt_flying_arm_5, 0.1 s, energy balance closed)
    """

    @dataclass(frozen=True)
    class Gains(VehicleController.Gains):
        """Gains of the law."""

        damping_ratio: float = gain(0.8, "damping ratio of both motions; 1 is critical", 0.0, 10.0)
        frequency_base: float = gain(1.5, "natural frequency of the base motion, rad/s", 0.0, 50.0)

    gains: Gains

    def _prepare(self) -> None:
        model = self.model
        if model.base == "fixed":
            raise ModelError(
                f"DecoupledVMSController is for robots on a planar or floating base; "
                f"'{model.name}' has a fixed one"
            )
        super()._prepare()
        self._base_share = 1.0 if self._output.base_is_actuated else 0.0
        self._components = BASE_COMPONENTS[model.base]

    def _start_holding(self, d: Evaluation) -> None:
        super()._start_holding(d)
        self._mass, self._inertia = base_inertia(d)

    def _control(self, d: Evaluation, reference: Reference, dt: float, age: float) -> Command:
        gains = self._ramp.gains
        h = horizon(dt, gains.delay, age)
        self._follow(reference, dt)
        joint_error = self._integrated_error(d, dt, h)
        pose = self.model.base_pose(d.q)
        pose_error = _SE3.inverse(self._minimum_pose()) @ pose
        is_reversed = self._potential.follow(pose_error)
        motion = self._reference_motion(pose_error, d.v)
        springs = self._springs(pose_error, joint_error, self._limit_springs(d, gains, h))
        base_damping_rate = self._base_share * 2.0 * gains.damping_ratio * gains.frequency_base
        shape_damping_rate = 2.0 * gains.damping_ratio * gains.frequency_shape
        effort = decoupled_effort(d, springs, motion, base_damping_rate, shape_damping_rate, h)
        if not is_finite(effort.continuous):
            return self._output.reject_effort(d)
        output = self._output.apply(d, effort.sampled, gains, dt)

        velocity_error = d.v if motion is None else d.v - motion.velocity
        energy = replace(
            effort.energy,
            reference_power=self._shift_power(pose, pose_error, springs.force, joint_error),
            clipped_power=float((output.effort - effort.continuous) @ velocity_error),
        )
        return self._command(
            output,
            energy,
            effort.reason,
            CORRECTION_REVERSED if is_reversed else "",
            task_error=dist(pose[:3, 3].tolist(), self._base_ref.pose[:3, 3].tolist()),
        )

    def _integrated_error(self, d: Evaluation, dt: float, h: float) -> Array:
        """Advance the integral action; return the displacements of the joints from the minimum."""
        gains, integral = self._ramp.gains, self._integral
        offset = self._joint_ref.error_of(self.model.joint_positions(d.q))
        if gains.integral == 0.0 and integral.is_zero:
            return offset
        frequency = self._base_share * gains.frequency_base
        pose = self.model.base_pose(d.q)
        position_error = pose[:3, 3] - self._base_ref.pose[:3, 3]
        rotation_error = self._base_ref.pose[:3, :3].T @ pose[:3, :3]
        self._integrate(frequency, position_error, rotation_error, offset, dt, h)
        return np.asarray(offset - integral.joint_offset)

    def _minimum_pose(self) -> Array:
        """Return the pose of the least energy."""
        pose = self._base_ref.pose.copy()
        pose[:3, :3] = pose[:3, :3] @ self._integral.rotation
        pose[:3, 3] += self._integral.position
        return pose

    def _shift_power(self, pose: Array, pose_error: Array, gradient: Array, offset: Array) -> float:
        """Return the power by which the integral action moves the minimum, W."""
        integral = self._integral
        twist = np.concatenate(
            [integral.position_rate @ pose[:3, :3], integral.angular_velocity @ pose_error[:3, :3]]
        )
        joint_force = self._ramp.gains.frequency_shape**2 * self._shape_inertia * offset
        base_power = gradient[: self.model.b] @ twist[self._components]
        return -float(base_power + joint_force @ integral.joint_rates)

    def _springs(self, pose_error: Array, offset: Array, limits: SpringForce) -> SpringForce:
        gains = self._ramp.gains
        k_position = self._base_share * gains.frequency_base**2 * self._mass
        k_rotation = self._base_share * gains.frequency_base**2 * self._inertia
        k_shape = gains.frequency_shape**2 * self._shape_inertia
        base = self._potential.spring(pose_error, k_position, k_rotation).select(self._components)
        return base.with_joints(limits.with_spring(k_shape, offset))

    def _bandwidth(self, gains: "DecoupledVMSController.Gains") -> float:
        return gains.frequency_base

    def _reference_motion(self, pose_error: Array, v: Array) -> ReferenceMotion | None:
        """Return the motion of the reference in the frame of the base; None at rest."""
        if self._base_ref.is_resting and self._joint_ref.is_resting:
            return None
        b, components = self.model.b, self._components
        from_reference = pose_error.copy()  # in the axes of the reference, not of the minimum
        from_reference[:3] = self._integral.rotation @ pose_error[:3]
        body_adjoint = _SE3.Ad(_SE3.inverse(from_reference))
        twist = body_adjoint @ self._base_ref.twist
        velocity, acceleration = np.zeros(self.model.nv), np.zeros(self.model.nv)
        velocity[:b], velocity[b:] = twist[components], self._joint_ref.rates
        relative_twist = np.zeros(6)
        relative_twist[components] = v[:b] - velocity[:b]
        base_accel = body_adjoint @ self._base_ref.acceleration - _SE3.ad(relative_twist) @ twist
        acceleration[:b], acceleration[b:] = base_accel[components], self._joint_ref.accelerations
        return ReferenceMotion(velocity, acceleration)

# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Flight on thrust along one axis of the base, with an arm that moves."""

from dataclasses import dataclass
from math import cos, tan

import numpy as np

from vms_ph_dynamics import Allocation, Array, Evaluation, ModelError
from vms_ph_dynamics.groups import SO3

from ..controller import ControlEnergy, gain
from .attitude_and_shape import AttitudeAndShape, BaseDemand, centre_and_inertia

# Least share of the weight that a wanted force carries, so that its direction is defined.
_SMALLEST_LIFT = 0.3

# Most that a wanted force lifts, in weights.
_LARGEST_LIFT = 3.0

# Singular values below this share of the largest count as zero.
_RANK_TOLERANCE = 1e-6


class ThrustDirection:
    """The attitudes of a base whose thrust has one axis.

    Args:
        axis: (3,) of the thrust in the frame of the base, length one.
    """

    def __init__(self, axis: Array) -> None:
        forward = np.array([1.0, 0.0, 0.0])
        if abs(float(axis @ forward)) > 0.9:
            forward = np.array([0.0, 1.0, 0.0])
        self._nose = forward - axis * float(axis @ forward)
        self._nose /= np.linalg.norm(self._nose)
        self._frame = np.column_stack([self._nose, np.cross(axis, self._nose), axis])

    def attitude(self, force: Array, heading: Array) -> Array:
        """Return the rotation (3,3) whose thrust is along a force, nose near that of a heading.

        Args:
            force: (3,) not zero.
            heading: (3,3) rotation whose nose is followed; where the nose is along the force, the
                left side is.
        """
        direction = force / np.linalg.norm(force)
        nose = heading @ self._nose
        forward = nose - direction * float(direction @ nose)
        if float(forward @ forward) < 1e-6:
            nose = np.cross(heading @ self._frame[:, 1], direction)
            forward = nose - direction * float(direction @ nose)
        forward = forward / np.linalg.norm(forward)
        return np.column_stack([forward, np.cross(direction, forward), direction]) @ self._frame.T

    def in_cone(self, force: Array, up: Array, weight: float, tilt: float) -> Array:
        """Return a force, or one per mass, brought into a cone around the vertical.

        Args:
            force: (3,).
            up: (3,) length one.
            weight: force, or one per mass, that holds the robot.
            tilt: largest angle from the vertical, rad.
        """
        vertical_force = float(force @ up)
        vertical_force = min(max(vertical_force, _SMALLEST_LIFT * weight), _LARGEST_LIFT * weight)
        lateral = force - up * float(force @ up)
        length = float(np.sqrt(lateral @ lateral))
        max_length = vertical_force * tan(tilt) if cos(tilt) > 0.0 else length
        return np.asarray(vertical_force * up + lateral * min(1.0, max_length / max(length, 1e-12)))


def single_axis(allocation: Allocation, name: str) -> tuple[Array, float, float]:
    """Return the axis (3,) of all thrusts, and the least and the largest thrust along it, N.

    Raises:
        ModelError: there are several axes, or the base cannot be turned about all axes.
    """
    forces = allocation.matrix[:3]
    left_vectors, force_sigma, _ = np.linalg.svd(forces)
    if force_sigma[0] == 0.0 or (force_sigma[1:] > _RANK_TOLERANCE * force_sigma[0]).any():
        raise ModelError(
            f"the rotors of '{name}' push along several axes or none; UnderactuatedFlight is for "
            "one axis, DecoupledVMSController for all"
        )
    axis = left_vectors[:, 0]
    axis_forces = axis @ forces
    if axis_forces.sum() < 0.0:
        axis, axis_forces = -axis, -axis_forces
    wrench_sigma = np.linalg.svd(allocation.matrix, compute_uv=False)
    if len(wrench_sigma) < 4 or wrench_sigma[3] <= _RANK_TOLERANCE * wrench_sigma[0]:
        raise ModelError(f"the rotors of '{name}' cannot turn it about all axes")
    bounds = np.array([axis_forces * allocation.lower, axis_forces * allocation.upper])
    return axis, float(bounds.min(axis=0).sum()), float(bounds.max(axis=0).sum())


_SO3 = SO3()


class UnderactuatedFlight(AttitudeAndShape):
    r"""Geometric flight with a thrust along one axis, in the inertially decoupled coordinates.

    In the locked momenta of [A (59)] the arm does not appear in the motion of the centre of mass,
    ``m cddot = f R a - m g``, and the momentum about it changes by the moment alone. The law wants
    the force

        F_d = m (g + cddot_d - w_x^2 c_e - 2 zeta w_x cdot_e),

    bounded to a cone around the vertical, thrusts by ``f = F_d . R a``, and turns the base such
    that the thrust points along ``F_d``, by a potential of the attitude error without undesired
    equilibria (:class:`PosePotential`), damping of the locked angular velocity, and the rate of the
    wanted attitude. The joints are held by a potential and damping of the shape. Its storage
    function ``H_cl`` is the sum of all of these energies; it decreases by the damping and changes
    by the power of the force that the thrust does not have, ``cdot_e . (f R a - F_d)``, which
    vanishes as the attitude settles and is recorded as clipped power, and by that with which the
    arm moves the centre of mass in the base, recorded as reference power. These are all powers
    while the wanted attitude rests; its acceleration is not compensated.

    Upside down the thrust is the least that the rotors have, and the base turns over by the
    shorter way; at exactly half a turn by the one that the potential's sign names.

    The law is sampled as :class:`SampledImpedance` describes.
    """

    @dataclass(frozen=True)
    class Gains(AttitudeAndShape.Gains):
        """Gains of the law."""

        frequency_position: float = gain(1.2, "natural frequency of position, rad/s", 0.0, 10.0)
        largest_tilt: float = gain(0.6, "largest tilt of the wanted thrust, rad", 0.0, 1.2)

    gains: Gains

    def _prepare(self) -> None:
        model, allocation = self.model, self._allocation
        if model.base != "floating" or model.fluid is not None:
            raise ModelError(
                f"UnderactuatedFlight is for flying robots; the base of '{model.name}' is "
                f"{model.base}" + (", in a fluid" if model.fluid is not None else "")
            )
        if allocation is None or not self._base_actuated:
            raise ModelError(
                f"UnderactuatedFlight needs the rotors of '{model.name}'; give their allocation, "
                "as actuators:=own does"
            )
        self._thrust_axis, self._smallest_thrust, self._largest_thrust = single_axis(
            allocation, model.name
        )
        self._direction = ThrustDirection(self._thrust_axis)
        self._gravity = float(np.linalg.norm(model.tree.gravity))
        self._up = -model.tree.gravity / max(self._gravity, 1e-12)
        super()._prepare()

    def _base_demand(
        self, d: Evaluation, gains: "UnderactuatedFlight.Gains", h: float
    ) -> BaseDemand:
        """Return the wanted thrust and attitude, and what the centre of mass does."""
        b, mass, momentum = 6, float(d.M_b[0, 0]), d.M_b @ d.v_hat
        pose = self.model.base_pose(d.q)
        R = pose[:3, :3]
        centre, inertia = centre_and_inertia(d)
        # The centre of mass belongs above the reference of the base, wherever the arm is.
        R_ref = self._base_ref.pose[:3, :3]
        v_arm = R_ref @ (d.M_bm[:3] @ d.v[b:]) / mass
        position_error = pose[:3, 3] + R @ centre - (self._base_ref.pose[:3, 3] + R_ref @ centre)
        position_error = position_error - self._integral.position
        reference_velocity = R_ref @ self._base_ref.twist[:3]
        v_e = R @ momentum[:3] / mass - reference_velocity
        omega = R_ref @ self._base_ref.twist[3:]
        v_arm = v_arm + np.cross(omega, R_ref @ centre)
        feedforward = R_ref @ self._base_ref.acceleration[:3] + np.cross(omega, reference_velocity)
        stiffness = gains.frequency_position**2
        damping_rate = 2.0 * gains.damping_ratio * gains.frequency_position
        # Damping of the velocity that it leaves.
        damping_rate = (damping_rate + h * stiffness) / (1.0 + h * (damping_rate + h * stiffness))
        hover_accel = self._gravity * self._up  # acceleration that holds the weight

        def desired_accel(position: Array, velocity: Array) -> Array:
            accel = hover_accel + feedforward - stiffness * position - damping_rate * velocity
            return self._direction.in_cone(accel, self._up, self._gravity, gains.largest_tilt)

        desired_force = mass * desired_accel(position_error, v_e)
        attitude = self._direction.attitude(desired_force, R_ref)
        axis_force = float(desired_force @ (R @ self._thrust_axis))
        thrust = min(max(axis_force, self._smallest_thrust), self._largest_thrust)
        force = thrust * (R @ self._thrust_axis)
        displacement_rate = v_arm + self._integral.position_rate
        accel = force / mass - hover_accel - feedforward
        step = 1e-3
        next_accel = desired_accel(position_error + step * (v_e - v_arm), v_e + step * accel)
        R_next = R_ref @ _SO3.exp(step * self._base_ref.twist[3:])
        next_attitude = self._direction.attitude(next_accel, R_next)
        desired_omega = R.T @ attitude @ _SO3.log(attitude.T @ next_attitude) / step
        return BaseDemand(
            force=thrust * self._thrust_axis,
            rotation=R,
            attitude=attitude,
            desired_omega=desired_omega,
            centre=centre,
            inertia=inertia,
            energy=ControlEnergy(
                kinetic_base=0.5 * mass * float(v_e @ v_e),
                shaped_potential=0.5 * mass * stiffness * float(position_error @ position_error),
                damping_base=mass * damping_rate * float(v_e @ v_e),
                clipped_power=float(v_e @ (force - desired_force)),
                reference_power=-mass * stiffness * float(position_error @ displacement_rate),
            ),
            reason="" if axis_force > self._smallest_thrust else "turning over: the least thrust",
        )

    def _level_attitude(self, rotation: Array) -> Array:
        """Return the level attitude of the same heading."""
        return self._direction.attitude(self._up, rotation)

    def _level_twist(self, twist: Array) -> Array:
        """Return the part of a twist that leaves the reference level."""
        up = self._base_ref.pose[:3, :3].T @ self._up
        return np.concatenate([twist[:3], up * float(up @ twist[3:])])

    def _position_frequency(self, gains: "UnderactuatedFlight.Gains") -> float:
        return gains.frequency_position

    def _bandwidth(self, gains: "UnderactuatedFlight.Gains") -> float:
        """Return the frequency of the position."""
        return gains.frequency_position

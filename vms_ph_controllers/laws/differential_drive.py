# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Driving and reaching of a robot on two wheels with one axle, in the velocities they allow."""

from dataclasses import dataclass
from math import atan2, cos, sin

import numpy as np

from vms_ph_dynamics import Array, Friction, ModelError
from vms_ph_dynamics.nonholonomic import NonholonomicForm, NonholonomicTerms, WheelConstraint

from ..controller import Command, ControlEnergy, Reference, RobotState, gain, if_finite
from ..references.drive_reference import DriveBounds, DriveReference
from ..references.pose_reference import JointReference
from ..safety.limits import LimitGains
from .sampled_impedance import horizon
from .wheeled_controller import WheeledController

_TOL = 1e-9
# Share of the rate of the velocities up to which errors are fed back to them.
_ERROR_RATE_SHARE = 0.25


class DifferentialDrive(WheeledController):
    r"""The base comes to a pose by turning and driving, while the joints go to their positions.

    The reference of the base is one that two wheels can follow, :class:`.DriveReference`. With its
    speed ``u_r`` and turn ``w_r``, and the error ``(x, y, a)`` of place and heading in the axes of
    the base, the wanted velocities are::

        u = u_r cos a + k x,   w = w_r + u_r k_y y + k sin a,   qdot = qdot_r + k_q (q_r - q)

    which decreases ``(x^2 + y^2)/2 + (1 - cos a)/k_y`` whenever the reference drives. With the
    independent velocities ``nu_d`` that they determine, the law applies in the reduced equations ::

        f_nu = S^T g + M_nu nudot_d + C_nu nu_d - r M_nu (nu - nu_d),   S_j^T tau = f_nu

    so that the storage function ``W = e^T M_nu e / 2`` of ``e = nu - nu_d`` falls by ``2 r W``. The
    friction of the description is compensated at the rates of the reference, outside W.
    """

    FOLLOWS_JOINTS = True
    IGNORES = ("position", "velocity", "twist", "wrench")

    @dataclass(frozen=True)
    class Gains(LimitGains):
        """Gains of the law."""

        rate: float = gain(25.0, "rate r at which errors of the velocities decay, 1/s", 0.0, 1e3)
        rate_base: float = gain(2.0, "rate k at which the base follows its reference, 1/s", 0.0, 50)
        rate_joints: float = gain(5.0, "rate k_q of the joints to their reference, 1/s", 0.0, 50)
        lateral: float = gain(8.0, "turn against a lateral error while driving, 1/m^2", 0.0, 1e3)
        friction: float = gain(1.0, "share of the joints' friction that is compensated", 0.0, 1.0)
        speed: float = gain(0.4, "largest speed of the reference of the base, m/s", 1e-3, 20.0)
        turn: float = gain(0.6, "largest rate of its heading, rad/s", 1e-3, 20.0)
        acceleration: float = gain(0.5, "largest rate of its speed, m/s^2", 1e-3, 50.0)
        turn_acceleration: float = gain(1.0, "largest rate of its turn, rad/s^2", 1e-3, 50.0)
        joint_speed: float = gain(0.3, "largest joint reference rate, rad/s or m/s", 1e-3, 20.0)

    gains: Gains

    def __init__(self, form: NonholonomicForm, gains: Gains | None = None) -> None:
        """Control base and joints of a robot on two wheels.

        Args:
            form: the robot with its wheels.
            gains: the gains; None for the defaults.

        Raises:
            ModelError: the robot has not two wheels on one axle through the origin of its base.
        """
        super().__init__(form, gains)
        model = form.model
        wheels = {c.wheel for c in form.constraints if isinstance(c, WheelConstraint)}
        arm_joints = [index for index, name in enumerate(model.joint_names) if name not in wheels]
        # Speed, turn and the joints that are no wheels, among the velocities.
        self.output_rows = np.array([0, 2, *(model.b + arm_joint for arm_joint in arm_joints)])
        self._arm_joints = np.array(arm_joints, dtype=int)
        neutral_terms = form.terms(model.neutral_configuration(), np.zeros(form.dimension))
        outputs = neutral_terms.basis[self.output_rows]
        lateral_motion = np.abs(neutral_terms.basis[1]).max()
        if len(outputs) != form.dimension or np.linalg.matrix_rank(outputs, _TOL) < len(outputs):
            raise ModelError(
                f"DifferentialDrive is for two wheels on one axle, which leave a base its speed "
                f"and turn; the wheels of '{model.name}' leave {form.dimension} motions with "
                f"{len(arm_joints)} other joints"
            )
        if lateral_motion > _TOL:
            raise ModelError(
                f"the origin of the base of '{model.name}' is not on the axle of its wheels: it "
                "moves sideways as the base turns"
            )
        if np.linalg.matrix_rank(neutral_terms.basis[model.b :], _TOL) < form.dimension:
            raise ModelError(f"no joint of '{model.name}' drives its base; name its wheels")
        self._friction = Friction.from_model(model)
        self._base_ref, self._joint_ref = DriveReference(), JointReference(model.joints.continuous)
        self._reset(RobotState(model.neutral_configuration(), np.zeros(model.nv)))

    def _reset(self, state: RobotState) -> None:
        q = self.model.checked_configuration(state.q)
        self._base_ref.restart(*_place_and_heading(self.model.base_pose(q)))
        self._joint_ref.restart(self.model.joint_positions(q))
        self._torque_limits.restart()

    def _control(self, terms: NonholonomicTerms, reference: Reference, dt: float) -> Command | None:
        model, gains, d = self.model, self.gains, terms.d
        self._follow(reference, dt)
        desired_nu, desired_nu_rate = self._desired_velocities(terms)
        damping_rate = gains.rate / (1.0 + horizon(dt, gains.delay, self._age) * gains.rate)
        nu_error = terms.nu - desired_nu
        inertial = self.inertial_force(terms, desired_nu, desired_nu_rate - damping_rate * nu_error)
        force = terms.basis.T @ d.g + inertial - terms.basis.T @ self._friction_compensation(terms)
        stored = 0.5 * float(nu_error @ terms.mass @ nu_error)
        energy = ControlEnergy(closed_loop_energy=stored, damping_task=2.0 * damping_rate * stored)
        distance = float(np.linalg.norm(model.base_pose(d.q)[:2, 3] - self._base_ref.position))
        return self._command(terms, force, energy, nu_error, distance)

    def _follow(self, reference: Reference, dt: float) -> None:
        """Advance the references of base and joints."""
        gains = self.gains
        pose = if_finite(reference.pose, (4, 4))
        if pose is not None:
            self._base_ref.go_to(*_place_and_heading(pose))
        self._joint_ref.set_target(reference)
        bounds = DriveBounds(gains.speed, gains.turn, gains.acceleration, gains.turn_acceleration)
        self._base_ref.advance(bounds, dt)
        joint_speed = np.minimum(gains.joint_speed, self.model.joints.velocity)
        self._joint_ref.advance(joint_speed, gains.rate_joints, dt)

    def _desired_velocities(self, terms: NonholonomicTerms) -> tuple[Array, Array]:
        """Return the wanted independent velocities (m,) and their rates."""
        gains, model, base_ref, arm = self.gains, self.model, self._base_ref, self._arm_joints
        max_error_rate = _ERROR_RATE_SHARE * gains.rate
        k, k_joints = min(gains.rate_base, max_error_rate), min(gains.rate_joints, max_error_rate)
        position, heading = _place_and_heading(model.base_pose(terms.d.q))
        cosine, sine = cos(heading), sin(heading)
        x_error, y_error = base_ref.position - position
        x, y = cosine * x_error + sine * y_error, cosine * y_error - sine * x_error  # base axes
        heading_error, turn_rate = base_ref.heading - heading, terms.d.v[2]
        x_speed, y_speed = base_ref.speed * cos(heading_error), base_ref.speed * sin(heading_error)
        x_rate, y_rate = turn_rate * y - terms.d.v[0] + x_speed, y_speed - turn_rate * x
        heading_error_rate = base_ref.turn_rate - turn_rate
        joint_ref, positions = self._joint_ref, model.joint_positions(terms.d.q)
        joint_rates = joint_ref.rates - k_joints * joint_ref.error_of(positions)
        joint_accels = joint_ref.accelerations + k_joints * (joint_ref.rates - terms.d.v[model.b :])
        base_outputs = [
            x_speed + k * x,
            base_ref.turn_rate + gains.lateral * base_ref.speed * y + k * sin(heading_error),
        ]
        base_output_rates = [
            base_ref.acceleration * cos(heading_error) - y_speed * heading_error_rate + k * x_rate,
            base_ref.turn_acceleration
            + gains.lateral * (base_ref.acceleration * y + base_ref.speed * y_rate)
            + k * cos(heading_error) * heading_error_rate,
        ]
        outputs = np.concatenate([base_outputs, joint_rates[arm]])
        output_rates = np.concatenate([base_output_rates, joint_accels[arm]])
        output_map, map_rate = terms.basis[self.output_rows], terms.basis_rate[self.output_rows]
        nu = np.linalg.solve(output_map, outputs)
        return nu, np.linalg.solve(output_map, output_rates - map_rate @ nu)

    def inertial_force(self, terms: NonholonomicTerms, velocity: Array, rate: Array) -> Array:
        """Return the forces (m,) for velocities and rates (m,); derived laws may replace it."""
        return terms.mass @ rate + terms.coriolis @ velocity

    def _friction_compensation(self, terms: NonholonomicTerms) -> Array:
        """Return the forces of friction (nv,) at the rates of the reference, to be compensated."""
        b, base = self.model.b, self._base_ref
        arm_rates = self._joint_ref.rates[self._arm_joints]
        outputs = np.concatenate([[base.speed, base.turn_rate], arm_rates])
        rates = terms.basis[b:] @ np.linalg.solve(terms.basis[self.output_rows], outputs)
        return np.concatenate([np.zeros(b), self.gains.friction * self._friction.force(rates)])


def _place_and_heading(pose: Array) -> tuple[Array, float]:
    """Return place (2,), m, and heading, rad, of a pose (4,4)."""
    return pose[:2, 3], atan2(pose[1, 0], pose[0, 0])

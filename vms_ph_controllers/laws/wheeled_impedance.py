# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Impedance of the end effector of a robot on wheels, in the velocities that its wheels allow."""

from dataclasses import dataclass

import numpy as np

from vms_ph_dynamics import Array, ModelError
from vms_ph_dynamics.groups import SE3
from vms_ph_dynamics.nonholonomic import NonholonomicForm, NonholonomicTerms

from ..controller import Command, ControlEnergy, Reference, RobotState, gain
from ..potentials.pose_potential import PosePotential
from ..potentials.shaped_potential import JointLimitPotential
from ..references.pose_reference import PoseReference
from ..safety.limits import LimitGains
from .sampled_impedance import SampledImpedance, horizon
from .wheeled_controller import WheeledController

_SE3 = SE3()

# Added to the eigenvalues of the task mobility: it bounds the task inertia at singularities.
_REGULARISATION = 1e-6
_RANK_TOLERANCE = 1e-9


class WheeledImpedance(WheeledController):
    r"""A spring and a damper hold the end effector; the wheels follow as their constraints allow.

    ``f_nu = S^T (g - J^T (dV + D J v)) - d N nu - dV_q`` in the reduced equations of
    :class:`~vms_ph_dynamics.nonholonomic.NonholonomicForm`, with the inertia N of the motion that
    does not move the end effector, damped at the rate d. Efforts of the joints give it:
    ``S_j^T tau = f_nu``. With a reference at rest ``1/2 nu^T M_nu nu + V + V_q`` decreases by the
    damping. The end effector is held although the base cannot move sideways: arm and wheels
    together span its motions.
    """

    IGNORES = ("twist", "joints", "wrench")

    @dataclass(frozen=True)
    class Gains(LimitGains):
        """Gains of the law."""

        stiffness: float = gain(100.0, "stiffness of the end-effector position, N/m", 0.0, 5000.0)
        stiffness_rotation: float = gain(5.0, "stiffness of its attitude, N m/rad", 0.0, 500.0)
        damping: float = gain(40.0, "damping of its velocity, N s/m", 0.0, 1000.0)
        damping_rotation: float = gain(1.0, "damping of its rotation, N m s/rad", 0.0, 100.0)
        damping_null: float = gain(1.0, "rate at which motion beside it is damped, 1/s", 0.0, 100.0)
        limit_margin: float = gain(0.05, "range of the joint-limit springs, rad or m", 0.0, 1.0)
        limit_frequency: float = gain(10.0, "joint-limit natural frequency, rad/s", 0.0, 100.0)
        speed: float = gain(0.2, "largest linear speed of the reference, m/s", 1e-3, 20.0)
        turn: float = gain(0.5, "largest angular speed of the reference, rad/s", 1e-3, 20.0)

    gains: Gains

    def __init__(self, form: NonholonomicForm, gains: Gains | None = None) -> None:
        """Control the end effector of a robot on wheels by all of its joints.

        Args:
            form: the robot with its wheels.
            gains: the gains; None for the defaults.

        Raises:
            ModelError: some motion that the wheels allow is moved by no joint.
        """
        super().__init__(form, gains)
        model = form.model
        self._joint_limits = JointLimitPotential(model)
        self._potential, self._tool_ref = PosePotential(), PoseReference()
        neutral = model.neutral_configuration()
        basis = form.terms(neutral, np.zeros(form.dimension)).basis
        if np.linalg.matrix_rank(basis[model.b :], _RANK_TOLERANCE) < form.dimension:
            raise ModelError(
                f"the joints of '{model.name}' do not move all motions that its wheels allow"
            )
        self._reset(RobotState(neutral, np.zeros(model.nv)))

    def _reset(self, state: RobotState) -> None:
        d = self.model.evaluate(state.q, np.zeros(self.model.nv))
        self._tool_ref.restart(d.placement(self.model.end_effector))
        self._potential.restart(np.eye(4))
        self._shape_inertia = np.diag(d.M_hat_m).copy()
        self._torque_limits.restart()

    def _control(self, t: NonholonomicTerms, reference: Reference, dt: float) -> Command | None:
        model, gains, d = self.model, self.gains, t.d
        bandwidth = 2.0 * gains.stiffness / max(gains.damping, 1e-3)
        self._tool_ref.follow(reference, gains.speed, gains.turn, bandwidth, dt)
        error = _SE3.inverse(self._tool_ref.pose) @ d.placement(model.end_effector)
        self._potential.follow(error)
        force, energy, reason = self._impedance_force(t, error, horizon(dt, gains.delay, self._age))
        return self._command(t, force, energy, t.nu, float(np.linalg.norm(error[:3, 3])), reason)

    def _impedance_force(
        self, t: NonholonomicTerms, pose_error: Array, h: float
    ) -> tuple[Array, ControlEnergy, str]:
        """Return the force on the independent velocities (m,), its energies, and why it is less."""
        model, gains, d = self.model, self.gains, t.d
        J = d.J_end_effector @ t.basis
        spring = self._potential.spring(pose_error, gains.stiffness, gains.stiffness_rotation)
        stiffness = np.diag(spring.stiffness)
        damping = np.diag([gains.damping] * 3 + [gains.damping_rotation] * 3)
        reference_twist = self._tool_ref.twist_at(pose_error)
        mobility = J @ np.linalg.solve(t.mass, J.T) + _REGULARISATION * np.eye(6)
        null_damping = gains.damping_null * (t.mass - J.T @ np.linalg.solve(mobility, J))
        positions = model.joint_positions(d.q)
        k_limit = gains.limit_frequency**2 * self._shape_inertia
        limits = self._joint_limits.springs(positions, positions, k_limit, gains.limit_margin)
        joint_basis = t.basis[model.b :]
        impedance = SampledImpedance.from_terms(
            t.mass,
            J.T @ damping @ J + null_damping,
            J.T @ stiffness @ J + joint_basis.T @ (limits.stiffness[:, None] * joint_basis),
            J.T @ spring.force + joint_basis.T @ limits.force,
            t.nu,
            h,
            J.T @ (damping @ reference_twist),
        )
        task_force = damping @ (J @ impedance.velocity - reference_twist)
        null_force = null_damping @ impedance.velocity + impedance.predicted_spring
        potential = spring.energy + limits.energy
        energy = ControlEnergy(
            closed_loop_energy=d.kinetic_energy + potential,
            shaped_potential=potential,
            damping_task=float((J @ t.nu - reference_twist) @ task_force),
            damping_null=float(t.nu @ null_force),
            reference_power=-float((spring.force + task_force) @ reference_twist),
        )
        return (
            t.basis.T @ d.g - impedance.spring - J.T @ task_force - null_force,
            energy,
            impedance.reason,
        )

# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Task-space IDA-PBC of a pose, on any base that is fully actuated."""

from dataclasses import dataclass, replace

import numpy as np

from vms_ph_dynamics import Array, Evaluation, ModelError
from vms_ph_dynamics.groups import SE3

from ..controller import Command, ControlEnergy, Reference, Status, gain, switch
from ..potentials.pose_potential import BaseSpring, PosePotential
from ..potentials.shaped_potential import SpringForce
from ..references.pose_reference import PoseReference
from .gain_ramp import SwitchRamp
from .pose_effort import SIGMA_MIN, ToolGains
from .sampled_impedance import SampledImpedance, brake, horizon
from .staged_controller import StagedController

# Least eigenvalue of the task mobility, 1/kg or 1/(kg m^2): it bounds the task inertia near
# singularities, and leaves it as it is elsewhere.
_LEAST_MOBILITY = 1e-4


@dataclass(frozen=True, slots=True)
class TaskMotion:
    """The motion of a state in the axes of the end effector.

    Attributes:
        d: the state.
        J: Jacobian of the end effector (6,nv), linear rows first.
        J_rate: its derivative along the motion (6,nv).
        inertia: task inertia (6,6), ``(J M^-1 J^T)^-1``.
        projector: Pi (nv,nv), ``n = Pi v``.
        eta: twist of the end effector ``J v``, (6,).
    """

    d: Evaluation
    J: Array
    J_rate: Array
    inertia: Array
    projector: Array
    eta: Array

    @classmethod
    def from_state(cls, d: Evaluation, frame_id: int) -> "TaskMotion":
        """Return the motion of a state for the pose of a frame."""
        J = d.jacobian(frame_id)
        M_inv_JT = np.linalg.solve(d.M, J.T)
        eigenvalues, eigenvectors = np.linalg.eigh(J @ M_inv_JT)
        inertia = (eigenvectors / np.maximum(eigenvalues, _LEAST_MOBILITY)) @ eigenvectors.T
        projector = np.eye(len(d.v)) - M_inv_JT @ inertia @ J
        return cls(d, J, d.jacobian_rate(frame_id), inertia, projector, J @ d.v)

    @property
    def kinetic_task(self) -> float:
        """Kinetic energy of the task, J."""
        return 0.5 * float(self.eta @ self.inertia @ self.eta)

    def decoupling_forces(self) -> tuple[Array, Array]:
        """Return the forces that cancel the coupling, on the task (6,) and on all motions (nv,).

        Their powers are -X and X: together they move no energy in or out, and leave the task
        without a drift by the null-space motion.
        """
        d, n = self.d, self.projector @ self.d.v
        task_force = -self.inertia @ (self.J_rate @ n - self.J @ np.linalg.solve(d.M, d.C @ n))
        task_momentum, task_velocity = self.inertia @ self.eta, d.v - n
        motion_force = self.J_rate.T @ task_momentum - d.C.T @ task_velocity
        return task_force, self.projector.T @ motion_force


_SE3 = SE3()


class PoseIDAPBC(StagedController):
    r"""Interconnection and damping assignment for a pose on SE(3) [D (37)].

    ``f = g - J^T (dV_t + D_t e) - Pi^T D_nu Pi v - dV_b - dV_q + routing`` with the potential V_t
    of the end effector's pose (:class:`PosePotential`), its velocity error e and the projector Pi
    onto motions that do not move it. Springs hold the base and, with ``frequency_posture``, the
    joints. ``cancel_coupling`` replaces the gyroscopic coupling of task and null space by zero
    (:meth:`TaskMotion.decoupling_forces`): no energy passes from one to the other.

    With a reference at rest ``H_cl = 1/2 eta^T Lambda eta + 1/2 n^T M n + V_t + V_b + V_q`` with
    the task inertia Lambda decreases by the damping.

    Examples:
        >>> from vms_ph_io import simulate
        >>> simulate("panda", PoseIDAPBC, 0.1)
        Trajectory(panda, 0.1 s, energy balance closed)
    """

    IGNORES = ("twist", "joints", "wrench")

    @dataclass(frozen=True)
    class Gains(ToolGains):
        """Gains of the law."""

        damping_null: float = gain(2.0, "rate of the null-space damping, 1/s", 0.0, 100.0)
        frequency_posture: float = gain(0.0, "frequency of the posture, rad/s; 0: none", 0.0, 50.0)
        cancel_coupling: bool = switch(False, "cancel the coupling of task and null space")

    gains: Gains

    def _prepare(self) -> None:
        model, allocation = self.model, self._allocation
        is_fully_actuated = allocation is None or allocation.is_fully_actuated
        if model.b and not (self._base_actuated and is_fully_actuated):
            raise ModelError(
                f"PoseIDAPBC shapes the energy of every motion, which the matching equation allows "
                f"only where the base can apply every wrench; that of '{model.name}' cannot. "
                "CartesianImpedance and, for robots in space, ResolvedMotion do without"
            )
        self._frame_id = model.frame_id(model.end_effector)
        self._potential, self._base_spring = PosePotential(), BaseSpring(model)
        self._tool_ref = PoseReference()

    def _start_holding(self, d: Evaluation) -> None:
        self._tool_ref.restart(d.placement(self.model.end_effector))
        self._potential.restart(np.eye(4))
        self._base_spring.restart(d)
        self._posture_q = d.q
        self._hold_ramp, self._coupling_ramp = SwitchRamp(), SwitchRamp()

    def _control(self, d: Evaluation, reference: Reference, dt: float, age: float) -> Command:
        gains = self._ramp.gains
        h = horizon(dt, gains.delay, age)
        bandwidth = 2.0 * gains.stiffness / max(gains.damping, 1e-3)
        self._tool_ref.follow(reference, gains.speed, gains.turn, bandwidth, dt)
        pose_error = _SE3.inverse(self._tool_ref.pose) @ d.placement(self._frame_id)
        self._potential.follow(pose_error)
        motion = TaskMotion.from_state(d, self._frame_id)
        reference_twist = self._tool_ref.twist_at(pose_error)
        spring = self._potential.spring(pose_error, gains.stiffness, gains.stiffness_rotation)
        stiffness = np.diag(spring.stiffness)
        damping = np.diag([gains.damping] * 3 + [gains.damping_rotation] * 3)
        null_damping = gains.damping_null * (motion.projector.T @ d.M @ motion.projector)
        lead_force = h * (stiffness @ reference_twist)
        held_springs = self._holding_springs(d, h, dt)
        j = motion.J
        impedance = SampledImpedance.at(
            d,
            j.T @ damping @ j + null_damping,
            j.T @ stiffness @ j + np.diag(held_springs.stiffness),
            j.T @ (spring.force - lead_force) + held_springs.force,
            d.v,
            h,
            j.T @ (damping @ reference_twist),
        )
        tool_damping_force = damping @ (j @ impedance.velocity - reference_twist)
        null_damping_force = null_damping @ impedance.velocity + impedance.predicted_spring
        tool_force = spring.force + tool_damping_force - lead_force
        smallest_singular_value = float(np.linalg.svd(j, compute_uv=False)[-1])
        coupling_force, coupling_power = self._coupling_force(motion, smallest_singular_value, dt)
        compensation = d.g + coupling_force
        spring_force = j.T @ tool_force + held_springs.force
        continuous_effort = compensation - (spring_force + null_damping_force)
        if not np.isfinite(continuous_effort.sum()):
            return self._output.reject_effort(d)
        impedance_force = impedance.spring + j.T @ tool_damping_force + null_damping_force
        brake_force = brake(d, h, coupling_force if coupling_force.any() else None)
        output = self._output.apply(d, compensation + brake_force - impedance_force, gains, dt)

        potential, kinetic_task = spring.energy + held_springs.energy, motion.kinetic_task
        kinetic_null = d.kinetic_energy - kinetic_task
        energy = ControlEnergy(
            closed_loop_energy=kinetic_task + kinetic_null + potential,
            shaped_potential=potential,
            kinetic_task=kinetic_task,
            kinetic_null=kinetic_null,
            damping_task=float((motion.eta - reference_twist) @ (tool_damping_force - lead_force)),
            damping_null=float(d.v @ null_damping_force),
            reference_power=-float(tool_force @ reference_twist),
            clipped_power=float((output.effort - continuous_effort) @ d.v),
            routing_power=float(coupling_force @ d.v),
            null_to_task=coupling_power,
        )
        command = self._command(
            output,
            energy,
            impedance.reason,
            task_error=float(np.linalg.norm(pose_error[:3, 3])),
            smallest_singular_value=smallest_singular_value,
        )
        if output.reason or smallest_singular_value >= 2.0 * SIGMA_MIN or not gains.cancel_coupling:
            return command
        reason = f"near a singularity: smallest singular value {smallest_singular_value:.3g}"
        return replace(command, status=Status.DEGRADED, reason=reason)

    def _coupling_force(
        self, motion: TaskMotion, smallest_singular_value: float, dt: float
    ) -> tuple[Array, float]:
        """Return the forces (nv,) quadratic in velocities, and the power of the coupling, W."""
        task_force, motion_force = motion.decoupling_forces()
        coupling_power = -float(task_force @ motion.eta)
        share = min(max(smallest_singular_value / SIGMA_MIN - 1.0, 0.0), 1.0)
        share *= self._coupling_ramp.follow(self._ramp.gains.cancel_coupling, dt)
        return share * (motion.J.T @ task_force + motion_force), coupling_power

    def _holding_springs(self, d: Evaluation, h: float, dt: float) -> SpringForce:
        """Return the springs that hold the base, the posture and the joints within their limits."""
        model, gains = self.model, self._ramp.gains
        share = self._hold_ramp.follow(gains.hold_base, dt)
        base = self._base_spring.at(model.base_pose(d.q), gains.frequency_base, share, share)
        limits = self._limit_springs(d, gains, h)
        k_q = gains.frequency_posture**2 * self._shape_inertia
        posture_error = model.difference(self._posture_q, d.q)[model.b :]
        return base.with_joints(limits.with_spring(k_q, posture_error))

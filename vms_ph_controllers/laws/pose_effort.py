# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The effort of an impedance of the end effector at a state; it has no memory."""

from dataclasses import dataclass, replace

import numpy as np

from vms_ph_dynamics import Array, Evaluation
from vms_ph_dynamics.groups import cross

from ..controller import ControlEnergy, gain, switch
from ..potentials.pose_potential import PosePotential
from ..potentials.shaped_potential import SpringForce
from ..references.pose_reference import PoseReference
from ..safety.output_stage import OutputGains
from .sampled_impedance import LawEffort, SampledImpedance, brake
from .task_effort import split_motion

PUSH_ENERGY_USED = "the energy for pushing is used up"


@dataclass(frozen=True, slots=True)
class Push:
    """A push of the end effector along one direction; all in end-effector axes.

    Attributes:
        wrench: (6,) that the law adds, N and N m.
        projection: (6,6) projection on the directions of the impedance.
        damping: (6,6) damping along the direction of the push.
        authority: share of the desired force in force, in [0, 1].
        reason: why it is not the whole, in words; empty otherwise.
    """

    wrench: Array
    projection: Array
    damping: Array
    authority: float
    reason: str

    @classmethod
    def along(cls, direction: Array, force: float, damping: float, authority: float) -> "Push":
        """Return the push with a force, N, and a damping, N s/m, along a unit vector (3,)."""
        axis = np.concatenate([direction, np.zeros(3)])
        projection = np.outer(axis, axis)
        reason = PUSH_ENERGY_USED if authority < 1.0 else ""
        return cls(force * axis, np.eye(6) - projection, damping * projection, authority, reason)


@dataclass(frozen=True)
class ToolGains(OutputGains):
    """The gains of laws that hold an end effector by springs and dampers."""

    stiffness: float = gain(200.0, "stiffness of the end-effector position, N/m", 0.0, 5000.0)
    stiffness_rotation: float = gain(10.0, "stiffness of its attitude, N m/rad", 0.0, 500.0)
    damping: float = gain(40.0, "damping of its velocity, N s/m", 0.0, 1000.0)
    damping_rotation: float = gain(2.0, "damping of its rotation, N m s/rad", 0.0, 100.0)
    damping_null: float = gain(2.0, "damping rate of the null-space motion, 1/s", 0.0, 100.0)
    frequency_base: float = gain(3.0, "natural frequency of a base that is held, rad/s", 0.0, 50.0)
    hold_base: bool = switch(True, "hold the base where it was at the reset")
    speed: float = gain(0.2, "largest linear speed of the reference, m/s", 1e-3, 20.0)
    turn: float = gain(0.5, "largest angular speed of the reference, rad/s", 1e-3, 20.0)


# Smallest singular value of the Jacobian of a position below which its null space changes fast with
# the configuration.
SIGMA_MIN = 0.03

# Added to the eigenvalues of the task mobility ``J M^-1 J^T``: it bounds the task inertia where the
# arm is stretched out.
_REGULARISATION = 1e-6

# Smallest singular value of the Jacobian below which the directions that are being lost fade from
# the task inertia into the null space, and the mobility to which they do, of the mean one.
_FADING_SINGULAR_VALUE, _FADING_MOBILITY = 0.1, 0.05


@dataclass(frozen=True, slots=True)
class AxisGains:
    """Stiffness and damping of an end effector along axes of its own or of the inertial frame.

    Attributes:
        stiffness: (6,) linear first, N/m and N m/rad.
        damping: (6,) N s/m and N m s/rad.
        reference_share: share of both that is along the axes of the reference, in [0, 1]; the rest
            is along those of the frame in which the reference is given.
        inverse_limits: (2,) of force and moment of the springs, 1/N and 1/(N m); 0 for no limit.
    """

    stiffness: Array
    damping: Array
    reference_share: float
    inverse_limits: Array

    def towards(self, target: "AxisGains", share: float) -> "AxisGains":
        """Return others with springs that change only by a share towards them."""
        stiffness = self.stiffness + share * (target.stiffness - self.stiffness)
        inverse = self.inverse_limits + share * (target.inverse_limits - self.inverse_limits)
        return replace(target, stiffness=stiffness, inverse_limits=inverse)


@dataclass(frozen=True, slots=True)
class ToolImpedance:
    """What spring and damper of the end effector see.

    Attributes:
        potential: spring potential of the error of its pose.
        reference: moving reference of its pose.
        error: (4,4) its pose in that reference.
        is_relative: whether its pose is that in the frame of the base.
        push: controlled push that replaces the impedance along one direction; None for none.
        axis_gains: gains by axis that are in force.
    """

    potential: PosePotential
    reference: PoseReference
    error: Array
    is_relative: bool
    push: Push | None
    axis_gains: AxisGains

    def springs(self, axis_gains: AxisGains) -> "tuple[float, Array, Array, float, Array]":
        """Return energy (J), gradient (6,), stiffness (6,6) and power of turning axes (W).

        Gradient and stiffness are in the axes of the end effector, linear first. The last is the
        force and the moment (2,) that limits would bound.
        """
        c, rotation, error = axis_gains, self.error[:3, :3], self.error
        k_position = self._matrix(c.stiffness[:3], c.reference_share)
        k_rotation = self._matrix(c.stiffness[3:], c.reference_share)
        springs = self.potential.spring_energies(error, k_position, k_rotation)
        inverse, largest = c.inverse_limits.tolist(), c.stiffness.reshape(2, 3).max(1).tolist()
        position_spring, share = springs[0].limit(inverse[0], largest[0])
        rotation_spring, moment_share = springs[1].limit(inverse[1], largest[1])
        stiffness = np.zeros((6, 6))
        stiffness[:3, :3] = share * (rotation.T @ k_position @ rotation)
        stiffness[3:, 3:] = moment_share * self.potential.hessian_bound(k_rotation)
        axes_power = 0.0
        if not self.reference.is_resting and c.reference_share < 1.0:
            axes_rate, position_error = self.reference.twist[3:], error[:3, 3]
            matrix = self._inertial_part(c.stiffness[:3], c.reference_share)
            axes_power = share * float((matrix @ position_error) @ cross(axes_rate, position_error))
            matrix = self._inertial_part(c.stiffness[3:], c.reference_share)
            axes_power += moment_share * self.potential.axes_power(matrix, axes_rate)
        gradient = np.concatenate([position_spring.gradient, rotation_spring.gradient])
        energies = np.array([position_spring.energy, rotation_spring.energy])
        limited = np.sqrt(2.0 * np.array(largest) * energies)
        return float(energies.sum()), gradient, stiffness, axes_power, limited

    @staticmethod
    def jacobian(d: Evaluation, is_relative: bool) -> Array:
        """Return the Jacobian (6,nv) of the end effector, or of its motion in the base's frame."""
        j, b = d.J_end_effector, d.model.b
        return np.concatenate([np.zeros((6, b)), j[:, b:]], axis=1) if is_relative else j

    def damping_matrix(self) -> Array:
        """Return the damping (6,6) in the axes of the end effector."""
        gains, rotation = self.axis_gains, self.error[:3, :3]
        damping, share = np.zeros((6, 6)), gains.reference_share
        for rows in (slice(0, 3), slice(3, 6)):
            damping[rows, rows] = rotation.T @ self._matrix(gains.damping[rows], share) @ rotation
        return damping

    def _matrix(self, gains: Array, reference_share: float) -> Array:
        """Return stiffness or damping (3,3) in the axes of the reference."""
        return reference_share * np.diag(gains) + self._inertial_part(gains, reference_share)

    def _inertial_part(self, gains: Array, reference_share: float) -> Array:
        """Return what is along the axes of the inertial frame, (3,3) in those of the reference."""
        x, y, z = gains.tolist()
        if x == y == z:  # the same along all axes
            return (1.0 - reference_share) * np.diag(gains)
        axes = self.reference.pose[:3, :3]
        return (1.0 - reference_share) * (axes.T @ (gains[:, None] * axes))


@dataclass(frozen=True, slots=True)
class NullSpaceImpedance:
    """What holds the remaining motion.

    Attributes:
        springs: (nv,) of the base and at the limits of the joints.
        damping_null: rate of the damping of the null space, 1/s.
        attitude_damping_rate: rate at which the rotation of the base is damped, 1/s.
        posture_error: (n,) of the joints from their posture, rad or m.
        stiffness: (n,) about the posture, N m/rad or N/m.
        position_only: whether the null space is that of the position alone, damped by
            ``damping_null N^T N`` and held by springs that are not projected, as in source D.
    """

    springs: SpringForce
    damping_null: float
    attitude_damping_rate: float
    posture_error: Array
    stiffness: Array
    position_only: bool


def pose_effort(
    d: Evaluation, tool: ToolImpedance, null: NullSpaceImpedance, h: float
) -> tuple[LawEffort, Array]:
    """Return the effort at a state for a horizon (s), without that of a push.

    The second is its part (nv,) that pulls the null space to the posture; where it is projected,
    its energy is not counted.
    """
    model, b, push = d.model, d.model.b, tool.push
    j = tool.jacobian(d, tool.is_relative)
    arm_jacobian = j[:, b:] if tool.is_relative and model.n else j
    reference_twist = tool.reference.twist_at(tool.error)
    potential, spring, stiffness, turning_power, _ = tool.springs(tool.axis_gains)
    damping = tool.damping_matrix()
    if push is not None:
        spring, stiffness = push.projection @ spring, push.projection @ stiffness @ push.projection
        damping = push.projection @ damping @ push.projection + push.damping

    M_inv_JT = np.linalg.solve(d.M, j.T)
    sigma_min = float(np.linalg.svd(arm_jacobian, compute_uv=False)[-1])
    inertia = _task_inertia(j @ M_inv_JT, sigma_min)
    eta = j @ d.v
    lead_force = h * (stiffness @ reference_twist)
    holding_force, holding_stiffness = null.springs.force, np.diag(null.springs.stiffness)
    potential += null.springs.energy
    posture_force = np.zeros(model.nv)
    if null.position_only:
        posture_force[b:] = -null.stiffness * null.posture_error
        holding_stiffness[b:, b:] += np.diag(null.stiffness)
        potential += 0.5 * float(null.stiffness @ (null.posture_error * null.posture_error))
    elif null.stiffness.any():
        # N = 1 - M^-1 J^T Lambda J leaves the acceleration of the end effector as it is. An arm on
        # a fixed base rests at the nearest posture. On a moving one both sides are projected: with
        # late states, a base that springs hold too would not be stable otherwise.
        projector = np.eye(model.nv) - M_inv_JT @ (inertia @ j)
        projected_error = projector[b:, b:] @ null.posture_error if b else null.posture_error
        posture_force = -projector[b:].T @ (null.stiffness * projected_error)
        holding_stiffness += projector[b:].T @ (null.stiffness[:, None] * projector[b:])
    null_damping = null.damping_null * (d.M - j.T @ inertia @ j)
    if null.position_only:
        null_map = split_motion(d, j[:3], SIGMA_MIN).null_map
        null_damping = null.damping_null * (null_map.T @ null_map)
    angular = slice(2 if model.base == "planar" else 3, b)
    null_damping[angular, angular] += null.attitude_damping_rate * d.M_b[angular, angular]
    impedance = SampledImpedance.at(
        d,
        j.T @ damping @ j + null_damping,
        j.T @ stiffness @ j + holding_stiffness,
        j.T @ (spring - lead_force) + holding_force - posture_force,
        d.v,
        h,
        j.T @ (damping @ reference_twist),
    )
    task_force = damping @ (j @ impedance.velocity - reference_twist)
    tool_force = spring + task_force - lead_force
    null_force = null_damping @ impedance.velocity + impedance.predicted_spring
    kinetic_task = 0.5 * float(eta @ inertia @ eta)
    energy = ControlEnergy(
        closed_loop_energy=d.kinetic_energy + potential,
        shaped_potential=potential,
        kinetic_task=kinetic_task,
        kinetic_null=d.kinetic_energy - kinetic_task,
        damping_task=float((eta - reference_twist) @ (task_force - lead_force)),
        damping_null=float(d.v @ null_force),
        reference_power=turning_power - float(tool_force @ reference_twist),
    )
    effort = LawEffort(
        d.g - j.T @ tool_force - holding_force + posture_force - null_force,
        d.g + brake(d, h) - impedance.spring - j.T @ task_force - null_force,
        energy,
        impedance.reason,
        sigma_min,
    )
    return effort, posture_force


def _task_inertia(mobility: Array, sigma_min: float) -> Array:
    """Return the inertia (6,6) of the task, without the directions that are being lost."""
    mean = float(np.trace(mobility[:3, :3])) / 3.0
    fading = _FADING_MOBILITY * max(0.0, 1.0 - (sigma_min / _FADING_SINGULAR_VALUE) ** 2) * mean
    inverse = np.linalg.inv(mobility + (_REGULARISATION + fading) * np.eye(6))
    # What is left of an eigenvalue mu in the null space is (fading / (mu + fading))^2.
    return inverse + fading * (inverse @ inverse)

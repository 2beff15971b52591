# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Resolved motion of a free-floating robot: the tool by its joints alone, the base held or free."""

from dataclasses import dataclass, replace

import numpy as np

from vms_ph_dynamics import Array, Evaluation, ModelError, VMSModel
from vms_ph_dynamics.groups import SE3, SO3

from ..controller import Command, ControlEnergy, Reference, gain, switch
from ..references.pose_reference import PoseReference
from ..safety.output_stage import OutputGains
from .sampled_impedance import horizon
from .staged_controller import StagedController

_SE3, _SO3 = SE3(), SO3()

# Keeps divisions by what may vanish finite.
_TINY = 1e-30


class ResolvedMotion(StagedController):
    r"""Resolved motion rate control of a robot whose base has no actuators (Umetani, Yoshida).

    The joint rates ``u`` are those that at the present momentum move the tool as wanted:
    ``J_g u = e - J_s v_hat`` with the generalised Jacobian J_g and the twist e towards the
    reference. With ``hold_attitude`` the attitude of the base comes first: ``A_w u = v_hat_w + k
    theta`` for its rotation theta since the reset; the position of the tool follows in the reaction
    null space of that, and its attitude is left free. The joints follow by inverse dynamics of the
    shape, ``tau = M_hat_m (udot + r (u - qdot)) + bias``, and springs keep them from their limits;
    rates are damped near singularities.

    The law has no storage function of its own: ``closed_loop_energy`` is the kinetic energy, and
    ``reference_power`` all power of the joints. An energy tank bounds what it gives.
    """

    IGNORES = ("twist", "joints", "wrench")

    @dataclass(frozen=True)
    class Gains(OutputGains):
        """Gains of the law."""

        bandwidth: float = gain(1.0, "rate at which tool errors decay, 1/s", 0.0, 20.0)
        bandwidth_attitude: float = gain(2.0, "decay rate of attitude errors, 1/s", 0.0, 20.0)
        bandwidth_rates: float = gain(20.0, "decay rate of joint rate errors, 1/s", 0.0, 200.0)
        least_singular_value: float = gain(0.02, "least singular value without damping", 1e-6, 1.0)
        hold_attitude: bool = switch(True, "hold the attitude of the base by the joints")
        joint_speed: float = gain(0.5, "largest joint rate, rad/s or m/s", 1e-3, 20.0)
        speed: float = gain(0.1, "largest linear speed of the reference, m/s", 1e-3, 20.0)
        turn: float = gain(0.2, "largest angular speed of the reference, rad/s", 1e-3, 20.0)

    gains: Gains

    def __init__(self, model: VMSModel, gains: Gains | None = None) -> None:
        """Control the tool of a free-floating robot.

        Args:
            model: the robot, on a floating base.
            gains: the gains; None for the defaults.

        Raises:
            ModelError: the base is not floating, or the robot is in a fluid.
        """
        if model.base != "floating" or model.fluid is not None:
            place = "in a fluid" if model.fluid is not None else f"on a {model.base} base"
            raise ModelError(
                f"ResolvedMotion is for robots that float in space; '{model.name}' is {place}"
            )
        self._tool_ref = PoseReference()
        super().__init__(model, gains, base_actuated=False)

    def _start_holding(self, d: Evaluation) -> None:
        self._held_attitude = self.model.base_pose(d.q)[:3, :3]
        self._tool_ref.restart(d.placement(self.model.end_effector))
        self._last_rates: Array | None = None

    def _control(self, d: Evaluation, reference: Reference, dt: float, age: float) -> Command:
        model, gains = self.model, self._ramp.gains
        if age > 0.0:
            bandwidths = ("bandwidth", "bandwidth_attitude", "limit_frequency")
            gains = replace(gains, **{k: min(getattr(gains, k), 0.25 / age) for k in bandwidths})
        bandwidth = max(2.0 * gains.bandwidth, 1e-3)
        self._tool_ref.follow(reference, gains.speed, gains.turn, bandwidth, dt)
        rates, tool_error, sigma_min = self._desired_rates(d, gains)
        acceleration = np.zeros(model.n)
        if self._last_rates is not None and dt > 0.0:
            acceleration = (rates - self._last_rates) / dt
        self._last_rates = rates
        h = horizon(dt, 0.0, age)
        bandwidth = gains.bandwidth_rates if h == 0.0 else min(gains.bandwidth_rates, 0.5 / h)
        desired_effort = d.g.copy()
        desired_effort[6:] += self._shape_force(d, acceleration + bandwidth * (rates - d.v[6:]))
        desired_effort[6:] -= self._limit_springs(d, gains).force
        if not np.isfinite(desired_effort.sum()):
            return self._output.reject_effort(d)
        output = self._output.apply(d, desired_effort, gains, dt)
        energy = ControlEnergy(
            closed_loop_energy=d.kinetic_energy,
            reference_power=float((desired_effort - d.g) @ d.v),
            clipped_power=float((output.effort - desired_effort) @ d.v),
        )
        distance = float(np.linalg.norm(tool_error[:3]))
        return self._command(output, energy, task_error=distance, smallest_singular_value=sigma_min)

    def _desired_rates(self, d: Evaluation, gains: Gains) -> tuple[Array, Array, float]:
        """Return joint rates (n,), the tool's error (6,) and the least singular value."""
        n = self.model.n
        pose, goal = d.placement(self.model.end_effector), self._tool_ref.pose
        error = np.concatenate(
            [goal[:3, 3] - pose[:3, 3], goal[:3, :3] @ _SO3.log(pose[:3, :3].T @ goal[:3, :3])]
        )
        R_goal = np.kron(np.eye(2), goal[:3, :3])
        J_world = d.jacobian(self.model.end_effector_id, "world")
        generalised_jacobian = J_world[:, 6:] - J_world[:, :6] @ d.A
        twist = R_goal @ self._tool_ref.twist + gains.bandwidth * error - J_world[:, :6] @ d.v_hat
        if gains.hold_attitude:
            rotation_error = _SO3.log(self._held_attitude.T @ self.model.base_pose(d.q)[:3, :3])
            desired_reaction = d.v_hat[3:] + gains.bandwidth_attitude * rotation_error
            tasks = [(d.A[3:], desired_reaction), (generalised_jacobian[:3], twist[:3])]
        else:
            tasks = [(generalised_jacobian, twist)]
        rates, projector, sigma_min = np.zeros(n), np.eye(n), np.inf
        for jacobian, task_velocity in tasks:
            left, sigma, right = np.linalg.svd(jacobian @ projector, full_matrices=False)
            singular_bound = gains.least_singular_value * float(np.abs(jacobian).max())
            # Damped below the bound and exact above it, continuous at it.
            inverse_sigma = sigma / np.maximum(np.maximum(sigma, singular_bound) ** 2, _TINY)
            rate_step = (right.T * inverse_sigma) @ (left.T @ (task_velocity - jacobian @ rates))
            rates = rates + rate_step * self._rate_share(rates, rate_step)
            # What a damped direction leaves is free for the next task, without a jump.
            projector = projector - (right.T * (sigma * inverse_sigma)) @ right
            sigma_min = float(sigma[-1])
        return rates, error, sigma_min

    def _rate_share(self, rates: Array, rate_step: Array) -> float:
        """Return the share of a step of the rates that keeps each of them within its bound."""
        margin = np.maximum(self._ramp.gains.joint_speed - np.sign(rate_step) * rates, 0.0)
        return float(np.min(margin / np.maximum(np.abs(rate_step), _TINY), initial=1.0))

    @staticmethod
    def _shape_force(d: Evaluation, acceleration: Array) -> Array:
        """Return the torques (n,) that give joint accelerations on a base without actuators."""
        velocity_terms = d.C @ d.v
        return d.M_hat_m @ acceleration + velocity_terms[6:] - d.A.T @ velocity_terms[:6]

    def _note_missed_updates(self) -> None:
        self._last_rates = None
        super()._note_missed_updates()

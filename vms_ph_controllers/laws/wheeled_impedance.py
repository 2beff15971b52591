# Copyright 2026 The vms_ph authors
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.

"""Impedance of the end effector of a robot on wheels, in the velocities that its wheels allow."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from vms_ph_dynamics import Evaluation, ModelError, StateError
from vms_ph_dynamics.arrays import Array
from vms_ph_dynamics.groups import SE3
from vms_ph_dynamics.nonholonomic import NonholonomicForm, NonholonomicTerms

from ..interface import (
    Command,
    ControlEnergy,
    Controller,
    Reference,
    RobotState,
    Status,
    gain,
    is_usable_step,
)
from ..potentials.joint_limit_potential import JointLimitPotential
from ..potentials.pose_potential import PosePotential
from ..references.pose_reference import PoseReference
from ..safety.limits import LimitGains, TorqueLimits
from .held_impedance import HeldImpedance, horizon

_SE3 = SE3()

# Added to the eigenvalues of the task mobility: it bounds the task inertia at singularities.
_REGULARISATION = 1e-6
_RANK = 1e-9


class WheeledImpedance(Controller):
    r"""A spring and a damper hold the end effector; the wheels follow as their constraints allow.

    ``f_nu = S^T (g - J^T (dV + D J v)) - d N nu - dV_q`` in the reduced equations of
    :class:`~vms_ph_dynamics.nonholonomic.NonholonomicForm`, with the inertia N of the motion that
    does not move the end effector, damped at the rate d. Efforts of the driven joints give it:
    ``S_d^T tau = f_nu``. With a reference at rest ``1/2 nu^T M_nu nu + V + V_q`` decreases by the
    damping. The end effector is held although the base cannot move sideways: arm and wheels
    together span its motions.
    """

    @dataclass(frozen=True)
    class Gains(LimitGains):
        """Gains of the law."""

        stiffness: float = gain(100.0, "stiffness of the end-effector position, N/m", 0.0, 5000.0)
        stiffness_rotation: float = gain(5.0, "stiffness of its attitude, N m/rad", 0.0, 500.0)
        damping: float = gain(40.0, "damping of its velocity, N s/m", 0.0, 1000.0)
        damping_rotation: float = gain(
            1.0, "damping of its angular velocity, N m s/rad", 0.0, 100.0
        )
        damping_null: float = gain(1.0, "rate at which motion beside it is damped, 1/s", 0.0, 100.0)
        limit_margin: float = gain(
            0.05, "distance from a joint limit at which its spring begins, rad or m", 0.0, 1.0
        )
        limit_frequency: float = gain(
            10.0, "natural frequency of the springs at the joint limits, rad/s", 0.0, 100.0
        )
        speed: float = gain(0.2, "largest linear speed of the reference, m/s", 1e-3, 20.0)
        turn: float = gain(0.5, "largest angular speed of the reference, rad/s", 1e-3, 20.0)

    gains: Gains

    def __init__(
        self,
        form: NonholonomicForm,
        gains: Gains | None = None,
        driven: Sequence[str] | None = None,
    ) -> None:
        """Control the end effector of a robot on wheels.

        Args:
            form: the robot with its wheels.
            gains: the gains; None for the defaults.
            driven: names of the joints with motors; None for all.

        Raises:
            ModelError: some motion of the robot is moved by no driven joint.
            StateError: there is no such joint.
        """
        super().__init__(form.model)
        self._form, self.gains = form, self._checked_gains(gains)
        names = form.model.joint_names if driven is None else driven
        self._driven = np.array([form.model.joint_index(name) for name in names], dtype=int)
        self._limits = TorqueLimits(form.model)
        self._joint_limits = JointLimitPotential(form.model)
        self._potential, self._tool = PosePotential(), PoseReference()
        rest = form.model.neutral_configuration()
        basis = form.terms(rest, np.zeros(form.dimension)).basis
        moved = basis[form.model.b + self._driven]
        if np.linalg.matrix_rank(moved, _RANK) < form.dimension:
            raise ModelError(
                f"the driven joints {', '.join(names)} do not move all {form.dimension} motions "
                "that the wheels allow; name more of them"
            )
        self.reset(RobotState(rest, np.zeros(form.model.nv)))

    def reset(self, state: RobotState) -> None:
        """Hold the present pose; see :meth:`Controller.reset`."""
        d = self.model.evaluate(state.q, np.zeros(self.model.nv))
        self._tool.restart(d.placement(self.model.end_effector))
        self._potential.restart(np.eye(4))
        self._limit_stiffness = np.diag(d.M_hat_m).copy()
        self._limits.restart()

    def update(self, state: RobotState, reference: Reference, dt: float) -> Command:
        """Return torques for a state; the base wrench is zero; see :meth:`Controller.update`."""
        model, gains = self.model, self.gains
        if not (state.is_usable(model) and is_usable_step(dt)):
            return self.safe_output(model.neutral_configuration())
        try:
            t = self._form.terms(state.q, state.v[self._form.independent])
        except StateError as posture:
            return replace(self.safe_output(state.q), reason=str(posture))
        d = t.d
        bandwidth = 2.0 * gains.stiffness / max(gains.damping, 1e-3)
        self._tool.follow(reference, gains.speed, gains.turn, bandwidth, dt)
        error = _SE3.inverse(self._tool.pose) @ d.placement(model.end_effector)
        self._potential.follow(error)
        held, energy = self._held(t, error, horizon(dt, gains.delay))
        wanted = t.basis.T @ d.g - held.spring - held.ahead - held.damping
        if not np.isfinite(wanted.sum()):
            return replace(
                self.safe_output(state.q),
                reason="the effort of the law is not finite, because its reference is too large; "
                "holding against gravity until the next reset",
            )
        torque = np.zeros(model.n)
        rows = t.basis[model.b + self._driven]
        torque[self._driven] = np.linalg.lstsq(rows.T, wanted, rcond=None)[0]
        b = model.b
        limited = self._limits.apply(torque, d.g[b:], d.v[b:], gains.torque_rate, gains.power, dt)
        clipped = float((limited.torque - torque) @ d.v[b:])
        return Command(
            np.zeros(b),
            limited.torque,
            replace(energy, clipped_power=clipped),
            Status.SATURATED if limited.reason else Status.OK,
            "; ".join(filter(None, (limited.reason, held.reason))),
            task_error=float(np.linalg.norm(error[:3, 3])),
        )

    def _held(self, t: NonholonomicTerms, error: Array, h: float) -> "tuple[_Held, ControlEnergy]":
        """Return the springs and the damping in the independent velocities, and their energies."""
        model, gains, d = self.model, self.gains, t.d
        j = d.J_end_effector @ t.basis
        k = (gains.stiffness, gains.stiffness_rotation)
        stiffness = np.diag([k[0]] * 3 + [k[1]] * 3)
        damping = np.diag([gains.damping] * 3 + [gains.damping_rotation] * 3)
        wanted_twist = _SE3.Ad(_SE3.inverse(error)) @ self._tool.twist
        mobility = j @ np.linalg.solve(t.mass, j.T) + _REGULARISATION * np.eye(6)
        null_inertia = t.mass - j.T @ np.linalg.solve(mobility, j)
        positions = model.joint_positions(d.q)
        depth = self._joint_limits.depth(positions, gains.limit_margin)
        wall = gains.limit_frequency**2 * self._limit_stiffness
        joints = t.basis[model.b :]
        whole = j.T @ damping @ j + gains.damping_null * null_inertia
        held = HeldImpedance.of(
            t.mass,
            whole,
            j.T @ stiffness @ j + joints.T @ (np.where(depth != 0.0, wall, 0.0)[:, None] * joints),
            j.T @ (self._potential.gradient(error, *k)) + joints.T @ (wall * depth),
            t.nu,
            h,
            j.T @ (damping @ wanted_twist),
        )
        force = whole @ held.velocity - j.T @ (damping @ wanted_twist)
        potential = self._potential.value(error, *k) + 0.5 * float(wall @ (depth * depth))
        energy = ControlEnergy(
            closed_loop_energy=d.kinetic_energy + potential,
            shaped_potential=potential,
            damping_task=float(t.nu @ (force + held.ahead)),
            reference_power=-float(self._potential.gradient(error, *k) @ wanted_twist),
        )
        return _Held(held.spring, held.ahead, force, held.reason), energy

    def safe_output(self, q: Array) -> Command:
        """Compensate gravity by the joints; see :meth:`Controller.safe_output`."""
        d = Evaluation(self.model, q, np.zeros(self.model.nv))
        bound = self.model.joints.effort
        torque = np.clip(d.g[self.model.b :], -bound, bound)
        return Command(
            np.zeros(self.model.b),
            torque,
            status=Status.HOLDING,
            reason="the state is not finite or does not fit this robot, or the time step is not in "
            "[0, 1] s; holding against gravity",
        )


@dataclass(frozen=True, slots=True)
class _Held:
    """Springs, what they add at the predicted pose, and damping, (m,) each; why less, in words."""

    spring: Array
    ahead: Array
    damping: Array
    reason: str

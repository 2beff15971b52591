# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Task-space IDA-PBC: energy shaping, energy routing and damping injection for redundant arms."""

from dataclasses import dataclass, replace
from math import dist

import numpy as np

from vms_ph_dynamics import Array, Evaluation, ModelError, PositionTask, VMSModel

from ..controller import Command, Reference, RobotState, Status, gain, switch
from ..potentials.shaped_potential import (
    JointLimitPotential,
    ShapedPotential,
    SpringForce,
    weight_of_task_stiffness,
)
from ..references.reference_governor import PotentialMinimum, ReferenceGovernor
from ..safety.energy_tank import EnergyTank, TankPotential
from ..safety.limits import LimitGains, TorqueLimits, join
from ..safety.sample_grant import strongest_brake
from .gain_ramp import GainRamp, SwitchRamp
from .pose_effort import SIGMA_MIN
from .sampled_impedance import LawEffort, horizon
from .task_effort import EnergyRouting, task_effort
from .twinned_controller import TwinnedController

_REFUSAL = (
    "the state is not finite or does not fit this robot, or the time step is not in [0, 1] s; "
    "holding the last gravity torque"
)


class TaskSpaceIDAPBC(TwinnedController):
    r"""Interconnection and damping assignment in task-space momenta [D (37)].

    ``tau = g - dV_c/dq - J_bar^T G (eta, nu) - J^T D_t eta - N^T D_nu nu``, the third term with
    ``cancel_coupling`` alone, with the potential ``V_c = 1/2 (q - q*)^T W (q - q*)`` and soft joint
    limits. It needs no task inertia, and without that term no derivative. The storage function
    ``H_cl = K_t + K_nu + V_c`` decreases by the injected damping.

    The minimum ``q*`` follows the reference ``x*`` such that ``f(q*) = x*``; a reset sets it
    [D (36)]. A velocity of the reference is ignored: its position is followed, with a lag. With a
    tank (:class:`EnergyTank`) the energy of that motion and of changes of gains is withdrawn from
    it. Where the tank does not cover it, the reference stops and the potential is scaled down
    (``Command.authority``). Damping and stiffness are those of :class:`SampledImpedance`.

    Faults are reported in the status: for a state that is not finite the last gravity torque is
    returned (HOLDING); a reference that is not finite is ignored (HOLDING); in a singular posture
    the damping is continuous and the routing off, and for a reference out of reach the minimum is
    the closest one (DEGRADED).

    Examples:
        >>> from vms_ph_io import simulate
        >>> simulate("panda", TaskSpaceIDAPBC, 0.1, reference=[0.45, 0.0, 0.5])
        Trajectory(panda, 0.1 s, energy balance closed)
    """

    IGNORES = ("pose", "twist", "joints", "wrench")

    @dataclass(frozen=True)
    class Gains(LimitGains):
        """Gains of the law."""

        stiffness: float = gain(30.0, "W = stiffness * I, N m/rad", 0.0, 1000.0)
        damping_task: float = gain(9.0, "D_t = damping_task * I, N s/m", 0.0, 500.0)
        damping_null: float = gain(6.0, "D_nu = damping_null * I, N m s/rad", 0.0, 500.0)
        reference_speed: float = gain(0.2, "largest speed towards the reference, m/s", 0.001, 2.0)
        task_stiffness: float = gain(0.0, "K_t, N/m, replaces stiffness; 0: not used", 0.0, 5000.0)
        null_stiffness: float = gain(10.0, "K_nu, N m/rad; goes with task_stiffness", 0.0, 1000.0)
        limit_stiffness: float = gain(100.0, "joint-limit stiffness, N m/rad; 0: none", 0.0, 5000.0)
        limit_margin: float = gain(0.05, "range of the joint-limit springs, rad or m", 0.0, 0.5)
        cancel_coupling: bool = switch(False, "cancel the coupling of task and null space")
        tank_capacity: float = gain(0.0, "tank capacity, J; 0: no tank", 0.0, 100.0, "none")
        tank_initial: float = gain(0.5, "level of the tank after a reset, J", 0.0, 100.0, "none")

    gains: Gains

    def __init__(self, model: VMSModel, gains: Gains | None = None) -> None:
        """Control the position of the end effector.

        Args:
            model: an arm on a fixed base, of three joints or more.
            gains: None for the defaults.

        Raises:
            ModelError: the base moves, or there are too few joints.
        """
        super().__init__(model, gains)
        if model.base != "fixed" or model.n < PositionTask.dimension:
            raise ModelError(
                "TaskSpaceIDAPBC is for arms on a fixed base with at least 3 joints; "
                f"'{model.name}' has {model.n} on a {model.base} base"
            )
        self.task = PositionTask(model)
        self._routing = EnergyRouting(model, self.task, SIGMA_MIN)
        self._limit_potential = JointLimitPotential(model)
        self._torque_limits = TorqueLimits(model)
        self._governor = ReferenceGovernor(model, self.task, SIGMA_MIN)
        self._tank_potential = TankPotential(model)
        self._ramp = GainRamp(self.gains, self._torque_limits.limited)
        self._safe_torque = np.zeros(model.n)

    @property
    def q_star(self) -> Array:
        """The minimum of the shaped potential, (nq,)."""
        return np.array(self._governor.minimum.q if self.twin is None else self.twin.q_star)

    @property
    def tank(self) -> EnergyTank | None:
        """A copy of the energy tank, or None."""
        if self.twin is None:
            return self._tank_potential.tank
        if self.twin.tank is None:
            return None
        capacity, level, unaccounted = self.twin.tank
        tank = EnergyTank(capacity, level)
        tank.unaccounted_energy = unaccounted
        return tank

    def _resume(self, state: RobotState) -> None:
        self._restart_from(state.q)
        self._tank_potential.resume(self._potential(self._governor.minimum))

    def _reset(self, state: RobotState) -> None:
        self._restart_from(state.q)
        self._tank_potential.reset(self._potential(self._governor.minimum))

    def _restart_from(self, q: Array) -> None:
        d = self._governor.restart(q)
        self._routing.anchor(d.q)
        self._safe_torque = np.array(d.g)
        self._torque_limits.restart()
        self._ramp.restart(self.gains)
        self._coupling_ramp, self._task_ramp = SwitchRamp(), SwitchRamp()
        self._task_ramp.follow(self._has_task_stiffness, 0.0)

    def _update(self, state: RobotState, reference: Reference, dt: float) -> Command:
        model = self.model
        if not state.is_usable(model, dt):
            self._note_missed_updates()
            return Command(np.zeros(0), self._safe_torque, status=Status.HOLDING, reason=_REFUSAL)
        d = Evaluation(model, state.q, state.v)
        gains = self._ramp.follow(self.gains, dt)
        h = horizon(dt, gains.delay, state.age)
        tank_potential = self._tank_potential
        positions = model.joint_positions(d.q)
        limit_springs = self._limit_potential.springs(
            positions, positions + h * d.v, gains.limit_stiffness, gains.limit_margin
        )
        stored_energy = tank_potential.energy(d.q) + limit_springs.energy - d.potential_energy
        tank_potential.settle_sample(d, stored_energy, gains.tank_capacity, gains.tank_initial, dt)
        added_energy = self._follow(reference, d, dt)
        routing, spring = self._routing_effort(d, dt), self._spring(d, limit_springs)
        damping = (gains.damping_task, gains.damping_null)
        effort = task_effort(d, self.task, spring, routing, damping, h, SIGMA_MIN)
        limited_torque = self._torque_limits.apply(
            effort.sampled, d.g, d.v, gains.torque_rate, gains.power, dt
        )
        safe_torque = np.clip(d.g, -model.joints.effort, model.joints.effort)
        self._safe_torque = safe_torque
        grant = tank_potential.grant(
            d,
            limited_torque.effort,
            safe_torque,
            spring.energy,
            dt,
            lambda: self._torque_limits.scale(safe_torque, strongest_brake(d, dt)),
        )
        torque = grant.force
        if grant.reason:
            self._torque_limits.replace_torque(torque)
        tank_potential.hold_effort(d, torque, spring.energy - d.potential_energy)

        tank = tank_potential.tank
        energy = replace(
            effort.energy,
            reference_power=added_energy / dt if dt > 0.0 else 0.0,
            clipped_power=float((torque - effort.continuous) @ d.v),
            tank_level=0.0 if tank is None else tank.level,
            unaccounted_energy=0.0 if tank is None else tank.unaccounted_energy,
        )
        status, reason = self._status(join(grant.reason, limited_torque.reason), effort)
        goal = self._governor.minimum.x if self._governor.target is None else self._governor.target
        return Command(
            np.zeros(0),
            torque,
            energy,
            status,
            reason,
            dist(self.task.value(d), goal),
            effort.smallest_singular_value,
            tank_potential.authority,
        )

    def _note_missed_updates(self) -> None:
        self._tank_potential.note_missed_updates(self._safe_torque)

    def _follow(self, reference: Reference, d: Evaluation, dt: float) -> float:
        """Move minimum and stiffness towards reference and gains; return the energy added, J."""
        gains, governor = self._ramp.gains, self._governor
        self._task_ramp.follow(self._has_task_stiffness, dt)
        candidate = governor.propose(reference, dt, gains.reference_speed, gains.limit_margin)
        next_minimum = candidate

        def potential_at(share: float) -> ShapedPotential:
            nonlocal next_minimum
            next_minimum = candidate if share == 1.0 else governor.interpolate(candidate, share)
            return self._potential(next_minimum)

        added_energy = self._tank_potential.change(d.q, potential_at)
        governor.minimum = next_minimum
        return added_energy

    def _potential(self, minimum: PotentialMinimum) -> ShapedPotential:
        """Return the potential that the gains define at a minimum."""
        gains, share = self._ramp.gains, self._task_ramp.share
        if share == 0.0:
            return ShapedPotential(self.model, minimum.q, gains.stiffness)
        stiffness = gains.task_stiffness * np.eye(3)
        at_minimum = Evaluation(self.model, minimum.q, np.zeros(self.model.nv))
        weight = weight_of_task_stiffness(self.task, at_minimum, stiffness, gains.null_stiffness)
        weight = share * weight + (1.0 - share) * gains.stiffness * np.eye(self.model.n)
        return ShapedPotential(self.model, minimum.q, weight)

    @property
    def _has_task_stiffness(self) -> bool:
        return self.gains.task_stiffness > 0.0

    def _spring(self, d: Evaluation, limits: SpringForce) -> SpringForce:
        """Return the potential in force with its Hessian (n,n), and the springs at the limits."""
        potential, authority = self._tank_potential.potential, self._tank_potential.authority
        energy, gradient = potential.energy_and_gradient(d.q)
        weight = potential.weight
        matrix = weight * np.eye(self.model.n) if isinstance(weight, float) else weight
        return SpringForce(
            authority * energy + limits.energy,
            authority * gradient + limits.force,
            authority * matrix + np.diag(limits.stiffness),
        )

    def _routing_effort(self, d: Evaluation, dt: float) -> Array | None:
        share = self._coupling_ramp.follow(self.gains.cancel_coupling, dt)
        routing_torque = self._routing.torque(d) if share > 0.0 else None
        return None if routing_torque is None else share * routing_torque

    def _status(self, limit_reason: str, effort: LawEffort) -> tuple[Status, str]:
        if limit_reason:
            return Status.SATURATED, limit_reason
        if effort.smallest_singular_value < SIGMA_MIN:
            sigma_min = effort.smallest_singular_value
            return Status.DEGRADED, f"near a singularity: smallest singular value {sigma_min:.3g}"
        if self._governor.is_rejected:
            return Status.HOLDING, "the reference is not finite; the last one is kept"
        if self._tank_potential.is_short:
            return Status.DEGRADED, (
                "the energy tank is empty: changes of reference or stiffness wait until damping "
                "refills it"
            )
        if self._governor.is_out_of_reach:
            reason = "the minimum cannot follow the reference: holding the closest reachable one"
            return Status.DEGRADED, reason
        return Status.OK, effort.reason

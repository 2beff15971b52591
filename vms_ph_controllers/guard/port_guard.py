# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""A guard of energy between any controller and a robot."""

from dataclasses import dataclass

import numpy as np

from vms_ph_dynamics import Allocation, Array, Evaluation, ModelError, OptionError, VMSModel

from ..controller import LONGEST_SAMPLE, Status
from ..safety.energy_tank import EnergyTank
from ..safety.limits import TorqueLimits
from ..safety.output_stage import SafeOutput
from ..safety.plausibility import RECOVERING, PlausibilityBounds, StatePlausibility
from .certificate import Certificate, SampleCounts
from .delayed_grant import BaseWrenchLimiter, DelayedGrant
from .effort_queue import DebtCeiling, EffortQueue
from .motion_limits import EnergyGuardSettings, checked_delay, has_motion_limits, largest_share

_WRENCH_LIMITED = "base wrench at the limits of its actuators"


@dataclass(frozen=True, slots=True)
class GuardedEffort:
    """What a guard sends to a robot.

    Attributes:
        effort: (nv,) base wrench, then joint torques; the wanted one itself where nothing is
            limited.
        status: OK where the wanted effort passes unchanged, SATURATED where it is scaled or damped,
            HOLDING during a reflex.
        reason: what was changed and why, in words; empty for an effort that passes unchanged.
        level: energy in the tank, J; negative for a debt.
    """

    effort: Array
    status: Status
    reason: str
    level: float


class PortGuard:
    """Bounds the energy that any controller gives to a robot through its ports.

    Efforts pass unchanged while the tank covers the energy that they are predicted to give;
    otherwise they are scaled, or the robot is braked. A wrench of the base that its actuators do
    not give is replaced by the nearest that they do, so that efforts act as they are sent. The
    energy that was given is counted exactly from the positions, once they are measured. With a
    delay of d samples it is known d + 1 samples after the decision; the energy given exceeds the
    budget at most by the work of efforts over these samples, which is repaid first.

    Attributes:
        settings: tank and limits; replace the whole record to change them.
        tank: the tank, with the sums of what went in and out.
    """

    def __init__(
        self,
        model: VMSModel,
        settings: EnergyGuardSettings | None = None,
        *,
        delay: int = 0,
        effort_carries_weight: bool = True,
        base_actuated: bool = True,
        bounds: PlausibilityBounds | None = None,
        period: float = 1e-3,
        allocation: Allocation | None = None,
        weights: Array | None = None,
    ) -> None:
        """Guard a robot.

        Args:
            model: the robot.
            settings: tank and limits; the defaults when None.
            delay: number of samples from a measurement to the beginning of the effort that was
                computed from it, 0 to 5.
            effort_carries_weight: whether the efforts compensate gravity; False for hardware that
                adds the compensation itself.
            base_actuated: whether a moving base has actuators.
            bounds: bounds of plausible states; the defaults when None.
            period: nominal duration of a sample, s; shorter ones are predicted with it.
            allocation: the actuators of a moving base, whose limits no wrench that is sent exceeds;
                None for a base that can apply any wrench. One that has failed has limits of zero.
            weights: (b,) of the components of a wrench beyond these limits, of which those of small
                weight are given up first, as :meth:`.Allocation.allocate` does; as there when None.

        Raises:
            OptionError: the delay is not a number of samples from 0 to 5, or the period is not
                between 0 and 1 s.
            ModelError: the robot is in a fluid, and its hardware carries the weight; the allocation
                or the weights are for another kind of base; or its hardware carries the weight
                with the actuators of a base, so that it is unknown what is left of their limits.
        """
        self.delay, self.carries_weight = checked_delay(delay), effort_carries_weight
        if not 0.0 < period <= LONGEST_SAMPLE:
            raise OptionError(f"the period must be above 0 s and at most 1 s; given: {period!r}")
        has_weight = model.b == 6 and bool(np.any(model.gravity))
        if allocation is not None and has_weight and not effort_carries_weight:
            raise ModelError(
                "the actuators of a floating base that compensate its weight have other limits "
                "left; let the efforts carry the weight, or give no allocation"
            )
        self.settings = EnergyGuardSettings() if settings is None else settings
        # Efforts that do not carry the weight act as if there was none.
        self._model = model if effort_carries_weight else model.without_gravity()
        self._full_model, self._period, self._b = model, period, model.b
        self._plausibility, self._limits = StatePlausibility(model, bounds), TorqueLimits(model)
        self._delayed_grant = DelayedGrant(
            self._model, BaseWrenchLimiter(model, allocation, base_actuated, weights), self.delay
        )
        self._safe_output = SafeOutput(self._model, allocation, base_actuated)
        self._queue = EffortQueue(self._model, self.delay)
        self._zero = np.zeros(model.nv)
        self._nan_q = np.full(model.nq, np.nan)
        self._initial_effort: Array | None = None  # from which the effort departs without a jump
        self._fading_offset: Array | None = None  # that fades out
        self._last_potential: float | None = None  # potential of gravity at the last state, J
        self._restart()

    @property
    def level(self) -> float:
        """Energy in the tank, J; negative for a debt."""
        return self.tank.level

    def engage(self, q: Array, v: Array, acting: Array | None = None) -> None:
        """Begin at a state, with a tank at its initial level.

        Args:
            q: (nq,) present configuration.
            v: (nv,) present velocity.
            acting: (nv,) effort that acts now, from which the effort of the guard departs without a
                jump; None if it is not known.

        Raises:
            StateError: the state does not fit the model.
        """
        d = self._full_model.evaluate(q, v)
        self._plausibility.restart(d.q, d.v)
        self._restart()
        d = Evaluation(self._model, d.q, d.v)
        is_effort_known = acting is not None and self._is_effort(acting)
        effort = compensation = self._delayed_grant.compensation(d)
        if is_effort_known:
            effort = self._delayed_grant.delivered_effort(np.array(acting, float))
        counted_effort = effort - self._delayed_grant.compensation_error(d)
        self._queue.restart(counted_effort, effort - compensation)
        self._debt_ceiling.motion_energy_bound = d.kinetic_energy
        self._queue.observe(d, d.potential_energy, d.kinetic_energy)
        self._initial_effort = effort if is_effort_known else None

    def update(self, q: Array, v: Array, effort: Array, dt: float) -> GuardedEffort:
        """Return the effort to send in place of a wanted one; never raises.

        Args:
            q: (nq,) as measured.
            v: (nv,) as measured.
            effort: (nv,) of the controller: base wrench, then joint torques.
            dt: time since the last update, s.
        """
        counts = self._counts
        counts.samples += 1
        judgement = self._plausibility.judge(q, v, dt)
        fault = f"implausible state: {judgement.reason}" if judgement.reason else ""
        if not judgement.is_located:
            return self._hold_safe(judgement.q, judgement.v, dt, fault)
        period, v = max(dt, self._period), np.array(v, float)
        if fault and judgement.reason != RECOVERING:
            # Positions settle the account of the last sample, and show the motion of the joints.
            v[self._b :] = self._queue.mean_velocity(judgement.q, period)[self._b :]
        d = Evaluation(self._model, judgement.q, v)
        self._settle_energy(d, dt)
        counts.duration += dt
        compensation = self._delayed_grant.compensation(d)
        reason, fade_reason, wrench_reason = "", "", ""
        if fault:
            reason = f"reflex: {fault}; holding and damping"
            desired_effort = self._safe_effort(d.q, d.v, period)
        elif not self._is_effort(effort):
            reason = "reflex: the effort is not finite or not that of this robot"
            desired_effort = self._safe_effort(d.q, d.v, period)
        else:
            commanded_effort = np.asarray(effort, float)
            faded_effort = self._faded_effort(commanded_effort, dt)
            fade_reason = "" if faded_effort is commanded_effort else "fading in"
            desired_effort = self._delayed_grant.delivered_effort(faded_effort)
            wrench_reason = "" if desired_effort is faded_effort else _WRENCH_LIMITED
        is_reflex = bool(reason)
        force, limit_reason = self._limited_effort(d, desired_effort, compensation, period, dt)
        level, ceiling = self._free_level(), self._debt_ceiling
        grant = self._delayed_grant.grant(d, force, self._queue, level, ceiling, period)
        if grant.reason:
            force = grant.force
            self._limits.replace_torque(force[self._b :])
        reasons = (reason, wrench_reason, limit_reason, fade_reason, grant.reason)
        reason = "; ".join(filter(None, reasons))
        self._count_sample(is_reflex, bool(reason), grant.is_brake)
        self._queue.send(force - self._delayed_grant.compensation_error(d), grant.active_effort)
        self._queue.observe(d, d.potential_energy, self._debt_ceiling.motion_energy_bound)
        if is_reflex:
            self._initial_effort, self._fading_offset = force, None
            return GuardedEffort(force, Status.HOLDING, reason, self.level)
        return GuardedEffort(force, Status.SATURATED if reason else Status.OK, reason, self.level)

    def hold(self, reason: str, dt: float) -> GuardedEffort:
        """Return the safe output, for a host without a new state, with a reason.

        Args:
            reason: in words.
            dt: time since the last update, s.
        """
        self._counts.samples += 1
        judgement = self._plausibility.judge(self._nan_q, np.full_like(self._zero, np.nan), dt)
        return self._hold_safe(judgement.q, judgement.v, dt, reason)

    def refill(self, energy: float) -> float:
        """Add energy to the tank, J; return how much there was room for."""
        self.tank.capacity = self.settings.tank_capacity  # may have changed since the last update
        return self.tank.refill(max(0.0, energy)) if np.isfinite(energy) else 0.0

    def drain(self, energy: float) -> float:
        """Take energy out of the tank, J, at most what is in it; return how much that was."""
        return 0.0 if np.isnan(energy) else self.tank.drain(max(0.0, energy))

    @property
    def certificate(self) -> Certificate:
        """Return what the guard has seen since the engagement."""
        return Certificate.from_guard(
            self._full_model,
            self.tank,
            self._counts,
            self.delay,
            self.carries_weight,
            self._queue.largest_work,
        )

    def _restart(self) -> None:
        settings = self.settings
        self.tank = EnergyTank(settings.tank_capacity, settings.tank_initial)
        self._debt_ceiling, self._counts = DebtCeiling(self.delay), SampleCounts()
        self._limits.restart()
        self._initial_effort = self._fading_offset = None
        self._fading_share, self._last_potential = 0.0, None

    def _settle_energy(self, d: Evaluation, dt: float) -> None:
        """Count the energy given since the last state."""
        tank, settings = self.tank, self.settings
        tank.capacity = settings.tank_capacity
        was_state_lost, kinetic = not self._queue.is_measured, d.kinetic_energy
        work = self._queue.work(d, d.potential_energy, dt)
        if was_state_lost:
            # The motion is of these efforts rather than of a push.
            work = max(work, kinetic - self._debt_ceiling.motion_energy_bound)
            self._counts.record_lost_work(self._queue.largest_work, tank)
        tank.withdraw(work)
        refilled_energy = tank.refill(0.0 if settings.freeze else settings.refill_power * dt)
        unobserved_work = self._debt_ceiling.update(tank.level, work, kinetic, refilled_energy)
        self._counts.record_unobserved_work(unobserved_work, self._debt_ceiling.largest_loan)
        holds_weight = self._delayed_grant.holds_weight(d)
        self._counts.record_surplus(kinetic - tank.spent, kinetic, holds_weight)
        d_full = d if self.carries_weight else Evaluation(self._full_model, d.q, self._zero)
        potential_energy = d_full.potential_energy
        if self._last_potential is not None:
            self._counts.weight_work += potential_energy - self._last_potential
        self._last_potential = potential_energy

    def _free_level(self) -> float:
        level = self.tank.level
        return min(level, 0.0) if self.settings.freeze else level

    def _is_effort(self, effort: Array) -> bool:
        return np.shape(effort) == self._zero.shape and bool(np.isfinite(effort).all())

    def _faded_effort(self, effort: Array, dt: float) -> Array:
        """Return the effort with what is left of the jump at engagement."""
        if self._initial_effort is not None:
            offset = self._initial_effort - effort
            self._fading_offset = offset if np.any(offset) else None
            self._initial_effort, self._fading_share = None, 1.0
        if self._fading_offset is None:
            return effort
        faded_effort = effort + self._fading_share * self._fading_offset
        fade_time = self.settings.engagement_time
        self._fading_share = self._fading_share - dt / fade_time if fade_time > 0.0 else 0.0
        if self._fading_share <= 0.0:
            self._fading_offset = None
        return faded_effort

    def _limited_effort(
        self, d: Evaluation, desired_effort: Array, compensation: Array, period: float, dt: float
    ) -> tuple[Array, str]:
        """Return the effort within the limits of joints and motion, and what was limited."""
        limits, b = self.settings, self._b
        torque, reason = desired_effort[b:], ""
        if limits.torque < 1.0:
            torque_bound = limits.torque * self._full_model.joints.effort
            if (np.abs(torque) > torque_bound).any():
                torque = np.clip(torque, -torque_bound, torque_bound)
                reason = f"torque at {limits.torque:.0%} of its limit"
        torques = self._limits.apply(torque, compensation[b:], d.v[b:], limits.torque_rate, 0.0, dt)
        force = desired_effort
        if reason or torques.reason:
            force = np.concatenate([desired_effort[:b], torques.effort])
        reason = "; ".join(filter(None, (reason, torques.reason)))
        if not has_motion_limits(limits):
            return force, reason
        brake = self._delayed_grant.strongest_brake(d, period)
        next_v = self._delayed_grant.next_velocity(d, self._queue.efforts[1:], period)
        effort_share = largest_share(d, next_v, force, brake, compensation, limits, period)
        if effort_share.share < 1.0:
            force = brake + effort_share.share * (force - brake)
            self._limits.replace_torque(force[b:])
            reason = f"{reason}; {effort_share.reason}" if reason else effort_share.reason
        return force, reason

    def _safe_effort(self, q: Array, v: Array, dt: float) -> Array:
        safe_command = self._safe_output.command(q, v, (self.delay + 1) * dt)
        return np.concatenate([safe_command.wrench_base, safe_command.torque])

    def _hold_safe(self, q: Array, v: Array, dt: float, cause: str) -> GuardedEffort:
        """Return the safe output while no state can be believed.

        A brake on a velocity of the past may drive the robot: it acts as far as the tank covers it
        whatever the motion is, and so ends.
        """
        has_valid_dt = 0.0 < dt <= LONGEST_SAMPLE
        period = max(dt, self._period) if has_valid_dt else self._period
        d, queue = Evaluation(self._model, q, self._zero), self._queue
        queue.skip_state(dt if has_valid_dt or dt == 0.0 else LONGEST_SAMPLE)
        compensation = self._delayed_grant.compensation(d)
        brake = self._safe_effort(q, v, period) - compensation
        active_effort = queue.covered_share(brake, self._free_level(), period) * brake
        force = compensation + active_effort
        queue.send(force - self._delayed_grant.compensation_error(d), active_effort)
        queue.advance_without_state()
        self._limits.replace_torque(force[self._b :])
        self._initial_effort, self._fading_offset = force, None
        self._counts.lost += 1
        self._counts.first_loss = self._counts.first_loss or cause
        self._counts.duration += dt if has_valid_dt else 0.0
        self._count_sample(True, True, False)
        reason = f"reflex: {cause}; holding and damping"
        return GuardedEffort(force, Status.HOLDING, reason, self.level)

    def _count_sample(self, is_reflex: bool, is_changed: bool, is_brake: bool) -> None:
        counts = self._counts
        counts.reflexes += is_reflex
        counts.braked += is_brake and not is_reflex
        counts.scaled += is_changed and not is_brake and not is_reflex

# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The grant of an effort that begins to act after others that are under way."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from vms_ph_dynamics import Allocation, Array, Evaluation, ModelError, VMSModel
from vms_ph_dynamics.actuation.allocation import bounded_least_squares, default_weights

from ..safety.base_actuation import check_allocation
from ..safety.limits import TorqueLimits
from ..safety.sample_grant import ROUNDING, SampleGrant, SamplePredictor, strongest_brake
from .effort_queue import DebtCeiling, EffortQueue

# Relative difference up to which a wrench is one that the actuators give: rounding of allocations.
_ROUNDING = 1e-9


class BaseWrenchLimiter:
    """Finds the wrench that the actuators of a base give for a wanted one, within their limits.

    The set of these wrenches is convex: with two of them, all between are given as well.

    Attributes:
        is_ideal: whether every wrench is given, and so that of a fixed base.
    """

    def __init__(
        self,
        model: VMSModel,
        allocation: Allocation | None = None,
        base_actuated: bool = True,
        weights: Array | None = None,
    ) -> None:
        """Serve a base.

        Args:
            model: the robot.
            allocation: the actuators of the base; None for a base that can apply any wrench.
            base_actuated: False for a base without actuators.
            weights: (b,) of the components of a wrench, of which those of small weight are given
                up first; :func:`.default_weights` when None.

        Raises:
            ModelError: the allocation is for another kind of base, or the weights are not b
                numbers above zero.
        """
        b = model.b
        check_allocation(model, allocation)
        self._allocation = allocation if base_actuated else None
        self.is_ideal = b == 0 or (base_actuated and allocation is None)
        self._zero_wrench = np.zeros(b)
        if self._allocation is not None:
            matrix = self._allocation.matrix
            self._weights = default_weights(matrix) if weights is None else np.array(weights, float)
            if self._weights.shape != (b,) or not (self._weights > 0.0).all():
                raise ModelError(
                    f"the weights of a wrench of {b} components must be as many numbers above "
                    f"zero; given: {self._weights.tolist()}"
                )

    def nearest_wrench(self, wrench: Array) -> Array:
        """Return the wrench (b,) that is nearest to a wanted one; that one itself if it is given.

        The weighted error is least, as where the actuators allocate a wrench beyond their limits.
        """
        allocation = self._allocation
        if self.is_ideal:
            return wrench
        if allocation is None:
            return self._zero_wrench if np.any(wrench) else wrench
        nearest = allocation.allocate_unchecked(wrench, self._weights)
        if np.abs(nearest.missing_wrench).max() <= _ROUNDING * (1.0 + np.abs(wrench).max()):
            return wrench
        return allocation.matrix @ nearest.inputs

    def nearest_brake(self, desired_wrench: Array, M_b: Array) -> Array:
        """Return the wrench (b,) that is nearest to a brake in the norm of the inverse of M_b.

        Where the wanted one is ``r - k M_b v_hat`` with a wrench r that is given, the found one w
        takes energy out: ``(w - r) . v_hat <= -|w - r|^2_{M_b^-1} / k``, by the property of the
        nearest point of a convex set.

        Args:
            desired_wrench: (b,) brake.
            M_b: (b,b) locked inertia.
        """
        allocation = self._allocation
        if self.is_ideal or allocation is None:
            return self.nearest_wrench(desired_wrench)
        cholesky_factor = np.linalg.cholesky(M_b)
        inputs = bounded_least_squares(
            np.linalg.solve(cholesky_factor, allocation.matrix),
            np.linalg.solve(cholesky_factor, desired_wrench),
            allocation.lower,
            allocation.upper,
        )
        return allocation.matrix @ inputs


# Factor on the bound of a quick check: it leaves out that inertia and gravity change on the way.
_SAFETY_FACTOR = 2.0

_DEBT_REASON = "the energy tank has a debt"
_UNCOVERED_REASON = "the energy tank does not cover the effort against a motion that is not seen"

# Longest displacement for which the quick check is made, rad or m.
_LONGEST_DISPLACEMENT = 0.2


@dataclass(frozen=True, slots=True)
class GrantedEffort:
    """An effort within the tank.

    Attributes:
        force: (nv,); the wanted one itself where the tank covers it.
        reason: what was changed, in words; empty for an effort that is covered.
        active_effort: (nv,) its part beyond the resting effort.
        is_brake: whether the robot is braked because no share of the effort is covered.
    """

    force: Array
    active_effort: Array
    reason: str
    is_brake: bool


class DelayedGrant:
    """Predicts the efforts under way, then grants a share of the next one.

    Energy that efforts under way are predicted to take out of the robot is not spent before it was
    measured; while the tank has a debt it counts, so that the debt is not repaid twice.
    """

    def __init__(self, model: VMSModel, limiter: BaseWrenchLimiter, delay: int) -> None:
        self._sample_count = delay + 1  # from a state to the end of an effort that it led to
        self._model, self._b, self._limiter = model, model.b, limiter
        self._predictor, self._grant = SamplePredictor(model), SampleGrant(model)
        self._limits = TorqueLimits(model)

    def delivered_effort(self, effort: Array) -> Array:
        """Return the effort (nv,) that acts for one that is sent; that itself if the base gives it.

        Torques of joints are those sent.
        """
        desired_wrench = effort[: self._b]
        wrench = self._limiter.nearest_wrench(desired_wrench)
        return effort if wrench is desired_wrench else np.concatenate([wrench, effort[self._b :]])

    def compensation(self, d: Evaluation) -> Array:
        """Return the effort (nv,) that compensates gravity as far as the actuators can."""
        if self._limiter.is_ideal:
            return d.g
        return self._replace_wrench(d, d.g, self._limiter.nearest_wrench(d.g[: self._b]))

    def compensation_error(self, d: Evaluation) -> Array:
        """Return the compensation less gravity (nv,), which no actuator gives: no work counts."""
        return np.zeros(self._model.nv) if self._limiter.is_ideal else self.compensation(d) - d.g

    def holds_weight(self, d: Evaluation) -> bool:
        """Return whether the actuators hold the whole weight."""
        return self._limiter.is_ideal or not np.any(self.compensation_error(d))

    def strongest_brake(self, d: Evaluation, dt: float) -> Array:
        """Return the strongest brake (nv,) within the limits of the actuators.

        Brakes of all samples that are not seen take out a third of the momentum together.
        """
        compensation, b = self.compensation(d), self._b
        brake = strongest_brake(d, self._sample_count * dt)
        if not self._limiter.is_ideal:
            # Measured from what is held of the weight.
            brake = brake + compensation - d.g
            brake = self._replace_wrench(d, brake, self._limiter.nearest_brake(brake[:b], d.M_b))
        return self._limits.scale(compensation, brake)

    def next_velocity(self, d: Evaluation, efforts: Sequence[Array], dt: float) -> Array:
        """Return the velocity (nv,) at which the next effort begins to act, about."""
        if not efforts:
            return d.v
        passive_effort = d.C @ d.v + d.g - self.compensation_error(d)
        net_effort = np.sum(efforts, axis=0) - len(efforts) * passive_effort
        return d.v + dt * np.asarray(np.linalg.solve(d.M, net_effort))

    def grant(
        self,
        d: Evaluation,
        desired_effort: Array,
        queue: EffortQueue,
        level: float,
        debt_ceiling: DebtCeiling,
        dt: float,
    ) -> GrantedEffort:
        """Return the share of an effort that the tank covers.

        Args:
            d: the present state.
            desired_effort: (nv,) effort.
            queue: efforts that act before it.
            level: energy available, J; negative for a debt.
            debt_ceiling: bounds what may be risked whatever the motion is.
            dt: duration of a sample, s.
        """
        efforts = queue.efforts[1:]
        motion_energy_bound = debt_ceiling.motion_energy_bound
        if self._is_surely_covered(d, desired_effort, efforts, level, motion_energy_bound, dt):
            return GrantedEffort(desired_effort, desired_effort - self.compensation(d), "", False)
        state, pending_energy = d, 0.0
        for effort in efforts:
            self._predictor.start_at(state, self.compensation_error(state), 0.0, dt)
            prediction = self._predictor.predict(effort + self.compensation_error(state))
            energy = prediction.max_energy
            pending_energy += energy if level < 0.0 else max(0.0, energy)
            if not np.isfinite(energy):
                break
            state = Evaluation(self._model, prediction.q, prediction.v)
        budget = level - pending_energy if np.isfinite(pending_energy) else min(level, 0.0)
        budget = min(budget, 0.0) if level < 0.0 else budget
        compensation = self.compensation(state)
        sample_grant = self._grant.grant(state, desired_effort, compensation, budget, dt)
        force, reason = sample_grant.force, sample_grant.reason
        if not sample_grant.is_covered:
            force = self._grant.brake(sample_grant, compensation, self.strongest_brake(state, dt))
        active_effort, active_efforts = force - compensation, queue.active_efforts[1:]
        share = debt_ceiling.permitted_share(active_effort, active_efforts, level, state.M, dt)
        if share < 1.0:
            self._predictor.start_at(state, self.compensation_error(state), 0.0, dt)
            static_prediction, prediction = map(self._predictor.predict, (compensation, force))
            share = max(share, static_prediction.neutral_share(prediction))
            force = compensation + share * (force - compensation)
            reason = reason or (_UNCOVERED_REASON if level >= -ROUNDING else _DEBT_REASON)
        return GrantedEffort(force, force - compensation, reason, not sample_grant.is_covered)

    def _is_surely_covered(
        self,
        d: Evaluation,
        desired_effort: Array,
        efforts: Sequence[Array],
        available_energy: float,
        motion_energy_bound: float,
        dt: float,
    ) -> bool:
        """Return whether a bound for any direction of the motion shows that the tank covers it.

        An active effort F changes the root of the kinetic energy by at most ``|F|_{M^-1} / sqrt 2``
        per time, whatever the motion is.
        """
        if not available_energy > 0.0:
            return False
        gravity_effort, squared_effort_norm, max_acceleration = d.g, 0.0, 0.0
        for effort in (*efforts, desired_effort - self.compensation_error(d)):
            active_effort = effort - gravity_effort
            acceleration = np.linalg.solve(d.M, active_effort)
            squared_effort_norm = max(squared_effort_norm, float(active_effort @ acceleration))
            max_acceleration = max(max_acceleration, float(np.abs(acceleration).max()))
        horizon = (len(efforts) + 1) * dt
        max_speed = float(np.abs(d.v).max()) + horizon * max_acceleration
        if not horizon * max_speed < _LONGEST_DISPLACEMENT:
            return False
        v_norm_rise = horizon * float(np.sqrt(max(0.0, squared_effort_norm)))
        energy_bound = v_norm_rise * (float(np.sqrt(2.0 * motion_energy_bound)) + 0.5 * v_norm_rise)
        return bool(_SAFETY_FACTOR * energy_bound <= available_energy)

    def _replace_wrench(self, d: Evaluation, effort: Array, wrench: Array) -> Array:
        """Return the effort (nv,) with another wrench and the same force on the shape [A (73)]."""
        b = self._b
        return np.concatenate([wrench, effort[b:] + d.A.T @ (wrench - effort[:b])])

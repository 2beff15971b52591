# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The grant of an effort that begins to act after others that are under way."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from vms_ph_dynamics import VMSModel
from vms_ph_dynamics.arrays import Array
from vms_ph_dynamics.evaluation import Evaluation

from ..safety.limits import TorqueLimits
from ..safety.sample_grant import SampleGrant, strongest_brake
from ..safety.sample_prediction import Prediction, SamplePrediction
from .base_wrench import BaseWrench
from .debt_ceiling import ROUNDING, DebtCeiling
from .efforts_under_way import EffortsUnderWay

# Multiple of the bound of a quick check that the tank must hold: inertia and gravity change on the
# way, which it leaves out.
_CLEAR = 2.0

# Number of shares of the strongest brake that are tried, and what the first one exceeds the
# estimate by: the margin of a prediction is part of it.
_TRIALS = 5
_MORE = 1.05

# Smallest share of the strongest brake that is tried.
_LEAST = 0.01

# Longest way for which the quick check is made, rad or m.
_NEAR = 0.2


@dataclass(frozen=True, slots=True)
class GrantedEffort:
    """An effort within the tank.

    Attributes:
        force: (nv,); the wanted one itself where the tank covers it.
        reason: what was changed, in words; empty for an effort that is covered.
        active: (nv,) its part beyond the resting effort.
        is_brake: whether the robot is braked because no share of the effort is covered.
    """

    force: Array
    active: Array
    reason: str
    is_brake: bool


class SampleBudget:
    """Predicts the efforts under way, then grants a share of the next one.

    Energy that efforts under way are predicted to take out of the robot is not spent before it was
    measured; while the tank has a debt it counts, so that the debt is not repaid twice.
    """

    def __init__(self, model: VMSModel, wrench: BaseWrench) -> None:
        self._model, self._b, self._wrench = model, model.b, wrench
        self._prediction, self._grant = SamplePrediction(model), SampleGrant(model)
        self._limits = TorqueLimits(model)

    def delivered(self, effort: Array) -> Array:
        """Return the effort (nv,) that acts for one that is sent; that itself if the base gives it.

        Torques of joints are those sent.
        """
        wanted = effort[: self._b]
        wrench = self._wrench.delivered(wanted)
        return effort if wrench is wanted else np.concatenate([wrench, effort[self._b :]])

    def resting(self, d: Evaluation) -> Array:
        """Return the effort (nv,) that compensates gravity as far as the actuators can."""
        if self._wrench.is_ideal:
            return d.g
        weight = d.g[: self._b]
        return self._applied(d, d.g, self._wrench.delivered(weight))

    def unheld(self, d: Evaluation) -> Array:
        """Return the part of gravity (nv,) that no actuator holds; its work does not count."""
        return np.zeros(self._model.nv) if self._wrench.is_ideal else self.resting(d) - d.g

    def strongest_brake(self, d: Evaluation, dt: float) -> Array:
        """Return the strongest brake (nv,) within the limits of the actuators."""
        resting, b = self.resting(d), self._b
        brake = strongest_brake(d, dt)
        if not self._wrench.is_ideal:
            # Measured from what is held of the weight.
            brake = brake + resting - d.g
            brake = self._applied(d, brake, self._wrench.braking(brake[:b], d.M_b))
        share = self._limits.share_within(resting[b:], brake[b:])
        return resting + share * (brake - resting)

    def velocity_ahead(self, d: Evaluation, under_way: Sequence[Array], dt: float) -> Array:
        """Return the velocity (nv,) at which the next effort begins to act, about."""
        if not under_way:
            return d.v
        total = sum(under_way, np.zeros(self._model.nv))
        acting = total - len(under_way) * (d.C @ d.v + d.g - self.unheld(d))
        return d.v + dt * np.asarray(np.linalg.solve(d.M, acting))

    def grant(
        self,
        d: Evaluation,
        wanted: Array,
        under_way: EffortsUnderWay,
        level: float,
        ceiling: DebtCeiling,
        dt: float,
    ) -> GrantedEffort:
        """Return the share of an effort that the tank covers.

        Args:
            d: the present state.
            wanted: (nv,) effort.
            under_way: efforts that act before it.
            level: energy available, J; negative for a debt.
            ceiling: bounds what may be risked while there is a debt.
            dt: duration of a sample, s.
        """
        waiting = under_way.queue[1:]
        if self._is_clear(d, wanted, waiting, level, dt):
            return GrantedEffort(wanted, wanted - self.resting(d), "", False)
        ahead, spent = d, 0.0
        for effort in waiting:
            self._prediction.begin(ahead, self.unheld(ahead), 0.0, dt)
            found = self._prediction.of(effort + self.unheld(ahead))
            spent += found.energy if level < 0.0 else max(0.0, found.energy)
            if not np.isfinite(found.energy):
                break
            ahead = Evaluation(self._model, found.q, found.v)
        budget = level - spent if np.isfinite(spent) else min(level, 0.0)
        if level < 0.0:
            budget = min(budget, 0.0)
        resting = self.resting(ahead)
        granted = self._grant.grant(ahead, wanted, resting, budget, dt)
        force = granted.force
        if not granted.is_covered:
            force = self._brake(ahead, force, resting, budget, dt)
        reason = granted.reason
        if level < -ROUNDING:
            share = ceiling.share(force - resting, under_way.active[1:], ahead.M, dt)
            if share < 1.0:
                self._prediction.begin(ahead, self.unheld(ahead), 0.0, dt)
                least = _neutral(self._prediction.of(resting), self._prediction.of(force))
                share = max(share, least)
                force = resting + share * (force - resting)
                reason = reason or "the energy tank has a debt"
        return GrantedEffort(force, force - resting, reason, not granted.is_covered)

    def _brake(
        self, d: Evaluation, granted: Array, resting: Array, budget: float, dt: float
    ) -> Array:
        """Return the least brake that meets the budget, or what comes next to it."""
        strongest = self.strongest_brake(d, dt)
        self._prediction.begin(d, self.unheld(d), budget, dt)
        whole = self._prediction.of(strongest)
        if whole.lack > 0.0:
            return strongest if whole.lack < self._prediction.of(granted).lack else granted
        rest = self._prediction.of(resting)
        if rest.lack <= ROUNDING:
            return resting
        if not np.isfinite(rest.energy) or not rest.energy > whole.energy:
            return strongest
        # The energy is a convex function of the share: it lies below its chord. Only a peak within
        # the sample may be too high.
        share = _MORE * (rest.energy - budget) / (rest.energy - whole.energy)
        share = max(share, _LEAST)
        for _ in range(_TRIALS):
            if not share < 1.0:
                break
            force = resting + share * (strongest - resting)
            if self._prediction.of(force).lack <= 0.0:
                return force
            share *= 2.0
        return strongest

    def _is_clear(
        self, d: Evaluation, wanted: Array, under_way: Sequence[Array], level: float, dt: float
    ) -> bool:
        """Return whether a bound for any direction of the motion shows that the tank covers it.

        An active effort F changes the root of the kinetic energy by at most ``|F|_{M^-1} / sqrt 2``
        per time, whatever the motion is.
        """
        if not level > 0.0:
            return False
        weight, most, reach = d.g, 0.0, 0.0
        for effort in (*under_way, wanted - self.unheld(d)):
            active = effort - weight
            a = np.linalg.solve(d.M, active)
            most = max(most, float(active @ a))
            reach = max(reach, float(np.abs(a).max()))
        time = (len(under_way) + 1) * dt
        if not time * (float(np.abs(d.v).max()) + time * reach) < _NEAR:
            return False
        push = time * float(np.sqrt(max(0.0, most)))
        energy = push * (float(np.sqrt(2.0 * d.kinetic_energy)) + 0.5 * push)
        return bool(_CLEAR * energy <= level)

    def _applied(self, d: Evaluation, wanted: Array, wrench: Array) -> Array:
        """Return the effort (nv,) with another wrench and the same force on the shape [A (73)]."""
        b = self._b
        return np.concatenate([wrench, wanted[b:] + d.A.T @ (wrench - wanted[:b])])


def _neutral(resting: Prediction, force: Prediction) -> float:
    """Return the share of a brake that takes out what holding the weight over a sample gives."""
    if not resting.energy > 0.0:
        return 0.0
    if not resting.energy > force.energy:
        return 1.0
    return min(1.0, resting.energy / (resting.energy - force.energy))

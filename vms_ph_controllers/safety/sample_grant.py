# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The largest share of an effort whose work over a whole sample an energy budget covers."""

from dataclasses import dataclass

import numpy as np

from vms_ph_dynamics import Array, Evaluation, VMSModel

from .sample_prediction import Prediction, SamplePrediction

# Number of shares that are tried; each trial corrects the work per share by its prediction.
_TRIALS = 5

# What the first share of the strongest brake exceeds the estimate by: the margin of a prediction is
# part of it. Smallest share that is tried.
_MORE, _SMALLEST_SHARE = 1.05, 0.01

# A debt below this, J, is a rounding error.
ROUNDING = 1e-12

# Largest ratio of a share to the one tried before it.
_SHRINKING = 0.9

# Part of the momentum that the strongest brake takes out per sample: a third is stable with one
# sample of delay too.
_BRAKE = 1.0 / 3.0


@dataclass(frozen=True, slots=True)
class Grant:
    """An effort within an energy budget.

    Attributes:
        force: (nv,); the wanted one itself where the budget covers it.
        share: of the effort beyond the resting one, in [0, 1].
        is_covered: whether the budget covers the granted effort; if not, the robot must brake.
    """

    force: Array
    share: float
    is_covered: bool

    @property
    def reason(self) -> str:
        """Explanation in words where the share is below one; empty otherwise."""
        return f"the energy tank covers {self.share:.0%} of the effort" if self.share < 1.0 else ""


class SampleGrant:
    """Grants shares of efforts by their work ``W(s) = W(0) + s a + s^2 b / 2`` over a sample.

    ``a = dt f^T v`` and ``b = dt^2 f^T M^-1 f`` for the effort f beyond the resting one. The share
    that they give is corrected and decided by the prediction of the whole sample
    (:class:`SamplePrediction`).
    """

    def __init__(self, model: VMSModel) -> None:
        self._prediction = SamplePrediction(model)
        rest, home = np.zeros(model.nv), model.neutral_configuration()
        self._no_motion = self._chosen = Prediction(0.0, rest, rest, 0.0, home, rest)

    @property
    def displacement(self) -> Array:
        """Displacement that is predicted for the last grant, (nv,)."""
        return self._chosen.displacement

    def grant(
        self, d: Evaluation, force: Array, compensation: Array, budget: float, dt: float
    ) -> Grant:
        """Return the largest share of an effort that the budget covers.

        What braking takes out is not spent in the same sample: an effort that brakes is reduced to
        ``s = -a / b``, which takes out the most, before it would reverse the motion.

        Args:
            d: the present state.
            force: (nv,) wanted effort.
            compensation: (nv,) effort that compensates gravity as far as the actuators can.
            budget: energy available, J; negative for a debt.
            dt: duration of the sample, s; without one, in continuous time, no work is held.
        """
        if dt == 0.0:
            self._chosen = self._no_motion
            return Grant(force, 1.0, True)
        prediction = self._prediction
        prediction.start_at(d, compensation - d.g, budget, dt)
        self._budget = budget
        full = self._chosen = prediction.predict(force)
        if full.lack <= 0.0:
            return Grant(force, 1.0, True)
        f = force - compensation
        rest = self._rest = self._chosen = prediction.predict(compensation)
        share, highest = 0.0, _SHRINKING
        b = dt * dt * float(f @ (full.acceleration - rest.acceleration))
        a = dt * float(f @ (d.v + 0.5 * dt * rest.acceleration))
        for _ in range(_TRIALS):
            s = min(_largest(a, b, -rest.lack), highest)
            if not s > 0.0:
                break
            tried = prediction.predict(compensation + s * f)
            if tried.lack <= 0.0 or tried.lack < self._chosen.lack:
                share, self._chosen = s, tried
            if tried.lack <= 0.0:
                break
            a = (tried.lack - rest.lack) / s - 0.5 * s * b
            highest = _SHRINKING * s
        grant = compensation + share * f if share > 0.0 else compensation
        return Grant(grant, share, self._chosen.lack <= 0.0)

    def brake(self, grant: Grant, compensation: Array, strongest: Array) -> Array:
        """Return the least brake that meets the budget, where the grant does not.

        Args:
            grant: the grant.
            compensation: (nv,) as before.
            strongest: (nv,) the strongest brake, see :func:`strongest_brake`.
        """
        predict, rest = self._prediction.predict, self._rest
        full = predict(strongest)
        if full.lack > 0.0 and not full.lack < self._chosen.lack:
            return grant.force
        self._chosen = full
        if full.lack > 0.0:
            return strongest
        if rest.lack <= ROUNDING:
            self._chosen = rest
            return compensation
        if not (np.isfinite(rest.energy) and rest.energy > full.energy):
            return strongest
        # The energy is a convex function of the share: it lies below its chord. Only a peak within
        # the sample may be too high.
        share = _MORE * (rest.energy - self._budget) / (rest.energy - full.energy)
        share = max(share, _SMALLEST_SHARE)
        for _ in range(_TRIALS):
            if not share < 1.0:
                break
            force = compensation + share * (strongest - compensation)
            tried = predict(force)
            if tried.lack <= 0.0:
                self._chosen = tried
                return force
            share *= 2.0
        return strongest


def strongest_brake(d: Evaluation, dt: float) -> Array:
    """Return the strongest brake that the tank uses, (nv,): a third of the momentum per sample."""
    return d.g - (_BRAKE / dt) * d.momentum


def _largest(a: float, b: float, room: float) -> float:
    """Return the largest share s with ``s a + s^2 b / 2`` within the room, J.

    Where a is negative, that is ``room - a^2 / 2 b``, and the least work without room.
    """
    if not (b > 0.0 and np.isfinite(a + b)):
        return 0.0
    room = max(room, 0.0)
    if a < 0.0:
        return (-a + float(np.sqrt(2.0 * b * room))) / b
    return 2.0 * room / (a + float(np.sqrt(a * a + 2.0 * b * room))) if room > 0.0 else 0.0

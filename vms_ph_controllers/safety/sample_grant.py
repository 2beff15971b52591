# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The largest share of an effort whose work over a whole sample an energy budget covers."""

from dataclasses import dataclass

import numpy as np
import pinocchio as pin

from vms_ph_dynamics import Array, Evaluation, VMSModel
from vms_ph_dynamics.groups import base_group
from vms_ph_dynamics.robot.joints import BASE_POSITION_SIZE

# Bound of the error for turning axes: relative to the work, and the square of the angle.
_ROTATION_ERROR = 0.1


@dataclass(frozen=True, slots=True)
class _SampleStart:
    """The beginning of a sample.

    Attributes:
        q, v: configuration (nq,) and velocity (nv,).
        force: held effort (nv,).
        displacement: displacement (nv,) that is predicted for the sample.
        stored_energy: J.
    """

    q: Array
    v: Array
    force: Array
    displacement: Array
    stored_energy: float


class SampleWork:
    """The effort held since the last update, and the energy that it has transferred.

    The work of a held effort is exactly ``f^T (q_next - q)``. A wrench that is held in the axes of
    a base that turns does the work ``w^T int v_b dt`` instead; the integral is the displacement
    less ``dt^2 / 12 [v_b, v_b_next]`` (Magnus expansion). The rest is of fifth order; a bound of it
    is added to the work.

    If the safe output has acted for a part of the sample, it is unknown how far the robot moved
    under each of the two efforts.
    """

    def __init__(self, model: VMSModel) -> None:
        self._model = model
        self.restart()

    def restart(self) -> None:
        """Restart; no effort is held."""
        self._start: _SampleStart | None = None
        self._safe_effort: Array | None = None

    def hold(self, d: Evaluation, force: Array, displacement: Array, stored_energy: float) -> None:
        """Hold efforts (nv,) from a state on, while ``stored_energy`` joules are stored.

        ``displacement`` (nv,) is what the efforts are predicted to cause in the sample.
        """
        self._start = _SampleStart(np.array(d.q), np.array(d.v), force, displacement, stored_energy)
        self._safe_effort = None

    def note_missed_updates(self, safe_effort: Array) -> None:
        """Note that the safe output (nv,) has replaced the held effort."""
        self._safe_effort = safe_effort

    def recovered_energy(self, d: Evaluation, stored_energy: float, dt: float) -> float:
        """Return the decrease of the stored energy less the work of the held effort, J.

        After missed updates the largest work that the two efforts can have done is used: that of
        one of them alone, or of the held effort over the predicted displacement and of the other
        one over the rest. The result is then never positive: nothing is credited for motion that
        was not observed.

        Args:
            d: the present state.
            stored_energy: energy stored now, J.
            dt: time since the last update, s.
        """
        if self._start is None:
            return 0.0
        start, safe_effort = self._start, self._safe_effort
        displacement = self._model.difference(start.q, d.q)
        work = float(start.force @ displacement)
        decrease = start.stored_energy - stored_energy
        if safe_effort is not None:
            mixed_work = float(start.force @ start.displacement)
            mixed_work += float(safe_effort @ (displacement - start.displacement))
            return min(decrease - max(work, float(safe_effort @ displacement), mixed_work), 0.0)
        if self._model.b:
            work += self._base_rotation_work_bound(start, d, dt)
        return decrease - work

    def _base_rotation_work_bound(self, start: _SampleStart, d: Evaluation, dt: float) -> float:
        """Return an upper bound of the work that turning axes add to ``f^T (q_next - q)``, J."""
        b = self._model.b
        force, v_start, v_end = start.force[:b], start.v[:b], d.v[:b]
        magnus_term = dt * dt / 12.0 * (base_group(self._model.base).ad(v_start) @ v_end)
        linear = slice(BASE_POSITION_SIZE[self._model.base])
        angular = slice(linear.stop, None)
        force_norm = float(np.linalg.norm(force[linear]))
        moment_norm = float(np.linalg.norm(force[angular]))
        largest_twist = np.maximum(np.abs(v_start), np.abs(v_end))
        displacement = dt * float(np.linalg.norm(largest_twist[linear]))
        angle = dt * float(np.linalg.norm(largest_twist[angular]))
        work_bound = force_norm * float(np.linalg.norm(magnus_term[linear]))
        work_bound += moment_norm * float(np.linalg.norm(magnus_term[angular]))
        largest_work = force_norm * displacement + moment_norm * angle
        work_bound += _ROTATION_ERROR * angle * angle * largest_work
        return work_bound - float(force @ magnus_term)


# Share of the difference between the schemes of second and of fourth order that is added to the
# predicted energy. The error of the fourth-order one is smaller by the square of the step.
_ERROR_MARGIN = 0.1

# Largest distance that a coordinate moves in a step of the integration, rad or m, and the largest
# number of steps; a faster motion is not predicted.
_MAX_STEP_TRAVEL = 0.2
_MAX_STEPS = 16

# A peak below this, J, at the very beginning of a step, is the rounding of a power of zero.
_PEAK_ROUNDING = 1e-15


@dataclass(frozen=True, slots=True)
class Prediction:
    """The outcome of a sample.

    Attributes:
        deficit: upper bound of the energy that the budget lacks for the sample, J; not positive
            where the budget covers it.
        acceleration: (nv,) at the beginning of the sample.
        displacement: (nv,) displacement over the sample.
        max_energy: upper bound of the energy given over the sample, J; infinite for a motion that
            is too fast to be predicted.
        q: (nq,) configuration at its end.
        v: (nv,) velocity at its end.
    """

    deficit: float
    acceleration: Array
    displacement: Array
    max_energy: float
    q: Array
    v: Array

    def neutral_share(self, braking: "Prediction") -> float:
        """Return the share of a brake that takes out what this effort gives over the sample."""
        if not self.max_energy > 0.0:
            return 0.0
        if not self.max_energy > braking.max_energy:
            return 1.0
        return min(1.0, self.max_energy / (self.max_energy - braking.max_energy))


class SamplePredictor:
    """Predicts the net work of held efforts, beyond that against gravity, over the sample.

    The motion of the robot is integrated over the whole sample by one Runge-Kutta step of fourth
    order, so that Coriolis forces, the change of gravity and that of the inertia are covered. The
    second-order scheme with the same stages estimates the error, of which the margin is a share.
    Within a step the energy is the cubic polynomial through the energies and the powers at its
    ends, so that an effort that gives energy first and takes it back later is seen.
    """

    def __init__(self, model: VMSModel) -> None:
        self._model = model

    def start_at(self, d: Evaluation, compensation_error: Array, budget: float, dt: float) -> None:
        """Begin at a state.

        Args:
            d: the state.
            compensation_error: (nv,) compensation less gravity; its work is not counted.
            budget: energy that the sample may give, J; negative if it must take some out.
            dt: duration of the sample, s.
        """
        self._d, self._budget, self._dt = d, budget, dt
        self._compensation_error = compensation_error

    def predict(self, force: Array) -> Prediction:
        """Return what efforts (nv,) held over the sample do, in C++ where the terms are."""
        d, dt, error = self._d, self._dt, self._compensation_error
        if d.sampled_algebra is not None:
            return Prediction(*d.sampled_algebra.predict(d.q, d.v, error, self._budget, dt, force))
        net_force = force - error
        acceleration, power = self._rates(d.q, d.v, force, net_force)
        displacement = np.zeros_like(d.v)
        distance = float(dt * (np.abs(d.v + dt * acceleration).max() + np.abs(d.v).max()))
        if not distance < _MAX_STEP_TRAVEL * _MAX_STEPS:
            return Prediction(np.inf, acceleration, displacement, np.inf, d.q, d.v)
        step_count = max(1, int(np.ceil(distance / _MAX_STEP_TRAVEL)))
        h, q, v, a1, p1 = dt / step_count, d.q, d.v, acceleration, power
        integrate = self._model.integrate
        energy = peak = margin = 0.0
        for _ in range(step_count):
            v2 = v + 0.5 * h * a1
            a2, p2 = self._rates(integrate(q, 0.5 * h * v), v2, force, net_force)
            v3 = v + 0.5 * h * a2
            a3, p3 = self._rates(integrate(q, 0.5 * h * v2), v3, force, net_force)
            v4 = v + h * a3
            a4, p4 = self._rates(integrate(q, h * v3), v4, force, net_force)
            energy_step = h / 6.0 * (p1 + 2.0 * (p2 + p3) + p4)
            displacement_step = h / 6.0 * (v + 2.0 * (v2 + v3) + v4)
            start_power = p1
            q, v = integrate(q, displacement_step), v + h / 6.0 * (a1 + 2.0 * (a2 + a3) + a4)
            a1, p1 = self._rates(q, v, force, net_force)
            margin += _ERROR_MARGIN * abs(energy_step - h * p2)
            peak = max(peak, energy + _cubic_maximum(energy_step, h * start_power, h * p1) + margin)
            energy += energy_step
            displacement = displacement + displacement_step
        deficit = max(energy + margin - self._budget, peak - max(self._budget, 0.0))
        if not np.isfinite(deficit):
            return Prediction(np.inf, acceleration, displacement, np.inf, d.q, d.v)
        return Prediction(deficit, acceleration, displacement, energy + margin, q, v)

    def _rates(self, q: Array, v: Array, force: Array, net_force: Array) -> tuple[Array, float]:
        """Return the acceleration (nv,) and the power of the effort beyond gravity, W."""
        tree = self._model.tree
        if self._model.is_plain:
            data, local_q = tree.data(), tree.at_origin(q)
            gravity = pin.computeGeneralizedGravity(tree.pinocchio, data, local_q)
            power = float((net_force - gravity) @ v)
            return np.array(pin.aba(tree.pinocchio, data, local_q, v, force)), power
        d = Evaluation(self._model, q, v)
        acceleration = np.asarray(np.linalg.solve(d.M, force - d.C @ v - d.g))
        return acceleration, float((net_force - d.g) @ v)


def _cubic_maximum(value_1: float, slope_0: float, slope_1: float) -> float:
    """Return the largest value in (0, 1] of the cubic from 0 to ``value_1`` with these slopes."""
    quadratic, cubic = (3.0 * value_1 - 2.0 * slope_0 - slope_1, slope_0 + slope_1 - 2.0 * value_1)
    discriminant = quadratic * quadratic - 3.0 * cubic * slope_0
    if discriminant > 0.0:
        # The root of the derivative at which the second derivative, -2 sqrt(root), is negative.
        divisor = float(np.sqrt(discriminant)) - quadratic
        x = slope_0 / divisor if divisor > 0.0 else -1.0
        peak = x * (slope_0 + x * (quadratic + x * cubic)) if 0.0 < x < 1.0 else 0.0
        if peak > _PEAK_ROUNDING:
            return max(value_1, peak)
    return value_1


# Number of shares that are tried; each trial corrects the work per share by its prediction.
_MAX_TRIALS = 5

# What the first share of the strongest brake exceeds the estimate by: the margin of a prediction is
# part of it. Smallest share that is tried.
_FIRST_EXCESS, _SMALLEST_SHARE = 1.05, 0.01

# A debt below this, J, is a rounding error.
ROUNDING = 1e-12

# Largest ratio of a share to the one tried before it.
_SHARE_RATIO = 0.9

# Part of the momentum that the strongest brake takes out per sample: a third is stable with one
# sample of delay too.
_BRAKE_SHARE = 1.0 / 3.0


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
    (:class:`SamplePredictor`).
    """

    def __init__(self, model: VMSModel) -> None:
        self._predictor = SamplePredictor(model)
        zero, home = np.zeros(model.nv), model.neutral_configuration()
        self._no_motion = self._granted_prediction = Prediction(0.0, zero, zero, 0.0, home, zero)

    @property
    def displacement(self) -> Array:
        """Displacement that is predicted for the last grant, (nv,)."""
        return self._granted_prediction.displacement

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
            self._granted_prediction = self._no_motion
            return Grant(force, 1.0, True)
        prediction = self._predictor
        prediction.start_at(d, compensation - d.g, budget, dt)
        self._budget = budget
        full_prediction = self._granted_prediction = prediction.predict(force)
        if full_prediction.deficit <= 0.0:
            return Grant(force, 1.0, True)
        active_effort = force - compensation
        resting = self._resting = self._granted_prediction = prediction.predict(compensation)
        share, largest_share = 0.0, _SHARE_RATIO
        b = dt * dt * float(active_effort @ (full_prediction.acceleration - resting.acceleration))
        a = dt * float(active_effort @ (d.v + 0.5 * dt * resting.acceleration))
        for _ in range(_MAX_TRIALS):
            trial_share = min(_largest_share(a, b, -resting.deficit), largest_share)
            if not trial_share > 0.0:
                break
            trial = prediction.predict(compensation + trial_share * active_effort)
            if trial.deficit <= 0.0 or trial.deficit < self._granted_prediction.deficit:
                share, self._granted_prediction = trial_share, trial
            if trial.deficit <= 0.0:
                break
            a = (trial.deficit - resting.deficit) / trial_share - 0.5 * trial_share * b
            largest_share = _SHARE_RATIO * trial_share
        granted_force = compensation + share * active_effort if share > 0.0 else compensation
        return Grant(granted_force, share, self._granted_prediction.deficit <= 0.0)

    def brake(self, grant: Grant, compensation: Array, strongest_effort: Array) -> Array:
        """Return the least brake that meets the budget, where the grant does not.

        Args:
            grant: the grant.
            compensation: (nv,) as before.
            strongest_effort: (nv,) the strongest brake, see :func:`strongest_brake`.
        """
        predict, resting = self._predictor.predict, self._resting
        braking = predict(strongest_effort)
        if braking.deficit > 0.0 and not braking.deficit < self._granted_prediction.deficit:
            return grant.force
        self._granted_prediction = braking
        if braking.deficit > 0.0:
            return strongest_effort
        if resting.deficit <= ROUNDING:
            self._granted_prediction = resting
            return compensation
        if not (np.isfinite(resting.max_energy) and resting.max_energy > braking.max_energy):
            return strongest_effort
        # The energy is a convex function of the share: it lies below its chord. Only a peak within
        # the sample may be too high.
        recovery = resting.max_energy - braking.max_energy
        share = max(_FIRST_EXCESS * (resting.max_energy - self._budget) / recovery, _SMALLEST_SHARE)
        for _ in range(_MAX_TRIALS):
            if not share < 1.0:
                break
            force = compensation + share * (strongest_effort - compensation)
            trial_prediction = predict(force)
            if trial_prediction.deficit <= 0.0:
                self._granted_prediction = trial_prediction
                return force
            share *= 2.0
        return strongest_effort


def strongest_brake(d: Evaluation, dt: float) -> Array:
    """Return the strongest brake that the tank uses, (nv,): a third of the momentum per sample."""
    return d.g - (_BRAKE_SHARE / dt) * d.momentum


def _largest_share(a: float, b: float, budget: float) -> float:
    """Return the largest share s with ``s a + s^2 b / 2`` within the budget, J.

    Where a is negative, that is ``budget - a^2 / 2 b``, and the least work without one.
    """
    if not (b > 0.0 and np.isfinite(a + b)):
        return 0.0
    budget = max(budget, 0.0)
    if a < 0.0:
        return (-a + float(np.sqrt(2.0 * b * budget))) / b
    return 2.0 * budget / (a + float(np.sqrt(a * a + 2.0 * b * budget))) if budget > 0.0 else 0.0

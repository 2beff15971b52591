# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""What recorded efforts are: evidence from the momentum balances of the joints over windows.

Every reading of the efforts must beat the null hypothesis, friction and an offset alone, on time
that it was not fitted to.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ..arrays import Array
from ..energy.energy_path import momentum_rate
from ..energy.samples import LONGEST_LAG, MotionSamples, window_sums
from ..model import VMSModel

MEANINGS = {
    "torque": "joint efforts as they are",
    "opposite": "joint efforts with the opposite sign",
    "without_gravity": "joint efforts without what holds the weight",
    "scaled": "efforts times a gain for each joint (currents, motor side, another unit)",
}
"""What efforts may be, by the name of the option that says so."""

FOLDS = 5
"""Parts into which time is cut, each of which is left out of a fit in turn."""

BETTER_FIT = 0.7
"""Share of the error below which another meaning fits clearly better."""

_WINDOW = 0.1  # s
# Windows with this share of the squared residual, that are few and have little of the motion.
_BURST_SHARE, _MAX_BURST_WINDOWS, _MAX_BURST_MOTION, _MIN_WINDOWS = 0.85, 0.25, 0.5, 20
_MAX_CALM_ERROR = 0.15  # share of the required efforts that is left at all other times
_GAP_PERIODS, _SHORTEST_GAP = 5.0, 0.02  # periods, and s, without a sample that are a gap
# Of momentum balances, and of the inertia of a recording; and to which lags are found, s.
_MAX_SAMPLES, _CONFIGURATION_COUNT, _LEAST_LAG = 6000, 30, 1e-4
# Share of the error of the null hypothesis, or of the other sign, that a sign may leave.
_SIGN_SHARE = 0.4
_BEATS_NULL = 0.9  # share of the error of the null hypothesis below which it is beaten
_WORSE_THAN_NULL = 1.1  # share of the error of the null hypothesis above which it is better
# Gains within which an effort may be a torque: with a load efforts are larger than described.
_UNIT_GAINS = (0.2, 1.5)


@dataclass(frozen=True)
class EffortMeaning:
    """How well recorded efforts fit the model, by what they may be.

    Attributes:
        misfit: root mean square of what is left of the efforts, relative to the required ones, by
            meaning; as they are, and on held-out time with friction (viscous, Coulomb, offset)
            fitted for each joint.
        reading: the meaning with the smallest error, if it fits clearly better than ``torque`` and
            than the null hypothesis.
        null: the error of the null hypothesis, friction alone, relative to the required efforts.
        ratio: by meaning, (n,) the held-out error of each joint relative to that of the null
            hypothesis; NaN where no effort is recorded.
        gains: (n,) factor of each recorded effort that makes it the required one, with friction
            fitted; the errors are those of the efforts, so that they do not make it smaller.
        gain_errors: (n,) their standard errors.
        command_misfit: misfit if an effort acts until the next sample, relative to the misfit if it
            is a sample of a continuous signal; below one for commands.
        bursts: short times, from and to in s, in which forces acted that neither efforts nor
            friction are; the fits leave them out.
        errors: by meaning, (3,n): the root mean square of the efforts that motion and friction
            leave on held-out time, means over windows, N m; the spectral density of what changes
            from window to window, N^2 m^2 s; and the largest lag of the efforts, s.
    """

    misfit: dict[str, tuple[float, float]]
    reading: str
    null: float
    ratio: dict[str, Array]
    gains: Array
    gain_errors: Array
    command_misfit: float
    bursts: tuple[tuple[float, float], ...] = ()
    errors: Mapping[str, Array] = field(default_factory=dict)

    @property
    def burst_times(self) -> str:
        """The bursts in words, such as "3.9 to 4.9 s"."""
        return ", ".join(f"{begin:.1f} to {end:.1f} s" for begin, end in self.bursts)

    @property
    def beats_null(self) -> bool:
        """Whether some reading of some joint's effort beats the null hypothesis."""
        return any(bool(np.any(ratio < _BEATS_NULL)) for ratio in self.ratio.values())

    @property
    def unrelated_joints(self) -> npt.NDArray[np.bool_]:
        """Joints (n,) whose efforts no gain relates to the model, which contradicts them."""
        is_contradicted = self.ratio["torque"] > _WORSE_THAN_NULL
        return np.asarray(is_contradicted & (self.ratio["scaled"] > 0.5 * (1.0 + _BEATS_NULL)))

    @property
    def scaled(self) -> npt.NDArray[np.bool_]:
        """Joints (n,) whose efforts follow the model with a gain that is not one, surely."""
        abs_gain = np.abs(self.gains)
        limit = BETTER_FIT * np.minimum(self.ratio["torque"], 1.0)
        is_certain = (self.ratio["scaled"] < limit) & (self.gain_errors < 0.2 * abs_gain)
        return np.asarray(is_certain & ((abs_gain < _UNIT_GAINS[0]) | (abs_gain > _UNIT_GAINS[1])))

    def has_other_sign(self, reading: str) -> npt.NDArray[np.bool_]:
        """Return the joints (n,) whose efforts have surely not the sign of a reading.

        With the other sign they fit well, and then no effort contradicts the model: else it may be
        the sign of a position, or a zero.
        """
        other = {"torque": "opposite", "opposite": "torque"}.get(reading, reading)
        is_other = self.ratio[other] < _SIGN_SHARE * np.minimum(self.ratio[reading], 1.0)
        is_contradicted = np.where(is_other, False, self.ratio[reading] > _WORSE_THAN_NULL)
        return np.asarray(is_other & ~is_contradicted.any())


class Balances(NamedTuple):
    """Momentum balances of the joints over windows, each (W, n), N m s.

    Attributes:
        required: impulses that the motion requires, without friction.
        weight: the part of them that holds the weight.
        samples: recorded impulses, of samples of a continuous signal.
        commands: recorded impulses, of efforts that act until the next sample.
        friction: what viscous friction, Coulomb friction and an offset multiply.
        null: (n,) held-out error of the null hypothesis; zero where no effort is recorded.
        time: (W,) at which the windows begin, s.
    """

    required: Array
    weight: Array
    samples: Array
    commands: Array
    friction: tuple[Array, ...]
    null: Array
    time: Array

    def select(self, windows: npt.NDArray[np.bool_]) -> "Balances":
        """Return the balances over some windows, (W,)."""
        required, weight, samples, commands = (part[windows] for part in self[:4])
        friction = tuple(term[windows] for term in self.friction)
        null, time = held_out_error(samples, friction), self.time[windows]
        return Balances(required, weight, samples, commands, friction, null, time)

    def in_bursts(self) -> npt.NDArray[np.bool_]:
        """Return the windows (W,) with nearly all of what torques and friction leave.

        None, unless they are few and have little of the weight, of the acceleration and of the
        rates: else it may be an error of the model that the motion shows.
        """
        if len(self.time) < _MIN_WINDOWS:
            return np.zeros(len(self.time), dtype=bool)
        excess = self.samples - self.required
        size = (excess**2).sum(axis=1)
        is_calm = size <= np.quantile(size, 1.0 - _MAX_BURST_WINDOWS)  # a burst passes for friction
        fit = held_out_fits(excess[is_calm], [f[is_calm] for f in self.friction])[1].mean(axis=0)
        residual = excess - np.einsum("kwj,jk->wj", np.stack(self.friction), fit)
        squares, *motion_squares = (
            (x**2).sum(axis=1)
            for x in (residual, self.required, self.required - self.weight, self.friction[0])
        )
        order = np.argsort(-squares)
        count = 1 + int(np.searchsorted(np.cumsum(squares[order]), _BURST_SHARE * squares.sum()))
        is_burst = np.isin(np.arange(len(squares)), np.add.outer(order[:count], (-1, 0, 1)))
        shares = [float(x[is_burst].sum() / max(x.sum(), 1e-300)) for x in motion_squares]
        is_short = is_burst.mean() < _MAX_BURST_WINDOWS and max(shares) < _MAX_BURST_MOTION
        error = squares[~is_burst].sum() / max(motion_squares[0][~is_burst].sum(), 1e-300)
        return is_burst & is_short & (error < _MAX_CALM_ERROR**2)

    def log_error(self, required: Array) -> float:
        """Return the sum of logarithms of the held-out errors, relative to the null hypothesis.

        Args:
            required: (W, n) impulses, of this motion or another, with a gain for each joint.
        """
        error = held_out_error(self.samples, [required, *self.friction])
        error_ratio = np.clip(error / np.maximum(self.null, 1e-300), 0.02, 1.5)
        return float(np.log(error_ratio)[self.null > 0.0].sum())


def balances(model: VMSModel, t: Array, q: Array, v: Array, effort: Array) -> Balances:
    """Return momentum balances over windows, for the arguments of :func:`effort_meaning`."""
    b = model.b
    # The momenta at some samples; the impulses of the efforts are summed over all.
    indices = np.arange(0, len(t), -(-len(t) // _MAX_SAMPLES))
    durations = np.diff(t)[:, None]
    is_gap = durations > max(_GAP_PERIODS * float(np.median(durations)), _SHORTEST_GAP)
    samples, commands = (
        window_sums(force * durations, indices) for force in (_means(effort), effort[:-1])
    )
    t, q, v = t[indices], q[indices], v[indices]
    terms = model.evaluate_batch(q, v, terms=("momentum", "C", "g"))
    # Nothing is known of what happened in a gap, nor of the momentum that changed in it.
    is_known = window_sums(1.0 * is_gap, indices)[:, 0] == 0.0
    dt = np.diff(t)[:, None]
    window = ((t - t[0]) / _WINDOW).astype(int)
    edges = np.flatnonzero(np.diff(np.append(window[:-1][is_known], window[-1]), prepend=-1))
    rates = v[:, b:]
    required, weight, samples, commands, *friction = (
        window_sums(part[is_known], edges)
        for part in (
            np.diff(terms.momentum[:, b:], axis=0) - _means(momentum_rate(terms)[:, b:]) * dt,
            _means(terms.g[:, b:]) * dt,
            samples,
            commands,
            *(_means(f) * dt for f in (rates, np.tanh(rates / 0.01))),
            np.broadcast_to(dt, (len(dt), rates.shape[1])),
        )
    )
    null = held_out_error(samples, friction)
    time = t[:-1][is_known][edges[:-1]]
    return Balances(required, weight, samples, commands, tuple(friction), null, time)


def effort_meaning(
    model: VMSModel, t: Array, q: Array, v: Array, effort: Array, is_measured: npt.NDArray[np.bool_]
) -> EffortMeaning:
    """Return what recorded efforts may be.

    Args:
        model: the robot.
        t: (N,) s; what happened in gaps is left out.
        q: (N, nq).
        v: (N, nv).
        effort: (N, n) as recorded.
        is_measured: (n,) the joints whose efforts are recorded; the others are no evidence.
    """
    joint_balances = balances(model, t, q, v, effort)
    is_burst = joint_balances.in_bursts()
    edges = np.flatnonzero(np.diff(is_burst, prepend=False, append=False)).reshape(-1, 2)
    times = np.append(joint_balances.time, t[-1])
    bursts = tuple((float(times[a]), float(times[b])) for a, b in edges)
    joint_balances = joint_balances.select(~is_burst)
    required, weight, samples, commands = (part * is_measured for part in joint_balances[:4])
    friction, null = joint_balances.friction, joint_balances.null * is_measured
    scale = _norm(required) or 1.0
    readings = {"torque": required, "opposite": -required, "without_gravity": required - weight}
    null_error = np.where(is_measured, np.maximum(null, 1e-9 * scale), np.nan)
    errors = {name: held_out_error(samples - r, friction) for name, r in readings.items()}
    ratio: dict[str, Array] = {name: error / null_error for name, error in errors.items()}
    misfit = {
        name: (_norm(samples - impulse) / scale, _norm(errors[name]) / scale)
        for name, impulse in readings.items()
    }
    # Joints that some reading explains; the others would decide by how much they contradict all.
    contrast = np.min([*ratio.values()], axis=0) < _BEATS_NULL
    pooled_errors = {
        name: _norm(r[contrast]) / max(np.sqrt(contrast.sum()), 1.0) for name, r in ratio.items()
    }
    best = min(pooled_errors, key=lambda name: pooled_errors[name])
    if pooled_errors[best] > BETTER_FIT * min(pooled_errors["torque"], 1.0):
        best = "torque"
    squares, fits = held_out_fits(samples, [required, *friction])
    errors["scaled"] = np.sqrt(squares.sum(axis=0))
    ratio["scaled"] = errors["scaled"] / null_error
    mean_fit = fits.mean(axis=0)
    residual = samples - np.einsum("kwj,jk->wj", np.stack([required, *friction]), mean_fit)
    is_fitted = mean_fit[:, 0] != 0.0
    gains = np.divide(1.0, mean_fit[:, 0], out=np.ones(model.n), where=is_fitted)
    # A jackknife: errors of the model persist, which white residuals do not show.
    fit_deviation = np.sqrt((FOLDS - 1.0) * np.var(fits[:, :, 0], axis=0))
    deviations = np.where(is_fitted, fit_deviation * gains**2, np.inf)
    misfit["scaled"] = (_norm(residual) / scale, _norm(errors["scaled"]) / scale)
    command_error = _norm(held_out_error(required - commands, friction))
    sample_error = _norm(held_out_error(required - samples, friction)) or 1.0
    rests = {n: _errors(samples, samples - r, friction, errors[n]) for n, r in readings.items()}
    details = ratio, gains, deviations, command_error / sample_error, bursts, rests
    meaning = EffortMeaning(misfit, best, _norm(null) / scale, *details)
    is_explained = (meaning.ratio[best] < _BEATS_NULL) & ~meaning.scaled
    is_better = meaning.scaled & (meaning.ratio["scaled"] < BETTER_FIT * meaning.ratio[best])
    return replace(meaning, reading="scaled") if is_better.sum() > is_explained.sum() else meaning


def _errors(sampled: Array, target: Array, friction: Sequence[Array], error: Array) -> Array:
    """Return errors of efforts, see :class:`EffortMeaning`, of impulses and what is left, (W,n)."""
    # An offset adds up over the durations of the windows.
    residual = error / np.maximum(np.sqrt((friction[2] ** 2).sum(axis=0)), 1e-300)
    duration = max(float(friction[2][:, :1].sum()), 1e-300) / max(len(target), 1)
    changes = np.zeros_like(sampled)
    changes[1:-1] = 0.5 * (sampled[2:] - sampled[:-2]) / duration
    terms = [changes, sampled - target, *friction]
    fits = held_out_fits(target, terms)[1]
    remainder = target - np.einsum("kwj,jk->wj", np.stack(terms), fits.mean(axis=0))
    # Those of noise have six times its variance; errors of the model change less.
    variance = (np.diff(remainder, 2, axis=0) ** 2).sum(axis=0) / (6.0 * max(len(remainder) - 2, 1))
    lags, deviations = fits[:, :, 0].mean(axis=0), np.sqrt((FOLDS - 1.0) * np.var(fits[:, :, 0], 0))
    # Most lags are those of all efforts, and of some joints they look like friction.
    fit_weights = (friction[0] ** 2).sum(axis=0) / (deviations**2 + _LEAST_LAG**2)
    common_lag = np.abs(lags @ fit_weights) / max(float(fit_weights.sum()), 1e-300)
    lag = np.minimum(np.maximum(np.abs(lags) + 2.0 * deviations, common_lag), LONGEST_LAG)
    return np.stack([residual, variance / duration, lag])


def hidden_power(model: VMSModel, samples: MotionSamples, misfit: Array, armature: Array) -> float:
    """Return a bound of the power of vibrations that are too fast for the samples, W.

    All that motion and friction leave of the efforts may be such a vibration, seen at another
    frequency. At half the sampling rate or faster it moves the inertia of the joints by so little.

    Args:
        model: the robot.
        samples: of which some configurations have that inertia.
        misfit: (n,) root mean square of what is left of the efforts, N m or N.
        armature: (n,) that the description lacks, kg m^2 or kg.
    """
    sample_subset = samples.select(slice(None, None, 1 + len(samples) // _CONFIGURATION_COUNT))
    rotor_inertia = np.diag(np.pad(armature, (model.b, 0)))
    M = model.evaluate_batch(sample_subset.q, sample_subset.v, terms=("M",)).M + rotor_inertia
    mobility = np.diagonal(np.linalg.inv(M), axis1=1, axis2=2).mean(axis=0)[model.b :]
    return float(misfit**2 @ mobility * np.median(np.diff(samples.t)) / np.pi)


def saturation(joints: Sequence[str], effort: Array) -> dict[str, float]:
    """Return, of joints that are saturated, the share of samples (N, n) at the largest effort."""
    shares = {}
    for joint, magnitudes in zip(joints, np.abs(effort).T, strict=True):
        largest = float(magnitudes.max(initial=0.0))
        share = float(np.mean(magnitudes >= (1.0 - 1e-9) * largest)) if largest > 0.0 else 0.0
        if 0.01 < share < 1.0:  # an effort that never changes is no limit
            shares[joint] = share
    return shares


def held_out_error(target: Array, terms: Sequence[Array]) -> Array:
    """Return the size of each column's error, (n,...), where each part of time is left out in turn.

    Args:
        target: (W, n), or (W, n, L) for L targets of each column.
        terms: of (W, n), fitted to each column by least squares.
    """
    return np.asarray(np.sqrt(held_out_fits(target, terms)[0].sum(axis=0)))


def held_out_fits(target: Array, terms: Sequence[Array]) -> tuple[Array, Array]:
    """Return the squared errors of the parts of time, (FOLDS,n,...), and fits without each part.

    Args:
        target: as of :func:`held_out_error`.
        terms: likewise; the fits (FOLDS,n,terms,...) are their factors.
    """
    design, tail_shape = np.stack(terms, axis=-1), target.shape[2:]
    column_norms = np.sqrt((design**2).sum(axis=0))
    column_norms[column_norms == 0.0] = 1.0
    n, row_ids = design.shape[1], np.arange(len(design))
    fold = row_ids * FOLDS // max(len(design), 1)
    row_in_fold = row_ids - np.searchsorted(fold, fold)
    flat_target = target.reshape(*design.shape[:2], int(np.prod(tail_shape)))
    targets = np.zeros((FOLDS, -(-len(design) // FOLDS), n, len(terms) + flat_target.shape[2]))
    targets[fold, row_in_fold] = np.concatenate([design / column_norms, flat_target], axis=2)
    design, targets = np.split(targets.swapaxes(1, 2), [len(terms)], axis=3)
    train = 1.0 - np.eye(FOLDS)
    gram, rhs = (np.tensordot(train, design.swapaxes(2, 3) @ side, 1) for side in (design, targets))
    # What a part does not excite must not be extrapolated.
    fits = np.linalg.solve(gram + 1e-10 * np.eye(len(terms)), rhs)
    squares, fits = ((targets - design @ fits) ** 2).sum(axis=2), fits / column_norms[..., None]
    return squares.reshape(FOLDS, n, *tail_shape), fits.reshape(FOLDS, n, len(terms), *tail_shape)


def _means(x: Array) -> Array:
    return np.asarray(0.5 * (x[1:] + x[:-1]))


def _norm(x: Array) -> float:
    return float(np.sqrt((x**2).sum()))

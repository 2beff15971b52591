# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""A recorded motion of a robot as arrays: what an audit and an identification start from."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from ..arrays import Array, frozen
from ..errors import StateError
from ..model import VMSModel


@dataclass(frozen=True)
class MotionSamples:
    """Samples of a motion, in the order of time, in the coordinates of a model.

    Attributes:
        t: times, (N,), s, strictly increasing.
        q: configurations, (N, nq), as the model has them.
        v: velocities, (N, nv): base twist in the base frame, joint rates.
        torque: joint efforts that the actuators deliver, (N, n), N m or N; of the model's joints
            in their order.
        wrenches: external wrenches by port, each (N, 6), linear first, in the frame of the port:
            ``base`` in the base frame, a tool frame in its own.
        zero_order_hold: whether an effort and a wrench are constant from their sample to the next
            (commands), or are samples of a continuous signal (measurements).
        motors: (n, n) that gives the rates of motors from those of the joints, where one motor
            moves several; None: each moves its own.

    Raises:
        StateError: the arrays do not have one row for each time, or the times do not increase.
    """

    t: Array
    q: Array
    v: Array
    torque: Array
    wrenches: Mapping[str, Array] = field(default_factory=dict)
    zero_order_hold: bool = False
    motors: Array | None = None

    def __post_init__(self) -> None:
        arrays = {"q": self.q, "v": self.v, "torque": self.torque, **self.wrenches}
        for name, array in arrays.items():
            if array.ndim != 2 or array.shape[0] != self.t.size:
                text = f"{name} must have one row for each of the {self.t.size} times; "
                text += f"given: shape {array.shape}"
                raise StateError(text)
        if self.t.ndim != 1 or not bool(np.all(np.diff(self.t) > 0.0)):
            raise StateError("the times t must be one vector that strictly increases")
        for array in (self.t, *arrays.values()):
            frozen(array)

    def __len__(self) -> int:
        return int(self.t.size)

    @property
    def duration(self) -> float:
        """Time from the first to the last sample, s."""
        return float(self.t[-1] - self.t[0]) if self.t.size else 0.0

    def select(self, selection: Any) -> "MotionSamples":
        """Return some of the samples, by a mask (N,) or by their indices."""
        arrays = {name: getattr(self, name)[selection] for name in ("t", "q", "v", "torque")}
        wrenches = {port: wrench[selection] for port, wrench in self.wrenches.items()}
        return replace(self, wrenches=wrenches, **arrays)


# The third difference of white noise has 20 times its variance (1 + 9 + 9 + 1).
_THIRD_DIFFERENCE = np.sqrt(20.0)

# The median of |x| of a normal variable, relative to its standard deviation.
_NORMAL_MEDIAN = 0.6744897501960817


def white_noise(x: Array) -> Array:
    """Return the standard deviation of the noise in each column, (columns,).

    Third differences remove what is smooth from sample to sample; their median does not see jumps.
    A signal in steps has at least the noise of its quantisation.

    Args:
        x: (N, columns) samples at a nearly constant rate.
    """
    if len(x) < 8:
        return np.zeros(x.shape[1])
    third_differences = np.abs(np.diff(x, 3, axis=0))
    deviation = np.median(third_differences, axis=0) / (_NORMAL_MEDIAN * _THIRD_DIFFERENCE)
    return np.asarray(np.maximum(deviation, quantisation(x) / np.sqrt(12.0)))


def quantisation(x: Array) -> Array:
    """Return the step of quantisation of each column, (columns,); zero where there is none seen.

    A column counts as quantised if it repeats a sample now and then while it changes, and all its
    changes are multiples of the least one.
    """
    steps = np.zeros(x.shape[1])
    for j in range(x.shape[1]):
        differences = np.abs(np.diff(x[:, j]))
        changes = differences[differences > 0.0]
        if changes.size < 20 or changes.size == differences.size:
            continue
        least_change = float(changes.min())
        if least_change < 1e-12 * float(changes.max()):
            continue
        multiples = changes / least_change
        if np.mean(np.abs(multiples - np.round(multiples)) < 0.05) > 0.95:
            steps[j] = least_change
    return steps


@dataclass(frozen=True)
class SampleNoise:
    """Standard deviations of the white noise of samples.

    Attributes:
        position: (nv,) of the configuration, in tangent coordinates.
        velocity: (nv,).
        effort: (n,).
    """

    position: Array
    velocity: Array
    effort: Array


HALF_WIDTHS = (3, 6, 12, 24)
"""Half widths, in samples, among which cross-validation chooses."""


def displacements(model: VMSModel, q: Array) -> Array:
    """Return the displacements between samples, (N-1,nv), in the coordinates of the velocity.

    The work of a generalised force over a sample is its mean times the step, whatever the clock
    says: neither times nor velocities enter.
    """
    if model.nq == model.n:  # a fixed base without joints that turn on for ever
        return np.diff(q, axis=0)
    return np.array([model.difference(a, b) for a, b in pairwise(q)]).reshape(len(q) - 1, model.nv)


def window_sums(x: Array, edges: npt.NDArray[Any]) -> Array:
    """Return the sums of rows (N,...) from each of some increasing indices to the next."""
    return np.asarray(np.add.reduceat(x[: edges[-1]], edges[:-1], axis=0))


def smoothed_velocity(
    t: Array, positions: Array, widths: tuple[int, ...] = HALF_WIDTHS
) -> tuple[Array, Array]:
    """Return velocities from positions alone, by local cubics, and their standard deviations.

    Around every sample a cubic is fitted to the samples within a half width, which is chosen for
    each column by leave-one-out cross-validation.

    Args:
        t: (N,) s, increasing.
        positions: (N,k), such as accumulated steps.
        widths: half widths in samples to choose from.

    Returns:
        Velocities (N,k) and standard deviations (N,k) due to the noise of the positions.
    """
    count, columns = positions.shape
    velocity, deviation = np.zeros((count, columns)), np.zeros((count, columns))
    best_score = np.full(columns, np.inf)
    usable_widths = [w for w in widths if 2 * w + 1 <= count] or [max(1, (count - 1) // 2)]
    for width in usable_widths if count > 1 else ():
        cubic_fit, slope, leverage, slope_variance = _local_cubic(t, positions, width)
        cross_validation_error = (positions - cubic_fit) / np.maximum(1.0 - leverage, 0.05)[:, None]
        score = np.mean(cross_validation_error**2, axis=0)
        # A slope needs wider windows than a value: the widest that is nearly as good.
        is_chosen = score <= 1.3 * best_score
        best_score = np.minimum(best_score, score)
        noise = np.mean((positions - cubic_fit) ** 2, axis=0) / max(1.0 - np.mean(leverage), 0.05)
        velocity[:, is_chosen] = slope[:, is_chosen]
        deviation[:, is_chosen] = np.sqrt(slope_variance[:, None] * noise)[:, is_chosen]
    return velocity, deviation


def smooth(
    t: Array, values: Array, width: int, indices: npt.NDArray[np.intp] | None = None
) -> tuple[Array, Array]:
    """Return values (M,k) and their slopes (M,k) by local cubics of a half width in samples.

    Args:
        t: (N,) s, increasing.
        values: (N,k).
        width: half the number of samples of a cubic.
        indices: (M,) indices of the samples at which they are wanted; None: at all.
    """
    width = min(width, max(1, (len(t) - 1) // 2))
    return _local_cubic(t, values, width, indices)[:2]


def _local_cubic(
    t: Array, x: Array, width: int, rows: npt.NDArray[np.intp] | None = None
) -> tuple[Array, Array, Array, Array]:
    """Return value and slope (M,k), and the leverage and the variance factor of the slope (M,)."""
    count = len(t)
    order, rows, dt = min(3, count - 1), np.arange(count) if rows is None else rows, np.diff(t)
    if count <= 8 * width or np.ptp(dt) >= 1e-3 * dt.mean():
        return _cubic_windows(t, x, width, order, rows)
    # Of even times all inner windows have the same weights, and those at an end the same samples.
    scale = width * float(t[-1] - t[0]) / (count - 1)
    abscissa = np.arange(-width, width + 1) / width
    powers = abscissa[:, None] ** np.arange(4)
    inverse = np.linalg.inv(powers.T @ powers)
    weights = inverse @ powers.T
    derivatives = np.hstack([np.zeros((len(abscissa), 1)), powers[:, :3] * (1.0, 2.0, 3.0)])
    fits = powers @ weights, derivatives @ weights
    size = 1 << (count + 2 * width).bit_length()
    spectrum = np.fft.rfft(x - x[:1], size, axis=0)
    columns = []
    for kernel, fit, offset in ((weights[0], fits[0], x[:1]), (weights[1], fits[1], 0.0)):
        interior = np.fft.irfft(spectrum * np.fft.rfft(kernel[::-1], size)[:, None], size, axis=0)
        ends = (fit[:width] @ (x[: 2 * width + 1] - x[:1]),
                fit[width + 1 :] @ (x[count - 2 * width - 1 :] - x[:1]))  # fmt: skip
        columns.append(np.concatenate([ends[0], interior[2 * width : count], ends[1]]) + offset)
    leverage = np.einsum("ij,jk,ik->i", powers, inverse, powers)
    slope_variance = np.einsum("ij,jk,ik->i", derivatives, inverse, derivatives) / scale**2
    window_row = np.clip(np.arange(count), 0, width)
    window_row[count - width :] = np.arange(width + 1, 2 * width + 1)
    row = window_row[rows]
    return columns[0][rows], columns[1][rows] / scale, leverage[row], slope_variance[row]


def _cubic_windows(
    t: Array, x: Array, width: int, order: int, indices: npt.NDArray[np.intp]
) -> tuple[Array, Array, Array, Array]:
    window = np.arange(-width, width + 1)
    scale = max(width * float(np.median(np.diff(t))), 1e-12)
    fits_of_rows = []
    for rows in np.array_split(indices, -(-indices.size * window.size // _CUBIC_SAMPLES)):
        # At the ends the window keeps its samples inside the recording.
        index = np.clip(rows, width, len(t) - 1 - width)[:, None] + window
        powers = np.vander(((t[index] - t[rows, None]) / scale).ravel(), order + 1, increasing=True)
        powers = powers.reshape(*index.shape, order + 1)
        powers_transposed = powers.swapaxes(1, 2)
        inverse = np.linalg.inv(powers_transposed @ powers + 1e-12 * np.eye(order + 1))
        fit = inverse @ (powers_transposed @ (x[index] - x[rows, None]))
        fits_of_rows.append((x[rows] + fit[:, 0], fit[:, 1], inverse[:, 0, 0], inverse[:, 1, 1]))
    value, slope, leverage, variance = map(np.concatenate, zip(*fits_of_rows, strict=True))
    return value, slope / scale, leverage, variance / scale**2


_CUBIC_SAMPLES = 100_000  # of the windows that are fitted at once, for the memory
_CLOCK_PARTS = 10  # of a motion, in most of which another clock must fit better
_MIN_SPEED_SHARE = 0.2  # share of the largest speed above which a step tells its duration


@dataclass(frozen=True)
class Clock:
    """The times at which the samples of a recording were taken.

    Attributes:
        t: (N,) s; equal for samples that were written twice.
        source: ``"stamps"`` as recorded, ``"uniform"``, or ``"motion"``: multiples of a period that
            the positions and velocities give away.
        period: s, of the uniform times or of the motion; 0 for stamps.
        jitter: standard deviation of the stamps from these times, but for a stretch, s.
    """

    t: Array
    source: str
    period: float
    jitter: float


def clock_of(stamps: Array, steps: Array, v: Array) -> Clock:
    """Return the clock of samples with positions and velocities.

    Args:
        stamps: (N,) recorded times, s.
        steps: (N-1,k) displacements between samples, as of :func:`.displacements`.
        v: (N,k) recorded velocities, NaN where there is none.
    """
    mean_velocity, intervals = 0.5 * (v[1:] + v[:-1]), np.diff(stamps)
    is_same = ~np.any(steps != 0.0, axis=1)
    steps, mean_velocity = (
        np.where(np.isnan(mean_velocity), 0.0, x) for x in (steps, mean_velocity)
    )
    speed = np.sqrt((mean_velocity**2).sum(axis=1))
    is_moving = speed > _MIN_SPEED_SHARE * speed.max(initial=0.0)
    mean_interval = float(np.mean(intervals))
    candidates = {"stamps": intervals, "uniform": np.full(intervals.size, mean_interval)}
    period = 0.0
    if np.count_nonzero(is_moving) > 20:
        step_durations = (steps * mean_velocity).sum(axis=1) / np.where(is_moving, speed**2, 1.0)
        period = _period(step_durations[is_moving])
    if period > 0.0:
        # Where the robot hardly moves only the stamps tell how many periods have passed. Only where
        # it moves and a sample is that before does its time repeat.
        periods = np.rint(np.where(is_moving, step_durations, intervals) / period)
        periods = np.maximum(periods, np.where(is_moving, 1.0, 0.0))
        candidates["motion"] = np.where(is_same & is_moving, 0.0, periods) * period
    # Root mean square of the difference between the steps of the positions and the velocities times
    # the durations, by source, in the median part of the motion; the smallest decides.
    parts = np.array_split(np.flatnonzero(is_moving), min(_CLOCK_PARTS, is_moving.sum()) or 1)
    mismatch = dict.fromkeys(candidates, 0.0)
    for name, dt in candidates.items() if is_moving.any() else ():
        error = np.sum((steps - mean_velocity * dt[:, None]) ** 2, axis=1)
        mismatch[name] = float(np.sqrt(np.median([np.mean(error[part]) for part in parts])))
    source = min(mismatch, key=lambda name: mismatch[name])
    # Another clock must explain the motion clearly better than the recorded one.
    if mismatch[source] > 0.7 * mismatch["stamps"]:
        source = "stamps"
    t = np.concatenate([[0.0], np.cumsum(candidates[source])]) + stamps[0]
    period = {"stamps": 0.0, "uniform": mean_interval, "motion": period}[source]
    # What was sampled evenly was stamped with the deviations from even times. A period that is a
    # little longer is none.
    x, y = t - t.mean(), stamps - stamps.mean()
    return Clock(t, source, period, float(np.std(y - (x @ y) / max(x @ x, 1e-300) * x)))


LONGEST_LAG = 0.25
"""Lags up to this are looked for, s."""

_LAG_STEP = 0.005  # s, of the search before it is refined


def velocity_lag(t: Array, positions: Array, v: Array, largest_lag: float = LONGEST_LAG) -> float:
    """Return by how much recorded velocities lag the positions, s; negative if they lead.

    The lag minimises the distance between the velocities and the slope of the positions; it is the
    median over the columns, weighted by their accelerations. NaN: the search ended at its bound.

    Args:
        t: (N,) increasing, s.
        positions: (N,k), such as accumulated steps.
        v: (N,k), NaN where it is not known.
        largest_lag: lags up to this are looked for, s.
    """
    position_slopes = smooth(t, positions, 10)[1]
    acceleration = smooth(t, position_slopes, 5)[1]
    excitation = np.sum(acceleration**2, axis=0)
    if not np.max(excitation, initial=0.0) > 0.0:
        return 0.0
    largest_lag = min(largest_lag, 0.25 * float(t[-1] - t[0]))
    lag_count = int(largest_lag / _LAG_STEP)
    thinning = slice(None, None, max(1, len(t) // 3000))
    misfits = [
        _misfit(t[thinning], position_slopes[thinning], v[thinning], lag, largest_lag)
        for lag in _LAG_STEP * np.arange(-lag_count, lag_count + 1)
    ]
    lag = _LAG_STEP * (int(np.argmin(misfits)) - lag_count)
    if lag_count and abs(lag) >= _LAG_STEP * lag_count:
        return float("nan")
    for _ in range(8):
        shifted_slope = np.stack([np.interp(t - lag, t, x) for x in position_slopes.T], axis=1)
        shifted_rate = np.stack([np.interp(t - lag, t, x) for x in acceleration.T], axis=1)
        is_inside = (t - lag > t[0]) & (t - lag < t[-1])
        error = (v - shifted_slope)[is_inside]
        shifted_rate = np.where(np.isnan(error), 0.0, shifted_rate[is_inside])
        weights = np.sum(shifted_rate**2, axis=0)
        is_excited = weights > 1e-6 * np.max(excitation, initial=0.0)
        if not is_excited.any():
            return 0.0
        lag_corrections = -np.nansum(error * shifted_rate, axis=0)[is_excited] / weights[is_excited]
        step = _weighted_median(lag_corrections, weights[is_excited])
        lag += step
        if abs(lag) >= largest_lag:
            return float("nan")
        if abs(step) < 1e-6:
            break
    return lag


def _misfit(t: Array, slope: Array, v: Array, lag: float, largest_lag: float) -> float:
    is_inner = (t > t[0] + largest_lag) & (t < t[-1] - largest_lag)
    pairs = zip(slope.T, v.T, strict=True)
    return sum(
        float(np.nansum((np.interp(t[is_inner] - lag, t, s) - u[is_inner]) ** 2)) for s, u in pairs
    )


def _weighted_median(x: Array, weights: Array) -> float:
    indices = np.argsort(x)
    cumulative = np.cumsum(weights[indices])
    return float(x[indices][np.searchsorted(cumulative, 0.5 * cumulative[-1])])


def _period(durations: Array) -> float:
    """Return the period of which durations are multiples, s; 0 if they are none's."""
    period = float(np.median(durations))
    if period <= 0.0:
        return 0.0
    for _ in range(5):
        multiples = np.rint(durations / period)
        valid = (multiples >= 1) & (multiples <= 5) & (np.abs(durations / period - multiples) < 0.2)
        if not valid.any():
            return 0.0
        period = float(np.median(durations[valid] / multiples[valid]))
    remainder = np.abs(durations / period - np.rint(durations / period))
    return period if np.mean(remainder < 0.1) > 0.9 else 0.0

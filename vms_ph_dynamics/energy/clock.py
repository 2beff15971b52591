# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""What a motion itself tells of the clock and the lag of a recording."""

from dataclasses import dataclass

import numpy as np

from ..arrays import Array
from .path import smoothed

_MOVING = 0.2  # share of the largest speed above which a step tells its duration


@dataclass(frozen=True)
class Clock:
    """The times at which the samples of a recording were taken.

    Attributes:
        t: (N,) s; equal for samples that were written twice.
        source: ``"stamps"`` as recorded, ``"uniform"``, or ``"motion"``: multiples of a period that
            the positions and velocities give away.
        period: s, of the uniform times or of the motion; 0 for stamps.
        jitter: standard deviation of the stamps from these times, s.
        largest: largest deviation of a stamp, s.
        repeated: number of samples that repeat the one before.
        mismatch: root mean square of the difference between the steps of the positions and the
            velocities times the durations, by source; the smallest decides.
    """

    t: Array
    source: str
    period: float
    jitter: float
    largest: float
    repeated: int
    mismatch: dict[str, float]


def clock_of(stamps: Array, steps: Array, v: Array) -> Clock:
    """Return the clock of samples with positions and velocities.

    Args:
        stamps: (N,) recorded times, s.
        steps: (N-1,k) displacements between samples, as of :func:`.steps`.
        v: (N,k) recorded velocities.
    """
    mean, given = 0.5 * (v[1:] + v[:-1]), np.diff(stamps)
    speed = np.sqrt((mean**2).sum(axis=1))
    moving = speed > _MOVING * speed.max(initial=0.0)
    still = ~np.any(steps != 0.0, axis=1)
    candidates = {"stamps": given, "uniform": np.full(given.size, float(np.mean(given)))}
    period = 0.0
    if np.count_nonzero(moving) > 20:
        advance = (steps * mean).sum(axis=1) / np.where(moving, speed**2, 1.0)
        period = _period(advance[moving])
    if period > 0.0:
        # Where the robot hardly moves only the stamps tell how many periods have passed.
        whole = np.rint(np.where(moving, advance, given) / period)
        candidates["motion"] = np.maximum(np.where(still & moving, 0.0, whole), 0.0) * period
    mismatch = {
        name: float(np.sqrt(np.mean(((steps - mean * dt[:, None]) ** 2)[moving])))
        if moving.any()
        else 0.0
        for name, dt in candidates.items()
    }
    source = min(mismatch, key=lambda name: mismatch[name])
    # Another clock must explain the motion clearly better than the recorded one.
    if mismatch[source] > 0.7 * mismatch["stamps"]:
        source = "stamps"
    t = np.concatenate([[0.0], np.cumsum(candidates[source])]) + stamps[0]
    deviation = stamps - t
    deviation = deviation - np.median(deviation)
    used = {"stamps": 0.0, "uniform": float(np.mean(given)), "motion": period}[source]
    repeated = int(np.count_nonzero(still & moving))
    # What was sampled evenly was stamped with the deviations from even times.
    return Clock(
        t, source, used, float(deviation.std()), float(np.abs(deviation).max()), repeated, mismatch
    )


def velocity_lag(t: Array, positions: Array, v: Array, largest: float = 0.05) -> float:
    """Return by how much recorded velocities lag the positions, s; negative if they lead.

    The lag minimises the distance between the velocities and the slope of the positions; it is the
    median over the columns, weighted by their accelerations.

    Args:
        t: (N,) increasing, s.
        positions: (N,k), such as accumulated steps.
        v: (N,k).
        largest: lags up to this are looked for, s.
    """
    slope = smoothed(t, positions, 10)[1]
    acceleration = smoothed(t, slope, 5)[1]
    excited = np.sum(acceleration**2, axis=0)
    lag = 0.0
    for _ in range(8):
        shifted = np.stack([np.interp(t - lag, t, x) for x in slope.T], axis=1)
        rate = np.stack([np.interp(t - lag, t, x) for x in acceleration.T], axis=1)
        inner = (t - lag > t[0]) & (t - lag < t[-1])
        error = (v - shifted)[inner]
        rate = rate[inner]
        power = np.sum(rate**2, axis=0)
        useful = power > 1e-6 * excited.max(initial=0.0)
        if not useful.any() or not excited.max(initial=0.0) > 0.0:
            return 0.0
        change = -np.sum(error * rate, axis=0)[useful] / power[useful]
        step = _weighted_median(change, power[useful])
        lag = float(np.clip(lag + step, -largest, largest))
        if abs(step) < 1e-6:
            break
    return lag


def _weighted_median(x: Array, weights: Array) -> float:
    order = np.argsort(x)
    total = np.cumsum(weights[order])
    return float(x[order][np.searchsorted(total, 0.5 * total[-1])])


def _period(advance: Array) -> float:
    """Return the period of which durations are multiples, s; 0 if they are none's."""
    period = float(np.median(advance))
    if period <= 0.0:
        return 0.0
    for _ in range(5):
        whole = np.rint(advance / period)
        near = (whole >= 1) & (whole <= 5) & (np.abs(advance / period - whole) < 0.2)
        if not near.any():
            return 0.0
        period = float(np.median(advance[near] / whole[near]))
    off = np.abs(advance / period - np.rint(advance / period))
    return period if np.mean(off < 0.1) > 0.9 else 0.0

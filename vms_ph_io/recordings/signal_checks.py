# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Whether recorded signals are in SI units, and velocities those of the positions, and when."""

from dataclasses import dataclass

import numpy as np

from vms_ph_dynamics import Array, VMSModel
from vms_ph_dynamics.energy.samples import smoothed_velocity, velocity_lag

from .column_map import UNITS
from .recording import RecordingError

STANDSTILL = 1e-3
"""Root mean square of the velocity of a joint that does not move, rad/s or m/s."""

MARGIN = 64
"""Further samples at either side of those that are smoothed or shifted."""

_HALF_WINDOW = 0.025  # s before and after a sample, over which positions are smoothed
_MIN_SAMPLES = 64  # samples from which a lag is found
_MAX_MISFIT_SHARE = 0.8  # share of the misfit that a shift must leave at most

_ALTERNATION = 0.01  # rad or m, between samples
_LIMIT_RATIO = 3.0  # times its limits, where the positions of a joint are in another unit
_NO_UNIT_RATIO = 30.0  # times its limits, where they are in no SI unit
_MIN_RATE = 2.0  # Hz, below which times may be in another unit
_MAX_RATE = 20_000.0  # Hz, of recordings
_USUAL_SPEEDS = (0.05, 20.0)  # rad/s or m/s, of joints
_TIME_UNITS = {1e3: "ms", 1e6: "us", 1e9: "ns"}


def check_units(model: VMSModel, t: Array, position: Array, velocity: Array) -> None:
    """Refuse degrees and times that are not seconds, each only where two signs of it agree.

    Args:
        model: the robot.
        t: (N,) s.
        position: (N, n) as recorded.
        velocity: (N, n) likewise, NaN or zero where there is none.

    Raises:
        RecordingError: positions alternate between two motions, are within the limits as degrees
            only, or far beyond them; or the rate is low, and in another unit of time the recorded
            velocities are the slopes of the positions or, without velocities, rate and speeds are
            usual.
    """
    steps = [np.abs(position[k:] - position[:-k])[: len(t) - 2] for k in (1, 2)]
    single_step, double_step = (float(np.median(step.max(axis=1, initial=0.0))) for step in steps)
    if single_step > max(_ALTERNATION, 5.0 * double_step):
        raise RecordingError(
            "the positions alternate between two motions from sample to sample, as if two robots "
            "with the same names of joints were on one topic: record each on its own"
        )
    joints = model.joints
    limit = np.maximum(np.abs(joints.lower), np.abs(joints.upper))
    is_bounded = np.isfinite(limit) & ~np.array(joints.prismatic, dtype=bool)
    reach = np.abs(position).max(axis=0)
    is_beyond = is_bounded & (reach > _LIMIT_RATIO * limit)
    if is_beyond.any() and np.all(np.deg2rad(reach[is_bounded]) < 1.1 * limit[is_bounded]):
        j = int(np.argmax(np.where(is_beyond, reach / np.where(is_bounded, limit, 1.0), 0.0)))
        raise RecordingError(
            f"the positions of {joints.names[j]} reach {reach[j]:.4g}, its limits are "
            f"{joints.lower[j]:.4g} and {joints.upper[j]:.4g} rad: they look like degrees; "
            "give position the unit deg, and velocity deg/s, in a column map; of a bag that of "
            "its CSV: vms-ph bag export BAG FILE.csv --topics /joint_states"
        )
    limit_ratio = np.divide(reach, limit, out=np.zeros(len(limit)), where=limit > 0.0)
    if (j := int(np.argmax(limit_ratio))) in np.flatnonzero(limit_ratio > _NO_UNIT_RATIO):
        raise RecordingError(
            f"the positions of {joints.names[j]} reach {reach[j]:.4g}, its limits are "
            f"{joints.lower[j]:.4g} and {joints.upper[j]:.4g}: they are in no SI unit (mm, "
            "counts of an encoder?); give position its unit or gain in a column map"
        )
    rate = 1.0 / float(np.median(np.diff(t)))
    slope = np.gradient(position, t, axis=0)
    slope_squares = float((slope**2).sum())
    factor = float((slope * velocity).sum()) / slope_squares if slope_squares > 0.0 else 0.0
    is_scaled = float(((velocity - factor * slope) ** 2).sum()) < 0.1 * float((velocity**2).sum())
    has_velocities = bool(np.nan_to_num(velocity).any())
    speed = float(np.percentile(np.abs(slope), 99)) if slope.size else 0.0
    for unit, name in _TIME_UNITS.items():
        is_usual = rate * unit < _MAX_RATE and _USUAL_SPEEDS[0] < speed * unit < _USUAL_SPEEDS[1]
        is_unit = is_scaled and 0.8 < factor / unit < 1.25 if has_velocities else is_usual
        if rate < _MIN_RATE and is_unit:
            clue = f"its velocities are {unit:g} times the slopes of the positions"
            clue = clue if has_velocities else f"its joints move with {speed:.2g} rad/s or m/s"
            raise RecordingError(
                f"by its times the recording has {rate:.3g} Hz, and {clue}: the times look like "
                f"{name}; give time the unit {name} in a column map"
            )


def configuration(model: VMSModel, position: Array) -> Array:
    """Return the joints' part of configurations, of angles and lengths (N, n)."""
    columns: list[Array] = []
    for angle in position.T:
        is_continuous = model.is_continuous(model.nq_base + len(columns))
        columns += [np.cos(angle), np.sin(angle)] if is_continuous else [angle]
    return np.array(columns).T.reshape(len(position), -1)


def slopes(rate: float, t: Array, position: Array) -> tuple[Array, Array]:
    """Return velocities of positions (N, k) by local cubics, and their standard deviations.

    Args:
        rate: Hz, of the samples.
        t: (N,) s.
        position: (N, k).
    """
    half_width = int(np.clip(round(_HALF_WINDOW * rate), 3, MARGIN // 2))
    return smoothed_velocity(t, position, (half_width,))


@dataclass(frozen=True)
class VelocityDefect:
    """Why a velocity is not taken as it is, and its factor where it is one of scale (else one)."""

    reason: str
    factor: float = 1.0


def velocity_defects(
    rate: float, t: Array, position: Array, recorded_velocity: Array, has_stamps: bool = True
) -> dict[int, VelocityDefect]:
    """Return the joints whose recorded velocities are no use, by index.

    Args:
        rate: Hz, of the samples.
        t: (N,) s.
        position: (N, n).
        recorded_velocity: (N, n) velocities, NaN where there are none.
        has_stamps: whether the times are recorded; else the rate may be wrong.
    """
    slope, deviation = slopes(rate, t, position)
    defects, moving_count = dict[int, VelocityDefect](), 0
    for joint in range(position.shape[1]):
        rates, v = slope[:, joint], recorded_velocity[:, joint]
        error = float(np.sqrt(np.mean(deviation[:, joint] ** 2)))
        is_moving = float(np.sqrt(np.mean(rates**2))) > max(STANDSTILL, 5.0 * error)
        moving_count += is_moving
        valid = np.isfinite(v)
        suffix = f"; its standard deviation is {error:.2g}"
        if valid.mean() < 0.5:
            defects[joint] = VelocityDefect("none is recorded" + suffix)
        elif is_moving and not v[valid].any():
            defects[joint] = VelocityDefect("it is recorded as zero while the joint moves" + suffix)
        elif is_moving:
            factor = float(v[valid] @ rates[valid] / (rates[valid] @ rates[valid]))
            residual = v[valid] - factor * rates[valid]
            r_squared = 1.0 - float(residual @ residual) / max(float(v[valid] @ v[valid]), 1e-300)
            if r_squared < 0.5:
                reason = "what is recorded does not follow the positions"
                defects[joint] = VelocityDefect(reason + suffix)
            elif not (0.93 < factor < 1.07 if r_squared > 0.99 else 0.8 < factor < 1.25):
                reason = f"what is recorded is {factor:.4g} times its slope"
                defects[joint] = VelocityDefect(reason + suffix, factor)
    factors = {joint: defect.factor for joint, defect in defects.items() if defect.factor != 1.0}
    if len(factors) == moving_count > 2 and not has_stamps:
        middle = float(np.median([*factors.values()]))
        is_unit = any(abs(middle * UNITS[u] - 1.0) < 0.1 for u in ("deg/s", "rpm", "rev/s"))
        if np.ptp([*factors.values()]) < 0.1 * middle and not is_unit:
            reason = f"the rate looks wrong, {rate * middle:.3g} Hz would fit: what is recorded is "
            reason += f"about {middle:.3g} times the slope at all joints that move"
            defects |= dict.fromkeys(factors, VelocityDefect(reason, middle))
    return defects


def lag_of(t: Array, position: Array, velocity: Array) -> tuple[float, bool]:
    """Return the lag of velocities, s, and whether it is certain enough to be corrected.

    It is NaN where the search ended at its bound; velocities may be NaN, which tells nothing.
    """
    if not position.shape[1] or len(t) < _MIN_SAMPLES:
        return 0.0, False
    period = float(np.median(np.diff(t)))
    lag = velocity_lag(t, position, velocity)
    if not abs(lag) >= max(0.3 * period, 2e-4):
        return lag, False
    # Slopes over more than a short time where positions are noisy, which would hide the lag.
    slope = smoothed_velocity(t, position)[0]
    inner_rows = slice(MARGIN, -MARGIN) if len(t) > 3 * MARGIN else slice(None)
    misfit_before, misfit_after = (
        float(((candidate - slope)[inner_rows] ** 2).sum())
        for candidate in (unlagged_velocity(t, velocity, slope, x) for x in (0.0, lag))
    )
    return lag, misfit_after < _MAX_MISFIT_SHARE * misfit_before


def unlagged_velocity(t: Array, velocity: Array, slope: Array, lag: float) -> Array:
    """Return velocities (N, k) as they were before they lagged, slopes where they are NaN."""
    is_unknown = interpolate(t + lag, t, np.isnan(velocity).astype(float)) > 0.0
    return np.where(is_unknown, slope, remove_lag(t, velocity, lag))


def remove_lag(t: Array, velocity: Array, lag: float) -> Array:
    """Return velocities (N, k) as they were before they lagged."""
    return interpolate(t + lag, t, velocity)


def interpolate(t: Array, times: Array, rows: Array) -> Array:
    """Return rows (M, k) of some times (M,) at others, (N,), where they are known; else NaN."""
    values = np.full((rows.shape[1], len(t)), np.nan)
    for k, column in enumerate(rows.T):
        if (is_valid := np.isfinite(column)).any():
            values[k] = np.interp(t, times[is_valid], column[is_valid])
    return values.T

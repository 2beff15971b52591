# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Whether recorded velocities are those of the recorded positions, and when."""

from dataclasses import dataclass

import numpy as np

from vms_ph_dynamics import Array
from vms_ph_dynamics.energy.samples import smoothed_velocity, velocity_lag

STANDING = 1e-3
"""Root mean square of the velocity of a joint that does not move, rad/s or m/s."""

MARGIN = 64
"""Further samples at either side of those that are smoothed or shifted."""

_SMOOTHED = 0.025  # s before and after a sample, over which positions are smoothed
_MIN_SAMPLES = 64  # samples from which a lag is found
_MAX_MISFIT_SHARE = 0.8  # share of the misfit that a shift must leave at most


@dataclass(frozen=True)
class Slopes:
    """Velocities from positions by local cubics.

    Attributes:
        rate: Hz, of the samples.
    """

    rate: float

    def of(self, t: Array, position: Array) -> tuple[Array, Array]:
        """Return velocities of positions (N, k), and their standard deviations."""
        half = int(np.clip(round(_SMOOTHED * self.rate), 3, MARGIN // 2))
        return smoothed_velocity(t, position, (half,))


@dataclass(frozen=True)
class VelocityDefect:
    """Why a velocity is not taken as it is, and its factor where it is one of scale (else one)."""

    reason: str
    factor: float = 1.0


def velocity_defects(
    slopes: Slopes, t: Array, position: Array, recorded: Array
) -> dict[int, VelocityDefect]:
    """Return the joints whose recorded velocities are no use, by index.

    Args:
        slopes: estimates velocities.
        t: (N,) s.
        position: (N, n).
        recorded: (N, n) velocities, NaN where there are none.
    """
    slope, spread = slopes.of(t, position)
    defects: dict[int, VelocityDefect] = {}
    for joint in range(position.shape[1]):
        expected, v = slope[:, joint], recorded[:, joint]
        error = float(np.sqrt(np.mean(spread[:, joint] ** 2)))
        moves = float(np.sqrt(np.mean(expected**2))) > max(STANDING, 5.0 * error)
        finite = np.isfinite(v)
        within = f"; its standard deviation is {error:.2g}"
        if finite.mean() < 0.5:
            defects[joint] = VelocityDefect("none is recorded" + within)
        elif moves and not v[finite].any():
            defects[joint] = VelocityDefect("it is recorded as zero while the joint moves" + within)
        elif moves:
            factor = float(v[finite] @ expected[finite] / (expected[finite] @ expected[finite]))
            rest = v[finite] - factor * expected[finite]
            explained = 1.0 - float(rest @ rest) / max(float(v[finite] @ v[finite]), 1e-300)
            if explained < 0.5:
                defects[joint] = VelocityDefect(
                    "what is recorded does not follow the positions" + within
                )
            elif not 0.8 < factor < 1.25:
                reason = f"what is recorded is {factor:.4g} times its slope"
                defects[joint] = VelocityDefect(reason + within, factor)
    return defects


def lag_of(slopes: Slopes, t: Array, position: Array, velocity: Array) -> tuple[float, bool]:
    """Return the lag of velocities, s, and whether it is certain enough to be corrected.

    It is NaN where the search ended at its bound.
    """
    if not position.shape[1] or len(t) < _MIN_SAMPLES:
        return 0.0, False
    period = float(np.median(np.diff(t)))
    lag = velocity_lag(t, position, velocity)
    if not abs(lag) >= max(0.3 * period, 2e-4):
        return lag, False
    slope = slopes.of(t, position)[0]
    inner = slice(MARGIN, -MARGIN) if len(t) > 3 * MARGIN else slice(None)
    before, after = (
        float(((candidate - slope)[inner] ** 2).sum())
        for candidate in (velocity, shifted(t, velocity, lag))
    )
    return lag, after < _MAX_MISFIT_SHARE * before


def shifted(t: Array, velocity: Array, lag: float) -> Array:
    """Return velocities (N, k) as they were before they lagged."""
    return np.stack([np.interp(t + lag, t, column) for column in velocity.T], axis=1)

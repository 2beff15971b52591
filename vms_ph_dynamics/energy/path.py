# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The path of a recorded motion: its steps from sample to sample, and velocities along it."""

from itertools import pairwise

import numpy as np

from ..arrays import Array
from ..model import VMSModel

HALF_WIDTHS = (3, 6, 12, 24)
"""Half widths, in samples, among which cross-validation chooses."""


def steps(model: VMSModel, q: Array) -> Array:
    """Return the displacements between samples, (N-1,nv), in the coordinates of the velocity.

    The work of a generalised force over a sample is its mean times the step, whatever the clock
    says: neither times nor velocities enter.
    """
    if model.nq == model.n:  # a fixed base without joints that turn on for ever
        return np.diff(q, axis=0)
    return np.array([model.difference(a, b) for a, b in pairwise(q)]).reshape(len(q) - 1, model.nv)


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
    best = np.full(columns, np.inf)
    usable = [w for w in widths if 2 * w + 1 <= count] or [max(1, (count - 1) // 2)]
    for width in usable:
        values, slopes, leverage, spread = _local_cubic(t, positions, width)
        left_out = (positions - values) / np.maximum(1.0 - leverage, 0.05)[:, None]
        score = np.mean(left_out**2, axis=0)
        # A slope needs wider windows than a value: the widest that is nearly as good.
        better = score <= 1.3 * best
        best = np.minimum(best, score)
        noise = np.mean((positions - values) ** 2, axis=0) / max(1.0 - np.mean(leverage), 0.05)
        velocity[:, better] = slopes[:, better]
        deviation[:, better] = np.sqrt(spread[:, None] * noise)[:, better]
    return velocity, deviation


def smoothed(t: Array, values: Array, width: int) -> tuple[Array, Array]:
    """Return values (N,k) and their slopes (N,k) by local cubics of a half width in samples."""
    width = min(width, max(1, (len(t) - 1) // 2))
    result = _local_cubic(t, values, width)
    return result[0], result[1]


def _local_cubic(t: Array, x: Array, width: int) -> tuple[Array, Array, Array, Array]:
    """Return value and slope (N,k), and the leverage and the variance factor of the slope (N,)."""
    count = len(t)
    order = min(3, count - 1)
    reach = np.arange(-width, width + 1)
    scale = max(width * float(np.median(np.diff(t))), 1e-12)
    normal = np.zeros((count, order + 1, order + 1))
    right = np.zeros((count, order + 1, x.shape[1]))
    at = np.arange(count)
    for offset in reach:
        # At the ends the window keeps its samples inside the recording.
        index = np.clip(at, width, count - 1 - width) + offset
        powers = ((t[index] - t) / scale)[:, None] ** np.arange(order + 1)
        normal += powers[:, :, None] * powers[:, None, :]
        right += powers[:, :, None] * (x[index] - x)[:, None, :]
    normal += 1e-12 * np.eye(order + 1)
    inverse = np.linalg.inv(normal)
    fit = inverse @ right
    return x + fit[:, 0], fit[:, 1] / scale, inverse[:, 0, 0], inverse[:, 1, 1] / scale**2

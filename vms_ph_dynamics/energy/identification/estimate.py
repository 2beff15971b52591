"""Robust, regularised least squares with intervals that allow for correlated residuals."""

from dataclasses import dataclass

import numpy as np

from ...arrays import Array
from ...errors import StateError

_HUBER = 2.5  # residuals beyond this many standard deviations count less
_OUTLIER = 8.0  # and beyond this many not at all
_BLOCKS = 30


@dataclass(frozen=True)
class Estimate:
    """What is believed of the unknowns after the windows are seen.

    Attributes:
        mean: (p,).
        covariance: (p,p) of the error of the mean: from leaving out blocks of the recording, and
            from what was believed beforehand.
        deviation: (p,) standard deviation beforehand.
        residual: (W,) of the windows, J.
        scale: (W,) standard deviation of each window, J.
        weight: (W,) from 0, an outlier, to 1.
        blocks: number of blocks that were left out in turn; their number less one is that of the
            degrees of freedom of an interval.
    """

    mean: Array
    covariance: Array
    deviation: Array
    residual: Array
    scale: Array
    weight: Array
    blocks: int

    @property
    def quantile(self) -> float:
        """Number of standard deviations in half a 95 % interval (Student)."""
        return student(self.blocks - 1)


def student(freedom: int) -> float:
    """Return the 97.5 % quantile of Student's distribution, to 1e-3 from 4 degrees of freedom."""
    z, f = 1.959964, float(max(freedom, 1))
    series = (
        (z**3 + z) / 4 / f
        + (5 * z**5 + 16 * z**3 + 3 * z) / 96 / f**2
        + (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384 / f**3
    )
    return z + series


def estimate(
    columns: Array,
    known: Array,
    prior_mean: Array,
    prior_covariance: Array,
    path: Array,
    groups: Array,
    *,
    robust: bool = True,
) -> Estimate:
    """Return the estimate of x in ``known = columns x + residual``.

    The standard deviation of a window grows with ``path`` from a constant. The blocks are
    consecutive windows, so that residuals may be correlated within them, whatever by: noise at the
    common end of two windows, or a friction law that fits badly in places.

    Args:
        columns: (W,p).
        known: (W,).
        prior_mean: (p,).
        prior_covariance: (p,p), positive definite.
        path: (W,) see :class:`.Windows`.
        groups: (W,) index of the recording; no block reaches over two.
        robust: whether windows with large residuals count less.

    Raises:
        StateError: there are fewer than eight windows.
    """
    windows, size = columns.shape
    if windows < 8:
        raise StateError(f"8 windows are the least to identify from; given: {windows}")
    unit = np.sqrt(np.diag(prior_covariance))
    scaled = columns * unit
    precision = np.linalg.inv(prior_covariance / np.outer(unit, unit))
    offset = known - columns @ prior_mean
    block = _blocks(groups)
    scale = np.full(windows, max(float(np.std(offset)), 1e-12))
    weight = np.ones(windows)
    x = np.zeros(size)
    for _ in range(8):
        w = weight / scale**2
        inverse = np.linalg.inv(scaled.T @ (scaled * w[:, None]) + precision)
        x = inverse @ (scaled.T @ (w * offset))
        residual = offset - scaled @ x
        freedom = max(windows - size, windows // 2) / windows
        scale = _scales(residual, path, weight, freedom)
        if robust:
            ratio = np.abs(residual) / scale
            weight = np.minimum(1.0, _HUBER / np.maximum(ratio, 1e-12))
            weight[ratio > _OUTLIER] = 0.0
    # The weights are those of this estimate, so that leaving a block out changes nothing else.
    w = weight / scale**2
    information = scaled.T @ (scaled * w[:, None])
    inverse = np.linalg.inv(information + precision)
    right = scaled.T @ (w * offset)
    x = inverse @ right
    numbers = np.unique(block)
    shifts = np.empty((numbers.size, size))
    for k, number in enumerate(numbers):
        own = block == number
        part, weighted = scaled[own], w[own]
        less = information - part.T @ (part * weighted[:, None]) + precision
        shifts[k] = np.linalg.solve(less, right - part.T @ (weighted * offset[own])) - x
    count = numbers.size
    # About the estimate itself, not the mean of the others, which is the larger of both.
    sampling = (count - 1) / count * shifts.T @ shifts
    covariance = sampling + inverse @ precision @ inverse
    return Estimate(
        prior_mean + unit * x,
        covariance * np.outer(unit, unit),
        unit,
        offset - scaled @ x,
        scale,
        weight,
        count,
    )


def _blocks(groups: Array) -> Array:
    """Return the number of the block of each window, about _BLOCKS in all."""
    length = max(2, int(np.ceil(groups.size / _BLOCKS)))
    block, first = np.empty(groups.size, dtype=int), 0
    for number in np.unique(groups):
        own = np.flatnonzero(groups == number)
        parts = max(1, round(own.size / length))
        block[own] = first + np.arange(own.size) * parts // own.size
        first += parts
    return block


def _scales(residual: Array, path: Array, weight: Array, freedom: float) -> Array:
    """Return the standard deviation of each window: ``sqrt(a + b path^2)``, a and b >= 0."""
    robust = 1.4826 * float(np.median(np.abs(residual))) / np.sqrt(freedom)
    limit = _HUBER * max(robust, 1e-12)
    square = np.minimum(residual**2, limit**2) / freedom
    used = weight > 0.0
    mean = max(float(np.mean(square[used])) if used.any() else limit**2, 1e-24)
    a, b = mean, 0.0
    ratio = path**2 / max(float(np.mean(path**2)), 1e-300)
    for _ in range(4):
        # Squares have a variance in proportion to their own expectation squared.
        w = np.where(used, 1.0 / (a + b * ratio) ** 2, 0.0)
        matrix = np.array(
            [[w.sum(), (w * ratio).sum()], [(w * ratio).sum(), (w * ratio**2).sum()]]
        )
        right = np.array([(w * square).sum(), (w * ratio * square).sum()])
        a, b = np.linalg.lstsq(matrix, right, rcond=None)[0]
        if a < 0.0:
            a, b = 0.0, right[1] / matrix[1, 1]
        elif b < 0.0:
            a, b = right[0] / matrix[0, 0], 0.0
        a = max(a, 1e-3 * mean)
    return np.sqrt(a + b * ratio)

# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Least-squares estimates of the parameters that the energy of a robot depends on."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..arrays import Array
from ..energy.regressor import PARAMETER_NAMES, EnergyRegressor, pseudo_inertia
from ..errors import StateError

_TOLERANCE = 1e-8


@dataclass(frozen=True)
class BaseParameters:
    """Base parameters of a robot: as few numbers as its energy has.

    Attributes:
        names: ``inertia.<joint>.<parameter>`` of the parameter that leads a combination.
        meanings: the whole combination in words, such as ``Izz of joint1 + Iyy of joint2 + ...``.
        matrix: (k, 10 bodies), from the parameters of the bodies to the combinations.
    """

    names: tuple[str, ...]
    meanings: tuple[str, ...]
    matrix: Array


def base_parameters(regressor: EnergyRegressor) -> BaseParameters:
    """Return the base parameters, found from the rows of the regressor at random states."""
    model = regressor.model
    rng = np.random.default_rng(0)
    state_count = 2 * regressor.parameters.size + 50
    q = np.array([model.random_configuration(rng) for _ in range(state_count)])
    rows = regressor.rows(q, rng.normal(size=(state_count, model.nv)))
    # A constant energy is in no balance.
    rows = rows - rows.mean(axis=0)
    norms = np.linalg.norm(rows, axis=0)
    # Moments before masses, from the base outwards: what is regrouped goes to the body before it.
    parameter_order = (4, 6, 9, 5, 7, 8, 1, 2, 3, 0)
    column_order = [10 * b + k for b in range(len(regressor.bodies)) for k in parameter_order]
    basis_ids: list[int] = []
    basis = np.empty((state_count, 0))
    largest_norm = max(float(np.max(norms)), 1e-300)
    for column in column_order:
        if norms[column] < _TOLERANCE * largest_norm:
            continue
        direction = rows[:, column] / norms[column]
        for _ in range(2):
            direction = direction - basis @ (basis.T @ direction)
        remainder = np.linalg.norm(direction)
        if remainder > _TOLERANCE:
            basis_ids.append(column)
            basis = np.column_stack([basis, direction / remainder])
    coefficients = np.linalg.lstsq(rows[:, basis_ids], rows, rcond=1e-12)[0]
    coefficients[np.abs(coefficients) < 1e-7] = 0.0
    labels = [f"{name} of {body}" for body in regressor.bodies for name in PARAMETER_NAMES]
    names = [f"inertia.{regressor.bodies[c // 10]}.{PARAMETER_NAMES[c % 10]}" for c in basis_ids]
    meanings = [_in_words(row, labels) for row in coefficients]
    return BaseParameters(tuple(names), tuple(meanings), coefficients)


def _in_words(row: Array, labels: list[str]) -> str:
    words = ""
    for factor, label in zip(row, labels, strict=True):
        if factor == 0.0:
            continue
        sign = "-" if factor < 0 else "+"
        number = "" if abs(abs(factor) - 1.0) < 1e-6 else f"{abs(factor):.4g} "
        words += f" {sign} {number}{label}"
    return words[3:] if words.startswith(" + ") else words.strip()


# The matrices that the ten parameters of a body multiply in its pseudo-inertia.
_UNIT_PSEUDO_INERTIAS = np.stack([pseudo_inertia(unit).reshape(16) for unit in np.eye(10)])


@dataclass(frozen=True)
class BodyConstraint:
    """Parameters ``constant + matrix x`` of a body that must have no negative mass anywhere."""

    constant: Array
    matrix: Array


def nearest_physical(
    mean: Array, information: Array, start: Array, floor: Array, bodies: Sequence[BodyConstraint]
) -> Array:
    """Return the x that minimises ``(x - mean)^T information (x - mean)`` within what is physical.

    Physical are x above their floors, and bodies with a positive semidefinite pseudo-inertia. The
    problem is convex; a logarithmic barrier with a decreasing weight solves it.

    Args:
        mean: (p,).
        information: (p,p), positive definite: what is known, as the inverse of a covariance.
        start: (p,) a point strictly inside; the mean is returned where it is not.
        floor: (p,) lower bounds; -inf where there is none.
        bodies: whose pseudo-inertia must be positive semidefinite.
    """
    scale = 1.0 / np.sqrt(np.diag(information))
    bounded_indices = np.flatnonzero(np.isfinite(floor))
    # A description may be no body itself: then nothing near it is known to be one.
    if _is_valid(mean, floor, bodies) or not _is_valid(start, floor, bodies):
        return mean
    hessian = information * np.outer(scale, scale)
    x = start.copy()
    scaled_distance = (x - mean) / scale
    # From the size of the objective down to a weight that no longer moves the result.
    barrier = max(1.0, float(scaled_distance @ hessian @ scaled_distance) / mean.size)
    while barrier > 1e-7:
        for _ in range(30):
            scaled_distance = (x - mean) / scale
            gradient, curvature = hessian @ scaled_distance, hessian.copy()
            distance = (x[bounded_indices] - floor[bounded_indices]) / scale[bounded_indices]
            gradient[bounded_indices] -= barrier / distance
            curvature[bounded_indices, bounded_indices] += barrier / distance**2
            for body in bodies:
                inverse = np.linalg.inv(_pseudo_inertia(body, x))
                indices = np.flatnonzero(np.any(body.matrix != 0.0, axis=0))
                slopes = (body.matrix[:, indices] * scale[indices]).T @ _UNIT_PSEUDO_INERTIAS
                scaled_slopes = inverse @ slopes.reshape(-1, 4, 4)
                gradient[indices] -= barrier * np.trace(scaled_slopes, axis1=1, axis2=2)
                traces = np.tensordot(scaled_slopes, scaled_slopes, axes=([1, 2], [2, 1]))
                curvature[np.ix_(indices, indices)] += barrier * traces
            step = -np.linalg.solve(curvature, gradient)
            share = 1.0
            while share > 1e-8 and not _is_valid(x + share / 0.9 * step * scale, floor, bodies):
                share *= 0.5
            if share <= 1e-8:
                break
            x = x + share * step * scale
            if -(gradient @ step) < 1e-9 * (1.0 + barrier):
                break
        barrier *= 0.1
    return x


def _is_valid(x: Array, floor: Array, bodies: Sequence[BodyConstraint]) -> bool:
    if np.any(x <= floor):
        return False
    return all(np.linalg.eigvalsh(_pseudo_inertia(body, x))[0] > 0.0 for body in bodies)


def _pseudo_inertia(body: BodyConstraint, x: Array) -> Array:
    return ((body.constant + body.matrix @ x) @ _UNIT_PSEUDO_INERTIAS).reshape(4, 4)


_HUBER = 2.5  # residuals beyond this many standard deviations count less
_OUTLIER = 8.0  # and beyond this many not at all
_BLOCK_COUNT = 30
# Of windows of energy, between the corrections CR2 (0.5), with which intervals contain the truth in
# 87 to 96 % of synthetic recordings, and CR3 (1, the jackknife), with 94 to 100 %; of torques CR3.
_ENLARGEMENT = 0.8


@dataclass(frozen=True)
class Estimate:
    """What is believed of the unknowns after the windows are seen.

    Attributes:
        mean: (p,).
        factor: (k,p) F, with the covariance ``F^T F`` of the error of the mean: errors of blocks of
            the recording, and of what was believed beforehand.
        information: (p,p) inverse of the covariance, were the residuals independent.
        prior_deviation: (p,) standard deviation beforehand.
        residual: (W,) of the windows, J.
        scale: (W,) standard deviation of each window, J.
        weight: (W,) from 0, an outlier, to 1.
        block_count: number of blocks; less one it is that of the degrees of freedom of an interval.
    """

    mean: Array
    factor: Array
    information: Array
    prior_deviation: Array
    residual: Array
    scale: Array
    weight: Array
    block_count: int

    @property
    def covariance(self) -> Array:
        """Covariance of the error of the mean, (p,p)."""
        return self.factor.T @ self.factor

    @property
    def quantile(self) -> float:
        """Number of standard deviations in half a 95 % interval (Student)."""
        return student(self.block_count - 1)


# For few degrees of freedom, where the series of :func:`student` is not exact enough.
_STUDENT = {1: 12.7062, 2: 4.30265, 3: 3.18245, 4: 2.77645, 5: 2.57058}


def student(degrees: int) -> float:
    """Return the 97.5 % quantile of Student's distribution, to 1e-3."""
    z, freedom = 1.959964, float(max(degrees, 1))
    if freedom in _STUDENT:
        return _STUDENT[int(freedom)]
    series = (
        (z**3 + z) / 4 / freedom
        + (5 * z**5 + 16 * z**3 + 3 * z) / 96 / freedom**2
        + (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384 / freedom**3
    )
    return z + series


def estimate(
    columns: Array,
    target: Array,
    prior_mean: Array,
    prior_covariance: Array,
    noise: Array,
    groups: Array,
    *,
    correlated: bool = True,
    joined: npt.NDArray[np.bool_] | None = None,
) -> Estimate:
    """Return the estimate of x in ``target = columns x + residual``.

    The standard deviation of a window grows with ``noise`` from a constant. The blocks are
    consecutive windows, so that residuals may be correlated within them, whatever by: noise at the
    common end of two windows, or a friction law that fits badly in places. Their errors add up to
    the covariance of the estimate (cluster-robust).

    Args:
        columns: (W,p).
        target: (W,).
        prior_mean: (p,).
        prior_covariance: (p,p), positive definite.
        noise: (W,) see :class:`.Windows`.
        groups: (W,) index of the recording; no block reaches over two.
        correlated: whether neighbours are windows with an end in common, whose noise they share.
        joined: (W,) whether a window ends where the next begins; None: those of a recording do.

    Raises:
        StateError: there are fewer than eight windows.
    """
    window_count, unknown_count = columns.shape
    if window_count < 8:
        raise StateError(f"an identification needs at least 8 windows; given: {window_count}")
    deviation = np.sqrt(np.diag(prior_covariance))
    unit_columns = columns * deviation
    variances, axes = np.linalg.eigh(prior_covariance / np.outer(deviation, deviation))
    prior_root = (axes / np.sqrt(np.maximum(variances, 1e-9))).T  # of the inverse, also if singular
    prior_residual = target - columns @ prior_mean
    block_numbers = _blocks(groups)
    if joined is None:
        joined = np.concatenate([groups[1:] == groups[:-1], [False]])
    variance = np.full(window_count, max(float(np.var(prior_residual)), 1e-24))
    common_variance, weight, scale = 0.0, np.ones(window_count), np.sqrt(variance)
    freedom = max(window_count - unknown_count, window_count // 2) / window_count
    system = np.column_stack([unit_columns, prior_residual])
    for _ in range(8):
        whitened = _whitened(system, variance / np.maximum(weight, 1e-9), common_variance, joined)
        design, whitened_target = whitened[:, :-1], whitened[:, -1]
        # Rather than the normal equations, whose condition is the square: what the data excite and
        # what they do not lie many orders of magnitude apart.
        root = np.asarray(np.linalg.qr(np.vstack([design, prior_root]), mode="r"))
        inverse = np.linalg.inv(root)
        x = inverse @ (inverse.T @ (design.T @ whitened_target))
        residual = prior_residual - unit_columns @ x
        variance, common_variance = _noise(residual, noise, weight, freedom, joined, correlated)
        previous_scale, scale = scale, np.sqrt(variance + 2.0 * common_variance)
        ratio = np.abs(residual) / scale
        previous_weight, weight = weight, np.minimum(1.0, _HUBER / np.maximum(ratio, 1e-12))
        weight[ratio > _OUTLIER] = 0.0
        change = float(np.mean(np.abs(scale - previous_scale)) / np.mean(scale))
        if not correlated and max(change, np.mean(np.abs(weight - previous_weight))) < 1e-3:
            break
    error = whitened_target - design @ x
    factor = []
    for block in np.unique(block_numbers):
        rows = design[block_numbers == block] @ inverse
        # Residuals are smaller than errors, the more so the more a block weighs in the estimate.
        leverages, axes = np.linalg.eigh(rows.T @ rows)
        shrinkage = np.maximum(1.0 - leverages, 1e-2) ** (_ENLARGEMENT if correlated else 1.0)
        block_error = axes @ ((axes.T @ (rows.T @ error[block_numbers == block])) / shrinkage)
        factor.append(inverse @ block_error)
    # The errors of the blocks, and those of what was believed beforehand.
    covariance_factor = np.vstack([*factor, (prior_root @ inverse) @ inverse.T]) * deviation
    mean, information = prior_mean + deviation * x, (root.T @ root) / np.outer(deviation, deviation)
    moments = mean, covariance_factor, information, deviation
    return Estimate(*moments, residual, scale, weight, len(factor))


def _whitened(rows: Array, variance: Array, common: float, joined: npt.NDArray[np.bool_]) -> Array:
    """Return rows of unit variance for noise with a part at the common ends of windows.

    The covariance is tridiagonal: ``variance + 2 common`` and ``-common`` between windows that are
    joined. Its Cholesky factor has two diagonals.
    """
    if common == 0.0:
        return np.asarray(rows / np.sqrt(variance)[:, None])
    whitened = np.empty_like(rows)
    subdiagonal = 0.0
    for k in range(len(rows)):
        pivot = np.sqrt(variance[k] + 2.0 * common - subdiagonal**2)
        whitened[k] = (rows[k] - subdiagonal * whitened[k - 1]) / pivot if k else rows[k] / pivot
        subdiagonal = -common / pivot if joined[k] else 0.0
    return whitened


def _blocks(recordings: Array) -> Array:
    """Return the number of the block of each window, about _BLOCK_COUNT in all."""
    block_length = max(2, int(np.ceil(recordings.size / _BLOCK_COUNT)))
    block_of_window, first_block = np.empty(recordings.size, dtype=int), 0
    for number in np.unique(recordings):
        rows = np.flatnonzero(recordings == number)
        block_count = max(1, round(rows.size / block_length))
        block_of_window[rows] = first_block + np.arange(rows.size) * block_count // rows.size
        first_block += block_count
    return block_of_window


def _noise(
    residual: Array,
    noise: Array,
    weight: Array,
    freedom: float,
    is_joined: npt.NDArray[np.bool_],
    correlated: bool,
) -> tuple[Array, float]:
    """Return the variance of each window and that at the common end of two.

    The first is ``a + b noise^2``, a and b >= 0.
    """
    limit = _HUBER * max(1.4826 * float(np.median(np.abs(residual))) / np.sqrt(freedom), 1e-12)
    clipped = np.clip(residual, -limit, limit) / np.sqrt(freedom)
    is_used = weight > 0.0
    mean_square = max(float(np.mean(clipped[is_used] ** 2)) if is_used.any() else limit**2, 1e-24)
    products = (clipped[:-1] * clipped[1:])[is_joined[:-1] & is_used[:-1] & is_used[1:]]
    common_variance = 0.0
    if correlated and products.size > 10:
        common_variance = float(np.clip(-np.mean(products), 0.0, 0.49 * mean_square))
    squares = np.maximum(clipped**2 - 2.0 * common_variance, -2.0 * common_variance)
    constant_variance = max(mean_square - 2.0 * common_variance, 0.02 * mean_square)
    a, b = constant_variance, 0.0
    ratio = noise**2 / max(float(np.mean(noise**2)), 1e-300)
    for _ in range(4):
        # Squares have a variance in proportion to their own expectation squared.
        w = np.where(is_used, 1.0 / (a + b * ratio + 2.0 * common_variance) ** 2, 0.0)
        matrix = np.array([[w.sum(), (w * ratio).sum()], [(w * ratio).sum(), (w * ratio**2).sum()]])
        right_side = np.array([(w * squares).sum(), (w * ratio * squares).sum()])
        a, b = np.linalg.lstsq(matrix, right_side, rcond=None)[0]
        if a < 0.0:
            a, b = 0.0, max(right_side[1] / matrix[1, 1], 0.0)
        elif b < 0.0:
            a, b = max(right_side[0] / matrix[0, 0], 0.0), 0.0
        a = max(a, 1e-2 * constant_variance)
    return a + b * ratio, common_variance

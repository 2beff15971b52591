# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Solver for the velocity in the middle of a step: fixed point where it contracts, else Newton."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ..arrays import Array
from .stepper import StepFailure

# Conserved quantities do not depend on the accuracy of the velocity, so this need only be well
# below the truncation error of the scheme; rounding in the iteration is about 1e-14.
_TOLERANCE, _FLOOR = 1e-11, 1e-13
# Changes that no longer decrease are rounding up to this size; for the slowest motions up to a
# floor, in m/s or rad/s, given by the rounding of a large potential.
_STAGNATION_SHARE, _STAGNATION_FLOOR = 1e-9, 1e-10
# Two sweeps must reduce the change to this fraction; otherwise Newton's iteration is used.
_MAX_CONTRACTION = 0.5
_MAX_FIXED_POINT_SWEEPS = 60
_MAX_NEWTON_STEPS = 30
_DIFFERENCE_STEP = 1e-7
_MIN_STEP_SCALE = 1.0 / 64.0


class Sweep(NamedTuple):
    """The result of one evaluation of the step from a guess of the unknown.

    Attributes:
        unknown: the next guess; a solution is a fixed point.
        outcome: the end of the step.
    """

    unknown: Array
    outcome: Any


class Solution(NamedTuple):
    """A solution and the number of sweeps to it."""

    unknown: Array
    outcome: Any
    iterations: int


def solve(sweep: Callable[[Array], Sweep], guess: Array) -> Solution:
    """Return the fixed point of ``sweep``.

    Raises:
        StepFailure: neither iteration converges.
    """
    y = guess
    previous_change = older_change = np.inf
    for count in range(1, _MAX_FIXED_POINT_SWEEPS + 1):
        result = sweep(y)
        norm = _norm(result.unknown)
        change = _norm(result.unknown - y)
        is_stalling = change > _MAX_CONTRACTION * older_change
        if change <= _TOLERANCE * norm + _FLOOR or (is_stalling and change <= _rounding(norm)):
            return Solution(y, result.outcome, count)
        if is_stalling or not change < np.inf:
            break
        y, previous_change, older_change = result.unknown, change, previous_change
    return _newton(sweep, guess, count)


def _newton(sweep: Callable[[Array], Sweep], guess: Array, count: int) -> Solution:
    y = guess
    result = sweep(y)
    residual: Array = result.unknown - y
    # Full steps may cycle around a kink of a force within the step: they are shortened.
    for step_count in range(1, _MAX_NEWTON_STEPS + 1):
        norm = _norm(y) + _norm(residual)
        if _norm(residual) <= _TOLERANCE * norm + _FLOOR:
            return Solution(y, result.outcome, count + step_count)
        step: Array = np.linalg.solve(_jacobian(sweep, y, residual, norm), -residual)
        step_scale = 1.0
        while True:
            trial_sweep = sweep(y + step_scale * step)
            trial_residual = trial_sweep.unknown - (y + step_scale * step)
            if _norm(trial_residual) < (1.0 - 0.1 * step_scale) * _norm(residual):
                break
            step_scale *= 0.5
            if step_scale < _MIN_STEP_SCALE:
                if _norm(residual) <= _rounding(norm):
                    return Solution(y, result.outcome, count + step_count)
                raise StepFailure(
                    f"Newton's iteration stalls at a residual of {_norm(residual):.3g}"
                )
        y, result, residual = y + step_scale * step, trial_sweep, trial_residual
    raise StepFailure(f"Newton's iteration has not converged in {_MAX_NEWTON_STEPS} steps")


def _jacobian(sweep: Callable[[Array], Sweep], y: Array, residual: Array, norm: float) -> Array:
    """Return the Jacobian of the residual by forward differences."""
    step = _DIFFERENCE_STEP * max(norm, 1e-3)
    guesses = y + step * np.eye(len(y))
    columns = [(sweep(guess).unknown - guess - residual) / step for guess in guesses]
    matrix = np.stack(columns, axis=1)
    if not np.isfinite(matrix).all():
        raise StepFailure("the motion within the step is not finite")
    return matrix


def _rounding(norm: float) -> float:
    return _STAGNATION_SHARE * norm + _STAGNATION_FLOOR


def _norm(y: Array) -> float:
    return float(np.abs(y).max())

# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""What recorded efforts are: evidence from the momentum balances of the joints over windows."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from vms_ph_dynamics import VMSModel
from vms_ph_dynamics.arrays import Array
from vms_ph_dynamics.energy.energy_path import momentum_drift

MEANINGS = {
    "torque": "joint efforts as they are",
    "opposite": "joint efforts with the opposite sign",
    "without_gravity": "joint efforts without what holds the weight",
    "scaled": "efforts times a gain for each joint (currents, motor side, another unit)",
}
"""What efforts may be, by the name of the option that says so."""

_WINDOW = 0.1  # s
_BETTER_FIT_SHARE = 0.7  # share of the misfit below which another meaning fits clearly better


@dataclass(frozen=True)
class EffortMeaning:
    """How well recorded efforts fit the model, by what they may be.

    Attributes:
        misfit: root mean square of what is left of the required efforts, relative to these, by
            meaning; without and with friction (viscous, Coulomb, offset) fitted for each joint.
        best: the meaning with the smallest misfit, if it fits clearly better than ``torque``.
        gains: (n,) least-squares factor of each recorded effort, with friction fitted.
        gain_errors: (n,) their standard errors.
        command_misfit: misfit if an effort acts until the next sample, relative to the misfit if it
            is a sample of a continuous signal; below one for commands.
    """

    misfit: dict[str, tuple[float, float]]
    best: str
    gains: Array
    gain_errors: Array
    command_misfit: float


def effort_meaning(
    model: VMSModel,
    t: Array,
    q: Array,
    v: Array,
    effort: Array,
    measured: npt.NDArray[np.bool_],
) -> EffortMeaning:
    """Return what recorded efforts may be.

    Args:
        model: the robot.
        t: (N,) s, without gaps.
        q: (N, nq).
        v: (N, nv).
        effort: (N, n) as recorded.
        measured: (n,) the joints whose efforts are recorded; the others are no evidence.
    """
    b = model.b
    states = model.evaluate_batch(q, v, terms=("momentum", "C", "g"))
    dt = np.diff(t)[:, None]
    window = ((t - t[0]) / _WINDOW).astype(int)
    edges = np.flatnonzero(np.diff(window, prepend=-1))
    required = _window_sums(
        np.diff(states.momentum[:, b:], axis=0) - _mean(momentum_drift(states)[:, b:]) * dt, edges
    )
    sampled, commanded = (
        _window_sums(_mean(effort) * dt, edges),
        _window_sums(effort[:-1] * dt, edges),
    )
    weight = _window_sums(_mean(states.g[:, b:]) * dt, edges)
    rates = v[:, b:]
    friction = [_window_sums(_mean(f) * dt, edges) for f in (rates, np.tanh(rates / 0.01))]
    friction.append(_window_sums(np.broadcast_to(dt, (len(dt), rates.shape[1])), edges))
    required, sampled, commanded, weight, *friction = (
        part[:, measured] for part in (required, sampled, commanded, weight, *friction)
    )
    offered = {
        "torque": sampled,
        "opposite": -sampled,
        "without_gravity": sampled + weight,
    }
    scale = float(np.sqrt((required**2).sum())) or 1.0
    misfit = {}
    for name, effort_impulse in offered.items():
        rest = required - effort_impulse
        misfit[name] = (_size(rest) / scale, _size(_fit_residuals(rest, friction)) / scale)
    scaled, gains, errors = _scaled(required, sampled, friction)
    misfit["scaled"] = (scaled[0] / scale, scaled[1] / scale)
    others = {name: both[1] for name, both in misfit.items() if name != "scaled"}
    best = min(others, key=lambda name: others[name])
    without_efforts = _size(_fit_residuals(required, friction)) / scale
    if others[best] > _BETTER_FIT_SHARE * min(others["torque"], without_efforts):
        best = "torque"
    odd = float(np.median(np.abs(np.log(np.maximum(np.abs(gains), 1e-12)))))
    if misfit["scaled"][1] < 0.5 * others[best] and odd > np.log(1.5):
        best = "scaled"
    all_gains, all_errors = np.ones(len(measured)), np.full(len(measured), np.inf)
    all_gains[measured], all_errors[measured] = gains, errors
    as_commands = _size(_fit_residuals(required - commanded, friction))
    as_samples = _size(_fit_residuals(required - sampled, friction)) or 1.0
    return EffortMeaning(misfit, best, all_gains, all_errors, as_commands / as_samples)


def saturation(joints: Sequence[str], effort: Array) -> dict[str, float]:
    """Return, of joints that are saturated, the share of samples (N, n) at the largest effort."""
    shares = {}
    for joint, size in zip(joints, np.abs(effort).T, strict=True):
        largest = float(size.max(initial=0.0))
        share = float(np.mean(size >= (1.0 - 1e-9) * largest)) if largest > 0.0 else 0.0
        if 0.01 < share < 1.0:  # an effort that never changes is no limit
            shares[joint] = share
    return shares


def _scaled(
    required: Array, effort: Array, friction: list[Array]
) -> tuple[tuple[float, float], Array, Array]:
    """Return the misfits with a gain for each joint, the gains and their standard errors."""
    n = required.shape[1]
    gains, errors = np.ones(n), np.full(n, np.inf)
    without, rest = np.zeros_like(required), np.zeros_like(required)
    for j in range(n):
        power = float(effort[:, j] @ effort[:, j])
        if power > 0.0:
            without[:, j] = required[:, j] - effort[:, j] * (effort[:, j] @ required[:, j]) / power
        a = np.column_stack([effort[:, j], *(f[:, j] for f in friction)])
        x, _, rank, _ = np.linalg.lstsq(a, required[:, j], rcond=None)
        rest[:, j] = required[:, j] - a @ x
        gains[j] = x[0]
        if rank == a.shape[1] and len(a) > rank:
            variance = float(rest[:, j] @ rest[:, j]) / (len(a) - rank)
            errors[j] = np.sqrt(variance * np.linalg.pinv(a.T @ a)[0, 0])
    return (_size(without), _size(rest)), gains, errors


def _fit_residuals(rest: Array, terms: list[Array]) -> Array:
    """Return what is left after a least-squares fit of some terms at each joint."""
    left = np.empty_like(rest)
    for j in range(rest.shape[1]):
        a = np.column_stack([term[:, j] for term in terms])
        left[:, j] = rest[:, j] - a @ np.linalg.lstsq(a, rest[:, j], rcond=None)[0]
    return left


def _mean(x: Array) -> Array:
    return np.asarray(0.5 * (x[1:] + x[:-1]))


def _window_sums(x: Array, edges: Any) -> Array:
    """Return the sums over windows, without an incomplete last one."""
    cumulative = np.vstack([np.zeros((1, x.shape[1])), np.cumsum(x, axis=0)])
    return np.diff(cumulative[edges], axis=0)


def _size(x: Array) -> float:
    return float(np.sqrt((x**2).sum()))

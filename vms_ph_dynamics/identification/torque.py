# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The torque regression: efforts as linear functions of all unknowns, and its held-out error."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pinocchio as pin

from ..arrays import Array
from ..energy.energy_path import drag_efforts, generalised_forces
from ..energy.regressor import EnergyRegressor
from ..energy.samples import LONGEST_LAG, MotionSamples, displacements, smooth, smoothed_velocity
from ..model import VMSModel
from ..robot.joints import BASE_COMPONENTS
from .effort_meaning import FOLDS, held_out_error
from .result import EFFORT_LAG, Unknown, prior_of
from .windows import SLIP, Motion, Windows, WindowSettings, joint_columns

ROW_SPACING = 10  # samples to a row: accelerations of neighbours share their samples
_MAX_INSTANTS = 3000
_MAX_SMOOTHED = 1500  # instants from which a lag is found
_SEARCHED_LAG = 1.2 * LONGEST_LAG
_MAX_COMPARED = 750  # instants at which widths are compared
_WIDTH_SHARES = (0.2, 0.5, 1.0, 2.0)  # half widths of the smoothing to choose from, of a window


def torque_windows(
    model: VMSModel,
    motion: Motion,
    unknowns: Sequence[Unknown],
    settings: WindowSettings,
    stride: int = 0,
    width: int = 0,
    at_base: bool = False,
    effort_width: int = 0,
) -> Windows:
    """Return rows ``effort = regressor x`` at samples, with accelerations from the positions.

    Each row is one joint at one sample, divided by the root mean square of the joint's effort.
    Accelerations are slopes of the velocities by local cubics; efforts and what friction multiplies
    are smoothed in the same way.

    Args:
        model: the robot.
        motion: the recording.
        unknowns: whose columns are wanted.
        settings: of the windows of the energy balance.
        stride: samples to a row; 0: as many as accelerations that share few samples have.
        width: half width of the cubics in samples; 0: half a window.
        at_base: whether the rows of the wrench of a moving base come before those of its joints.
        effort_width: half width of those of efforts and friction; 0: as of accelerations.
    """
    samples, b = motion.samples, model.b
    regressor = EnergyRegressor(model)
    body, transform = regressor.of_frame(settings.payload_frame)
    width = width or smoothing_width(samples.t, 0.5 * settings.length)
    ids = _row_indices(len(samples), width, stride or min(ROW_SPACING, width), _MAX_INSTANTS)
    acceleration = smooth(samples.t, motion.v, width, ids)[1]
    start = 0 if at_base else b
    measured_efforts = motion.torque
    if at_base:
        base_wrench = samples.wrenches["base"][:, BASE_COMPONENTS[b]]
        measured_efforts = np.hstack([base_wrench, measured_efforts])
    effort_width = effort_width or width
    efforts = smooth(samples.t, measured_efforts, effort_width, ids)[0]
    # With the noise of few samples, lags would seem smaller than they are.
    rate_width = max(width, smoothing_width(samples.t, settings.length))
    effort_rates = smooth(samples.t, measured_efforts, rate_width, ids)[1]
    payload_indices, inertia_indices = (
        [k for k, u in enumerate(unknowns) if u.kind == kind] for kind in ("payload", "inertia")
    )
    index_of = {unknown.name: k for k, unknown in enumerate(unknowns)}
    columns = np.zeros((len(ids), measured_efforts.shape[1], len(unknowns)))
    target = efforts.copy()
    joint_target = target[:, b - start :]
    for port, wrench in samples.wrenches.items():
        if port != "base":
            frame = model.frame_id(port)
            target += generalised_forces(model, samples.q[ids], wrench[ids], frame)[:, start:]
    if settings.friction is not None:
        known_friction = settings.friction(motion.v[:, b:])
        joint_target -= smooth(samples.t, known_friction, effort_width, ids)[0]
    armature, tree = np.concatenate([np.zeros(b), model.armature]), model.tree
    data = tree.pinocchio.createData()
    for row, k in enumerate(ids):
        v, a = motion.v[k], acceleration[row]
        state = tree.full_configuration(samples.q[k]), tree.full_velocity(v), tree.full_velocity(a)
        # Of a robot with one joint Pinocchio returns a vector.
        full_rows = pin.computeJointTorqueRegressor(tree.pinocchio, data, *state)
        rows = tree.restrict(full_rows.reshape(tree.pinocchio.nv, -1))[start:]
        target[row] -= rows @ regressor.parameters + (armature * a)[start:]
        if (fluid := model.fluid) is not None:
            d = model.evaluate(samples.q[k], v)
            fluid_force = fluid.added_mass(d) @ a + fluid.coriolis(d) @ v - fluid.buoyancy(d)
            target[row] -= (fluid_force - fluid.drag(d))[start:]
            for link_drag, drag in drag_efforts(d).items():
                if (name := f"drag.{link_drag}") in index_of:
                    columns[row][:, index_of[name]] = drag[start:]
                    # The known forces have all of the drag; the unknown is the factor on it.
                    target[row] += drag[start:]
        if payload_indices:
            columns[row][:, payload_indices] = rows[:, 10 * body : 10 * body + 10] @ transform
        if inertia_indices:
            columns[row][:, inertia_indices] = rows
    signals = motion.v[:, b:], motion.torque, motion.load, index_of, motion.motors
    terms = [x for x in joint_columns(model, *signals) if x[0] in index_of and x[0][:5] != "gain."]
    if terms:
        friction = np.stack([effort for _, _, effort in terms], axis=1)
        smoothed_friction = smooth(samples.t, friction, effort_width, ids)[0]
        for (name, j, _), signal in zip(terms, smoothed_friction.T, strict=True):
            columns[:, b - start + j, index_of[name]] = signal
    for j, joint in enumerate(model.joint_names):
        if f"armature.{joint}" in index_of:
            rotor_torque = np.outer(acceleration[:, b:] @ motion.motors[j], motion.motors[j])
            columns[:, b - start :, index_of[f"armature.{joint}"]] = rotor_torque
        if f"gain.{joint}" in index_of:
            # The errors are those of the efforts: a gain g divides what is required. About one that
            # is (2 - g) times it, and the column has no errors that would make the gain too small.
            required_efforts = efforts[:, b - start + j] - joint_target[:, j]
            joint_target[:, j] -= required_efforts
            columns[:, b - start + j, index_of[f"gain.{joint}"]] = -required_efforts
        if f"{EFFORT_LAG}.{joint}" in index_of:
            row = b - start + j
            columns[:, row, index_of[f"{EFFORT_LAG}.{joint}"]] = -effort_rates[:, row]
    if EFFORT_LAG in index_of:
        columns[:, :, index_of[EFFORT_LAG]] = -effort_rates
    rms = np.sqrt(np.mean(measured_efforts**2, axis=0))
    rms = np.maximum(rms, 1e-4 * rms.max() + 1e-9)  # of joints without effort too
    scaled_columns = (columns / rms[:, None]).reshape(-1, len(unknowns))
    t = np.repeat(samples.t[ids], rms.size)
    ones = np.ones(t.size)
    # The place of the sizes of the joints is that of the gross work of windows.
    effort_sizes = np.tile(rms, len(ids))
    return Windows(t, t, (target / rms).reshape(-1), scaled_columns, effort_sizes, ones, 0.0 * ones)


def smoothing_width(t: Array, half_time: float) -> int:
    """Return the half width in samples of one in s, at least three."""
    return max(3, round(half_time / float(np.median(np.diff(t)))))


def _row_indices(sample_count: int, width: int, spacing: int, max_rows: int) -> Any:
    # From a multiple of the spacing on, so that other widths have the same samples.
    spacing = max(1, spacing, -(-sample_count // max_rows))
    return np.arange(-(-width // spacing) * spacing, sample_count - width, spacing)


def _model_efforts(model: VMSModel, motion: Motion, width: int, ids: Any) -> Array:
    """Return the joint efforts of the description without friction, (M,n), at some samples."""
    acceleration = smooth(motion.samples.t, motion.v, width, ids)[1]
    tree, rows = model.tree, []
    data = tree.pinocchio.createData()
    for q, v, a in zip(motion.samples.q[ids], motion.v[ids], acceleration, strict=True):
        state = tree.full_configuration(q), tree.full_velocity(v), tree.full_velocity(a)
        rows.append(tree.restrict(pin.rnea(tree.pinocchio, data, *state))[model.b :])
    return np.array(rows)


def with_described_load(model: VMSModel, motion: Motion, duration: float) -> Motion:
    """Return the motion with the efforts of the description as those of the gears.

    Where gains are unknown: with the recorded efforts, friction of the gears could be these efforts
    themselves, whatever they are.

    Args:
        model: the robot.
        motion: the recording.
        duration: of a window, s, half of which accelerations are smoothed over.
    """
    width = smoothing_width(motion.samples.t, 0.5 * duration)
    return replace(motion, load=_model_efforts(model, motion, width, np.arange(len(motion.v))))


def with_net_load(model: VMSModel, motion: Motion, coefficients: Mapping[str, float]) -> Motion:
    """Return the motion with what the gears transmit: the recorded efforts less known friction.

    So friction grows with the same load as where it was identified, in
    :func:`with_described_load`.

    Args:
        model: the robot.
        motion: the recording.
        coefficients: coefficients of friction by their names, among others.
    """
    friction, share = np.zeros((2, *motion.torque.shape))
    rate, ones = motion.v[:, model.b :], np.ones_like(friction)
    for name, j, factor in joint_columns(model, rate, ones, ones, coefficients, motion.motors):
        if name in coefficients and not name.startswith("gain."):
            (share if name.endswith(".load") else friction)[:, j] += coefficients[name] * factor
    load = motion.torque - friction
    return replace(motion, load=load / (1.0 + share * np.sign(load)))


def best_width(
    model: VMSModel, motion: Motion, unknowns: Sequence[Unknown], settings: WindowSettings
) -> int:
    """Return the half width, in samples, of accelerations that predict held-out efforts best.

    The least one that does so within 2 %: less is smoothed away. The efforts are hardly smoothed,
    and joints count alike.

    Args:
        model: the robot.
        motion: the recording.
        unknowns: with all errors of the description, which would hide those of accelerations.
        settings: see :func:`torque_windows`.
    """
    t, moments, errors = motion.samples.t, prior_of(unknowns), dict[int, float]()
    widths = sorted({smoothing_width(t, share * settings.length) for share in _WIDTH_SHARES})
    widths = [width for width in widths if 40 * width < len(t)]  # few windows tell nothing
    for width in widths:
        options = max(min(ROW_SPACING, widths[0]), len(t) // _MAX_COMPARED), width, False, widths[0]
        rows = torque_windows(model, motion, unknowns, settings, *options)
        # All at the same samples.
        rows = rows.select((rows.begin >= t[widths[-1]]) & (rows.begin < t[-1 - widths[-1]]))
        error = torque_error(rows, model.n, *moments)[0][motion.moving_joints]
        errors[width] = float(np.log(np.maximum(error, 1e-3)).mean())
    least = min(errors.values(), default=0.0)
    return next((width for width in widths if errors[width] <= least + 0.02), 0)


def effort_lag(model: VMSModel, t: Array, q: Array, effort: Array) -> float:
    """Return by how much efforts surely follow the positions, s, as :func:`effort_lags`, or zero.

    The velocities are slopes of the positions, as recorded ones may themselves be late.
    """
    position = np.cumsum(np.pad(displacements(model, q), ((1, 0), (0, 0))), axis=0)
    lag, share, low, high = effort_lags(model, t, q, smoothed_velocity(t, position)[0], effort)
    return 0.0 if share >= 0.8 or low * high <= 0.0 else lag


def effort_lags(
    model: VMSModel, t: Array, q: Array, v: Array, effort: Array
) -> tuple[float, float, float, float]:
    """Return by how much efforts follow the motion that needs them, s; NaN where none is found.

    The lag with the smallest held-out error, with a gain and friction fitted for each joint: the
    geometric mean over the joints, as one that fits badly says little. The search ends beyond
    :data:`.LONGEST_LAG`; there, and where friction alone does as well, it finds nothing.

    Args:
        model: the robot.
        t: (N,) increasing, s.
        q: (N,nq).
        v: (N,nv).
        effort: (N,n).

    Returns:
        The lag, its share of the squared error without a lag, and the least and the largest lag
        that fit nearly as well.
    """
    mean_rate = np.asarray(0.5 * (v[1:] + v[:-1]))[:, model.b :]
    samples = MotionSamples(t.copy(), q.copy(), v.copy(), effort.copy())
    no_steps, indices = np.zeros((0, model.nv)), np.arange(len(t))
    motion = Motion(samples, no_steps, v, effort[:-1], effort, mean_rate, indices, effort)
    width = smoothing_width(t, 0.02)
    ids = _row_indices(len(t), width, width, _MAX_SMOOTHED)
    ids = ids[(t[ids] > t[0] + _SEARCHED_LAG) & (t[ids] < t[-1] - _SEARCHED_LAG)]
    if ids.size < 50:
        return float("nan"), 0.0, 0.0, 0.0
    rates = v[:, model.b :]
    friction = np.split(smooth(t, np.hstack([rates, np.tanh(rates / SLIP)]), width, ids)[0], 2, 1)
    terms = [_model_efforts(model, motion, width, ids), *friction, np.ones_like(friction[0])]
    # Between samples their mean has less noise, which must not look like a better fit.
    effort = smooth(t, effort, width)[0]
    lags = np.arange(-_SEARCHED_LAG, _SEARCHED_LAG + 1e-9, 0.01)
    times = t[ids, None] + lags
    values = np.stack([np.interp(times, t, column) for column in effort.T], axis=1)
    ratio = held_out_error(values, terms) / np.maximum(held_out_error(values, terms[1:]), 1e-12)
    error = 2.0 * np.mean(np.log(np.maximum(ratio, 1e-3)), axis=0)
    best_index = int(np.argmin(error))
    similar = lags[error < error[best_index] - np.log(0.95)]
    low, high, lag_free_error = float(similar[0]), float(similar[-1]), float(error[len(lags) // 2])
    if best_index in (0, len(lags) - 1) or error[best_index] > np.log(0.8):
        return float("nan"), float(np.exp(error[best_index] - lag_free_error)), low, high
    # The vertex of a parabola.
    slope = 0.5 * (error[best_index + 1] - error[best_index - 1])
    step = -slope / max(float(np.diff(error[best_index - 1 : best_index + 2], 2)[0]), 1e-9)
    share = float(np.exp(error[best_index] + 0.5 * slope * step - lag_free_error))
    return float(lags[best_index] + 0.01 * step), share, low, high


def torque_error(
    rows: Windows, output_count: int, mean: Array, covariance: Array
) -> tuple[Array, Array, Array]:
    """Return the held-out errors and residuals of a torque regression, (output_count,), and x (p,).

    Each fifth of the time is predicted from the others. Errors are root mean squares relative to
    those of the efforts.

    Args:
        rows: of one or more recordings.
        output_count: rows at an instant.
        mean: (p,) of what is believed beforehand.
        covariance: (p,p) likewise.
    """
    scale = np.sqrt(np.diag(covariance))
    precision = np.linalg.inv(covariance / np.outer(scale, scale) + 1e-9 * np.eye(scale.size))
    columns = (rows.columns * scale).reshape(-1, output_count, len(scale))
    target = (rows.target - rows.columns @ mean).reshape(-1, output_count)
    is_used = rows.columns.any(axis=1).reshape(-1, output_count)
    fold_of = np.arange(len(target)) * FOLDS // max(len(target), 1)
    system, output_weight = np.dstack([columns, target]).swapaxes(0, 1), np.ones(output_count)
    fold_systems = [system[:, fold_of == k] for k in range(FOLDS)]
    grams = np.stack([part.swapaxes(1, 2) @ part for part in fold_systems])
    for _ in range(2):
        fold_grams = np.tensordot(output_weight**2, grams, (0, 1))
        gram = fold_grams.sum(axis=0)
        gram[:-1, :-1] += precision
        x = mean + scale * np.linalg.solve(gram[:-1, :-1], gram[:-1, -1])
        magnitude = np.ma.array(np.abs(target - columns @ ((x - mean) / scale)), mask=~is_used)
        median = np.ma.median(magnitude, axis=0)  # type: ignore[no-untyped-call]
        residual = 1.4826 * median.filled(0.0)
        output_weight = 1.0 / np.maximum(residual, 1e-3)
    error = np.empty_like(target)
    for k in range(FOLDS):
        other_grams = gram - fold_grams[k]
        x_fold = np.linalg.solve(other_grams[:-1, :-1], other_grams[:-1, -1])
        error[fold_of == k] = target[fold_of == k] - columns[fold_of == k] @ x_fold
    mean_square = np.sum(error**2, axis=0) / np.maximum(is_used.sum(axis=0), 1)
    return np.sqrt(mean_square), np.maximum(residual, 1e-3), x

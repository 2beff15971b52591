# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Friction, payload, gains, armature and inertia of a robot from its recordings."""

import itertools
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..arrays import Array
from ..energy.energy_path import drag_names
from ..energy.regressor import EnergyRegressor
from ..energy.samples import MotionSamples
from ..errors import OptionError, StateError
from ..model import VMSModel
from .effort_meaning import effort_meaning, hidden_power
from .estimate import BodyConstraint, Estimate, base_parameters, estimate, nearest_physical, student
from .result import (
    EFFORT_LAG,
    KINDS,
    LEFT_OUT,
    NO_EFFORT,
    NO_TORQUES,
    STRIBECK,
    UNSURE_GAINS,
    UNSURE_LOAD,
    Identification,
    Parameter,
    Posterior,
    Unknown,
    armature_unknowns,
    checked_kinds,
    friction_unknowns,
    inertia_unknowns,
    payload_unknowns,
    prior_of,
    timing_unknown,
)
from .torque import best_width, torque_error, torque_windows, with_described_load, with_net_load
from .windows import (
    LEAST_MOTION,
    FrictionLaw,
    Motion,
    Windows,
    WindowSettings,
    energy_windows,
    motion_of,
    stack,
)

# The data excite a parameter if they reduce its standard deviation to this share of the prior's.
_EXCITED_SHARE, _EXCITED_PAYLOAD_SHARE = 0.25, 0.1
_SMOOTHING_SHARE = 5e-4  # share of an estimate that the differentiation of samples may change
# The inertia of the description may be corrected, within a prior of these shares of the usual
# deviation: the smallest one is taken whose product of the joints' held-out errors is within this
# factor of the least, and whose corrections are no larger than believed.
_ERROR_FACTOR = 1.05
_PRIOR_SHARES = (0.12, 0.3, 1.0)
# Before that the masses of links are believed to be in error by a share (standard deviation), and
# all parameters by a small share of their usual deviation.
_MASS_ERROR, _LEAST_SHARE = 0.025, 0.01
_MIN_ERROR = 5e-4  # held-out error, as a share of the efforts, below which no correction is sought
# Mean square of corrections relative to their deviations: of all parameters, as many moments hardly
# differ, and of masses.
_LARGEST_CORRECTIONS = (0.3, 4.0)
# Disturbances are sought where a held-out error is beyond this share of the efforts, among so many
# parts of the time, up to so many in a row, by how much smaller they leave the errors. With them go
# the time before and after them, s, and what is left in pieces of fewer samples. None are sought in
# more recordings than this, as several of them leave.
_DISTURBED_ERROR, _N_PARTS, _MAX_DISTURBED, _MIN_RATIO = 0.01, 20, 12, 3.0
_DISTURBED_MARGIN, _MIN_SAMPLES, _MAX_RECORDINGS = 0.2, 100, 4
_LOAD_SHARE = 0.8  # of the product of the joints' held-out errors, to which a load must lower it
_RECORDING_GAP = 10.0  # s, between recordings whose efforts are judged together
_GAIN_SPREAD = 0.3  # standard deviation of the factors of gains beforehand
# Share of the held-out error of friction alone that a gain may leave: otherwise the errors of the
# description may be as large as what the gain explains.
_FRICTION_ERROR_SHARE = 0.5
_JOINT_LAG = 0.02  # s, standard deviation of the lag of one effort behind the others
_MAX_LOAD_FRICTION = 0.5  # share of the load; gears that lose more are self-locking
# Mean of |tanh(rate / SLIP)| in a window below which a joint may rest or reverse.
_MIN_SLIDING = 0.9
# Smallest excess of dry friction at low speed that is held possible, as a share of the efforts; and
# share by which half an interval is longer where one that is missed would have moved the estimate.
_MIN_EXCESS, _MISSED_EXCESS = 0.01, 0.7
# Standard deviation by which friction may have changed since a prior was made, as a share of it.
_FRICTION_DRIFT = 0.1


@dataclass(frozen=True)
class Settings:
    """What an identification looks for besides what it is asked for.

    Attributes:
        load_friction: whether friction may grow with the load of the gears; None: if gains are
            identified or known from a prior, as efforts are then those of the motors.
        energy: whether the energy of windows is asked for the same parameters, as a check.
        inertia: whether masses of the description are believed to 2.5 % only, and its inertia may
            be corrected where it is not asked for, by as little as predicts held-out time nearly
            best. If not, the description is taken as exact.
    """

    load_friction: bool | None = None
    energy: bool = True
    inertia: bool = True


def identify(
    model: VMSModel,
    samples: MotionSamples | Sequence[MotionSamples],
    kinds: Collection[str] = ("payload", "friction"),
    *,
    frame: str | None = None,
    friction: FrictionLaw | None = None,
    prior: Posterior | None = None,
    settings: Settings | None = None,
) -> Identification:
    """Return what recordings tell of a robot.

    The efforts are linear in the inertial parameters and in the coefficients of friction: a torque
    regression, robust and weighted by the errors of each joint, with velocities and accelerations
    from the positions. Joints whose efforts contradict the model are left out. Where the inertia of
    the description predicts held-out time clearly worse than one that is estimated, the latter is
    estimated too. The balances of energy over windows, which need no accelerations, are an
    independent check.

    Args:
        model: the robot as it is described.
        samples: one recording or several.
        kinds: of payload, friction, gains, armature, inertia, and in a fluid drag. Friction is
            always estimated unless it is given; it is reported if it is asked for.
        frame: at which a payload is fixed; the flange or end effector when None.
        friction: a law of friction that is known: torque against the motion at joint rates.
        prior: what an earlier identification found, such as gains and friction without a load.
        settings: see :class:`Settings`.

    Raises:
        OptionError: a kind is unknown, kinds cannot be told apart, friction is given and asked for,
            or the robot has no joints.
        ModelError: the frame is unknown or does not move.
        StateError: the samples are not those of the model, or too few.
    """
    kinds, settings, asked_prior = checked_kinds(kinds), settings or Settings(), prior
    if friction is not None and "friction" in kinds:
        raise OptionError("friction is given, so it cannot be identified; leave one of them out")
    recordings = [samples] if isinstance(samples, MotionSamples) else list(samples)
    if not recordings:
        raise OptionError("there is no recording to identify from; give at least one")
    if not model.n:
        raise OptionError(f"'{model.name}' has no joints, from whose efforts it is identified")
    frame = payload_frame(model) if frame is None else frame
    regressor = EnergyRegressor(model)
    regressor.of_frame(frame)
    motions = [motion_of(model, recording) for recording in recordings]
    prior_means = {} if prior is None else dict(zip(prior.names, prior.mean.tolist(), strict=True))
    prior_kinds = {name.split(".")[0] for name in prior_means}
    reasons, left_out, torque_gains, is_scaled = _effort_exclusions(
        model, motions, {*kinds, *prior_kinds}
    )
    # What is identified are factors about one, on efforts of the size of torques.
    scales = np.array([prior_means.get(f"gain.{joint}", 1.0) for joint in model.joint_names])
    if "gains" in kinds and "gain" not in prior_kinds:
        scales = torque_gains
    gains = dict(zip((f"gain.{j}" for j in model.joint_names), scales.tolist(), strict=True))
    if np.any(scales != 1.0):
        motions = [motion_of(model, replace(r, torque=r.torque * scales)) for r in recordings]
        prior = prior and prior.times({name: 1.0 / gain for name, gain in gains.items()})
    options = WindowSettings(frame, friction=friction)
    if "gains" in kinds and model.fluid is None:
        motions = [with_described_load(model, motion, options.length) for motion in motions]
    elif prior_means:
        motions = [with_net_load(model, m, prior_means) for m in motions]
    unknowns = _unknowns(model, regressor, motions, kinds, friction, prior_kinds, settings)
    usual_unknowns = [u for u in unknowns if u.kind in ("friction", "armature", "timing")]
    corrected = [*usual_unknowns, *_correction_unknowns(model, regressor, usual_unknowns, 1.0)]
    regression = _Regression(model, motions, options, left_out, corrected)
    is_moving = any(m.moves for m in motions)
    # The smallest correction of the description that predicts held-out time nearly best.
    rival_kinds = {*kinds, *prior_kinds} & {"gains", "gain", "inertia", "drag"}
    may_correct, trials = is_moving and settings.inertia and not rival_kinds, list[_Trial]()
    shares = (0.0, *_PRIOR_SHARES) if may_correct else (0.0,)
    for deviation_factor in _INERTIA_FACTORS if "inertia" in kinds else shares:
        variant = unknowns
        if "inertia" in kinds:
            factors = {"inertia": deviation_factor}
            variant = [replace(u, deviation=factors.get(u.kind, 1) * u.deviation) for u in unknowns]
        elif may_correct:
            variant = [
                *unknowns,
                *_correction_unknowns(model, regressor, unknowns, deviation_factor),
            ]
        is_new = not trials or len(variant) > len(trials[-1].unknowns)
        trials.append(regression.trial(variant, prior, None if is_new else trials[-1].rows))
        is_sought = len(trials) == 1 and is_moving and len(recordings) <= _MAX_RECORDINGS
        if is_sought and trials[0].error.max() > _DISTURBED_ERROR:
            undisturbed, periods = _undisturbed_parts(recordings, trials[0])
            if periods and undisturbed:
                laws: dict[str, Any] = {"friction": friction, "prior": asked_prior}
                result = identify(model, undisturbed, kinds, frame=frame, settings=settings, **laws)
                return replace(result, disturbed=(*periods, *result.disturbed))
    is_gain_better = np.zeros(model.n, dtype=bool)
    if is_moving and not {"gains", "gain", "inertia"} & {*kinds, *prior_kinds}:
        # Far better than with a load, or whatever else was asked for, and no correction.
        with_gains = [*(u for u in unknowns if u.kind != "payload"), *_gain_unknowns(model)]
        gain_error = regression.trial(with_gains, prior).error
        is_gain_better = (gain_error < _FRICTION_ERROR_SHARE * trials[0].error)[-model.n :]
        is_scaled &= is_gain_better
    log_errors = [np.log(np.maximum(trial.error, _MIN_ERROR)).sum() for trial in trials]
    bound = min(log_errors) + np.log(_ERROR_FACTOR)
    choices = (t for t, e in zip(trials, log_errors, strict=True) if e <= bound and t.is_expected)
    best_trial = next(choices, trials[-1])
    is_without_load = "gains" in kinds and all(unknown.kind != "payload" for unknown in unknowns)
    load = load_unknowns(model) if is_without_load and is_moving else []
    load_trial = regression.trial([*load, *unknowns], prior) if load else best_trial
    if _error_share(load_trial.error, best_trial.error) <= _LOAD_SHARE:
        reasons |= dict.fromkeys(KINDS, UNSURE_GAINS)
    unknowns, rows, (prior_mean, prior_covariance), error, residual_scale, best_values = best_trial
    is_held = all(m.samples.zero_order_hold for m in motions)
    for kind in ("lag", "timing"):
        # Lags of single joints and of commands, and efforts that lead, must predict clearly better.
        lags = [lag for u, lag in zip(unknowns, best_values, strict=True) if u.kind == kind]
        if lags and (kind == "lag" or lags[0] < 0.0 or is_held):
            lag_free_rows = rows.without_kinds(unknowns, (kind,))
            lag_free_fit = regression.error(lag_free_rows, prior_mean, prior_covariance)
            if np.sum(lag_free_fit[0] ** 2) <= _ERROR_FACTOR**2 * np.sum(error**2):
                rows, (error, residual_scale, best_values) = lag_free_rows, lag_free_fit
    beyond_friction = ("payload", "inertia", "armature", *({"gains"} & {*kinds}))
    friction_rows = rows.without_kinds(unknowns, beyond_friction)
    # The rows have the required efforts times two less the gain, see :func:`.torque_windows`.
    gain_efforts = (rows.columns - friction_rows.columns) @ [u.kind == "gains" for u in unknowns]
    friction_rows = replace(friction_rows, target=rows.target - 2.0 * gain_efforts)
    friction_error = regression.error(friction_rows, prior_mean, prior_covariance)[0]
    for j, joint in enumerate(model.joint_names, -model.n):
        if "gains" in kinds and error[j] > _FRICTION_ERROR_SHARE * friction_error[j]:
            reasons.setdefault(joint, "friction alone fits nearly as well as any gain of the joint")
            regression.is_believed[j] = False  # nor may its errors pass for a load later
    solution = regression.estimate(rows, prior_mean, prior_covariance, residual_scale)
    if "gain" in prior_kinds and "inertia" not in prior_kinds:
        solution = _with_errors_of_gains(solution, unknowns)
    for u, share in zip(unknowns, solution.mean, strict=True):
        if u.name.endswith(".load") and share > _MAX_LOAD_FRICTION:
            reason = f"friction would take {share:.0%} of the load, with which gears lock"
            reasons.setdefault(u.name[9:-5], reason)
    consistent = consistent_estimate(regressor, frame, unknowns, solution)
    superset, wide, coulomb_joints = unknowns, None, set[str]()
    if is_moving and friction is None:
        superset, wide = _with_low_speed_friction(regression, [*unknowns, *load], prior, solution)
        stribeck = {u.name.partition(".stribeck_")[0] for u in superset if u.name[-2:] != "_0"}
        coulomb_joints = {f"friction.{joint}" for joint in model.joint_names} - stribeck
    parameters = parameters_of(regressor, unknowns, kinds, solution, consistent, coulomb_joints)
    if wide is not None:
        # Also what this does not excite has an interval.
        wide_unknowns = [replace(u, deviation=10.0 * u.deviation) for u in unknowns]
        wider = parameters_of(regressor, wide_unknowns, kinds, wide, wide.mean, coulomb_joints)
        parameters = tuple(p.widen(q) for p, q in zip(parameters, wider, strict=True))
    rest_reason = (
        "" if is_moving else f"not excited: nothing moved by more than {LEAST_MOTION} rad or m"
    )
    why = [reasons.get(p.joint, reasons.get(p.kind, rest_reason)) for p in parameters]
    parameters = tuple(p.without_value(w) if w else p for p, w in zip(parameters, why, strict=True))
    windows = stack([energy_windows(model, regressor, m, superset, options) for m in motions])
    notes = {j: _GAIN_DOUBT for j, ok in zip(model.joint_names, is_gain_better, strict=True) if ok}
    is_reported = np.array([joint not in reasons for joint in model.joint_names])
    big_errors = error[-model.n :] * (is_reported & (error[-model.n :] > _LARGE_ERROR))
    unexplained = [(m.samples, big_errors * np.sqrt(np.mean(m.torque**2, axis=0))) for m in motions]
    fits = {u.name: float(x) for u, x in zip(unknowns, consistent, strict=True)}
    armature = np.maximum([fits.get(f"armature.{joint}", 0.0) for joint in model.joint_names], 0.0)
    hidden_work = sum(x.duration * hidden_power(model, x, r, armature) for x, r in unexplained)
    shared_doubt = _VIBRATION_DOUBT * bool(hidden_work > _MAX_VIBRATION * windows.gross.sum())
    meanings = (notes.get(p.joint, p.meaning) or shared_doubt for p in parameters)
    parameters = tuple(replace(p, meaning=m) for p, m in zip(parameters, meanings, strict=True))
    by_energy: dict[str, Parameter] = {}
    if settings.energy and is_moving and NO_EFFORT not in reasons.values():
        moments = _prior([replace(u, body_deviation=0.0) for u in superset], prior)
        fit = estimate(windows.columns, windows.target, *moments, windows.noise, windows.recording)
        by_energy = {p.name: p for p in parameters_of(regressor, unknowns, kinds, fit, fit.mean)}
    if "payload" in kinds:
        without_load = rows.without_kinds(unknowns, ("payload",))
        share = _error_share(error, regression.error(without_load, prior_mean, prior_covariance)[0])
        parameters = _with_load_or_doubt(parameters, share, by_energy)
    windows = replace(windows, columns=windows.columns[:, : len(unknowns)])
    # Errors of described masses are believed anew of every recording.
    dropped_kinds = {*reasons, "lag", *(u.kind for u in unknowns if u.body_deviation)}
    indices = [k for k, u in enumerate(unknowns) if u.kind not in dropped_kinds]
    names, covariance = tuple(unknowns[index].name for index in indices), solution.covariance
    posterior = Posterior(names, solution.mean[indices], covariance[np.ix_(indices, indices)])
    residual = float(np.sqrt(np.mean((windows.target - windows.columns @ consistent) ** 2)))
    parameters = tuple(parameter.times(gains.get(parameter.name, 1.0)) for parameter in parameters)
    joints = list(enumerate(model.joint_names, -model.n))
    errors = {name: (float(error[j]), float(friction_error[j])) for j, name in joints}
    return Identification(
        parameters=parameters, posterior=posterior.times(gains), gross=float(windows.gross.sum()),
        unaccounted_before=_largest_unaccounted(windows, np.array([u.mean for u in unknowns])),
        unaccounted=_largest_unaccounted(windows, consistent),
        residual=residual, windows=len(windows), frame=frame, unknowns=tuple(unknowns),
        length=float(np.median(windows.end - windows.begin)),
        consistent=consistent * np.array([gains.get(u.name, 1.0) for u in unknowns]),
        energy={name: p.times(gains.get(name, 1.0)) for name, p in by_energy.items()},
        quantile=solution.quantile,
        error={name: pair for name, pair in errors.items() if name not in reasons},
        scaled={name: float(torque_gains[j]) for j, name in joints if is_scaled[j]},
    )  # fmt: skip


# Error of described masses, which gains inherit; share of the exchanged energy that vibrations too
# fast for the samples may move, and held-out error of joints in which they may be.
_DESCRIPTION_ERROR, _MAX_VIBRATION, _LARGE_ERROR = 0.1, 0.02, 0.05
_INERTIA_FACTORS = (1.0, 3.0, 10.0)  # of the deviations of an inertia that is asked for

_NO_EFFORTS = "the recording has no efforts, so nothing can be identified from it"
_GAIN_DOUBT = "unsure, because a gain of the effort fits far better (--identify gains,friction)"
_VIBRATION_DOUBT = "unsure, because vibrations too fast for the samples may be in the efforts"

_SENSOR = re.compile(
    r"camera|optical|depth|rgb|xtion|realsense|kinect|lidar|laser|imu|sensor|scan|head|lens|inertial",
    re.IGNORECASE,
)
_HAND = re.compile(
    r"(^|_)(flange|tool0?|tcp|ee|eef|end_?effector|hand|gripper|wrist|tool_link|ee_link)(_|$)",
    re.IGNORECASE,
)


def payload_frame(model: VMSModel) -> str:
    """Return the frame at which a payload is fixed: the end effector, or the flange or hand.

    Raises:
        OptionError: the end effector of the model is a sensor, and there is not one flange or hand.
    """
    frame = model.end_effector
    if not _SENSOR.search(frame):
        return frame
    pinocchio = model.tree.pinocchio
    links = [name for name in model.link_names if _HAND.search(name) and not _SENSOR.search(name)]
    hands = {pinocchio.frames[model.frame_id(name)].parentJoint: name for name in links}
    hands.pop(0, None)
    # Of the hands of one chain the last.
    chains = [set(list(pinocchio.supports[joint])[:-1]) for joint in hands]
    tips = [name for joint, name in hands.items() if not any(joint in chain for chain in chains)]
    if len(tips) == 1:
        return tips[0]
    raise OptionError(
        f"the end effector '{frame}' looks like a sensor, which carries no payload; choose the "
        f"frame of the payload (--payload-frame), such as "
        f"{', '.join(tips or list(hands.values())) or 'the flange'}"
    )


def _with_load_or_doubt(
    parameters: Sequence[Parameter], share: float, energy: Mapping[str, Parameter]
) -> tuple[Parameter, ...]:
    """Return parameters whose load is called unsure where it is hardly needed or impossible.

    Args:
        parameters: of an identification.
        share: product over the joints of their held-out errors relative to those without the load.
        energy: what the balances of energy find of the same parameters, by name.
    """
    mass_parameter = parameters[0]
    bound_names = [parameter.name[8:] for parameter in parameters[:4] if parameter.at_bound]
    differences = [p.name[8:] for p in parameters[:4] if not p.overlaps(energy.get(p.name, p), 0.5)]
    if mass_parameter.value is None or mass_parameter.contains(0.0):
        return tuple(parameters)
    if share > _LOAD_SHARE:
        reason = f"{UNSURE_LOAD} hardly lowers the error on held-out time"
    elif bound_names:
        reason = f"{UNSURE_LOAD} has its {bound_names[0]} at the bound of what is physical"
    elif differences:
        reason = f"{UNSURE_LOAD} has another {differences[0]} by the balances of energy"
    else:
        return tuple(parameters)
    all_but_mass = (p.without_value(reason) if p.kind == "payload" else p for p in parameters[1:])
    return (replace(mass_parameter, meaning=reason), *all_but_mass)


def _with_errors_of_gains(solution: Estimate, unknowns: Sequence[Unknown]) -> Estimate:
    """Return an estimate whose errors contain those of described masses, which gains inherit."""
    is_gain = np.array([u.kind == "gains" for u in unknowns])
    information = solution.information[~is_gain]
    response = -np.linalg.solve(information[:, ~is_gain], information[:, is_gain])
    errors = np.zeros((int(is_gain.sum()), len(unknowns)))
    errors[:, ~is_gain] = (response * _DESCRIPTION_ERROR * solution.mean[is_gain]).T
    return replace(solution, factor=np.vstack([solution.factor, errors]))


class _Trial(NamedTuple):
    """A torque regression with some unknowns, and how well it predicts held-out time."""

    unknowns: list[Unknown]
    rows: Windows
    prior_moments: tuple[Array, Array]
    error: Array
    residual_scale: Array
    solution: Array

    @property
    def _prior_root(self) -> Array:
        covariance = self.prior_moments[1]
        return np.linalg.cholesky(covariance + 1e-9 * np.diag(np.diag(covariance)))

    @property
    def whitened(self) -> Array:
        """Rows of unknowns that are one beforehand, relative to the residuals, and targets."""
        scales = np.tile(self.residual_scale, len(self.rows) // self.residual_scale.size)
        target = self.rows.target - self.rows.columns @ self.prior_moments[0]
        return np.column_stack([self.rows.columns @ self._prior_root, target]) / scales[:, None]

    @property
    def is_expected(self) -> bool:
        """Whether the corrections of the inertia are no larger than they are believed to be."""
        mean, design = self.prior_moments[0], self.whitened[:, :-1]
        excited_shares = 1.0 - np.diag(np.linalg.inv(np.eye(mean.size) + design.T @ design))
        is_inertia = np.array([unknown.kind == "inertia" for unknown in self.unknowns])
        sizes = np.linalg.solve(self._prior_root, self.solution - mean)
        limit = _LARGEST_CORRECTIONS[any(u.body_deviation for u in self.unknowns)]
        return float(sizes**2 @ is_inertia) <= limit * float(excited_shares @ is_inertia)


def _undisturbed_parts(
    recordings: Sequence[MotionSamples], trial: _Trial
) -> tuple[list[MotionSamples], list[tuple[float, float]]]:
    """Return what is left of recordings without disturbances, and the times of these, s.

    By the null hypothesis errors are as large at all times. It is refused where some parts of the
    time in a row, left out, lower the errors of two joints at all others to a third, and have far
    larger ones themselves: a push does that, and a wrong model hardly.
    """
    outputs, whitened = trial.residual_scale.size, trial.whitened
    whitened_rows = whitened.reshape(-1, outputs, whitened.shape[1]).swapaxes(0, 1)
    parts = np.array_split(whitened_rows, _N_PARTS, axis=1)
    grams = np.stack([part.swapaxes(1, 2) @ part for part in parts])
    counts = np.stack([part.any(axis=2).sum(axis=1) for part in parts])
    sums = [np.concatenate([0 * x[:1], np.cumsum(x, axis=0)]) for x in (counts, grams)]

    def fit(first: int, last: int) -> tuple[Array, Array]:
        """Return mean squares (2,outputs) inside and outside, fitted outside, and numbers."""
        numbers, gram = (np.stack([x[last] - x[first], x[-1] - x[last] + x[first]]) for x in sums)
        normal = gram[1].sum(axis=0)[:-1]
        x = np.linalg.solve(normal[:, :-1] + np.eye(len(normal)), normal[:, -1])
        x = np.append(-x, 1.0)
        return np.maximum(gram @ x @ x / np.maximum(numbers, 1), 1e-2), numbers

    spans = itertools.combinations(range(_N_PARTS + 1), 2)
    fits = {span: fit(*span) for span in spans if span[1] - span[0] <= _MAX_DISTURBED}
    span = min(fits, key=lambda span: float((fits[span][1] * np.log(fits[span][0])).sum()))
    (inside, outside), whole_square = fits[span][0], fit(0, 0)[0][1]
    is_lower = (outside < whole_square / _MIN_RATIO**2) & (inside > 4.0 * _MIN_RATIO**2 * outside)
    is_left_out = np.repeat(np.isin(np.arange(_N_PARTS), range(*span)), [p.shape[1] for p in parts])
    is_left_out &= np.count_nonzero(is_lower) >= min(2, outputs)
    pieces, times, rows = list[MotionSamples](), [], trial.rows.select(slice(None, None, outputs))
    for index, recording in enumerate(recordings):
        stamps = rows.begin[is_left_out & (rows.recording == index)]
        begin, end = (stamps[0], stamps[-1]) if stamps.size else (np.inf, np.inf)
        times += [(float(begin), float(end))] * bool(stamps.size)
        sides = recording.t < begin - _DISTURBED_MARGIN, recording.t > end + _DISTURBED_MARGIN
        pieces += [recording.select(side) for side in sides if side.sum() >= _MIN_SAMPLES]
    return pieces, times


def _error_share(error: Array, reference_error: Array) -> float:
    """Return the product over the joints of their held-out errors relative to others."""
    return float(np.prod((error / np.maximum(reference_error, 1e-12))[error > 0.0]))


class _Regression:
    """The torque regression of recordings."""

    def __init__(
        self,
        model: VMSModel,
        motions: Sequence[Motion],
        settings: WindowSettings,
        left_out: npt.NDArray[np.bool_],
        unknowns: Sequence[Unknown],
    ) -> None:
        self._model, self._motions, self._settings = model, motions, settings
        self._uses_base = model.b > 0 and all("base" in m.samples.wrenches for m in motions)
        base_mask = np.ones(model.b if self._uses_base else 0, bool)
        self.is_believed = np.ones(base_mask.size + model.n, bool)
        # A joint at rest has whatever load its dry friction holds.
        self._is_used = [np.concatenate([base_mask, m.moving_joints & ~left_out]) for m in motions]
        self._smoothing_widths = [
            best_width(model, m, unknowns, settings) if model.fluid is None and m.moves else 0
            for m in motions
        ]

    def rows(self, unknowns: Sequence[Unknown]) -> Windows:
        """Return the rows of all recordings; those of joints that are left out are zero."""
        parts, coulomb = [], [k for k, u in enumerate(unknowns) if u.name.endswith("coulomb")]
        for motion, smoothing_width, is_used in zip(
            self._motions, self._smoothing_widths, self._is_used, strict=True
        ):
            part = torque_windows(
                self._model,
                motion,
                unknowns,
                self._settings,
                width=smoothing_width,
                at_base=self._uses_base,
            )
            # So has a joint that reverses, or whose motor does.
            sliding = np.abs(part.columns[:, coulomb]).sum(axis=1) * part.gross
            sliding = sliding.reshape(-1, is_used.size)
            usual_sliding = np.median(sliding, axis=0) if len(sliding) else 1.0
            is_sliding = sliding >= _MIN_SLIDING * bool(coulomb) * np.maximum(usual_sliding, 1.0)
            is_sliding[:, : -self._model.n] = True
            is_kept = (is_sliding & is_used).reshape(-1)
            fields = ("target", "columns", "noise")
            parts.append(replace(part, **{f: (getattr(part, f).T * is_kept).T for f in fields}))
        return stack(parts)

    def trial(
        self, unknowns: list[Unknown], prior: Posterior | None, rows: Windows | None = None
    ) -> _Trial:
        """Return the regression with some unknowns, of rows that are made where none are given."""
        rows, moments = self.rows(unknowns) if rows is None else rows, _prior(unknowns, prior)
        return _Trial(unknowns, rows, moments, *self.error(rows, *moments))

    def error(self, rows: Windows, mean: Array, covariance: Array) -> tuple[Array, Array, Array]:
        """Return errors and residuals by joint, and a solution, see :func:`.torque_error`."""
        return torque_error(rows, self._is_used[0].size, mean, covariance)

    def estimate(self, rows: Windows, mean: Array, covariance: Array, scale: Array) -> Estimate:
        """Return the estimate, every output weighted by its residuals."""
        is_used = (rows.noise > 0.0) & np.tile(self.is_believed, len(rows) // scale.size)
        if not is_used.any():
            is_used[:] = True  # nothing moves, and nothing will be claimed
        weight = 1.0 / np.tile(scale, len(rows) // scale.size)[is_used]
        columns, target = rows.columns[is_used] * weight[:, None], rows.target[is_used] * weight
        noise, recording = np.ones(weight.size), rows.recording[is_used]
        return estimate(columns, target, mean, covariance, noise, recording, correlated=False)


def _effort_exclusions(
    model: VMSModel, motions: Sequence[Motion], kinds: Collection[str]
) -> tuple[dict[str, str], npt.NDArray[np.bool_], Array, npt.NDArray[np.bool_]]:
    """Return what the efforts do not allow to identify.

    Returns:
        Why kinds and joints get no value, by their names; the joints left out, (n,); gains, (n,),
        with which efforts in another unit have about the size of torques; and the joints, (n,),
        with such a gain that was not asked for.
    """
    n, has_wrenches = model.n, any(motion.samples.wrenches for motion in motions)
    reasons = {"gains": "gains are not sought beside recorded wrenches"} if has_wrenches else {}
    moving = [m for m in motions if m.moves]
    runs = [m for m in moving if not m.samples.wrenches]
    efforts = (x for m in moving for x in (m.torque, *m.samples.wrenches.values()))
    if moving and model.fluid is None and not any(effort.any() for effort in efforts):
        raise StateError(_NO_EFFORTS)
    if not runs or model.fluid is not None or "drag" in kinds:
        return reasons, np.zeros(n, bool), np.ones(n), np.zeros(n, bool)
    # One after the other, with gaps between them.
    end_times = np.cumsum([run.samples.duration + _RECORDING_GAP for run in runs])
    times = [m.samples.t - m.samples.t[-1] + end for m, end in zip(runs, end_times, strict=True)]
    q, torque = (np.concatenate([getattr(m.samples, x) for m in runs]) for x in ("q", "torque"))
    is_measured = np.any(torque != 0.0, axis=0)
    if not is_measured.any():
        raise StateError(_NO_EFFORTS)
    v = np.concatenate([m.v for m in runs])
    meaning = effort_meaning(model, np.concatenate(times), q, v, torque, is_measured)
    is_left_out = ~is_measured | (meaning.unrelated_joints & (not {"inertia", "gain"} & set(kinds)))
    is_left_out |= (meaning.reading == "scaled") & ~(meaning.ratio["scaled"] < 0.9)
    if meaning.reading == "scaled" and not {"gains", "gain"} & set(kinds):
        factors = zip(model.joint_names, meaning.gains, meaning.scaled, strict=True)
        gains = ", ".join(f"{joint} {gain:.3g}" for joint, gain, is_sure in factors if is_sure)
        reason = f"{NO_TORQUES}: they follow the model with the factors {gains} (currents, or the "
        reason += "motor side); identify gains first, or give them in a column map"
        reasons |= dict.fromkeys(("payload", "friction", "inertia", "armature"), reason)
    text = f"{LEFT_OUT} explains the effort of this joint better than friction alone, and "
    text += "the model itself is worse"
    for j in np.flatnonzero(is_left_out):
        reason = text if meaning.unrelated_joints[j] else "friction alone fits as well as any gain"
        reasons[model.joint_names[j]] = reason if is_measured[j] else NO_EFFORT
    is_sure = (meaning.ratio["scaled"] < 0.9) & (meaning.gain_errors < 0.2 * np.abs(meaning.gains))
    nominal_gains = np.where(is_sure, meaning.gains, 1.0)
    is_scaled = meaning.scaled & ~is_left_out & (not {"gains", "gain"} & set(kinds))
    return reasons, np.asarray(is_left_out), nominal_gains, is_scaled


def _unknowns(
    model: VMSModel,
    regressor: EnergyRegressor,
    motions: Sequence[Motion],
    kinds: Collection[str],
    friction: FrictionLaw | None,
    prior_kinds: set[str],
    settings: Settings,
) -> list[Unknown]:
    joints = model.joint_names
    unknown_kinds = {*kinds, *(prior_kinds & {"payload", "armature", "inertia", "drag"})}
    unknown_kinds |= {"gains"} if "gain" in prior_kinds else set()
    unknowns: list[Unknown] = []
    if "payload" in unknown_kinds:
        unknowns += load_unknowns(model)
    if friction is None:
        load_friction = settings.load_friction
        load_friction = "gains" in unknown_kinds if load_friction is None else load_friction
        signals = [m.effort for m in motions], [m.rate for m in motions]
        rms = [np.sqrt(np.mean(np.concatenate(signal) ** 2, axis=0)) for signal in signals]
        motor_coupling = np.sum([np.abs(m.motors) for m in motions], axis=0)
        unknowns += friction_unknowns(
            joints, model.joints.prismatic, rms, load_friction, motor_coupling
        )
    if "gains" in unknown_kinds:
        unknowns += _gain_unknowns(model)
    if "armature" in unknown_kinds:
        unknowns += armature_unknowns(joints, model.joints.prismatic, model.armature)
    if "inertia" in unknown_kinds:
        unknowns += inertia_unknowns(regressor)
    if "drag" in unknown_kinds:
        if not (drags := drag_names(model)):
            raise OptionError(f"'{model.name}' has no drag: it is in no fluid, or in one without")
        unknowns += [Unknown(f"drag.{name}", "drag", "1", 1.0, 0.5, 0.0) for name in drags]
    timing = timing_unknown()
    lag = replace(timing, kind="lag", deviation=_JOINT_LAG)
    return [*unknowns, timing, *(replace(lag, name=f"{EFFORT_LAG}.{joint}") for joint in joints)]


def _gain_unknowns(model: VMSModel) -> list[Unknown]:
    return [Unknown(f"gain.{j}", "gains", "1", 1.0, _GAIN_SPREAD, 0.0) for j in model.joint_names]


def _with_low_speed_friction(
    regression: _Regression, unknowns: list[Unknown], prior: Posterior | None, solution: Estimate
) -> tuple[list[Unknown], Estimate]:
    """Return the estimate with dry friction of any shape at low speed, and its unknowns.

    The excess of a joint is believed to have about the size of its dry friction, and reaches no
    further up in speed than held-out time asks for.

    Args:
        regression: its rows.
        unknowns: of the estimate without, and of a load that may be there where gains are sought.
        prior: see :func:`identify`.
        solution: that estimate.
    """
    deviations = np.maximum(np.abs(solution.mean), _MIN_EXCESS * solution.prior_deviation)
    excess = [
        replace(u, name=f"{u.name[:-7]}stribeck_{width}", kind="stribeck", deviation=deviation)
        for u, deviation in zip(unknowns, deviations.tolist(), strict=False)
        if u.name.endswith(".coulomb")
        for width in STRIBECK
    ]
    all_unknowns, width_ids = [*unknowns, *excess], np.arange(len(STRIBECK))
    rows, ones = regression.rows(all_unknowns), np.ones((len(excess) // len(STRIBECK), 1))

    def up_to_width(widest: Any) -> tuple[Any, ...]:
        is_used = [*itertools.repeat(True, len(unknowns)), *(width_ids <= widest * ones).ravel()]
        subset = list(itertools.compress(all_unknowns, is_used))
        return subset, replace(rows, columns=rows.columns[:, is_used]), *_prior(subset, prior)

    errors = np.array([regression.error(*up_to_width(widest)[1:])[0] for widest in width_ids])
    # A width must lower the error by more than chance does.
    errors *= 1.0 + width_ids[:, None] * errors.shape[1] / len(rows)
    subset, best_rows, *moments = up_to_width(np.argmin(errors[:, -len(ones) :], axis=0)[:, None])
    scale = regression.error(best_rows, *moments)[1]
    return subset, regression.estimate(best_rows, moments[0], moments[1], scale)


def _correction_unknowns(
    model: VMSModel, regressor: EnergyRegressor, unknowns: Sequence[Unknown], share: float
) -> list[Unknown]:
    """Return errors of described inertias and armatures as unknowns, of a share of their size.

    Without a share they are those of the masses.
    """
    if not share:
        return inertia_unknowns(regressor, _LEAST_SHARE, _MASS_ERROR)
    armature = armature_unknowns(model.joint_names, model.joints.prismatic, model.armature)
    names = {unknown.name for unknown in unknowns}
    rotors = [replace(u, deviation=share * u.deviation) for u in armature if u.name not in names]
    return [*inertia_unknowns(regressor, share), *rotors]


def load_unknowns(model: VMSModel) -> list[Unknown]:
    """Return the unknowns of a load, at most half of all bodies but a moving base."""
    inertias = list(model.tree.pinocchio.inertias)[2 if model.b else 1 :]
    return payload_unknowns(float(sum(inertia.mass for inertia in inertias)))


def _prior(unknowns: Sequence[Unknown], prior: Posterior | None) -> tuple[Array, Array]:
    """Return mean and covariance of unknowns beforehand."""
    mean, covariance = prior_of(unknowns)
    if prior is None:
        return mean, covariance
    index_of = {name: k for k, name in enumerate(prior.names)}
    # Lags are those of a recording, not of the robot.
    indices = [
        k for k, u in enumerate(unknowns) if u.name in index_of and u.kind not in ("timing", "lag")
    ]
    prior_indices = [index_of[unknowns[index].name] for index in indices]
    mean[indices] = prior.mean[prior_indices]
    covariance[np.ix_(indices, indices)] = prior.covariance[np.ix_(prior_indices, prior_indices)]
    for k in indices:
        if unknowns[k].kind == "friction":
            covariance[k, k] += (_FRICTION_DRIFT * mean[k]) ** 2
    return mean, covariance


def consistent_estimate(
    regressor: EnergyRegressor, frame: str, unknowns: Sequence[Unknown], solution: Estimate
) -> Array:
    """Return the physically consistent estimate that is nearest to the best one."""
    unknown_count = len(unknowns)
    floors = np.array([unknown.floor for unknown in unknowns])
    start = np.maximum([u.mean for u in unknowns], floors + 1e-3 * solution.prior_deviation)
    payload_body, transform = regressor.of_frame(frame)
    payload_indices = [k for k, u in enumerate(unknowns) if u.kind == "payload"]
    inertia_indices = [k for k, u in enumerate(unknowns) if u.kind == "inertia"]
    constraints = []
    for body_index in range(len(regressor.bodies)):
        matrix = np.zeros((10, unknown_count))
        if inertia_indices:
            matrix[:, inertia_indices[10 * body_index : 10 * body_index + 10]] = np.eye(10)
        if payload_indices and body_index == payload_body:
            matrix[:, payload_indices] = transform
        if matrix.any():
            body_parameters = regressor.parameters[10 * body_index : 10 * body_index + 10]
            # A body on the bound of what is physical, such as a point mass, may stay as it is.
            mass = max(body_parameters[0], 1e-3)
            margin = 1e-6 * mass * np.array([1, 0, 0, 0, 1, 0, 1, 0, 0, 1.0])
            constraints.append(BodyConstraint(body_parameters + margin, matrix))
    if payload_indices:
        deviation = np.linalg.norm(solution.factor[:, payload_indices[0]])
        if solution.mean[payload_indices[0]] > 2.0 * deviation:
            # Something is carried, and it is a body of its own.
            selection = np.zeros((10, unknown_count))
            selection[:, payload_indices] = np.eye(10)
            constraints.append(BodyConstraint(np.zeros(10), selection))
            mass = 1e-3 * float(solution.mean[payload_indices[0]])
            start[payload_indices] = mass * np.array([1, 0, 0, 0, 0.01, 0, 0.01, 0, 0, 0.01])
    return nearest_physical(solution.mean, solution.information, start, floors, constraints)


def parameters_of(
    regressor: EnergyRegressor,
    unknowns: Sequence[Unknown],
    kinds: Collection[str],
    solution: Estimate,
    consistent: Array,
    coulomb_joints: Collection[str] = (),
) -> tuple[Parameter, ...]:
    """Return the parameters of some kinds, with their intervals, claimed or not.

    Of Coulomb joints held-out time asks for no other friction at low speed; of others fewer blocks
    of the time decide what is found.
    """
    deviation, result = np.linalg.norm(solution.factor, axis=0), []
    for k, unknown in enumerate(unknowns):
        if unknown.kind not in (*kinds, "timing") or unknown.kind in ("payload", "inertia"):
            continue
        # Only a few blocks of the time decide what is found of one joint: degrees of freedom.
        is_plain = unknown.name.rpartition(".")[0] in coulomb_joints
        # An excess that is missed makes dry friction too large and viscous friction too small.
        sides = np.array([unknown.name.endswith(term) for term in (".coulomb", ".viscous")])
        stretch = 1.0 + _MISSED_EXCESS * is_plain * sides
        quantile = student((solution.block_count + 2) // (4 - 2 * is_plain)) * stretch
        result.append(_parameter(unknown, solution.mean[k], deviation[k], consistent[k], quantile))
    payload = [k for k, u in enumerate(unknowns) if u.kind == "payload"]
    if "payload" in kinds:
        result = _payload([unknowns[k] for k in payload], payload, solution, consistent) + result
    if "inertia" in kinds:
        inertia_indices = [k for k, u in enumerate(unknowns) if u.kind == "inertia"]
        result += _inertia(regressor, unknowns, inertia_indices, solution, consistent)
    return tuple(result)


def _parameter(
    unknown: Unknown, mean: float, deviation: float, consistent: float, quantile: float | Array
) -> Parameter:
    deviation = float(np.hypot(deviation, _SMOOTHING_SHARE * mean))
    share = deviation / unknown.deviation
    parameter = Parameter(unknown.name, unknown.kind, unknown.unit)
    if share > (_EXCITED_PAYLOAD_SHARE if unknown.kind == "payload" else _EXCITED_SHARE):
        return parameter.without_value(
            f"not excited: the data leave {min(share, 1.0):.0%} of what is not known of it"
        )
    low, high = mean + deviation * quantile * np.array([-1.0, 1.0])
    crosses_floor = low <= unknown.floor
    # The barrier of the search keeps estimates a little off the bound.
    if consistent - unknown.floor < 1e-6 * unknown.deviation:
        consistent = unknown.floor
    distance = max(low - consistent, consistent - high)
    if distance > 0.5 * (high - low):
        return parameter.without_value(
            f"found nothing: the data ask for {mean:.4g} ({low:.4g} to {high:.4g}), and what is "
            f"physical ends at {consistent:.4g}"
        )
    # Of what can only be above the floor, an interval below it tells that it is near the floor.
    low, high = max(low, unknown.floor), max(high, unknown.floor + 0.3 * (high - low))
    value, at_bound = float(np.clip(consistent, low, high)), bool(crosses_floor or distance > 0.0)
    return replace(parameter, value=value, low=float(low), high=float(high), at_bound=at_bound)


def _payload(
    unknowns: Sequence[Unknown], indices: Sequence[int], solution: Estimate, consistent: Array
) -> list[Parameter]:
    mean, covariance = solution.mean[indices], solution.covariance[np.ix_(indices, indices)]
    deviation, quantile = np.sqrt(np.diag(covariance)), solution.quantile
    unknown = replace(unknowns[0], name="payload_mass")
    mass = _parameter(unknown, mean[0], deviation[0], float(consistent[indices[0]]), quantile)
    result, is_significant = [mass], mass.value is not None and not mass.contains(0.0)
    for k, axis in enumerate("xyz", start=1):
        name = f"payload_centre_{axis}"
        if not is_significant:
            reason = "not excited: without a mass there is no centre, and it may be zero"
            result.append(Parameter(name, "payload", "m", reason=reason))
            continue
        centre = mean[k] / mean[0]
        gradient = np.zeros(len(mean))
        gradient[0], gradient[k] = -centre / mean[0], 1.0 / mean[0]
        spread = float(np.sqrt(gradient @ covariance @ gradient))
        unknown = Unknown(name, "payload", "m", 0.0, 0.5)
        nearest_centre = float(consistent[indices[k]] / consistent[indices[0]])
        result.append(_parameter(unknown, float(centre), spread, nearest_centre, quantile))
    for k, axes in zip(range(4, 10), ("xx", "xy", "yy", "xz", "yz", "zz"), strict=True):
        prior_deviation = unknowns[k].deviation if is_significant else 1e-300
        unknown = replace(unknowns[k], name=f"payload_inertia_{axes}", deviation=prior_deviation)
        p = _parameter(unknown, mean[k], deviation[k], float(consistent[indices[k]]), quantile)
        result.append(replace(p, meaning="about the origin of the frame" if p.value else ""))
    return result


def _inertia(
    regressor: EnergyRegressor,
    unknowns: Sequence[Unknown],
    indices: Sequence[int],
    solution: Estimate,
    consistent: Array,
) -> list[Parameter]:
    combinations = base_parameters(regressor)
    prior_deviation = np.array([unknowns[index].deviation for index in indices])
    # From the factor: the covariance has lost what the data excite behind what they do not.
    deviations = np.linalg.norm(solution.factor[:, indices] @ combinations.matrix.T, axis=0)
    value = combinations.matrix @ (regressor.parameters + solution.mean[indices])
    consistent_value = combinations.matrix @ (regressor.parameters + consistent[indices])
    units = {unknowns[k].name: unknowns[k].unit for k in indices}
    parameters = []
    for k, name in enumerate(combinations.names):
        prior_size = float(np.linalg.norm(combinations.matrix[k] * prior_deviation))
        unknown = Unknown(name, "inertia", units[name], 0.0, prior_size)
        p = _parameter(
            unknown, float(value[k]), deviations[k], float(consistent_value[k]), solution.quantile
        )
        parameters.append(replace(p, meaning=combinations.meanings[k]))
    return parameters


def _largest_unaccounted(windows: Windows, x: Array) -> float:
    """Return the largest sum of the residuals since the beginning of a recording, J."""
    residual = windows.target - windows.columns @ x
    return max(
        float(np.abs(np.cumsum(residual[windows.recording == number])).max())
        for number in np.unique(windows.recording)
    )

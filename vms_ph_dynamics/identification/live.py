# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Identification of friction and payload while a robot moves, with changes of both at once."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from ..arrays import Array
from ..energy.regressor import EnergyRegressor
from ..model import VMSModel
from .estimate import Estimate, estimate
from .identify import consistent_estimate, load_unknowns, parameters_of
from .result import (
    Parameter,
    Unknown,
    friction_unknowns,
    parameter_named,
    prior_of,
    timing_unknown,
)
from .windows import Sample, Windows, WindowSettings, WindowStream, stack

# Logarithm of how much likelier the windows must be with a change than without.
_MIN_EVIDENCE = 12.0
# How much worse the prediction must be than it usually is.
_MIN_MISFIT_RATIO = 6.0
_STRIDE = 2  # windows between the times of a change that are tried
# What is likelier by less than this than the best explanation may have changed as well.
_AMBIGUITY = 8.0
_MIN_LATER = 20  # windows after a change that tell what it is


@dataclass(frozen=True)
class ParameterChange:
    """What changed at once.

    Attributes:
        names: of the groups that may have changed, the likeliest first.
        first_window: index of the first window after it.
        is_significant: whether there are enough windows after it to tell what changed.
    """

    names: tuple[str, ...]
    first_window: int
    is_significant: bool


def change_of(
    windows: Windows,
    previous: Estimate,
    unknown_count: int,
    groups: Mapping[str, Sequence[int]],
    usual_misfit: float,
) -> tuple[ParameterChange | None, float]:
    """Return what changed, and the misfit.

    Windows are compared with what an estimate from earlier windows predicts. A change of a group
    adds to their covariance what was not known of that group beforehand; noise that has merely
    grown is the alternative.

    Args:
        windows: those since the estimate.
        previous: an estimate from earlier windows.
        unknown_count: number of its unknowns that are those of the windows, the first ones.
        groups: places of the unknowns that change together, by name.
        usual_misfit: what the misfit usually is.

    Returns:
        The change or None, and the misfit: the mean square of the errors of prediction, relative to
        their variance.
    """
    error = windows.target - windows.columns @ previous.mean[:unknown_count]
    # A blow is not a change: evidence must not hang on a few windows.
    inlier_ids = np.sort(np.argsort(np.abs(error))[: len(error) - 2 - len(error) // 10])
    all_windows, windows, error = windows, windows.select(inlier_ids), error[inlier_ids]
    columns = windows.columns
    prediction_factor = columns @ previous.factor[:, :unknown_count].T
    noise_growth = np.maximum(1.0, windows.noise / max(float(np.median(windows.noise)), 1e-300))
    noise = float(np.median(previous.scale)) * noise_growth
    covariance = np.diag(noise**2) + prediction_factor @ prediction_factor.T
    null, misfit = _likelihood(error, covariance)
    if misfit < _MIN_MISFIT_RATIO * max(usual_misfit, 1.0):
        return None, misfit
    evidence: dict[str, tuple[float, int]] = {}
    for name, indices in groups.items():
        prior_columns = columns[:, indices] * previous.prior_deviation[list(indices)]
        trials = []
        for first_id in range(0, len(windows) - 4, _STRIDE):  # at least five windows after it
            factor = prior_columns.copy()
            factor[:first_id] = 0.0
            trials.append((_likelihood(error, covariance + factor @ factor.T)[0] - null, first_id))
        if trials:
            evidence[name] = max(trials)
    ranking = sorted(evidence, key=lambda name: -evidence[name][0])
    if not ranking or evidence[ranking[0]][0] <= _MIN_EVIDENCE:
        return None, misfit
    best_evidence, first_id = evidence[ranking[0]]
    names = tuple(name for name in ranking if evidence[name][0] > best_evidence - _AMBIGUITY)
    first_index = int(inlier_ids[first_id])
    return ParameterChange(names, first_index, len(all_windows) - first_index >= _MIN_LATER), misfit


def _likelihood(error: Array, covariance: Array) -> tuple[float, float]:
    """Return the logarithm of the likelihood with the noise scaled to what it needs, and misfit."""
    cholesky = np.linalg.cholesky(covariance)
    whitened = np.linalg.solve(cholesky, error)
    misfit = float(whitened @ whitened) / error.size
    variance_scale = max(misfit, 1.0)
    logarithm = 2.0 * float(np.log(np.diag(cholesky)).sum()) + error.size * np.log(variance_scale)
    return -0.5 * (logarithm + float(whitened @ whitened) / variance_scale), misfit


PAYLOAD, FRICTION = "payload", "friction"
_KINDS = (PAYLOAD, FRICTION)
_MIN_WINDOWS = 60  # windows, of which two make a block of the intervals
_MARGIN = 4  # windows on either side of a change that are left out


@dataclass(frozen=True)
class LiveResult:
    """What is believed at a time.

    Attributes:
        t: time of the last sample that was used, s.
        parameters: load and friction, as those of :func:`.identify`.
        memory_span: motion in memory, s.
        residual: root mean square of the residuals of the windows, J.
        changed: time at which load or friction was last seen to change at once, and what did:
            ``payload``, ``friction`` of all joints, or the name of a joint; None: nothing yet.
    """

    t: float
    parameters: tuple[Parameter, ...]
    memory_span: float
    residual: float
    changed: tuple[float, str] | None

    def __getitem__(self, name: str) -> Parameter:
        return parameter_named(self.parameters, name)


class LiveIdentification:
    """Identifies the load and the friction of a robot from the energy of its latest motion.

    It is the estimator of :func:`.identify`, with the same windows, physical consistency and
    intervals, on the windows of the last ``memory`` seconds of motion. Where the
    load or the friction of a joint changes at once, the windows from before the change keep what
    they tell of everything else.

    :meth:`add` only keeps a sample; :meth:`update` computes, some 50 ms for a seven-joint arm, and
    may be called in another thread.

    Args:
        model: the robot.
        frame: at which a payload is fixed; the end effector when None.
        memory: motion that is remembered, s. Time in which nothing moves does not count.

    Raises:
        ModelError: the frame is unknown or does not move.
    """

    def __init__(self, model: VMSModel, frame: str | None = None, memory: float = 30.0) -> None:
        self.model, self.memory = model, memory
        self.frame = model.end_effector if frame is None else frame
        self._regressor = EnergyRegressor(model)
        self._regressor.of_frame(self.frame)
        self._payload = load_unknowns(model)
        unknowns = self._unknowns(np.ones((2, model.n)))
        self._groups = _groups(unknowns)
        self._stream = WindowStream(model, self._regressor, unknowns, WindowSettings(self.frame))
        self._mean_squares = np.zeros((2, model.n))  # of the efforts, and of the joint rates
        empty, columns = np.zeros(0), np.zeros((0, len(unknowns)))
        self._windows = Windows(empty, empty, empty, columns, empty, empty, empty)
        self._epochs = np.zeros((0, len(self._groups)), dtype=int)
        self._is_joined = np.zeros(0, dtype=bool)
        # The estimates of the latest updates: a change is seen as their error of prediction.
        self._past_estimates: list[tuple[float, Estimate, int]] = []
        self._last_change: tuple[float, str] | None = None
        self._usual_error = 1.0
        self._suspects_change = False

    def add(self, sample: Sample) -> None:
        """Keep a sample; its quantities are those of the model, efforts as they were measured."""
        self._stream.add(sample)

    def update(self) -> LiveResult | None:
        """Return what is believed now; None while there is too little motion, or nothing new."""
        new_windows = self._stream.take()
        if not new_windows:
            return None
        self._remember(new_windows)
        self._detect_change()
        self._forget()
        return None if len(self._windows) < _MIN_WINDOWS else self._result()

    def _remember(self, new_windows: Sequence[Windows]) -> None:
        for windows in new_windows:
            last = self._epochs[-1:] if len(self._epochs) else np.zeros((1, len(self._groups)), int)
            if len(self._is_joined):
                self._is_joined[-1] = self._windows.end[-1] == windows.begin[0]
            self._windows = stack([self._windows, windows])
            self._epochs = np.vstack([self._epochs, np.repeat(last, len(windows), axis=0)])
            is_joined = np.append(windows.end[:-1] == windows.begin[1:], False)
            self._is_joined = np.concatenate([self._is_joined, is_joined])
            squares = np.square([self._stream.effort_rms, self._stream.rate_rms])
            self._mean_squares += min(len(windows) / 200, 1.0) * (squares - self._mean_squares)
        self._forget()

    def _forget(self) -> None:
        """Drop windows beyond the memory, and those from before the change before the last."""
        is_recent = np.cumsum((self._windows.end - self._windows.begin)[::-1])[::-1] <= self.memory
        if len(self._epochs):
            is_recent &= (self._epochs >= self._epochs[-1] - 1).all(axis=1)
        self._select(is_recent)

    def _detect_change(self) -> None:
        """Begin an epoch where the latest windows say that the load or a friction has changed."""
        if len(self._past_estimates) < 2:
            return
        estimate_end, past, count = self._past_estimates[0]
        windows = self._windows
        rows = np.flatnonzero(windows.begin >= estimate_end)
        if rows.size < 10:
            return
        friction = [k for name, indices in self._groups.items() if name != PAYLOAD for k in indices]
        groups = {**self._groups, FRICTION: friction}
        change, misfit = change_of(windows.select(rows), past, count, groups, self._usual_error)
        self._suspects_change = change is not None and not change.is_significant
        if change is None:
            # One that nothing explains is no reason to expect more of the kind.
            self._usual_error += 0.3 * (min(misfit, 2.0 * self._usual_error) - self._usual_error)
            return
        if not change.is_significant:
            return
        first_window = int(rows[0]) + change.first_window
        for group, name in enumerate(self._groups):
            if name in change.names or (FRICTION in change.names and name != PAYLOAD):
                self._epochs[first_window:, group] += 1
        self._last_change = (float(windows.begin[first_window]), change.names[0])
        self._past_estimates.clear()
        # When exactly it was is not known: the windows about it belong to neither side.
        self._select(np.abs(np.arange(len(windows)) - first_window + 0.5) > _MARGIN)

    def _select(self, selection: npt.NDArray[np.bool_]) -> None:
        """Keep some of the windows."""
        is_joined = self._is_joined.copy()
        is_joined[:-1] &= selection[1:]
        self._windows = self._windows.select(selection)
        self._epochs, self._is_joined = self._epochs[selection], is_joined[selection]

    def _result(self) -> LiveResult:
        windows = self._windows
        unknowns = self._unknowns(np.sqrt(self._mean_squares))
        unknown_count = len(unknowns)
        columns = windows.columns.copy()
        for group, indices in enumerate(self._groups.values()):
            is_earlier = self._epochs[:, group] < self._epochs[-1, group]
            if is_earlier.any():
                # The load, or the friction, that was before the change is another unknown.
                columns = np.column_stack([columns, columns[:, indices] * is_earlier[:, None]])
                columns[np.ix_(is_earlier, indices)] = 0.0
                unknowns += [
                    replace(u, name=f"before.{u.name}", kind="before", floor=-np.inf)
                    for u in (unknowns[index] for index in indices)
                ]
        prior, recording_ids = prior_of(unknowns), np.zeros(len(windows))
        regression = columns, windows.target, *prior, windows.noise, recording_ids
        solution = estimate(*regression, joined=self._is_joined)
        consistent = consistent_estimate(self._regressor, self.frame, unknowns, solution)
        parameters = parameters_of(self._regressor, unknowns, _KINDS, solution, consistent)
        if self._suspects_change:
            reason = "something has changed at once, and the motion since does not tell what"
            parameters = tuple(parameter.without_value(reason) for parameter in parameters)
        end_time = float(windows.end[-1])
        self._past_estimates = [*self._past_estimates[-1:], (end_time, solution, unknown_count)]
        duration = float((windows.end - windows.begin).sum())
        residual = float(np.sqrt(np.mean(solution.residual**2)))
        return LiveResult(end_time, parameters, duration, residual, self._last_change)

    def _unknowns(self, rms: Array) -> list[Unknown]:
        names, prismatic = self.model.joint_names, self.model.joints.prismatic
        friction = friction_unknowns(names, prismatic, list(rms), False, np.eye(len(names)))
        return [*self._payload, *friction, timing_unknown()]


def _groups(unknowns: Sequence[Unknown]) -> dict[str, list[int]]:
    """Return the places of the unknowns that change together: the load, and each friction."""
    groups: dict[str, list[int]] = {}
    for k, unknown in enumerate(unknowns):
        if unknown.kind == "payload":
            groups.setdefault(PAYLOAD, []).append(k)
        elif unknown.kind == "friction":
            groups.setdefault(unknown.name.split(".", 1)[1].rsplit(".", 1)[0], []).append(k)
    return groups

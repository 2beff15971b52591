# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Identification of friction and payload while a robot moves, with bounded memory."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from ..arrays import Array
from ..energy.regressor import EnergyRegressor
from ..model import VMSModel
from .changes import change_of
from .estimate import Estimate, estimate
from .identify import arm_mass, consistent_estimate, parameters_of
from .result import Parameter, Unknown, friction_unknowns, payload_unknowns, timing_unknown
from .windows import Sample, Windows, WindowStream, stacked

PAYLOAD, FRICTION = "payload", "friction"
_KINDS = (PAYLOAD, FRICTION)
_LEAST = 60  # windows, of which two make a block of the intervals
_ABOUT = 4  # windows on either side of a change that are left out


@dataclass(frozen=True)
class LiveSettings:
    """What the live identification remembers.

    Attributes:
        memory: motion that is remembered, s. Time in which nothing moves does not count.
        window: length of a window, s; it has at least ten samples.
    """

    memory: float = 30.0
    window: float = 0.05


@dataclass(frozen=True)
class LiveResult:
    """What is believed at a time.

    Attributes:
        t: time of the last sample that was used, s.
        parameters: load and friction, as those of :func:`.identify`.
        remembered: motion in memory, s.
        residual: root mean square of the residuals of the windows, J.
        changed: time at which load or friction was last seen to change at once, and what did:
            ``payload``, ``friction`` of all joints, or the name of a joint; None: nothing yet.
    """

    t: float
    parameters: tuple[Parameter, ...]
    remembered: float
    residual: float
    changed: tuple[float, str] | None

    def __getitem__(self, name: str) -> Parameter:
        return next(p for p in self.parameters if p.name == name)


class LiveIdentification:
    """Identifies the load and the friction of a robot from the energy of its latest motion.

    It is the estimator of :func:`.identify`, with the same windows, physical consistency and
    intervals, on the windows of the last :attr:`LiveSettings.memory` seconds of motion. Where the
    load or the friction of a joint changes at once, the windows from before the change keep what
    they tell of everything else.

    :meth:`add` only keeps a sample; :meth:`update` computes, some 50 ms for a seven-joint arm, and
    may be called in another thread.

    Args:
        model: the robot.
        frame: at which a payload is fixed; the end effector when None.
        settings: see :class:`LiveSettings`.

    Raises:
        ModelError: the frame is unknown or does not move.
    """

    def __init__(
        self, model: VMSModel, frame: str | None = None, settings: LiveSettings | None = None
    ) -> None:
        self.model, self.settings = model, settings or LiveSettings()
        self.frame = model.end_effector if frame is None else frame
        self._regressor = EnergyRegressor(model)
        self._regressor.of_frame(self.frame)
        one = np.ones(model.n)
        self._payload = payload_unknowns(arm_mass(model))
        self._groups = _groups(self._unknowns(one, one))
        self._stream = WindowStream(
            model, self._regressor, self._unknowns(one, one), self.frame, self.settings.window
        )
        self._squares = [np.zeros(model.n), np.zeros(model.n)]
        self._windows: Windows | None = None
        self._epochs = np.zeros((0, len(self._groups)), dtype=int)
        self._joined = np.zeros(0, dtype=bool)
        # The estimates of the latest updates: a change is seen as their error of prediction.
        self._earlier: list[tuple[float, Estimate, int]] = []
        self._changed: tuple[float, str] | None = None
        self._usual = 1.0
        self._suspects_change = False

    def add(self, sample: Sample) -> None:
        """Keep a sample; its quantities are those of the model, efforts as they were measured."""
        self._stream.add(sample)

    def update(self) -> LiveResult | None:
        """Return what is believed now; None while there is too little motion, or nothing new."""
        new = self._stream.take()
        if not new:
            return None
        self._remember(new)
        self._detect(self._remembered())
        self._forget()
        windows = self._remembered()
        return None if len(windows) < _LEAST else self._result(windows)

    def _remember(self, new: Sequence[Windows]) -> None:
        for part in new:
            old = self._windows
            last = self._epochs[-1:] if len(self._epochs) else np.zeros((1, len(self._groups)), int)
            if old is not None and len(self._joined):
                self._joined[-1] = old.end[-1] == part.begin[0]
            self._windows = part if old is None else replace(stacked([old, part]))
            self._epochs = np.vstack([self._epochs, np.repeat(last, len(part), axis=0)])
            inside = np.append(part.end[:-1] == part.begin[1:], False)
            self._joined = np.concatenate([self._joined, inside])
            for square, rms in zip(
                self._squares, (self._stream.effort, self._stream.rate), strict=True
            ):
                square += min(len(part) / 200, 1.0) * (rms**2 - square)
        self._forget()

    def _forget(self) -> None:
        """Drop windows beyond the memory, and those from before the change before the last."""
        windows = self._remembered()
        after = np.cumsum((windows.end - windows.begin)[::-1])[::-1]
        recent = after <= self.settings.memory
        if len(self._epochs):
            recent &= (self._epochs >= self._epochs[-1] - 1).all(axis=1)
        self._choose(recent)

    def _remembered(self) -> Windows:
        assert self._windows is not None
        return self._windows

    def _detect(self, windows: Windows) -> None:
        """Begin an epoch where the latest windows say that the load or a friction has changed."""
        if len(self._earlier) < 2:
            return
        since, earlier, size = self._earlier[0]
        new = np.flatnonzero(windows.begin >= since)
        if new.size < 10:
            return
        friction = [k for name, at in self._groups.items() if name != PAYLOAD for k in at]
        change, misfit = change_of(
            windows.chosen(new), earlier, size, {**self._groups, FRICTION: friction}, self._usual
        )
        self._suspects_change = change is not None and not change.significant
        if change is None:
            # One that nothing explains is no reason to expect more of the kind.
            self._usual += 0.3 * (min(misfit, 2.0 * self._usual) - self._usual)
            return
        if not change.significant:
            return
        begin = int(new[0]) + change.first
        for group, one in enumerate(self._groups):
            if one in change.names or (FRICTION in change.names and one != PAYLOAD):
                self._epochs[begin:, group] += 1
        self._changed = (float(windows.begin[begin]), change.names[0])
        self._earlier.clear()
        # When exactly it was is not known: the windows about it belong to neither side.
        unaffected = np.abs(np.arange(len(windows)) - begin + 0.5) > _ABOUT
        self._choose(unaffected)

    def _choose(self, selection: npt.NDArray[np.bool_]) -> None:
        """Keep some of the windows."""
        joined = self._joined.copy()
        joined[:-1] &= selection[1:]
        self._windows = self._remembered().chosen(selection)
        self._epochs, self._joined = self._epochs[selection], joined[selection]

    def _result(self, windows: Windows) -> LiveResult:
        effort, rate = (np.sqrt(square) for square in self._squares)
        unknowns = self._unknowns(effort, rate)
        main = len(unknowns)
        columns = windows.columns.copy()
        for group, places in enumerate(self._groups.values()):
            before = self._epochs[:, group] < self._epochs[-1, group]
            if before.any():
                # The load, or the friction, that was before the change is another unknown.
                columns = np.column_stack([columns, columns[:, places] * before[:, None]])
                columns[np.ix_(before, places)] = 0.0
                unknowns += [_before(unknowns[k]) for k in places]
        mean = np.array([u.mean for u in unknowns])
        covariance = np.diag([u.deviation**2 for u in unknowns])
        solution = estimate(
            columns,
            windows.target,
            mean,
            covariance,
            windows.path,
            np.zeros(len(windows)),
            joined=self._joined,
        )
        consistent = consistent_estimate(self._regressor, self.frame, unknowns, solution)
        parameters = parameters_of(
            self.model, self._regressor, unknowns, _KINDS, solution, consistent
        )
        if self._suspects_change:
            reason = "something has changed at once, and the motion since does not tell what"
            parameters = tuple(
                replace(p, value=None, low=None, high=None, at_bound=False, reason=reason)
                for p in parameters
            )
        now = float(windows.end[-1])
        self._earlier = [*self._earlier[-1:], (now, solution, main)]
        return LiveResult(
            now,
            parameters,
            float((windows.end - windows.begin).sum()),
            float(np.sqrt(np.mean(solution.residual**2))),
            self._changed,
        )

    def _unknowns(self, effort: Array, rate: Array) -> list[Unknown]:
        joints = self.model.joints
        friction = friction_unknowns(self.model.joint_names, joints.prismatic, effort, rate, False)
        return [*self._payload, *friction, timing_unknown()]


def _groups(unknowns: Sequence[Unknown]) -> dict[str, list[int]]:
    """Return the places of the unknowns that change together: the load, and each friction."""
    groups: dict[str, list[int]] = {}
    for k, u in enumerate(unknowns):
        if u.kind == "payload":
            groups.setdefault(PAYLOAD, []).append(k)
        elif u.kind == "friction":
            groups.setdefault(u.name.split(".", 1)[1].rsplit(".", 1)[0], []).append(k)
    return groups


def _before(unknown: Unknown) -> Unknown:
    return replace(unknown, name=f"before.{unknown.name}", kind="before", floor=-np.inf)

# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Windows of a motion that goes on: samples in, windows out, with bounded memory."""

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from ..arrays import Array
from ..energy.clock import clock_of
from ..energy.path import steps
from ..energy.regressor import EnergyRegressor
from ..energy.samples import MotionSamples
from ..model import VMSModel
from .unknowns import Unknown
from .windows import Motion, Windows, balance, motion_of, window_edges

_MARGIN = 24  # samples on either side of the windows, for velocities from positions
_GAP = 0.2  # s without a sample, after which the balance begins anew
_SLOWEST = 0.02  # rad/s or m/s below which a window tells nothing but its noise


@dataclass(frozen=True)
class Sample:
    """One sample of a motion; the quantities are those of :class:`.MotionSamples`."""

    t: float
    q: Array
    v: Array
    torque: Array
    wrenches: Mapping[str, Array] = field(default_factory=dict)


class WindowStream:
    """Turns samples into the windows of an energy balance.

    :meth:`add` only keeps a sample, so that it may be called where time is short; :meth:`take`
    computes. They may be called from two threads.

    Args:
        model: the robot.
        regressor: its energy regressor.
        unknowns: whose columns the windows have.
        frame: at which a payload is fixed.
        length: of a window, s; it has at least ten samples.
        capacity: largest number of samples that wait; older ones are lost.
    """

    def __init__(
        self,
        model: VMSModel,
        regressor: EnergyRegressor,
        unknowns: Sequence[Unknown],
        frame: str,
        length: float,
        capacity: int = 10_000,
    ) -> None:
        self._model, self._regressor, self._unknowns = model, regressor, unknowns
        self._frame, self._length = frame, length
        self._waiting: deque[Sample] = deque(maxlen=capacity)
        self._kept: list[Sample] = []
        self._first = 0  # index in kept of the sample at which the next window begins
        self.effort = np.zeros(model.n)
        self.rate = np.zeros(model.n)

    def add(self, sample: Sample) -> None:
        """Keep a sample."""
        self._waiting.append(sample)

    def take(self) -> list[Windows]:
        """Return the windows that are complete by now, those between two gaps in one record.

        Windows in which nothing moves are left out.
        """
        found = []
        for _ in range(len(self._waiting)):
            sample = self._waiting.popleft()
            if self._kept and not 0.0 < sample.t - self._kept[-1].t < _GAP:
                found += self._windows()
                self._kept, self._first = [], 0
            same = not self._kept or self._kept[-1].wrenches.keys() == sample.wrenches.keys()
            if not same:  # a port began or ceased to be measured
                found += self._windows()
                self._kept, self._first = [], 0
            self._kept.append(sample)
        return found + self._windows()

    def _windows(self) -> list[Windows]:
        kept, first = self._kept, self._first
        last = len(kept) - _MARGIN
        if first == 0:
            first = _MARGIN
        if last - first < 20:
            return []
        motion, places = self._motion()
        first, last = (int(k) for k in np.searchsorted(places, (first, last)))
        edges = first + window_edges(motion.samples.t[first:last], self._length)
        if len(edges) < 2:
            return []
        windows = balance(
            self._model,
            self._regressor,
            motion,
            self._unknowns,
            payload_frame=self._frame,
            friction=None,
            length=self._length,
            edges=edges,
        )
        self.effort = np.sqrt(np.mean(motion.effort**2, axis=0))
        self.rate = np.sqrt(np.mean(motion.rate**2, axis=0))
        ends = places[edges]
        start = max(int(ends[-1]) - _MARGIN, 0)
        self._kept, self._first = kept[start:], int(ends[-1]) - start
        # The stamps, by which windows with an end in common know each other.
        stamps = np.array([kept[k].t for k in ends])
        windows = replace(windows, begin=stamps[:-1], end=stamps[1:])
        begins = edges[:-1].astype(np.intp)
        moved = np.add.reduceat(np.abs(motion.step[: edges[-1]]), begins, axis=0).max(axis=1)
        moves = moved > _SLOWEST * (windows.end - windows.begin)
        return [windows.chosen(moves)] if moves.any() else []

    def _motion(self) -> tuple[Motion, npt.NDArray[np.intp]]:
        """Return the motion of the samples that are kept, and the indices of those it has.

        Samples that repeat the one before are left out.
        """
        kept, model = self._kept, self._model
        samples = MotionSamples(
            np.array([s.t for s in kept]),
            np.array([s.q for s in kept]),
            np.array([s.v for s in kept]),
            np.array([s.torque for s in kept]),
            {port: np.array([s.wrenches[port] for s in kept]) for port in kept[0].wrenches},
        )
        motion = motion_of(model, samples)
        if len(motion.samples) == len(samples):
            return motion, np.arange(len(samples))
        step = steps(model, samples.q)
        clock = clock_of(samples.t, step, samples.v)
        return motion, np.flatnonzero(np.concatenate([[True], np.diff(clock.t) > 0.0]))

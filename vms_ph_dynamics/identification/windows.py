# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The energy balance of a recording over windows, as rows of a linear system."""

from collections import deque
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from ..arrays import Array
from ..energy.energy_path import drag_efforts, generalised_forces
from ..energy.regressor import EnergyRegressor
from ..energy.samples import MotionSamples, clock_of, displacements, smoothed_velocity, window_sums
from ..errors import StateError
from ..model import VMSModel
from ..robot.joints import BASE_COMPONENTS
from .result import EFFORT_LAG, STRIBECK, Unknown

FrictionLaw = Callable[[Array], Array]
"""Torque that friction takes from the joints, positive against the motion: (N,n) of rates (N,n)."""

SLIP = 0.01
"""Speed over which Coulomb friction is smoothed, as in :class:`.Friction`, rad/s or m/s."""

LEAST_MOTION = 0.05
"""Range of a coordinate below which a robot stands, rad or m."""

# Samples in a window: the noise of the states at its ends must be small against its work, and what
# a friction law misses must average out.
_MIN_SAMPLES = 10


@dataclass(frozen=True)
class Windows:
    """Balances over consecutive windows: ``target = columns x + residual``.

    Attributes:
        begin, end: times of the windows, (W,), s.
        target: (W,) work minus change of the known energy minus known dissipation, J.
        columns: (W,p) per unit of each unknown.
        gross: (W,) sum over the joints of the work without regard to sign, J.
        noise: (W,) root of the sum over its steps of ``(rms effort * step)^2``, J: how the noise of
            the efforts adds up over a window.
        recording: (W,) index of the recording.
    """

    begin: Array
    end: Array
    target: Array
    columns: Array
    gross: Array
    noise: Array
    recording: Array

    def __len__(self) -> int:
        return int(self.target.size)

    def select(self, selection: Any) -> "Windows":
        """Return some of the windows, by a mask (W,) or by their indices."""
        return Windows(*(column[selection] for column in vars(self).values()))

    def without_kinds(self, unknowns: Sequence[Unknown], kinds: Collection[str]) -> "Windows":
        """Return them with no influence of the unknowns of some kinds."""
        is_other = np.array([unknown.kind not in kinds for unknown in unknowns], dtype=float)
        return replace(self, columns=self.columns * is_other)


def stack(parts: Sequence[Windows]) -> Windows:
    """Return the windows of several recordings one after the other."""
    rows = map(np.concatenate, zip(*(vars(part).values() for part in parts), strict=True))
    recordings = [np.full(len(part), k) for k, part in enumerate(parts)]
    return replace(Windows(*rows), recording=np.concatenate(recordings))


@dataclass(frozen=True)
class WindowSettings:
    """What the windows of a recording are made with.

    Attributes:
        payload_frame: at which the payload is fixed.
        length: of a window, s; it has at least ten samples.
        friction: a known law of friction, or None.
    """

    payload_frame: str
    length: float = 0.05
    friction: FrictionLaw | None = None


@dataclass(frozen=True)
class Motion:
    """A recording with what the balance needs of it.

    Attributes:
        samples: the recording.
        step: (N-1,nv) displacements from sample to sample.
        v: (N,nv) velocities from the positions.
        effort: (N-1,n) mean joint efforts over the steps.
        torque: (N,n) joint efforts at the samples; of held ones the mean of before and after.
        rate: (N-1,n) mean joint rates over the steps.
        sample_indices: (N,) in the recording; samples that repeat another are left out.
        load: (N,n) efforts of the gears, with which their friction may grow.
    """

    samples: MotionSamples
    step: Array
    v: Array
    effort: Array
    torque: Array
    rate: Array
    sample_indices: npt.NDArray[np.intp]
    load: Array

    @property
    def moves(self) -> bool:
        """Whether it is a motion: a robot that stands has whatever load its dry friction holds."""
        return float(np.max(self._ranges)) >= LEAST_MOTION

    @property
    def moving_joints(self) -> npt.NDArray[np.bool_]:
        """Joints that move, (n,)."""
        return np.asarray(self._ranges[self.step.shape[1] - self.rate.shape[1] :] >= LEAST_MOTION)

    @property
    def motors(self) -> Array:
        """What gives the rates of the motors from those of the joints, (n,n)."""
        return np.eye(self.rate.shape[1]) if self.samples.motors is None else self.samples.motors

    @property
    def _ranges(self) -> Array:
        return np.asarray(np.ptp(np.cumsum(self.step, axis=0), axis=0))


def motion_of(model: VMSModel, samples: MotionSamples) -> Motion:
    """Return steps, velocities and efforts of a recording.

    Raises:
        StateError: the samples are not those of this model, or too few.
    """
    for name, size in {"q": model.nq, "v": model.nv, "torque": model.n}.items():
        if (columns := getattr(samples, name).shape[1]) != size:
            text = f"{name} of the samples must have {size} columns for '{model.name}'; "
            text += f"given: {columns}"
            raise StateError(text)
    if len(samples) < 20:
        raise StateError(f"an identification needs at least 20 samples; given: {len(samples)}")
    step = displacements(model, samples.q)
    displacement = np.concatenate([np.zeros((1, model.nv)), np.cumsum(step, axis=0)])
    clock, sample_indices = clock_of(samples.t, step, samples.v), np.arange(len(samples))
    if clock.source != "stamps":
        # A sample that is left out did not move: the step to the next is that from the one before.
        sample_indices = np.flatnonzero(np.diff(clock.t, prepend=-np.inf) > 0.0)
        displacement = displacement[sample_indices]
        step = np.diff(displacement, axis=0)
        samples = replace(samples.select(sample_indices), t=clock.t[sample_indices])
    v = smoothed_velocity(samples.t, displacement)[0]
    torque = samples.torque
    effort: Array = 0.5 * (torque[1:] + torque[:-1])
    if samples.zero_order_hold:  # at a sample acts what was held until then, and what is from then
        effort, torque = torque[:-1], np.concatenate([torque[:1], effort])
    rate = 0.5 * (v[1:] + v[:-1])[:, model.b :]
    return Motion(samples, step, v, effort, torque, rate, sample_indices, torque)


def energy_windows(
    model: VMSModel,
    regressor: EnergyRegressor,
    motion: Motion,
    unknowns: Sequence[Unknown],
    settings: WindowSettings,
    edges: Array | None = None,
) -> Windows:
    """Return the windows of one recording.

    Args:
        model: the robot.
        regressor: its energy regressor.
        motion: the recording.
        unknowns: whose columns are wanted.
        settings: of the windows.
        edges: indices of the samples at which windows begin and end; None: from the first sample.
    """
    samples, step = motion.samples, motion.step[:, model.b :]
    edges = window_edges(samples.t, settings.length) if edges is None else edges
    work = motion.effort * step
    supplied = work.sum(axis=1) + _port_work(model, motion)
    rows = regressor.rows(samples.q[edges], motion.v[edges])
    edge_rates = motion.v[edges, model.b :]
    edge_energies = rows @ regressor.parameters + 0.5 * edge_rates**2 @ model.armature
    estimated = {unknown.name for unknown in unknowns}
    drag: dict[str, Array] = {}
    if model.fluid is not None:
        evaluations = model.evaluate_batch(samples.q[edges], motion.v[edges])
        edge_energies = evaluations.kinetic_energy + evaluations.potential_energy
        efforts = [drag_efforts(model.evaluate(*x)) for x in zip(samples.q, motion.v, strict=True)]
        for name in efforts[0]:
            power = np.array([x[name] @ v for x, v in zip(efforts, motion.v, strict=True)])
            drag[f"drag.{name}"] = 0.5 * (power[1:] + power[:-1]) * np.diff(samples.t)
        supplied = supplied - sum(work for name, work in drag.items() if name not in estimated)
    if settings.friction is not None:
        supplied = supplied - (settings.friction(motion.rate) * step).sum(axis=1)

    signals = motion.rate, motion.effort, 0.5 * (motion.load[1:] + motion.load[:-1])
    work_by_name: dict[str, Array] = {}
    for name, j, effort in joint_columns(model, *signals, estimated, motion.motors):
        work_by_name[name] = work_by_name.get(name, 0.0) + window_sums(effort * step[:, j], edges)
    for joint, motor_rates in zip(model.joint_names, motion.motors @ edge_rates.T, strict=True):
        work_by_name[f"armature.{joint}"] = np.diff(0.5 * motor_rates**2)
    work_by_name |= {name: window_sums(work, edges) for name, work in drag.items()}
    # The efforts that acted are those recorded one lag later.
    lag_work = -window_sums(np.diff(motion.torque, axis=0) * motion.rate, edges)
    work_by_name[EFFORT_LAG] = lag_work.sum(axis=1)
    names = (f"{EFFORT_LAG}.{joint}" for joint in model.joint_names)
    work_by_name |= dict(zip(names, lag_work.T, strict=True))
    body, transform = regressor.of_frame(settings.payload_frame)
    row_changes = np.diff(rows, axis=0)
    payload_columns = row_changes[:, 10 * body : 10 * body + 10] @ transform
    columns = np.empty((len(edges) - 1, len(unknowns)))
    iterators = {"payload": iter(payload_columns.T), "inertia": iter(row_changes.T)}
    for k, u in enumerate(unknowns):
        columns[:, k] = next(iterators[u.kind]) if u.kind in iterators else work_by_name[u.name]
    target = window_sums(supplied, edges) - np.diff(edge_energies)
    # target = columns (x - mean) for the gains: the efforts count once already.
    target = target + columns @ [u.kind == "gains" for u in unknowns]
    effort_rms = np.sqrt(np.mean(motion.effort**2, axis=0)) + 1e-12
    gross_work = window_sums(np.abs(work).sum(axis=1), edges)
    noise = np.sqrt(window_sums(((effort_rms * step) ** 2).sum(axis=1), edges))
    begin, end = samples.t[edges[:-1]], samples.t[edges[1:]]
    return Windows(begin, end, target, columns, gross_work, noise, np.zeros(len(edges) - 1))


def window_edges(t: Array, duration: float) -> Array:
    """Return the indices of samples at which windows begin and end, from the first sample on."""
    edges, edge = [0], 0
    for k in range(1, len(t)):
        if t[k] - t[edge] >= duration - 1e-9 and k - edge >= _MIN_SAMPLES:
            edges.append(k)
            edge = k
    return np.array(edges)


def joint_columns(
    model: VMSModel, rate: Array, effort: Array, load: Array, names: Collection[str], motors: Array
) -> Iterator[tuple[str, int, Array]]:
    """Yield what each unknown multiplies: its name, a joint and the efforts of this joint, (N,).

    The friction of a motor that moves several joints acts on each of them. Viscous friction of a
    joint is all that grows with its own rate; that of a motor is what grows with the other rates.

    Args:
        model: the robot.
        rate: (N,n) joint rates.
        effort: (N,n) joint efforts; the known part of a balance has them as they are, the unknown
            is the factor on them.
        load: (N,n) efforts of the gears.
        names: of the unknowns; the excess of dry friction, and the friction of motors that move
            several joints, are left out where none is one of it.
        motors: (n,n) that gives the rates of the motors from those of the joints.
    """
    slip = np.tanh(rate / SLIP)
    factors = {
        "friction.{}.viscous": rate,
        "friction.{}.coulomb": slip,
        "friction.{}.offset": np.ones_like(rate),
        "friction.{}.load": np.abs(load) * slip,
        "gain.{}": -effort,
    }
    for width in STRIBECK if any(".stribeck_" in name for name in names) else ():
        excess = slip * np.exp(-((1e3 * rate / width) ** 2)) if width else np.sign(rate) - slip
        factors[f"friction.{{}}.stribeck_{width}"] = excess
    for j, joint in enumerate(model.joint_names):
        for name, factor in factors.items():
            yield name.format(joint), j, factor[:, j]
        motor, motor_rate = f"friction.{joint}.motor", rate @ motors[j]
        for k in np.flatnonzero(motors[j]).tolist() if f"{motor}_coulomb" in names else ():
            transmission = motors[j, k]
            yield f"{motor}_viscous", k, transmission * (motor_rate - transmission * rate[:, k])
            yield f"{motor}_coulomb", k, transmission * np.tanh(motor_rate / SLIP)


def _port_work(model: VMSModel, motion: Motion) -> Array:
    """Return the work of the external wrenches over each step, (N-1,)."""
    samples = motion.samples
    work = np.zeros(len(samples) - 1)
    for port, wrench in samples.wrenches.items():
        start, end = wrench[:-1], wrench[:-1] if samples.zero_order_hold else wrench[1:]
        if port != "base":
            frame, q = model.frame_id(port), samples.q
            force = generalised_forces(model, q[:-1], start, frame)
            force += generalised_forces(model, q[1:], end, frame)
            work += (0.5 * force * motion.step).sum(axis=1)
        elif model.b:
            base_force = 0.5 * (start + end)[:, BASE_COMPONENTS[model.b]]
            work += (base_force * motion.step[:, : model.b]).sum(axis=1)
    return work


_MARGIN = 24  # samples on either side of the windows, for velocities from positions
_MAX_QUEUED = 10_000  # samples in the queue; older ones are dropped
_GAP = 0.2  # s without a sample, after which the balance begins anew
_MIN_SPEED = 0.02  # rad/s or m/s below which a window tells nothing but its noise


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
        settings: of the windows.
    """

    def __init__(
        self,
        model: VMSModel,
        regressor: EnergyRegressor,
        unknowns: Sequence[Unknown],
        settings: WindowSettings,
    ) -> None:
        self._model, self._regressor, self._unknowns = model, regressor, unknowns
        self._settings = settings
        self._queue: deque[Sample] = deque(maxlen=_MAX_QUEUED)
        self._samples: list[Sample] = []
        self._window_start = 0  # index in _samples of the sample at which the next window begins
        self.effort_rms = np.zeros(model.n)
        self.rate_rms = np.zeros(model.n)

    def add(self, sample: Sample) -> None:
        """Keep a sample."""
        self._queue.append(sample)

    def take(self) -> list[Windows]:
        """Return the windows that are complete by now, those between two gaps in one record.

        Windows in which nothing moves are left out.
        """
        windows = []
        for _ in range(len(self._queue)):
            sample = self._queue.popleft()
            last = self._samples[-1] if self._samples else sample
            is_gap = last is not sample and not 0.0 < sample.t - last.t < _GAP
            # Or a port began or ceased to be measured.
            if is_gap or last.wrenches.keys() != sample.wrenches.keys():
                windows += self._windows()
                self._samples, self._window_start = [], 0
            self._samples.append(sample)
        return windows + self._windows()

    def _windows(self) -> list[Windows]:
        samples, first = self._samples, self._window_start or _MARGIN
        end = len(samples) - _MARGIN
        if end - first < 20:
            return []
        motion = motion_of(self._model, self._recording())
        first, end = (int(k) for k in np.searchsorted(motion.sample_indices, (first, end)))
        edges = first + window_edges(motion.samples.t[first:end], self._settings.length)
        if len(edges) < 2:
            return []
        windows = energy_windows(
            self._model, self._regressor, motion, self._unknowns, self._settings, edges
        )
        self.effort_rms = np.sqrt(np.mean(motion.effort**2, axis=0))
        self.rate_rms = np.sqrt(np.mean(motion.rate**2, axis=0))
        edge_indices = motion.sample_indices[edges]
        keep_from = max(int(edge_indices[-1]) - _MARGIN, 0)
        self._samples, self._window_start = samples[keep_from:], int(edge_indices[-1]) - keep_from
        # The stamps, by which windows with an end in common are recognised.
        stamps = np.array([samples[edge_index].t for edge_index in edge_indices])
        windows = replace(windows, begin=stamps[:-1], end=stamps[1:])
        excursion = window_sums(np.abs(motion.step), edges).max(axis=1)
        is_moving = excursion > _MIN_SPEED * (windows.end - windows.begin)
        return [windows.select(is_moving)] if is_moving.any() else []

    def _recording(self) -> MotionSamples:
        """Return the samples that are kept, in arrays."""
        block = self._samples
        rows = ((s.t, s.q, s.v, s.torque) for s in block)
        t, q, v, torque = map(np.array, zip(*rows, strict=True))
        wrenches = {port: np.array([s.wrenches[port] for s in block]) for port in block[0].wrenches}
        return MotionSamples(t, q, v, torque, wrenches)

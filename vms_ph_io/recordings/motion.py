# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Recordings as motions of a model: conditioned samples, block by block."""

import difflib
import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from vms_ph_dynamics import Array, VMSModel
from vms_ph_dynamics.energy.energy_path import generalised_forces
from vms_ph_dynamics.energy.legend import label_of
from vms_ph_dynamics.energy.samples import MotionSamples, SampleNoise, clock_of, white_noise
from vms_ph_dynamics.identification.effort_meaning import (
    MEANINGS,
    EffortMeaning,
    balances,
    effort_meaning,
    held_out_error,
    saturation,
)
from vms_ph_dynamics.identification.torque import effort_lag

from .base_states import BaseStates, in_world_axes
from .clock_order import GAP_PERIODS, ClockOrder, clock_order
from .conditioning import Conditioning
from .joint_signals import AlignedSeries, JointSignals, Signals, find_sources, gapless, unused_notes
from .recording import LARGEST_NUMBER, Recording, RecordingError, Series
from .signal_checks import (
    MARGIN,
    STANDSTILL,
    VelocityDefect,
    check_units,
    configuration,
    lag_of,
    remove_lag,
    slopes,
    unlagged_velocity,
    velocity_defects,
)

BLOCK = 8192
"""Samples of a block."""

_MAX_FIT_SAMPLES = 30_000  # samples from which lag, noise and meaning are found
_MAX_CLOCK_SAMPLES = 400_000  # largest number of samples whose clock is found from the motion
_MAX_STRETCH = 0.01  # of the duration, by which other times may differ from the stamps
# Speed that any robot may reach, and a step that is no jump, rad/s and rad or m/s and m.
_USUAL_SPEED, _USUAL_STEP = 5.0, 0.05
_SMALL_MISFIT = 0.003  # share of the required efforts, below which no lag of them is sought
# Error that a lag leaves at most, of that of friction alone and of that without the lag.
_NULL_SHARE, _LAG_FREE_SHARE = 0.5, 0.8
_SHORTEST_LAG = 0.015  # s, of efforts, that is found without doubt
_LONGEST_LINE = 0.15  # s without efforts that a line bridges: a movement hardly ends as soon
_MAX_LAG_SAMPLES = 4000  # samples from which it is found
_MAX_DAMAGED_SHARE = 0.01  # of samples beyond the limits; where more are, it is another unit
_MAX_JITTER = 0.02  # of a period, deviation of stamps that calls for other times


@dataclass(frozen=True)
class MotionOptions:
    """How the signals of a recording are interpreted.

    Attributes:
        joints: recorded names by names of the model, where they differ.
        effort: one of :data:`.identification.effort_meaning.MEANINGS` but "scaled".
        gains: by joint, N m per recorded unit; efforts of other joints are not used. None: all one.
        commanded: whether efforts act until the next sample.
        as_recorded: whether clock and velocities are left as they are.
        wrenches: topic or column of the wrench at a frame, by frame; ``base`` for the base.
        base: topic of the base, or empty for the one that has most.

    Raises:
        RecordingError: there is no such meaning of efforts, or a gain is zero or no number.
    """

    joints: Mapping[str, str] | None = None
    effort: str = "torque"
    gains: Mapping[str, float] | None = None
    commanded: bool = False
    as_recorded: bool = False
    wrenches: Mapping[str, str] | None = None
    base: str = ""

    def __post_init__(self) -> None:
        """Check the meaning of efforts."""
        accepted = [name for name in MEANINGS if name != "scaled"]
        if self.effort not in accepted:
            raise RecordingError(f"effort is one of {', '.join(accepted)}; given: '{self.effort}'")
        if refused := {j: x for j, x in (self.gains or {}).items() if not 0.0 < abs(x) < np.inf}:
            raise RecordingError(f"gains of efforts must be numbers other than 0; given: {refused}")


@dataclass(frozen=True)
class Block:
    """Samples without a gap between them.

    Attributes:
        samples: the motion.
        continues: whether the first sample is the last one of the block before.
        exact_energies: recorded port energies at the samples, or None, see
            :meth:`.RecordedEnergies.unaccounted`.
    """

    samples: MotionSamples
    continues: bool
    exact_energies: Mapping[str, Array] | None


class RecordedMotion:
    """The motion of a model in a recording.

    Args:
        recording: the recording.
        model: the robot.
        options: how its signals are interpreted.

    Raises:
        RecordingError: the recording lacks joints or the base of the model, or what options name.
    """

    def __init__(
        self, recording: Recording, model: VMSModel, options: MotionOptions | None = None
    ) -> None:
        self.recording, self.model = recording, model
        self.options = options or MotionOptions()
        names, factors = self.options.joints or {}, self.options.gains or {}
        self._sources = find_sources(model, recording, {**{j: j for j in factors}, **names})
        self._leader = self._leading_series()
        self.order = clock_order(self._leader.table)
        self._signals = JointSignals(self._sources, self._leader, self.order, model.joints)
        unnamed = np.nan if factors else 1.0
        self._signals.gains = np.array([factors.get(j, unnamed) for j in model.joint_names])
        self._base = BaseStates(recording, model, self.order.stamps, self.options.base)
        self._used_series = [*self._signals.other_series, *self._base.used_series]
        self._notes = [*self._base.notes, *unused_notes(self._sources, recording)]
        self.ports, self._wrenches = self._find_wrenches()
        self._leave_out_incomplete()
        if len(self.order.t) < 2:
            note = "; ".join(("", *self._notes))
            raise RecordingError(f"{recording.path} has fewer than two samples of the robot{note}")
        self._t, self._rate = self.order.t, self.order.rate
        motors, columns = self._leader.motors, [source.position.number for source in self._sources]
        self._motors = motors if motors is None else motors[np.ix_(columns, columns)]
        self._port_energies = None
        if recording.port_energies is not None:
            self._port_energies = AlignedSeries(recording.port_energies, self.order.stamps)
            self._used_series.append(self._port_energies)
        self._velocity_defects: dict[int, VelocityDefect] = {}
        self._lag = self._effort_lag = 0.0
        self._split_at_jumps()
        self.conditioning = self._find_conditioning()

    def __len__(self) -> int:
        return len(self._t)

    @property
    def start(self) -> int:
        """Stamp of the first sample, ns; the times of samples count from it."""
        return int(self.order.stamps[0])

    @property
    def constraints(self) -> str:
        """Recorded ports, in words, whose forces at the joints are not recorded; empty for none."""
        energies = self.recording.last_energies
        return " and ".join(label_of(n) for n in ("contact", "joint_stops") if energies.get(n))

    def blocks(self, size: int = BLOCK) -> Iterator[Block]:
        """Yield the samples; blocks without a gap between them share one sample."""
        tail_count = round(self._effort_lag * self._rate)  # of which no efforts are known
        for first, stop in self.order.segments:
            begin = first
            while begin < stop - tail_count:
                end = min(begin + size, stop - tail_count)
                start = max(begin - 1, first)
                if end - start > 1 or stop - first == 1:
                    samples = self._samples(start, end, first, stop)
                    yield Block(samples, begin > first, self._port_energies_at(start, end))
                begin = end

    def _leave_out_incomplete(self) -> None:
        """Leave out samples at which not every position of joints and base is known."""
        order = self.order
        is_known, has_effort = self._signals.is_known(0), self._signals.is_known(2)
        if not is_known.all():
            self._notes.append(f"{int((~is_known).sum())} samples without positions were left out")
        is_reachable = self._signals.is_reachable() | ~is_known
        if 0 < (count := int((~is_reachable).sum())) <= _MAX_DAMAGED_SHARE * len(is_known):
            self._notes.append(f"{count} samples far beyond the limits of a joint were left out")
            is_known &= is_reachable
        edges = np.flatnonzero(np.diff(has_effort, prepend=True, append=True)).reshape(-1, 2)
        longest_line = max(_LONGEST_LINE, GAP_PERIODS / max(order.rate, 1e-9))
        for a, b in edges:
            duration = order.t[min(b, len(order.t) - 1)] - order.t[max(a - 1, 0)]
            has_effort[a:b] = duration < longest_line
        covered_times = {f"the effort on {self._leader.name}": has_effort}
        # Where a clock was set back, stamps passed twice do not tell which rows are meant.
        is_twice = np.zeros(len(order.t), dtype=bool)
        for k in np.flatnonzero(np.diff(order.stamps) < 0):
            is_twice |= (order.stamps >= order.stamps[k + 1]) & (order.stamps <= order.stamps[k])
        for aligned in self._used_series:
            # Before its first row and after its last a wrench is zero, as is said.
            is_zero = ~aligned.spans(order.stamps) & (aligned in self._wrenches.values())
            covered_times[aligned.series.name] = aligned.covers(order.stamps) & ~is_twice | is_zero
        for name, is_covered in covered_times.items():
            if not is_covered.all():
                first_time = order.t[np.argmin(is_covered)]
                self._notes.append(
                    f"{name} has no values in {100 * float((~is_covered).mean()):.3g} % of the "
                    f"{order.t[-1]:.3f} s, first at {first_time:.3f} s; that time is not accounted"
                )
            is_known &= is_covered
        if not is_known.all():
            self._set_order(order.select(is_known))

    def _split_at_jumps(self) -> None:
        """Begin a gap where the robot is farther from where it was than any speed explains."""
        jumps: list[int] = []
        for first, stop in self.order.segments:
            for k in range(first, stop - 1, BLOCK):
                samples = self._samples(k, min(k + BLOCK + 1, stop), first, stop)
                speed = np.max(np.abs(samples.v), axis=1, initial=_USUAL_SPEED)
                bound = _USUAL_STEP + 2.0 * np.maximum(speed[1:], speed[:-1]) * np.diff(samples.t)
                step = np.max(np.abs(np.diff(samples.q, axis=0)), axis=1, initial=0.0)
                jumps += (k + 1 + np.flatnonzero(step > bound)).tolist()
        # A reset is rare; many jumps are another unit, or noise.
        if 0 < len(jumps) <= max(3, len(self) // 1000):
            times = ", ".join(f"{self._t[jump]:.3f}" for jump in jumps)
            self._notes.append(f"the robot jumps, as at a reset: a gap begins before {times} s")
            borders = sorted({*jumps, *(edge for pair in self.order.segments for edge in pair)})
            self._set_order(replace(self.order, segments=tuple(itertools.pairwise(borders))))

    def _set_order(self, order: ClockOrder) -> None:
        self.order = self._signals.order = order
        for aligned in self._used_series:
            aligned.stamps = order.stamps

    def _leading_series(self) -> Series:
        """Return the series whose times the samples have."""
        if self._sources:
            series = [source.position.series for source in self._sources]
            return max(series, key=lambda s: (sum(x is s for x in series), len(s.table)))
        if not self.recording.bases:
            raise RecordingError(f"{self.recording.path} contains no motion of the base")
        return max(self.recording.bases, key=lambda s: len(s.table))

    def _find_wrenches(self) -> tuple[tuple[str, ...], dict[str, AlignedSeries]]:
        """Return the wrench ports with the series of their wrenches."""
        chosen_topics = dict(self.options.wrenches or {})
        by_name = {series.name: series for series in self.recording.wrenches}
        wrench_series: dict[str, AlignedSeries] = {}
        for frame, name in chosen_topics.items():
            if name not in by_name:
                raise RecordingError(
                    f"there is no wrench '{name}'; recorded are {', '.join(by_name) or 'none'}"
                )
            if frame != "base":
                self.model.frame_id(frame)
            elif not self.model.b:
                raise RecordingError(f"'{self.model.name}' has a fixed base, which no wrench moves")
            wrench_series[frame] = AlignedSeries(by_name[name], self.order.stamps)
        for series in self.recording.wrenches if not chosen_topics else ():
            frame = self._frame_of(series)
            if frame and frame not in wrench_series:
                wrench_series[frame] = AlignedSeries(series, self.order.stamps)
            elif not frame:
                self._notes.append(self._unknown_frame(series))
        self._used_series += wrench_series.values()
        return tuple(wrench_series), wrench_series

    def _unknown_frame(self, series: Series) -> str:
        """Return that the frame of a wrench is unknown; where it is like a known one, raise."""
        names = [frame.name for frame in self.model.pinocchio.frames]
        nearest_names = difflib.get_close_matches(series.frame, names, 3, 0.7)
        text = f"the wrench on {series.name} is given at '{series.frame}', which is no frame of "
        text += f"'{self.model.name}'"
        remedy = f"choose its frame by --topic wrench.FRAME={series.name}"
        if nearest_names:
            raise RecordingError(f"{text}; nearest are {', '.join(nearest_names)}: {remedy}")
        return f"{text}; it is not used ({remedy})"

    def _frame_of(self, series: Series) -> str:
        """Return the port of a wrench: ``base``, a frame of the model, or nothing."""
        frame = series.frame.rpartition("/")[2]
        at_base = frame == "base" and not self.model.tree.has_frame(frame)
        if at_base or series.name.endswith("wrench_base"):
            return "base" if self.model.b else ""
        if frame and self.model.tree.has_frame(frame):
            return frame
        return self.model.end_effector if series.name.endswith("wrench_end_effector") else ""

    def _samples(self, begin: int, end: int, first: int, stop: int) -> MotionSamples:
        """Return conditioned samples begin..end of the segment first..stop."""
        margin = MARGIN + int((abs(self._lag) + abs(self._effort_lag)) * self.order.rate)
        low, high = max(begin - margin, first), min(end + margin, stop)
        t = self._t[low:high]
        signals = self._signals.signals(low, high)
        position, velocity = self._positions(signals, t), signals.velocity
        q_base, v_base = self._base.states(low, high, t)
        velocity[:, list(self._velocity_defects)] = np.nan
        if np.isnan(velocity).any() or (self._lag and len(t) > 1):
            velocity = unlagged_velocity(t, velocity, slopes(self._rate, t, position)[0], self._lag)
        inner_rows = slice(begin - low, end - low)
        q = np.hstack([q_base, configuration(self.model, position)])[inner_rows]
        v = np.hstack([v_base, velocity])[inner_rows]
        effort = gapless(signals.effort, t)
        if self._effort_lag and len(t) > 1:
            effort = remove_lag(t, effort, self._effort_lag)
        arrays = t[inner_rows].copy(), q, v, self._acting_efforts(q, effort[inner_rows])
        wrenches: dict[str, Array] = {}
        for port, series in self._wrenches.items():
            wrench = series.values(begin, end)
            is_spanned = series.spans(self.order.stamps[begin:end])
            is_plausible = np.abs(wrench) <= LARGEST_NUMBER
            wrenches[port] = np.where(is_spanned[:, None] & is_plausible, wrench, 0.0)
        return MotionSamples(*arrays, wrenches, self.options.commanded, self._motors)

    def _acting_efforts(self, q: Array, effort: Array) -> Array:
        """Return the efforts that act, from recorded ones."""
        if self.options.effort == "opposite":
            return -effort
        if self.options.effort == "without_gravity":
            zero_v = np.zeros((len(q), self.model.nv))
            return effort + self.model.evaluate_batch(q, zero_v).g[:, self.model.b :]
        return effort.copy()

    def _port_energies_at(self, begin: int, end: int) -> Mapping[str, Array] | None:
        if self._port_energies is None:
            return None
        rows = self._port_energies.rows_at_stamps(begin, end)
        energies = dict(zip(self._port_energies.series.table.columns[1:], rows.T, strict=True))
        if not self.model.b:
            energies.pop("wrench_base", None)
        return energies

    def _find_conditioning(self) -> Conditioning:
        """Find out about the signals from a part of the recording, and choose what is done."""
        clock_source, jitter = self._clock()
        first, stop = max(self.order.segments, key=lambda segment: segment[1] - segment[0])
        low, high = self._signals.most_active_range(first, stop, _MAX_FIT_SAMPLES)
        t, signals = self._t[low:high], self._signals.signals(low, high)
        position, effort = self._positions(signals, t), gapless(signals.effort, t)
        is_measured = np.asarray(np.isfinite(signals.effort).any(axis=0))
        n, names, rate, lag = self.model.n, self.model.joint_names, self._rate, 0.0
        # A simulation stamps its samples with its own time, and knows its velocities.
        keeps_velocity = self.options.as_recorded or self._port_energies is not None
        if n and high - low >= 16:
            if not keeps_velocity:
                check_units(self.model, t, position, gapless(signals.velocity, t))
                states = t, position, signals.velocity
                self._velocity_defects = velocity_defects(rate, *states, self.recording.has_stamps)
            reliable = [joint for joint in range(n) if joint not in self._velocity_defects]
            lag, is_sure = lag_of(t, position[:, reliable], signals.velocity[:, reliable])
            self._lag = lag if is_sure and not keeps_velocity else 0.0
        samples = self._samples(low, high, first, stop)
        self._check_axes(samples)
        notes = [*self._notes]
        if n and not effort.any():
            notes.append("the recording has no efforts; the joints supply no energy")
        joints = [name for name, ok in zip(names, is_measured, strict=True) if effort.any() > ok]
        notes += [f"no effort of {name} is recorded, or no gain of it is given" for name in joints]
        has_jumps = np.abs(position - gapless(signals.position, t)).max(axis=0, initial=0.0) > 1.0
        notes += [
            f"the angle of {joint} is recorded within a turn; its jumps are taken as whole turns"
            for joint in itertools.compress(names, has_jumps)
        ]
        for quantity, values, replacement in (
            ("velocity", signals.velocity, "is the slope of its positions"),
            ("effort", signals.effort, "is interpolated"),
        ):
            notes += [
                f"the {quantity} of {joint} is no plausible number in {100 * share:.3g} % of the "
                f"samples and {replacement} there"
                for joint, share in zip(names, np.isnan(values).mean(axis=0), strict=True)
                if 0.0 < share < 1.0
            ]
        for port, wrench in self._wrenches.items():
            share = float((~wrench.spans(self.order.stamps)).mean())
            if share > 0.0:
                notes.append(
                    f"the wrench on {wrench.series.name} is not recorded in {100 * share:.3g} % of "
                    f"the time; it is taken as zero at {port} there"
                )
        notes += self._reversed_wrenches(samples, is_measured)
        aux_series = [series for series in self._used_series if series is not self._port_energies]
        meaning = self._meaning(samples, effort, is_measured)
        if meaning is not None and not keeps_velocity and is_measured.all():
            lag_of_efforts = self._lag_of_efforts(samples, effort, meaning.misfit["torque"][0])
            earlier = remove_lag(samples.t, effort, lag_of_efforts)
            later_meaning = self._meaning(samples, earlier, is_measured) if lag_of_efforts else None
            if later_meaning is not None and _explains(later_meaning, meaning):
                self._effort_lag, effort, meaning = lag_of_efforts, earlier, later_meaning
        defects = {names[j]: defect for j, defect in self._velocity_defects.items()}
        timing = clock_source, jitter, defects, lag, bool(self._lag), self._effort_lag
        noise, saturated_shares = self._noise(samples, position, effort), saturation(names, effort)
        rates = {c.series.name: c.rate for c in aux_series if not c.is_synchronous and c.rate > 0.0}
        return Conditioning(
            self.order, *timing, noise, saturated_shares, meaning, self.options.effort,
            self.options.commanded, rates, joints, tuple(notes), self.options.gains or {},
        )  # fmt: skip

    def _clock(self) -> tuple[str, float]:
        """Choose the times by the motion where that is possible; return source and jitter."""
        is_continuous = len(self.order.segments) == 1 and 16 <= len(self) <= _MAX_CLOCK_SAMPLES
        keeps_stamps = self.options.as_recorded or self._port_energies is not None
        if keeps_stamps or not is_continuous or not self.model.n:
            return self.order.source, 0.0
        signals = self._signals.signals(0, len(self))
        position = self._positions(signals, self._t)
        clock = clock_of(self._t, np.diff(position, axis=0), signals.velocity)
        is_uneven = clock.jitter * self.order.rate > _MAX_JITTER
        # Jitter is a matter of times, another duration one of units.
        is_uneven &= abs(float(clock.t[-1]) / float(self._t[-1]) - 1.0) < _MAX_STRETCH
        if clock.source == "stamps" or not is_uneven or not bool(np.all(np.diff(clock.t) >= 0.0)):
            return self.order.source, 0.0
        # Samples that have the same time as the one before are left out.
        is_increasing = np.diff(clock.t, prepend=-np.inf) > 0.0
        if not is_increasing.all():
            repeats = self.order.repeated_count + int((~is_increasing).sum())
            self._set_order(replace(self.order.select(is_increasing), repeated_count=repeats))
        self._t = np.ascontiguousarray(clock.t[is_increasing])
        return clock.source, clock.jitter

    def _positions(self, signals: Signals, t: Array) -> Array:
        """Return the positions (N, n) without jumps of turns where the record wraps angles."""
        position = gapless(signals.position, t)
        is_revolute = ~np.array(self.model.joints.prismatic, dtype=bool)
        position[:, is_revolute] = np.unwrap(position[:, is_revolute], axis=0)
        return position

    def _meaning(
        self, samples: MotionSamples, effort: Array, is_measured: npt.NDArray[np.bool_]
    ) -> EffortMeaning | None:
        speeds = np.sqrt(np.mean(samples.v[:, self.model.b :] ** 2, axis=0))
        if not effort.any() or self.model.fluid is not None or not np.any(speeds > STANDSTILL):
            return None
        if self.constraints or any(wrench.any() for wrench in samples.wrenches.values()):
            return None  # with other forces, the balances say nothing about the efforts
        return effort_meaning(self.model, samples.t, samples.q, samples.v, effort, is_measured)

    def _reversed_wrenches(
        self, samples: MotionSamples, is_measured: npt.NDArray[np.bool_]
    ) -> list[str]:
        """Return that wrenches may be reversed, where the balances of the joints show it."""
        model, b, samples = self.model, self.model.b, samples.select(slice(_MAX_LAG_SAMPLES))
        frames = [f for f, wrench in samples.wrenches.items() if f != "base" and wrench.any()]
        is_useless = not samples.torque.any() or len(samples) < MARGIN or model.fluid is not None
        if not frames or is_useless:
            return []
        t, q, v, effort = samples.t, samples.q, samples.v, samples.torque
        force, misfits = np.zeros_like(effort), []
        for frame in frames:
            wrench, frame_id = samples.wrenches[frame], model.frame_id(frame)
            force += generalised_forces(model, q, wrench, frame_id)[:, b:]
        for net_effort in (effort + force, effort - force):
            parts = balances(model, t, q, v, net_effort * is_measured)
            error = held_out_error((parts.samples - parts.required) * is_measured, parts.friction)
            misfits.append(float(np.linalg.norm(error) / np.linalg.norm(parts.required)))
        text = f"the wrench at {', '.join(frames)} looks reversed, as that of the robot on its "
        text += f"surroundings: its negative leaves {100 * misfits[1]:.0f} % of the momentum "
        text += f"balances open, it {100 * misfits[0]:.0f} %; give its negative"
        return [text] if misfits[1] < _NULL_SHARE * misfits[0] else []

    def _check_axes(self, samples: MotionSamples) -> None:
        """Refuse a flight whose wrench carries the weight downwards: its axes are NED and FRD."""
        if self.model.base != "floating" or "base" not in samples.wrenches:
            return
        weight = self.model.total_mass * float(self.model.gravity[2])
        force = in_world_axes(samples.q[:, 3:7], samples.wrenches["base"][:, :3])
        if weight < 0.0 and 0.7 * weight > float(force[:, 2].mean()) > 1.5 * weight:
            raise RecordingError(
                "the wrench at the base has the size of the weight, but points down. Either z is "
                "down (NED; forward, right, down): turn poses, twists and wrenches to z up (x "
                "forward, y left). Or it is the wrench of the robot on its surroundings: give its "
                "negative. See docs/audit.md, a flight"
            )

    def _lag_of_efforts(self, samples: MotionSamples, effort: Array, misfit: float) -> float:
        """Return by how much efforts follow the motion, s; zero where it is not certain."""
        stride = slice(None, None, max(1, len(samples.t) // _MAX_LAG_SAMPLES))
        signals = [values[stride] for values in (samples.t, samples.q, effort)]
        lag = effort_lag(self.model, *signals) if misfit > _SMALL_MISFIT else 0.0
        # No effort surely comes before what needs it.
        return lag if lag > max(_SHORTEST_LAG, 2.0 / self._rate) else 0.0

    def _noise(self, samples: MotionSamples, position: Array, effort: Array) -> SampleNoise:
        b = self.model.b
        velocity = white_noise(samples.v)
        for joint in self._velocity_defects:
            slope_noise = slopes(self._rate, samples.t, position[:, [joint]])[1]
            velocity[b + joint] = float(np.sqrt(np.mean(slope_noise**2)))
        positions = np.concatenate([self._base.noise(samples.q), white_noise(position)])
        return SampleNoise(positions, velocity, white_noise(effort))


def _explains(meaning: EffortMeaning, baseline: EffortMeaning) -> bool:
    """Return whether a shift makes the efforts fit: as they are, or with gains of one sign."""
    has_one_sign = bool(np.all(meaning.gains > 0.0) or np.all(meaning.gains < 0.0))
    readings = {meaning.reading, "scaled"} if has_one_sign else {meaning.reading}
    misfit, recorded_misfit = (min(m.misfit[r][1] for r in readings) for m in (meaning, baseline))
    return misfit < _NULL_SHARE * meaning.null and misfit < _LAG_FREE_SHARE * recorded_misfit

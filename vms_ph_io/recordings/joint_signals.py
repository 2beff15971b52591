# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Positions, velocities and efforts of the joints of a model, as they were recorded.

Joints are matched by name, never by index.
"""

import difflib
import re
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from vms_ph_dynamics import Array, VMSModel
from vms_ph_dynamics.robot.joints import JointTable

from .. import robots
from .clock_order import GAP_PERIODS, SHORTEST_GAP, ClockOrder
from .recording import LARGEST_NUMBER, Recording, RecordingError, Series, Table
from .signal_checks import interpolate

_COMMAND_TOPIC = re.compile(r"command|cmd|desired|target|reference|goal|setpoint", re.IGNORECASE)
"""Names of topics of what joints should do, which are used only where nothing else has a joint."""


class Column(NamedTuple):
    """A column of a series, by its number after that of the log time."""

    series: Series
    number: int


class JointSource(NamedTuple):
    """Where position, velocity and effort of one joint of the model are recorded."""

    position: Column
    velocity: Column
    effort: Column


def find_sources(
    model: VMSModel, recording: Recording, recorded_names: Mapping[str, str] | None = None
) -> list[JointSource]:
    """Return the source of every joint of the model, in its order.

    Of several series with a joint, the one with most joints of the model and positions is taken;
    velocities and efforts that it lacks are those of another one.

    Args:
        model: the robot.
        recording: the recording.
        recorded_names: recorded names by names of the model, where they differ.

    Raises:
        RecordingError: a joint was not recorded; the message has both lists of joints, and what is
            nearest.
    """
    names = {joint: (recorded_names or {}).get(joint, joint) for joint in model.joint_names}
    for joint in recorded_names or {}:
        if joint not in names:
            raise RecordingError(
                f"'{joint}' is no joint of '{model.name}'; its joints are "
                f"{', '.join(model.joint_names)}"
            )

    def rank(series: Series) -> tuple[bool, bool, int, int]:
        common_names = set(names.values()) & set(series.names)
        is_command = bool(_COMMAND_TOPIC.search(series.name))
        has_positions = any(series.table.has(series.names.index(name)) for name in common_names)
        return has_positions, not is_command, len(common_names), len(series.table)

    ranked_series = sorted(recording.joints, key=rank, reverse=True)
    sources = []
    for name in names.values():
        candidates = [s for s in ranked_series if name in s.names]
        if not candidates:
            raise _mismatch(model, recording, names)
        columns = []
        for quantity in range(3):
            choices = [Column(s, quantity * len(s.names) + s.names.index(name)) for s in candidates]
            columns.append(next((c for c in choices if c.series.table.has(c.number)), choices[0]))
        sources.append(JointSource(*columns))
    return sources


def unused_notes(sources: list[JointSource], recording: Recording) -> list[str]:
    """Return sentences about topics with joints of the robot that are not used, or used in part."""
    by_id = {id(column.series): column.series for source in sources for column in source}
    names = {c.series.names[c.number % len(c.series.names)] for s in sources for c in s}
    sentences = []
    for series in recording.joints:
        if id(series) not in by_id and (shared := names & set(series.names)):
            used_names = ", ".join(dict.fromkeys(s.name for s in by_id.values()))
            text = f"{series.name} has {len(shared)} of the joints too and is not used; used is "
            text += f"{used_names} (choose with --topic joints={series.name})"
            sentences.append(text)
        elif id(series) not in by_id and any(series.name == s.name for s in by_id.values()):
            sentences.append(f"not used: {len(series.table)} messages of {', '.join(series.names)}")
    for source in sources:
        for quantity, column in zip(("velocity", "effort"), source[1:], strict=True):
            if column.series is not source.position.series:
                joint = source.position.series.names[source.position.number]
                sentences.append(f"the {quantity} of {joint} is that on {column.series.name}")
    return sentences


def _mismatch(model: VMSModel, recording: Recording, names: Mapping[str, str]) -> RecordingError:
    """Return the error of joints that were not recorded, with what may help."""
    recorded_joints = recording.joint_names
    missing_joints = [joint for joint, name in names.items() if name not in recorded_joints]
    unmatched_joints = [name for name in recorded_joints if name not in names.values()]
    text_lines = [
        f"the recording does not have the joints of '{model.name}'",
        f"  joints of the model:     {', '.join(model.joint_names)}",
        f"  joints of the recording: {', '.join(recorded_joints) or 'none'}",
        f"  not in the recording:    {', '.join(missing_joints)}",
    ]
    if pairs := _nearest_names(missing_joints, unmatched_joints):
        pairing = " ".join(f"--joint {joint}={name}" for joint, name in pairs.items())
        text_lines.append(f"  nearest match:           {pairing}")
    locked_joints = ",".join(joint for joint in missing_joints if joint not in pairs)
    if locked_joints and len(missing_joints) < model.n:
        text_lines.append(f"  joints that stood still:  --locked-joints {locked_joints}")
    if robot := _robot_like(recorded_joints, model.joint_names):
        text_lines.append(f"  a bundled robot that has the recorded joints: {robot}")
    return RecordingError("\n".join(text_lines))


def _nearest_names(missing_names: list[str], names: list[str]) -> dict[str, str]:
    """Return the recorded joint whose name is nearest, by joint of the model; each once.

    Names that differ by one prefix and suffix come first: they are those of all joints or of none.
    """
    for name in names:
        for longer_name, shorter in ((name, missing_names[0]), (missing_names[0], name)):
            prefix, common_name, suffix = longer_name.partition(shorter)
            if longer_name == name:
                pairs = {joint: f"{prefix}{joint}{suffix}" for joint in missing_names}
            else:
                pairs = {j: j.removeprefix(prefix).removesuffix(suffix) for j in missing_names}
            if common_name and set(pairs.values()) <= set(names):
                return pairs
    pairs = {}
    for joint in missing_names:
        names_by_lower = {name.lower(): name for name in names if name not in pairs.values()}
        for name in difflib.get_close_matches(joint.lower(), names_by_lower, 1):
            pairs[joint] = names_by_lower[name]
    return pairs


def _robot_like(recorded_joints: tuple[str, ...], model_joints: tuple[str, ...]) -> str:
    """Return the bundled robot all of whose joints were recorded, or an empty text."""
    best_robot, most_joints = "", 0
    for name in robots.names():
        try:
            joints = robots.load(name).joint_names
        except Exception:  # a robot whose data package is not installed is none to propose
            continue
        is_other = set(joints) != set(model_joints)
        if is_other and set(joints) <= set(recorded_joints) and len(joints) > most_joints:
            best_robot, most_joints = name, len(joints)
    return best_robot


_CHUNK_ROWS = 100_000  # rows read at once
_STAMP_TOLERANCE = 1000  # ns within which two stamps are one


def _plausible_rows(table: Table, bounds: Mapping[int, float]) -> npt.NDArray[np.bool_]:
    """Return whether rows have plausible numbers in those columns that have any.

    Args:
        table: of N rows.
        bounds: largest plausible magnitudes, by :attr:`Column.number`.
    """
    columns = [column for column in bounds if table.has(column)]
    largest_values = np.array([bounds[column] for column in columns])
    is_plausible = np.ones(len(table), dtype=bool)
    for k in range(0, len(table), _CHUNK_ROWS):
        rows = table.rows(k, k + _CHUNK_ROWS)[:, 1:][:, columns]
        is_plausible[k : k + _CHUNK_ROWS] = (np.abs(rows) <= largest_values).all(axis=1)
    return is_plausible


def _first_rows(times: Array, stamps: Array) -> tuple[npt.NDArray[np.int_], npt.NDArray[np.bool_]]:
    """Return the first rows not before stamps, (N,), and whether they are of these stamps."""
    rows = np.searchsorted(times, stamps - _STAMP_TOLERANCE)
    return rows, (rows < len(times)) & (np.append(times, 0)[rows] - stamps <= _STAMP_TOLERANCE)


class AlignedSeries:
    """A series, interpolated to the stamps of the samples.

    Args:
        series: the series.
        stamps: (N,) ns, of the samples; may be replaced.
    """

    def __init__(self, series: Series, stamps: Array) -> None:
        self.series = series
        times = series.table.times
        self._order = np.argsort(times, kind="stable")
        self._times = times[self._order]
        self.stamps = stamps

    @property
    def rate(self) -> float:
        """Mean rate, Hz."""
        if len(self._times) < 2 or self._times[-1] <= self._times[0]:
            return 0.0
        return float((len(self._times) - 1) / ((self._times[-1] - self._times[0]) * 1e-9))

    @property
    def is_synchronous(self) -> bool:
        """Whether nearly all samples have a row of the same stamp."""
        return len(self.stamps) > 0 and bool(_first_rows(self._times, self.stamps)[1].mean() > 0.9)

    def values(self, begin: int, end: int) -> Array:
        """Return the values at samples begin..end, linear between rows, (end - begin, columns)."""
        low, high = self._row_range(begin, end)
        rows = self._rows(low, high)
        if not len(rows):
            return np.zeros((end - begin, len(self.series.table.columns) - 1))
        start = self.stamps[begin]
        t = (self.stamps[begin:end] - start).astype(float)
        return interpolate(t, (self._times[low:high] - start).astype(float), rows)

    def spans(self, stamps: Array) -> npt.NDArray[np.bool_]:
        """Return whether stamps (N,) lie between the first row and the last."""
        if not len(self._times):
            return np.zeros(len(stamps), dtype=bool)
        first, last = self._times[0] - _STAMP_TOLERANCE, self._times[-1] + _STAMP_TOLERANCE
        return np.asarray((stamps >= first) & (stamps <= last))

    def covers(self, stamps: Array) -> npt.NDArray[np.bool_]:
        """Return whether stamps (N,) lie between rows of numbers that follow without a pause."""
        table = self.series.table
        columns = range(len(table.columns) - 1)
        is_known = _plausible_rows(table, dict.fromkeys(columns, LARGEST_NUMBER))
        times = self._times[is_known[self._order]]
        next_rows, is_row = _first_rows(times, stamps)
        if len(times) < 2:
            return is_row
        periods = np.diff(times)
        longest_period = max(GAP_PERIODS * float(np.median(periods)), SHORTEST_GAP * 1e9)
        is_continuous = periods[np.clip(next_rows - 1, 0, len(periods) - 1)] <= longest_period
        return np.asarray(is_continuous & (next_rows > 0) & (next_rows <= len(periods)) | is_row)

    def rows_at_stamps(self, begin: int, end: int) -> Array:
        """Return the rows of the same stamps, NaN where there is none."""
        low, high = self._row_range(begin, end)
        matched_rows = np.full((end - begin, len(self.series.table.columns) - 1), np.nan)
        first_rows, is_row = _first_rows(self._times, self.stamps[begin:end])
        matched_rows[is_row] = self._rows(low, high)[first_rows[is_row] - low]
        return matched_rows

    def _row_range(self, begin: int, end: int) -> tuple[int, int]:
        low = int(np.searchsorted(self._times, self.stamps[begin], side="right")) - 1
        high = int(np.searchsorted(self._times, self.stamps[end - 1], side="left")) + 1
        low = max(low - 1, 0)
        return low, max(low, min(high + 1, len(self._times)))

    def _rows(self, low: int, high: int) -> Array:
        return self.series.table.take(self._order[low:high])[:, 1:]


_UNREACHABLE_RATIO = 10.0  # times a limit of position or velocity, that no joint reaches
_SPIKE_RATIO = 3.0  # times the limit of an effort, that is damage where it stands alone
_STRETCH_COUNT = 16  # of a long recording, of which the most active is studied
_PROBE_COUNT = 40  # samples read of each


class Signals(NamedTuple):
    """Signals of the joints, each (N, n), NaN where nothing plausible is recorded."""

    position: Array
    velocity: Array
    effort: Array


class JointSignals:
    """Reads the joints of a model at the samples of one series, interpolating the others.

    Args:
        sources: columns of each joint, in the order of the model.
        main: the series whose samples are used.
        order: order of its samples by their clock; may be replaced.
        joints: the joints, with their limits.
    """

    def __init__(
        self, sources: list[JointSource], main: Series, order: ClockOrder, joints: JointTable
    ) -> None:
        self.gains: Array = np.ones(len(sources))
        """Factors of the recorded efforts, (n,), NaN where one is not used; may be replaced."""
        self._sources, self._leader, self.order, self._joints = sources, main, order, joints
        series = {id(c.series): c.series for s in sources for c in s if c.series is not main}
        self._series = {key: AlignedSeries(other, order.stamps) for key, other in series.items()}
        self.other_series = list(self._series.values())
        """The series besides the main one."""

    def is_known(self, quantity: int) -> npt.NDArray[np.bool_]:
        """Return, (N,), whether samples have all positions (0) or efforts (2) that any has."""
        columns = [s[quantity].number for s in self._sources if s[quantity].series is self._leader]
        is_known = _plausible_rows(self._leader.table, dict.fromkeys(columns, LARGEST_NUMBER))
        return is_known[self.order.rows]

    def is_reachable(self) -> npt.NDArray[np.bool_]:
        """Return, (N,), whether no joint is far beyond its limits of position and velocity."""
        joints, bounds = self._joints, dict[int, float]()
        position_limit = np.maximum(np.abs(joints.lower), np.abs(joints.upper))
        for limits, quantity in ((position_limit, 0), (joints.velocity, 1)):
            for limit, source in zip(limits, self._sources, strict=True):
                if source[quantity].series is self._leader and np.isfinite(limit) and limit > 0.0:
                    bounds[source[quantity].number] = _UNREACHABLE_RATIO * float(limit)
        return _plausible_rows(self._leader.table, bounds)[self.order.rows]

    def signals(self, low: int, high: int) -> Signals:
        """Return the signals at samples low..high."""
        rows = {key: aligned.values(low, high) for key, aligned in self._series.items()}
        if self._sources:
            rows[id(self._leader)] = self._leader.table.take(self.order.rows[low:high])[:, 1:]
        signals = Signals(*(np.empty((high - low, len(self._sources))) for _ in range(3)))
        for joint, source in enumerate(self._sources):
            for values, column in zip(signals, source, strict=True):
                values[:, joint] = rows[id(column.series)][:, column.number]
        for values in signals:
            values[~(np.abs(values) <= LARGEST_NUMBER)] = np.nan
        np.multiply(signals.effort, self.gains, out=signals.effort)
        signals.effort[_lone_spikes(signals.effort, self._joints.effort)] = np.nan
        return signals

    def most_active_range(self, first: int, stop: int, count: int) -> tuple[int, int]:
        """Return the range of ``count`` samples in first..stop in which the joints move most."""
        if stop - first <= count or not self._sources:
            return first, min(stop, first + count)
        n = len(self._leader.names)
        best_start, largest_spread = first, -1.0
        for low in np.linspace(first, stop - count, _STRETCH_COUNT).astype(int).tolist():
            rows = self.order.rows[np.linspace(low, low + count - 1, _PROBE_COUNT).astype(int)]
            probed_rows = [self._leader.table.rows(k, k + 1)[0, 1 : 1 + n] for k in rows.tolist()]
            spread = float(np.nan_to_num(np.ptp(np.array(probed_rows), axis=0)).sum())
            if spread > largest_spread:
                best_start, largest_spread = low, spread
        return best_start, best_start + count


def _lone_spikes(effort: Array, limit: Array) -> npt.NDArray[np.bool_]:
    """Return which efforts (N, n) are far beyond the limit, alone between samples within it."""
    is_spike, is_usual = np.abs(effort) > _SPIKE_RATIO * limit, np.abs(effort) <= limit
    is_spike[1:] &= is_usual[:-1]
    is_spike[:-1] &= is_usual[1:]
    return is_spike


def gapless(values: Array, t: Array) -> Array:
    """Return values interpolated over gaps, NaN, at times; zero where no value is known."""
    return np.nan_to_num(interpolate(t, t, values))

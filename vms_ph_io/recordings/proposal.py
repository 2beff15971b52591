# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""A proposal of a column map for a file that nobody has described, with the evidence for it."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import yaml

from vms_ph_dynamics import Array, VMSModel
from vms_ph_dynamics.energy.samples import smooth
from vms_ph_dynamics.identification import effort_meaning as efforts
from vms_ph_dynamics.identification.torque import effort_lags

from ..progress import no_progress
from .column_map import JOINT_QUANTITIES, TIME_UNITS, UNITS
from .from_columns import ARRAY_SUFFIXES
from .number_files import TextColumns, load_arrays
from .recording import RecordingError
from .signal_checks import configuration, interpolate, remove_lag

_QUANTITY_WORDS = {
    "acceleration": r"acc\w*|ddq|qdd|qddot|q_?ddot",
    "velocity": r"vel\w*|speed\w*|dq|qd|qdot|q_?dot|omega|rates?|qvel",
    "effort": r"eff\w*|tau\w*|torques?|trq|currents?|curr|moments?|amp\w*|m",
    "time": r"t|zeit|time\w*|stamp\w*|timestamp\w*|secs?|seconds?|clock",
    "position": r"pos\w*|q|angles?|theta|qpos|state",
}
_PATTERNS = {k: re.compile(rf"(?:^|[^a-z])(?:{w})(?:[^a-z]|$)") for k, w in _QUANTITY_WORDS.items()}
_COMMAND = re.compile(
    r"(?:^|[^a-z])(?:cmd|command\w*|des|desired|target|ref|reference|goal|setpoint|action|d)(?:[^a-z]|$)"
)
_NAMED_UNITS = {
    "deg": r"deg\w*|°", "rad": r"rad", "mrad": r"mrad", "ms": r"ms|msec|millis\w*",
    "us": r"us|usec|micros\w*", "ns": r"ns|nsec|nanos\w*",
}  # fmt: skip
_ANGLE_NAMES = {"rad": "radians", "deg": "degrees", "mrad": "milliradians"}
_Groups = dict[str, list[str]]
_RATE_RANGE = (4.0, 20_000.0)  # Hz, that recordings have
_MAX_SAMPLES = 4000
_FIT_SAMPLES = 1200
_MAX_GAIN_ERROR = 0.15  # of efforts that are called torques
_FAR_GAIN = 0.7  # logarithm of a gain
_CERTAIN_GAIN_ERROR = 0.025  # of gains that are certain; the masses of links err as well
_GAP_PERIODS = 20.0  # periods without a sample
_ASKED_LAG_SHARE = 0.95  # share of the squared error with which a lag is asked about
_ANGLES = 2.0 * np.pi * np.arange(5) / 5.0  # angles of a joint that give all its harmonics
_LAG_RANGE = 0.045  # s, of the lags that fit nearly as well as a certain one
_LAGS = (0.0, 0.06, 0.14, 0.22)  # s, of efforts, from which an order is searched
_RESTARTS = 8  # from any order, where the search from that of the columns ends in a poor one
_SWEEPS = 8  # through all pairs of columns
_LOG_MARGIN = 0.7  # of the summed logarithms of the errors of joints, by which an order is the best
_MAX_ORDER_ERROR = 0.5  # error of an order that is not that of the columns
_MAX_ZERO_ERROR = 0.2  # error with the zero of a joint turned
_MAX_ERROR = 0.9  # error of efforts that say more than friction alone
_SLOPE_SCORE = 0.9  # correlation of columns with the slopes of others
_MAX_TWIN_ERROR = 0.4  # of desired values from the measured ones
_REST_SHARE = 0.05  # share of the largest speed below which a joint rests
_ERROR_RATIO = 0.75  # share of the error with which one reading is clearly better than another


class Evidence(NamedTuple):
    """What speaks for one part of a proposal.

    Attributes:
        part: time, position, velocity, effort or joints.
        text: a sentence.
        question: what would decide an uncertain part; empty for a certain one.
    """

    part: str
    text: str
    question: str = ""


@dataclass
class Proposal:
    """A column map that is proposed.

    Attributes:
        path: of the recording.
        content: of the column map.
        evidence: for its parts.
    """

    path: Path
    content: dict[str, Any] = field(default_factory=dict)
    evidence: list[Evidence] = field(default_factory=list)

    @property
    def is_sure(self) -> bool:
        """Whether nothing has to be asked."""
        return not any(evidence.question for evidence in self.evidence)

    @property
    def text(self) -> str:
        """The column map as YAML, with the evidence as comments."""
        lines = [f"# Proposed for {self.path.name}; check what is not sure."]
        for evidence in self.evidence:
            question = [f"#   NOT SURE: {evidence.question}"] if evidence.question else []
            lines += [f"# {evidence.part}: {evidence.text}", *question]
        content = yaml.safe_dump(self.content, default_flow_style=None, sort_keys=False, width=9999)
        return "\n".join([*lines, content])

    def note(self, part: str, text: str, question: str = "") -> None:
        """Add what speaks for a part, and what decides where it is not sure."""
        self.evidence.append(Evidence(part, text, question))


class _Columns:
    """The columns of numbers of a file by name, and how a map refers to them.

    Attributes:
        values: (N,) by name.
        has_names: whether the names are those of the file.
        repeats: numbers and names of the columns whose names are those of others as well.
    """

    def __init__(self, path: Path) -> None:
        self.values: dict[str, Array] = {}
        self.has_names, self.repeats = True, list[tuple[int, str]]()
        self._addresses: dict[str, tuple[str, str | int]] = {}
        """Array of several columns, or empty, and the column as a map names it."""
        if path.suffix in ARRAY_SUFFIXES:
            for name, array in load_arrays(path).items():
                self._add_array(name, np.asarray(array))
        else:
            file_text = TextColumns(path)
            self.has_names = bool(file_text.names)
            numeric = file_text.numeric_columns()
            rows = np.vstack([np.empty((0, len(numeric))), *file_text.blocks(no_progress, numeric)])
            for k, column in zip(numeric, rows.T, strict=True):
                name = file_text.names[k] if self.has_names else f"column {k + 1}"
                occurrences = file_text.names.count(name)
                self.repeats += [(k + 1, name)] * (occurrences > 1)
                name += file_text.names[:k].count(name) * " (again)"
                self._add(name, column, "", name if occurrences == 1 else k + 1)
        lengths, values = [len(value) for value in self.values.values()], self.values.items()
        length = max(set(lengths), key=lengths.count, default=0)
        self.values = {n: v for n, v in values if len(v) == length and np.isfinite(v).any()}
        patterns = r"(?:^|[._ /])secs?$", r"(?:nano|n)secs?$"
        stamps = [
            next((n for n in self.values if re.search(pattern, n)), "") for pattern in patterns
        ]
        self._stamp = stamps if all(stamps) else []
        if self._stamp:
            self.values[stamps[0]] = self.values[stamps[0]] + 1e-9 * self.values.pop(stamps[1])

    def _add_array(self, name: str, array: Array) -> None:
        if array.dtype.kind not in "fiub" or array.ndim > 2 or array.size < 2:
            return
        array = np.squeeze(array.astype(float))
        if array.ndim == 1:
            self._add(name, array, "", name)
        else:
            for k, column in enumerate(array if len(array) < len(array.T) else array.T, 1):
                self._add(f"{name}[{k}]", column, name, k)

    def _add(self, name: str, values: Array, array_name: str, column: str | int) -> None:
        self.values[name], self._addresses[name] = values, (array_name, column)

    def map_entry(self, names: Sequence[str]) -> dict[str, Any]:
        """Return how a map refers to some columns."""
        if self._stamp and list(names) == self._stamp[:1]:
            return {"columns": self._stamp, "unit": ["s", "ns"]}
        arrays = {self._addresses[name][0] for name in names}
        entry: dict[str, Any] = {"columns": [self._addresses[name][1] for name in names]}
        if arrays == {""}:
            return entry
        return {"array": arrays.pop(), **entry} if len(arrays) == 1 else {"columns": list(names)}


def propose(path: str | Path, model: VMSModel, changes: bool = True, rate: float = 0.0) -> Proposal:
    """Return a column map for a file of columns: CSV and other text, NPZ, MAT, Parquet.

    Everything is decided by names and by what the robot can do: limits, speeds, rates, slopes, and
    the efforts that its motion requires. Where fewer than two of them agree, the proposal says what
    has to be asked.

    Args:
        path: of the file.
        model: the robot.
        changes: whether the order of the columns and the zeros of the joints may change.
        rate: Hz, where it is known; then no column is the time.

    Raises:
        RecordingError: the file cannot be read, or has no columns for the positions, or the robot
            has no joints.
    """
    if not model.n:
        raise RecordingError(f"'{model.name}' has no joints; columns are proposed for joints only")
    proposal, columns, n = Proposal(Path(path)), _Columns(Path(path)), model.n
    groups, time = _quantity_groups(columns, model, proposal)
    time = "" if rate else time
    if "position" not in groups:
        text = f"{proposal.path.name} has no {model.n} columns that could be the positions of "
        text += f"'{model.name}'; its columns are {', '.join(columns.values) or 'no numbers'}"
        raise RecordingError(text)
    used_columns = {name for names in groups.values() for name in names}
    if repeats := ", ".join(str(k) for k, name in columns.repeats if name in used_columns):
        text = f"the columns {repeats} have names that are not theirs alone"
        proposal.note("names", text, "are they in the order of the others?")
    proposal.content["joints"] = list(model.joint_names)
    raw_columns = {k: np.stack([columns.values[c] for c in v], axis=1) for k, v in groups.items()}
    t = columns.values[time] if time else np.arange(float(len(raw_columns["position"])))
    indices = np.flatnonzero(np.isfinite(t) & np.isfinite(raw_columns["position"]).all(axis=1))
    indices = indices[np.diff(t[indices], prepend=np.nan) != 0.0]  # the first of those of one time
    if len(indices) < 16:
        raise RecordingError(f"{proposal.path.name} has fewer than 16 rows with positions and time")
    # The longest part without a gap, and without a clock that is set back.
    periods = np.diff(t[indices])
    period = float(np.median(periods[periods > 0.0]))
    edges = np.flatnonzero((periods < 0.0) | (periods > _GAP_PERIODS * period)) + 1
    indices = max(np.split(indices, edges), key=len)
    t, raw_columns = t[indices], {name: values[indices] for name, values in raw_columns.items()}
    angle_unit = _angle_unit(proposal, model, raw_columns["position"], groups["position"])
    is_revolute = ~np.array(model.joints.prismatic, dtype=bool)
    q = raw_columns["position"] * np.where(is_revolute, UNITS[angle_unit], 1.0)
    q[:, is_revolute] = np.unwrap(q[:, is_revolute], axis=0)
    has_efforts = "effort" in raw_columns and model.b == 0
    effort = interpolate(t, t, raw_columns["effort"]) if has_efforts else np.zeros_like(q)
    epoch = t[0]
    t, q, effort = (_means(rows, _MAX_SAMPLES) for rows in (t - epoch, q, np.nan_to_num(effort)))
    if time:
        time_unit = _time_unit(proposal, model, time, t + epoch, period, q)
        t = (t - t[0]) * TIME_UNITS[time_unit]
    else:
        velocity = _means(raw_columns.get("velocity", np.zeros((len(indices), n))), _MAX_SAMPLES)
        slope = smooth(t, q, 5)[1]
        proposal.content["rate"] = rate or _rate(proposal, model, slope, velocity, angle_unit)
        t = (t - t[0]) / proposal.content["rate"]
    motion = _Motion(t, q, smooth(t, q, 5)[1], effort)
    if has_efforts and len(groups["effort"]) > n:
        first_effort = _effort_start(proposal, model, groups["effort"], motion)
        groups["effort"] = groups["effort"][first_effort : first_effort + n]
        motion = motion._replace(effort=effort[:, first_effort : first_effort + n])
    # Without efforts, the order and the zeros are those of the columns.
    compared_motion = motion if changes else motion._replace(effort=np.zeros_like(q))
    order = _order(proposal, model, groups["position"], compared_motion)
    motion = motion.reorder(order)
    offsets = _zero_offsets(proposal, model, motion) if changes else np.zeros(n)
    if offsets.any():
        motion = motion._replace(q=motion.q + offsets)
        if any(item.part == "joints" and item.question for item in proposal.evidence):
            proposal.evidence = [item for item in proposal.evidence if item.part != "joints"]
            new_order = _order(proposal, model, [groups["position"][k] for k in order], motion)
            order, offsets, motion = order[new_order], offsets[new_order], motion.reorder(new_order)
    groups = {name: [names[k] for k in order] for name, names in groups.items()}
    if time:
        proposal.content["time"] = {"unit": time_unit, **columns.map_entry([time])}
    units = _units(angle_unit, "m", is_revolute)
    proposal.content["position"] = {**columns.map_entry(groups["position"]), "unit": units}
    if offsets.any():
        proposal.content["position"]["offset"] = [float(f"{offset:.4f}") for offset in offsets]
    if "velocity" in raw_columns:
        recorded_velocity = _means(raw_columns["velocity"][:, order], _MAX_SAMPLES)
        is_angle = is_revolute | (not is_revolute.any())
        if unit := _velocity_unit(proposal, motion.v[:, is_angle], recorded_velocity[:, is_angle]):
            units = _units(unit, "m/s", is_angle)
            proposal.content["velocity"] = {**columns.map_entry(groups["velocity"]), "unit": units}
    if has_efforts:
        proposal.content["effort"] = columns.map_entry(groups["effort"])
        error = _effort_error(proposal, model, motion)
        # What no reading of the efforts explains was changed in vain.
        if error >= _MAX_ERROR and (offsets.any() or np.any(order != np.arange(n))):
            return propose(path, model, False, rate)
        uncertain_parts = {item.part for item in proposal.evidence if item.question}
        if uncertain_parts == {"position"} and error < _MAX_ORDER_ERROR:
            evidence = [item._replace(question="") for item in proposal.evidence]
            proposal.evidence = [*evidence, Evidence("position", "the efforts confirm them")]
    elif "effort" in raw_columns:
        proposal.content["effort"] = {**columns.map_entry(groups["effort"]), "unit": "N m"}
        proposal.note("effort", "this kind of robot is not compared", "are the efforts in N m?")
    else:
        is_named = angle_unit != "rad" or _named_unit(groups["position"], ("rad",))
        question = "" if is_named else "are positions radians? Nothing but efforts would show it"
        proposal.note("effort", "there are no efforts: the joints supply no energy", question)
    return proposal


class _Motion(NamedTuple):
    """Times (N,), and positions, their slopes and efforts, (N, n), of the columns."""

    t: Array
    q: Array
    v: Array
    effort: Array

    def reorder(self, order: Any) -> "_Motion":
        """Return the motion with the columns in another order, (n,)."""
        return _Motion(self.t, *(columns[:, order] for columns in self[1:]))

    def without_lag(self, lag: float) -> "_Motion":
        """Return the motion with the efforts as they were before they lagged, s."""
        return self._replace(effort=remove_lag(self.t, self.effort, lag)) if lag else self

    def lag(self, model: VMSModel) -> tuple[float, float, str]:
        """Return by how much the efforts follow the motion, s, and what speaks for it.

        The lag is zero where it is nothing or not sure. Then its share of the squared error without
        a lag, and a sentence; one where nothing is to be said.
        """
        lag, share, low, high = effort_lags(model, *self._replace(q=configuration(model, self.q)))
        text = f"they follow the motion {1e3 * np.nan_to_num(lag, nan=high):.0f} ms later"
        text += f" ({1e3 * low:.0f} to {1e3 * high:.0f} ms fit nearly as well)"
        is_sure = share < 0.8 or (share < _ASKED_LAG_SHARE and high - low < _LAG_RANGE)
        # A shorter one than 15 ms is not certain, nor are two of opposite signs.
        certain_lag = lag if is_sure and abs(lag) > 2e-3 and low * high > 0.0 else 0.0
        return certain_lag, 1.0 if abs(lag) <= 0.015 else share, text

    def thin(self) -> "_Motion":
        """Return the motion with fewer samples."""
        return _Motion(*(_means(rows, _FIT_SAMPLES) for rows in self))

    def meaning(self, model: VMSModel) -> efforts.EffortMeaning:
        """Return what the efforts are."""
        is_measured = np.asarray(np.any(self.effort != 0.0, axis=0))
        motion = self._replace(q=configuration(model, self.q))
        return efforts.effort_meaning(model, *motion, is_measured)

    def balances(self, model: VMSModel) -> efforts.Balances:
        """Return the momentum balances of the joints."""
        return efforts.balances(model, *self._replace(q=configuration(model, self.q)))


def _means(rows: Array, count: int) -> Array:
    """Return about so many means (M, ...) of neighbouring rows (N, ...): nothing is thrown away."""
    stride = max(1, len(rows) // count)
    whole_rows = rows[: len(rows) // stride * stride]
    return np.asarray(whole_rows.reshape(-1, stride, *rows.shape[1:]).mean(axis=1))


def _snake_case(name: str) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()


def _quantity_groups(columns: _Columns, model: VMSModel, proposal: Proposal) -> tuple[_Groups, str]:
    """Return the columns of each quantity in the order of the joints, and that of the time."""
    names = list(columns.values)
    by_kind: dict[str, list[str]] = {}
    for name in names:
        words = re.sub("|".join(map(re.escape, model.joint_names)).lower(), " ", _snake_case(name))
        kind = next((kind for kind, pattern in _PATTERNS.items() if pattern.search(words)), "")
        if columns.has_names and kind:
            by_kind.setdefault(kind, []).append(name)
    steps = {name: np.diff(columns.values[name]) for name in names}
    increasing = [n for n in names if bool(np.all(steps[n] > 0.0))]
    # A clock may stand still, or be set back at a new run.
    advancing = [n for n in names if np.mean(steps[n] >= 0) > 0.98 and np.mean(steps[n] > 0) > 0.05]
    time_names = [n for n in by_kind.get("time", ()) if n in advancing] or increasing
    counters = [n for n in increasing if steps[n].min() == 1.0 and not np.any(steps[n] % 1.0)]
    time_names = [time_name for time_name in time_names if time_name not in counters] or time_names
    time = time_names[0] if time_names else ""
    if len(time_names) > 1 and by_kind.get("time", [""])[0] not in time_names[:1]:
        text = f"'{time}' increases, and so do {', '.join(time_names[1:4])}"
        proposal.note("time", text, f"is '{time}' the time?")
    candidates = {kind: _joint_columns(by_kind.get(kind, []), model) for kind in JOINT_QUANTITIES}
    groups = {kind: names for kind, names in candidates.items() if names}
    if "position" not in groups:
        names = [n for n in names if n not in (time, *counters)]
        if len(names) % model.n:  # a status never changes
            names = [name for name in names if np.ptp(columns.values[name]) > 0.0]
        return _content_groups(names, columns, model.n, proposal), time
    unnamed_columns = [n for n in names if not any(n in g for g in by_kind.values()) and n != time]
    if "effort" not in groups and len(unnamed_columns) >= model.n:
        question = f"are efforts among {', '.join(unnamed_columns[: 2 * model.n])}?"
        proposal.note("effort", "no names are those of efforts", question)
    return groups, time


def _joint_columns(names: Sequence[str], model: VMSModel) -> list[str]:
    """Return the names of the columns of the joints of the model in its order, or nothing."""
    measured_names = [n for n in names if not _COMMAND.search(_snake_case(n))]
    for candidates in (measured_names, list(names)):
        columns = _named_joints(candidates, model)
        digits_by_name = {name: re.findall(r"\d+", name) for name in reversed(candidates)}
        by_number = {int(digits[-1]): name for name, digits in digits_by_name.items() if digits}
        order = sorted(by_number)
        is_named = model.n in (len(columns), bool(columns) * len(candidates))
        if not is_named and len(order) == model.n == order[-1] - order[0] + 1:
            return [by_number[k] for k in order]
        if is_named or len(candidates) == model.n:
            other_names = iter([name for name in candidates if name not in columns.values()])
            return [columns[k] if k in columns else next(other_names) for k in range(model.n)]
    return []


def _named_joints(names: Sequence[str], model: VMSModel) -> dict[int, str]:
    """Return the columns of the joints, by index, that names of columns surely say.

    A name has that of a joint in it, or more of its words than of those of any other joint; its
    initials are as good as all its words: ``ELBOW``, or ``SP`` of ``ShoulderPitch``.
    """
    matches: dict[int, list[str]] = {}
    words_of = re.compile(r"[a-z]{2,}").findall
    joint_words = [[w for w in words_of(_snake_case(j)) if w != "joint"] for j in model.joint_names]
    for name in names:
        words = set(words_of(_snake_case(name)))
        scores = [
            1e3 * len(joint) * (joint.lower() in name.lower()) or
            len(parts) * ("".join(w[0] for w in parts) in words) or len(words.intersection(parts))
            for joint, parts in zip(model.joint_names, joint_words, strict=True)
        ]  # fmt: skip
        if scores.count(max(scores)) == 1:
            matches.setdefault(scores.index(max(scores)), []).append(name)
    # Of several that are only likely none is; of several that have the whole name the first is.
    exact = {k for k, names in matches.items() if model.joint_names[k].lower() in names[0].lower()}
    return {k: names[0] for k, names in matches.items() if len(names) == 1 or k in exact}


def _content_groups(names: list[str], columns: _Columns, n: int, proposal: Proposal) -> _Groups:
    """Return groups of n neighbouring columns of which one has the slopes of another."""
    blocks = [names[k : k + n] for k in range(len(names) - n + 1)]
    best_score, a, b = 0.0, -1, -1
    if len(blocks) > n:
        stride = max(1, len(columns.values[names[0]]) // 1000)  # slopes above the noise
        rows = np.stack([columns.values[name][::stride] for name in names], axis=1)
        rows = rows[np.isfinite(rows).all(axis=1)]
        slope = np.gradient(rows, axis=0)
        # Gaps and turns are steps, not slopes.
        slope = np.clip(slope, *np.percentile(slope, (1, 99), axis=0))
        index = np.arange(len(blocks))
        block_columns = index[:, None] + np.arange(n)
        for lag in range(len(rows) // 60):
            x, y = slope[: len(rows) - lag], rows[lag:]
            sizes = np.outer(*(np.linalg.norm(series, axis=0) for series in (x, y)))
            correlation = (x.T @ y) / np.maximum(sizes, 1e-300)
            # Some joints stand still, and some angles are wrapped; all others must be aligned.
            pairs = correlation[block_columns[:, None], block_columns]
            score = pairs.mean(axis=2) * (np.quantile(pairs, 0.75, axis=2) > _SLOPE_SCORE)
            score[np.abs(index[:, None] - index) < n] = 0.0
            if score.max() > best_score:
                best_score, (a, b) = score.max(), divmod(int(score.argmax()), len(blocks))
    if a < 0:
        if len(names) not in (n, 2 * n):
            return {}
        question = "which columns are positions, and which efforts?" if len(names) > n else ""
        proposal.note("position", "the columns have no names", question)
        return {"position": names[:n], **({"effort": names[n:]} if len(names) > n else {})}
    text = f"columns from '{blocks[b][0]}' are the slopes of those from '{blocks[a][0]}'"
    proposal.note("position", text)
    values = np.stack([columns.values[name] for name in names], axis=1)
    values = values[np.isfinite(values).all(axis=1)]
    values -= values.mean(axis=0)
    # Fourth differences leave nothing of a motion, and all of the noise of a sensor.
    differences = np.abs(np.diff(values, 4, axis=0)).sum(axis=0)
    noise = [differences[k : k + n].sum() for k in range(len(blocks))]
    groups, used_names = _Groups(), set[str]()
    for kind, first_column in (("position", a), ("velocity", b)):
        block = values[:, first_column : first_column + n]
        # Desired values lead measured ones by what a controller lags.
        limit = _MAX_TWIN_ERROR * np.linalg.norm(block)
        distinct_blocks = (k for k in range(len(blocks)) if abs(k - first_column) >= n)
        twins = [k for k in distinct_blocks if np.linalg.norm(values[:, k : k + n] - block) < limit]
        *smoother, noisiest_block = twins = sorted([first_column, *twins], key=noise.__getitem__)
        groups[kind] = blocks[noisiest_block]
        used_names.update(name for twin in twins for name in blocks[twin])
        if smoother:
            starts = " and ".join(f"'{blocks[k][0]}'" for k in twins)
            # Measured values are noisy and late; commands that are held are not smooth either.
            smooth_values, noisiest = (values[:, k : k + n] for k in (smoother[-1], noisiest_block))
            is_late = ((noisiest - smooth_values) * np.gradient(smooth_values, axis=0)).sum() < 0.0
            is_sure = is_late and noise[noisiest_block] > 2.0 * noise[smoother[-1]]
            text = f"columns from {starts} are nearly the same; the noisiest are the measured ones"
            proposal.note(kind, text, "" if is_sure else f"which of {starts} are measured?")
    if len(used_names) + n <= len(names):
        groups["effort"] = [name for name in names if name not in used_names]
        proposal.note("effort", f"columns from '{groups['effort'][0]}' are what is left")
    return groups


def _effort_start(proposal: Proposal, model: VMSModel, names: list[str], motion: _Motion) -> int:
    """Return where efforts begin among the columns that are left, by the momentum balance."""
    n, errors = model.n, []
    # A column that never changes is no evidence.
    effort = np.where(np.ptp(motion.effort, axis=0) > 0.0, motion.effort, 0.0)
    for k in range(len(names) - n + 1):
        block = motion._replace(effort=effort[:, k : k + n])
        balance = block.without_lag(block.lag(model)[0]).thin().balances(model)
        errors.append(balance.log_error(balance.required))
    best, second = np.argsort(errors)[:2]
    ratios = np.exp(np.array(errors) / n)
    text = f"of the columns that are left, those from '{names[best]}' leave {ratios[best]:.0%} "
    text += f"of what friction alone leaves, those from '{names[second]}' {ratios[second]:.0%}"
    is_far = errors[second] - errors[best] > 2.0 * _LOG_MARGIN
    is_sure = is_far and ratios[best] < _MAX_ORDER_ERROR
    question = "" if is_sure else f"which {n} of {', '.join(names)} are efforts?"
    proposal.note("effort", text, question)
    return int(best)


def _named_unit(names: Sequence[str], units: Sequence[str]) -> str:
    """Return the unit that all names of columns state, or nothing."""
    words = {unit: rf"(?:^|[^a-z])(?:{_NAMED_UNITS[unit]})(?:[^a-z]|$)" for unit in units}
    matches = (u for u in units if all(re.search(words[u], _snake_case(name)) for name in names))
    return next(matches, "")


def _angle_unit(proposal: Proposal, model: VMSModel, position: Array, names: Sequence[str]) -> str:
    joints, is_revolute = model.joints, ~np.array(model.joints.prismatic, dtype=bool)
    if not is_revolute.any():
        return "m"
    limit = np.maximum(np.abs(joints.lower), np.abs(joints.upper))
    bounds = np.where(np.isfinite(limit), [joints.lower, joints.upper], 0.0)
    centre = 0.5 * bounds.sum(axis=0)[is_revolute]
    limit = np.where(np.isfinite(limit), limit, 2.0 * np.pi)[is_revolute]

    def ratio_of(unit_size: float) -> float:
        """Return how far angles reach, with whole turns taken off those that may be wrapped."""
        angles = unit_size * position[:, is_revolute]
        candidates = [np.abs(angles).max(axis=0)]
        for mid_angle in (0.0, centre) if candidates[0].max() < 2.01 * np.pi else ():
            wrapped = mid_angle + np.remainder(angles - mid_angle + np.pi, 2.0 * np.pi) - np.pi
            candidates.append(np.abs(wrapped).max(axis=0))
        return float(np.min(candidates, axis=0).max() / limit.max())  # in any order of the joints

    reach, ratio = np.abs(position[:, is_revolute]).max(axis=0), ratio_of(1.0)
    worst_joint = int(np.argmax(reach / limit))
    text = f"positions reach {reach[worst_joint]:.4g}; the limits are {limit[worst_joint]:.3g}"
    named_unit = _named_unit(names, ("deg", "mrad", "rad"))
    if ratio > 1.3:
        # A wrong zero may be beyond the limits.
        units = [u for u in ("rad", "deg", "mrad") if u != "rad" or ratio < 2.0]
        likely_unit = min(units, key=lambda u: abs(np.log(ratio_of(UNITS[u]))))
        unit = named_unit if named_unit and ratio_of(UNITS[named_unit]) < 2.0 else likely_unit
        text = f"{text}: {_ANGLE_NAMES[unit]}"
        is_certain = 0.1 < ratio_of(UNITS[unit]) < 1.1 and named_unit in (unit, "")
        question = "" if is_certain else "which unit are positions in?"
    elif named_unit in ("deg", "mrad"):
        unit, text = named_unit, f"{text}, and the names say {named_unit}"
        question = f"are they in {named_unit}?"
    else:
        unit, travel = "rad", float(np.max(np.ptp(position[:, is_revolute], axis=0)))
        text += f": radians; as degrees nothing would move further than {np.deg2rad(travel):.2g}"
        # Angles beyond the limits are wrapped ones only where they jump by a turn.
        jumps = np.abs(np.diff(position[:, is_revolute], axis=0)).max() > 1.8 * np.pi
        is_certain = travel > 0.1 and bool(jumps or named_unit or reach.max() < 1.3 * limit.max())
        question = "" if is_certain else "are the positions radians?"
    proposal.note("position", text, question)
    return unit


def _time_unit(proposal: Proposal, model: VMSModel, key: str, t: Array, dt: float, q: Array) -> str:
    """Return the unit of the time, by rate, epoch, name and the speeds of the joints."""
    speed_limit = np.where(np.isfinite(model.joints.velocity), model.joints.velocity, 10.0)
    speed = np.percentile(np.abs(smooth(t - t[0], q, 5)[1]), 99, axis=0) / speed_limit
    possible_units = {}
    for unit, size in TIME_UNITS.items():
        rate, share = 1.0 / (dt * size), float(speed.max()) / size
        if _RATE_RANGE[0] <= rate <= _RATE_RANGE[1] and share < 1.5:
            possible_units[unit] = (rate, share)
    named_unit = _named_unit([key], ("ms", "us", "ns"))
    units = possible_units or TIME_UNITS
    epoch = next((u for u in units if 1e9 < t[0] * TIME_UNITS[u] < 4e9), "")
    if not possible_units:
        proposal.note("time", f"'{key}' steps by {dt:.3g}", "which unit is the time in?")
        return named_unit or epoch or "s"
    # Of several units the one in which the robot moves at a usual speed.
    unit = max(possible_units, key=lambda u: (u == epoch, u == named_unit, possible_units[u][1]))
    rate, share = possible_units[unit]
    text = f"'{key}' steps by {dt:.3g}: {rate:.4g} Hz in {unit}, at most {share:.0%} of the speed"
    votes = 1 + (unit == epoch) + (unit == named_unit) + (len(possible_units) == 1) + (share > 0.01)
    other_units = [u for u in (named_unit, epoch) if u and u != unit]
    question = "" if votes >= 2 and not other_units else f"is the time in {unit}?"
    if len(possible_units) > 1 and unit not in (epoch, named_unit):
        smallest_share = min(unit_fit[1] for u, unit_fit in possible_units.items() if u != unit)
        is_clear = smallest_share < 0.003 < 0.03 < share
        question = "" if is_clear else f"is the time in {' or '.join(possible_units)}?"
    proposal.note("time", text, question)
    return unit


def _rate(proposal: Proposal, model: VMSModel, slope: Array, velocity: Array, unit: str) -> float:
    """Return the rate, Hz, at which slopes per sample are recorded velocities; else a guess."""
    slope, velocity = np.where(np.isfinite(velocity), slope, 0.0), np.nan_to_num(velocity)
    speed, size = (np.sqrt(np.mean(rows**2, axis=0)) for rows in (slope, velocity))
    correlation = np.mean(slope * velocity, axis=0) / np.maximum(speed * size, 1e-300)
    is_used = (speed > _REST_SHARE * speed.max()) & (correlation > _SLOPE_SCORE)
    ratio, (low, high) = size[is_used] / speed[is_used], _RATE_RANGE
    factor = float(np.median(ratio)) if ratio.size > 2 else 0.0
    rate = factor * UNITS[f"{unit}/s"]  # velocities have most likely the unit of the positions
    if not low <= rate <= high or np.ptp(ratio) > 0.3 * factor:
        proposal.note("time", "no column increases", "what is the rate in Hz? 1000 is a guess")
        return 1000.0
    rates = {u: x for u in ("rad/s", "deg/s", "rpm") if (x := factor * UNITS[u]) != rate}
    others = [f", {x:.3g} if speeds are in {u}" for u, x in rates.items() if low <= x <= high]
    # Velocities are off by this share of them, and their size by no more.
    error = float(np.sqrt(max(1.0 - np.max(correlation[is_used]) ** 2, 1e-6)))
    digits = (float(f"{rate:.{k}g}") for k in (1, 2, 3, 4))
    rate = next(x for x in digits if abs(x / rate - 1.0) <= min(error, _CERTAIN_GAIN_ERROR))
    share = np.max(np.percentile(np.abs(slope), 99, axis=0) * rate / model.joints.velocity)
    text = f"no column increases; at {rate:g} Hz the velocities of {ratio.size} joints are slopes, "
    text += f"within {error:.1%} at best, and at most {share:.0%} of the limits"
    is_sure = not others and error < _CERTAIN_GAIN_ERROR and 0.01 < share < 1.0
    question = "" if is_sure else f"what is the rate in Hz? {rate:g} is likely{''.join(others)}"
    proposal.note("time", text, question)
    return rate


def _units(angle_unit: str, length_unit: str, is_revolute: Any) -> str | list[str]:
    """Return the unit of all joints, or the unit of each."""
    units = [angle_unit if is_angle else length_unit for is_angle in is_revolute]
    return angle_unit if len({*units}) == 1 else units


def _velocity_unit(proposal: Proposal, slope: Array, velocity: Array) -> str:
    """Return the unit of recorded velocities, or nothing where they are none."""
    speed = np.sqrt(np.mean(slope**2, axis=0))
    moving = (speed > _REST_SHARE * speed.max(initial=0.0)) & np.isfinite(velocity).any(axis=0)
    ratio = np.sqrt(np.nanmean(velocity[:, moving] ** 2, axis=0)) / np.maximum(speed[moving], 1e-12)
    factor = float(np.median(ratio)) if moving.any() else 0.0
    for unit in ("rad/s", "deg/s", "rpm", "mrad/s"):
        if abs(factor * UNITS[unit] - 1.0) < 0.04 and np.ptp(ratio) < 0.3 * factor:
            proposal.note("velocity", f"they are {factor:.4g} times the slopes: {unit}")
            return unit
    text = f"they are {factor:.3g} times the slopes, in no known unit: left out, as velocities are "
    proposal.note("velocity", text + "found from the positions")
    return ""


def _effort_error(proposal: Proposal, model: VMSModel, motion: _Motion) -> float:
    """Add unit and gains to the efforts of a map, and return the error that they leave."""
    entry = proposal.content["effort"]
    if not motion.effort.any():
        proposal.note("effort", "all efforts are zero: the joints supply no energy")
        entry["unit"] = "N m"
        return 1.0
    lag, share, text = motion.lag(model)
    if share < _ASKED_LAG_SHARE:
        proposal.note("effort", text, "" if lag else "by how much do they follow the motion?")
    motion = motion.without_lag(lag)
    meaning = motion.meaning(model)
    if not meaning.beats_null:
        question = "which unit have they? are these the joint torques?"
        proposal.note("effort", "friction alone explains them as well", question)
        return 1.0
    unit, gains, text, question, error_limit = "N m", np.ones(model.n), "as torques", "", 3.0
    # Gains that no load explains, with which efforts fit well.
    is_far = np.abs(np.log(np.abs(meaning.gains))) > _FAR_GAIN
    is_far &= (meaning.ratio["scaled"] < 0.3) & (meaning.gain_errors < 0.05 * np.abs(meaning.gains))
    is_scaled, factors = meaning.scaled, meaning.gains
    has_many_far = 3 * is_far.sum() >= motion.effort.any(axis=0).sum() and is_scaled.any()
    if meaning.reading == "scaled" or has_many_far:
        text = f"with factors about {np.median(np.abs(factors[is_scaled])):.3g}, as mN m,"
        unit, gains = "mN m", np.where(is_scaled, np.sign(factors), 1.0)
        if np.median(np.abs(np.log(np.abs(factors[is_scaled]) * 1e3))) > 0.3:
            text = "as currents, with a gain for each joint,"
            # Where efforts are currents, a gain near one is as likely as any.
            ratio = meaning.ratio
            is_scaled |= ratio["scaled"] < _ERROR_RATIO * np.minimum(ratio["torque"], 1.0)
            is_sure = is_scaled & (meaning.gain_errors < _CERTAIN_GAIN_ERROR * np.abs(factors))
            # A joint without its gain is not explained, as if by friction alone.
            unit, gains, error_limit = "A", np.where(is_scaled, factors, 1.0), 1.0
            joints = [name for name, ok in zip(model.joint_names, is_sure, strict=True) if not ok]
            question = f"what are the gains of {', '.join(joints)}?" if joints else ""
    elif meaning.reading == "without_gravity":
        text, question = "best without gravity; as torques", "are they (--effort without_gravity)?"
    else:
        gains = np.where(meaning.has_other_sign("torque"), -1.0, 1.0)
        text = "as torques, some of opposite sign," if (gains < 0.0).any() else text
    # What is proposed must be torques, of every joint.
    meaning = motion._replace(effort=motion.effort * UNITS[unit] * gains).meaning(model)
    errors = np.minimum(meaning.ratio["torque"], np.where(is_scaled, 3.0, error_limit))
    error = float(np.sqrt(np.nanmean(errors**2)))
    is_wrong = np.abs(meaning.gains - 1.0) > _MAX_GAIN_ERROR
    is_wrong &= meaning.ratio["scaled"] < _ERROR_RATIO * meaning.ratio["torque"]
    is_wrong |= meaning.has_other_sign("torque") | meaning.unrelated_joints | meaning.scaled
    wrong_joints = [j for j, is_off in zip(model.joint_names, is_wrong, strict=True) if is_off]
    if wrong_joints or error >= _MAX_ERROR:
        names = ", ".join(wrong_joints or model.joint_names)
        question = question or f"has one of {names} another sign, unit, gear or zero, or a load?"
    text = f"{text} they leave {error:.0%} of what friction alone leaves"
    if error >= _MAX_ERROR:  # no reading that is worse than friction alone is proposed
        question = f"which unit have they? {question}"
    else:
        entry["unit"] = unit
        if not np.all(gains == 1.0):
            entry["gain"] = [float(f"{gain:.6g}") for gain in gains]
    proposal.note("effort", text, question)
    return error


def _best_zero(model: VMSModel, motion: _Motion, joint: int) -> tuple[float, int, float]:
    """Return the least :meth:`.Balances.log_error` with a joint turned, the joint and the angle."""
    # What is required has two harmonics of the angle of a joint.
    axis = np.eye(model.n)[joint]
    balances = [motion._replace(q=motion.q + angle * axis).balances(model) for angle in _ANGLES]
    required_efforts = np.array([balance.required for balance in balances])

    def error(angle: float) -> float:
        difference = angle - _ANGLES
        weights = (1.0 + 2.0 * np.cos(difference) + 2.0 * np.cos(2.0 * difference)) / 5.0
        return balances[0].log_error(np.tensordot(weights, required_efforts, 1))

    best_angle = min(np.linspace(-np.pi, np.pi, 25)[1:], key=error)
    best_angle = min(best_angle + np.linspace(-0.26, 0.26, 53), key=error)
    return error(best_angle), joint, float(best_angle)


def _zero_offsets(proposal: Proposal, model: VMSModel, motion: _Motion) -> Array:
    """Return what is to be added to positions, (n,), where the zero of a joint is clearly wrong."""
    thinned = motion.without_lag(motion.lag(model)[0]).thin()
    balances, is_revolute = thinned.balances(model), ~np.array(model.joints.prismatic, dtype=bool)
    original = balances.log_error(balances.required)
    trials = sorted(_best_zero(model, thinned, int(joint)) for joint in np.flatnonzero(is_revolute))
    least, joint, angle = trials[0] if trials else (original, 0, 0.0)
    second_error = min([original, *(error for error, *_ in trials[1:])])
    offsets, name = angle * np.eye(model.n)[joint], model.joint_names[joint]
    for _ in range(_SWEEPS if original - least > _LOG_MARGIN else 0):  # a zero and a lag look alike
        lag = motion._replace(q=motion.q + offsets).lag(model)[0]
        least, _, angle = _best_zero(model, motion.without_lag(lag).thin(), joint)
        if abs(angle - offsets[joint]) < 0.011:
            break
        offsets[joint] = angle
    if original - least < _LOG_MARGIN or abs(angle) < 0.05:
        return np.zeros(model.n)
    ratios = np.exp(np.array([least, original, second_error]) / np.count_nonzero(balances.null))
    text = f"with {angle:.2f} rad added to {name} the efforts leave {ratios[0]:.0%} of what "
    text += f"friction alone leaves, else {ratios[1]:.0%}; another joint turned {ratios[2]:.0%}"
    is_sure = second_error - least > 2.0 * _LOG_MARGIN and ratios[0] < _MAX_ZERO_ERROR
    question = "" if is_sure else f"is the zero of {name} off by {-angle:.2f} rad?"
    proposal.note("zero", text, question)
    return offsets


def _order(proposal: Proposal, model: VMSModel, names: list[str], motion: _Motion) -> Any:
    """Return the columns in the order of the joints, by names or by the efforts, (n,)."""
    order, named_joints = np.arange(model.n), _named_joints(names, model)
    speed = np.sqrt(np.mean(motion.v**2, axis=0))
    unnamed_ids = [k for k, name in enumerate(names) if named_joints.get(k) != name]
    if len(unnamed_ids) < 2:
        text = "".join(f"; '{names[k]}' is left for {model.joint_names[k]}" for k in unnamed_ids)
        proposal.note("joints", f"the names of the columns are those of the joints{text}")
        return order
    # The efforts hardly show where columns belong that rest: two of them are asked about.
    moving_columns = [k for k in unnamed_ids if speed[k] > _REST_SHARE * speed.max()]
    rest_joints = [model.joint_names[k] for k in unnamed_ids if k not in moving_columns]
    question = f"is the first column {model.joint_names[0]}, and the last {model.joint_names[-1]}?"
    if not motion.effort.any() or len(moving_columns) < 2:
        proposal.note("joints", "the order of the columns, which no efforts confirm", question)
        return order

    def error(order: Any) -> float:
        """Return the geometric mean of the errors of the joints, relative to friction alone."""
        balance = aligned.reorder(order).balances(model)
        return float(np.exp(balance.log_error(balance.required) / np.count_nonzero(balance.null)))

    margin, identity, original_error = np.exp(_LOG_MARGIN / model.n), order, np.inf
    rng, trials = np.random.default_rng(0), []
    for restart in range(_RESTARTS if model.n < 9 else len(_LAGS)):
        order, lag = identity.copy(), _LAGS[restart % len(_LAGS)]
        if restart >= len(_LAGS):
            order[moving_columns] = rng.permutation(moving_columns)
        for _ in range(_SWEEPS):
            # The lag is that of the motor side of all joints, whatever their order. A wrong order
            # may hide it.
            lag = motion.reorder(order).lag(model)[0] or lag
            aligned = motion.without_lag(lag).thin()
            best_error, rival, closest_pair, is_final = error(order), np.inf, (0, 0), True
            for pair in combinations(moving_columns, 2):
                candidate = order.copy()
                candidate[list(pair)] = order[list(pair)[::-1]]
                swapped_error = error(candidate)
                if swapped_error < 0.97 * best_error:
                    order, best_error, is_final = candidate, swapped_error, False
                elif swapped_error < rival:
                    rival, closest_pair = swapped_error, pair
            if is_final:
                break
        is_same = bool(np.all(order == identity))
        original_error = min(original_error, best_error if is_same else error(identity))
        is_sure = is_final and best_error < min(0.9, rival / margin)
        is_sure &= is_same or best_error < min(_MAX_ORDER_ERROR, original_error / margin**2)
        trials.append((best_error, order, rival, closest_pair, is_sure))
        if is_sure or best_error < _MAX_ORDER_ERROR:
            break
    best_error, order, rival, closest_pair, is_sure = min(trials, key=lambda attempt: attempt[0])
    if not is_sure and best_error > original_error / margin**2:
        order, best_error, rival = identity, original_error, best_error
    names = [model.joint_names[k] for k in closest_pair]
    label, unsure_joints = " and ".join(names), rest_joints if is_sure else names
    text = f"in this order the efforts leave {best_error:.0%} of what friction alone leaves"
    swaps = f"any two swapped {rival:.0%} or more" if is_sure else f"{label} swapped {rival:.0%}"
    question = f"are {' and '.join(unsure_joints)} in this order?" if len(unsure_joints) > 1 else ""
    proposal.note("joints", f"{text}, with {swaps}", question)
    return order

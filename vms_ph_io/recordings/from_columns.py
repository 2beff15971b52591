# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Recordings from files of columns: CSV and other text files, NPZ, MAT and Parquet."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from vms_ph_dynamics import Array

from ..progress import Progress, no_progress
from .column_map import BASE_SIZES, JOINT_QUANTITIES, ColumnMap, Quantity, read_map
from .number_files import TextColumns, load_arrays
from .recording import LOG, POSE, TWIST, WRENCH, Recording, RecordingError, Series, Table

ARRAY_SUFFIXES = (".npz", ".mat", ".parquet")
TEXT_SUFFIXES = (".csv", ".txt", ".tsv", ".dat", ".log")


_LATEST = 9e9
"""Latest time in s that stamps of 64 bits in ns can have; what is later is a damaged row."""


def read_columns(
    path: Path, columns: Path | None = None, progress: Progress = no_progress
) -> Recording:
    """Return the recording in a file of columns.

    Args:
        path: of the file.
        columns: of its column map; None for the names that need none.
        progress: called while the file is read.

    Raises:
        RecordingError: the file cannot be read, or has not the columns.
    """
    column_map = ColumnMap(Path(), (), {}, {}) if columns is None else read_map(columns)
    own_files = any(q.file for q in column_map.quantities.values())
    recording = Recording(path, {".npz": "NPZ", ".mat": "MAT"}.get(path.suffix, "Parquet"))
    if path.suffix in ARRAY_SUFFIXES or own_files:
        source = _Arrays(path, column_map, recording)
        blocks: Iterator[dict[str, Array]] = iter([source.quantities()])
        joints = source.joints
    else:
        recording.kind = "CSV"
        text = TextColumns(path, column_map.header, column_map.delimiter, column_map.skip)
        chosen, joints = _chosen(path, column_map, text)
        recording.bytes = path.stat().st_size
        blocks = _blocks(text, chosen, progress, recording)
    _fill(recording, blocks, joints, column_map)
    if not recording.joints or not len(recording.joints[0].table):
        raise RecordingError(f"{path} contains no rows of numbers")
    return recording


def _fill(
    recording: Recording,
    blocks: Iterator[dict[str, Array]],
    joints: tuple[str, ...],
    column_map: ColumnMap,
) -> None:
    n = len(joints)
    table = Table(
        (LOG, *(f"{quantity}.{name}" for quantity in JOINT_QUANTITIES for name in joints))
    )
    base = Table((LOG, *POSE, *TWIST))
    wrenches = {frame: Table((LOG, *WRENCH)) for frame in column_map.wrenches}
    count, epoch = 0, None
    for block in blocks:
        rows = len(block["position"])
        seconds = block.get("time")
        if seconds is None:
            seconds = (count + np.arange(rows)[:, None]) / column_map.rate
        count += rows
        if rows and not np.any(np.abs(seconds) < _LATEST) and np.isfinite(seconds).any():
            raise RecordingError(
                f"the times of {recording.path.name} reach {np.nanmax(np.abs(seconds)):.3g} s, "
                "which no clock shows; if they are nanoseconds, give time the unit ns in a "
                "column map"
            )
        if epoch is None:
            epoch = float(np.floor(seconds[np.abs(seconds) < _LATEST][0])) if rows else 0.0
        good = np.abs(seconds[:, 0]) < _LATEST  # nor what is not a number
        # Whole seconds apart: a float of seconds since 1970 times 1e9 is not exact.
        times = np.round((seconds[good, 0] - epoch) * 1e9).astype(np.int64) + int(epoch) * 10**9
        if not good.all():
            recording.notes.append(f"{int((~good).sum())} rows without a time were left out")
        parts = [block.get(name, np.full((rows, n), np.nan)) for name in JOINT_QUANTITIES]
        table.extend(times, np.hstack([np.zeros((rows, 1)), *parts])[good])
        if "base_position" in block:
            parts = [block.get(n, np.full((rows, size), np.nan)) for n, size in BASE_SIZES.items()]
            base.extend(times, np.hstack([np.zeros((rows, 1)), *parts])[good])
        for frame, series in wrenches.items():
            series.extend(times, np.hstack([np.zeros((rows, 1)), block[f"wrench {frame}"]])[good])
    recording.messages = count
    name = recording.path.name
    recording.joints.append(Series(name, table, joints))
    if len(base):
        recording.bases.append(Series(name, base))
    recording.wrenches += [Series(name, rows, frame=frame) for frame, rows in wrenches.items()]


def _blocks(
    text: TextColumns,
    chosen: Mapping[str, tuple[list[int], Any]],
    progress: Progress,
    recording: Recording,
) -> Iterator[dict[str, Array]]:
    read = sorted({column for index, _ in chosen.values() for column in index})
    places = {
        name: ([read.index(column) for column in index], scale)
        for name, (index, scale) in chosen.items()
    }
    for rows in text.blocks(progress, read):
        yield {name: rows[:, index] * scale for name, (index, scale) in places.items()}
    if text.reason:
        recording.notes.append(text.reason)


def _chosen(
    path: Path, column_map: ColumnMap, text: TextColumns
) -> tuple[dict[str, tuple[list[int], Any]], tuple[str, ...]]:
    """Return the indices of the columns of each quantity, and the joints."""
    if column_map.is_empty:
        return _by_name(path, text.names)
    selection = {}
    for name, quantity in column_map.quantities.items():
        selection[name] = ([_index(c, text, path) for c in quantity.columns], quantity.scale)
    for frame, quantity in column_map.wrenches.items():
        index = [_index(c, text, path) for c in quantity.columns]
        selection[f"wrench {frame}"] = (index, quantity.scale)
    _check(path, column_map, selection)
    joints = column_map.joints
    if not joints:
        names = [str(c) for c in column_map.quantities["position"].columns]
        joints = tuple(name.removeprefix("position.") for name in names)
    return selection, joints


def _by_name(
    path: Path, names: tuple[str, ...]
) -> tuple[dict[str, tuple[list[int], Any]], tuple[str, ...]]:
    joints = tuple(n.removeprefix("position.") for n in names if n.startswith("position."))
    if "time" not in names or not joints:
        raise RecordingError(
            f"{path.name} must have the columns time, position.<joint>, velocity.<joint> and "
            "effort.<joint>, or a column map (--columns); its columns are "
            f"{', '.join(names) or 'numbers without names'}"
        )
    selection: dict[str, tuple[list[int], Any]] = {"time": ([names.index("time")], 1.0)}
    for quantity in JOINT_QUANTITIES:
        required = [f"{quantity}.{joint}" for joint in joints]
        present = [name in names for name in required]
        if all(present):
            selection[quantity] = ([names.index(name) for name in required], 1.0)
        elif any(present):
            missing = ", ".join(name for name, ok in zip(required, present, strict=True) if not ok)
            raise RecordingError(f"{path.name} lacks the columns {missing}")
    return selection, joints


def _index(column: str | int, text: TextColumns, path: Path) -> int:
    if isinstance(column, int):
        if not 1 <= column <= text.width:
            raise RecordingError(f"{path.name} has {text.width} columns; there is none {column}")
        return column - 1
    if column not in text.names:
        raise RecordingError(
            f"{path.name} has no column '{column}'; its columns are {', '.join(text.names)}"
        )
    return text.names.index(column)


def _check(path: Path, column_map: ColumnMap, quantities: Mapping[str, Any]) -> None:
    if "position" not in quantities:
        raise RecordingError(f"the column map for {path.name} lacks position")
    if "time" not in quantities and not column_map.rate > 0.0:
        raise RecordingError(f"the column map for {path.name} needs a time or a rate in Hz")


class _Arrays:
    """Quantities of which each is an array, of an archive or of a file of its own."""

    def __init__(self, path: Path, column_map: ColumnMap, recording: Recording) -> None:
        self._path, self._column_map, self._recording = path, column_map, recording
        self._archives: dict[Path, dict[str, Any]] = {}
        self._sources: dict[str, Quantity] = dict(column_map.quantities)
        self._sources |= {f"wrench {frame}": q for frame, q in column_map.wrenches.items()}
        self.joints = column_map.joints
        if column_map.is_empty:
            self._find_by_name()
        _check(path, column_map, self._sources)

    def quantities(self) -> dict[str, Array]:
        """Return the quantities, each (N, columns)."""
        arrays: dict[str, Array] = {}
        for name, quantity in self._sources.items():
            arrays[name] = self._array(name, quantity) * quantity.scale
        rows = {name: len(values) for name, values in arrays.items()}
        least = min(rows.values())
        if max(rows.values()) > least:
            self._recording.notes.append(
                "the arrays have different lengths; read as far as the shortest goes: "
                + ", ".join(f"{name} {count}" for name, count in rows.items())
            )
        return {name: values[:least] for name, values in arrays.items()}

    def _array(self, name: str, quantity: Quantity) -> Array:
        path = self._column_map.folder / quantity.file if quantity.file else self._path
        others = 6 if name.startswith("wrench ") else len(self.joints)
        size = {"time": 1, **BASE_SIZES}.get(name, others)
        self._recording.bytes += path.stat().st_size if quantity.file and path.is_file() else 0
        if path.suffix not in ARRAY_SUFFIXES:
            return self._from_text(path, quantity, size)
        arrays = self._archive(path)
        if quantity.array or not quantity.columns:
            label = quantity.array or name
            if label not in arrays:
                raise RecordingError(
                    f"{path.name} has no array '{label}'; its arrays are {', '.join(arrays)}"
                )
            value = np.asarray(arrays[label], dtype=float)
            value = value.reshape(-1, 1) if value.ndim == 1 else value
            if value.ndim == 2 and value.shape[1] != size and value.shape[0] == size:
                value = value.T
            if quantity.columns and all(isinstance(c, int) for c in quantity.columns):
                value = value[:, [int(c) - 1 for c in quantity.columns]]
        else:
            missing = [str(c) for c in quantity.columns if c not in arrays]
            if missing:
                raise RecordingError(
                    f"{path.name} has no array '{missing[0]}'; its arrays are {', '.join(arrays)}"
                )
            value = np.column_stack([np.ravel(arrays[str(c)]) for c in quantity.columns])
        if value.ndim != 2 or value.shape[1] != size:
            raise RecordingError(
                f"{path.name}: {name} must have {size} columns; given: shape {value.shape}"
            )
        return value

    def _archive(self, path: Path) -> dict[str, Any]:
        if path not in self._archives:
            self._archives[path] = load_arrays(path)
            self._recording.bytes += path.stat().st_size
        return self._archives[path]

    def _from_text(self, path: Path, quantity: Quantity, size: int) -> Array:
        text = TextColumns(
            path, self._column_map.header, self._column_map.delimiter, self._column_map.skip
        )
        columns = [_index(c, text, path) for c in quantity.columns] or range(text.width)
        blocks = list(text.blocks(no_progress, columns))
        if text.reason:
            self._recording.notes.append(text.reason)
        rows = np.vstack(blocks) if blocks else np.empty((0, len(columns)))
        if quantity.interleaved:
            rows_complete = rows.size // size
            return rows.ravel()[: rows_complete * size].reshape(rows_complete, size)
        return rows

    def _find_by_name(self) -> None:
        """Take the arrays ``time``, ``position.<joint>``, ..., or ``position`` with ``joints``."""
        arrays = self._archive(self._path)
        if "position" in arrays and "joints" in arrays:
            self.joints = tuple(str(name).strip() for name in np.ravel(arrays["joints"]))
            names = ("time", *JOINT_QUANTITIES, *BASE_SIZES)
            self._sources = {name: Quantity(array=name) for name in names if name in arrays}
            return
        selection, self.joints = _by_name(self._path, tuple(arrays))
        for name in selection:
            columns = [name] if name == "time" else [f"{name}.{joint}" for joint in self.joints]
            self._sources[name] = Quantity(tuple(columns))

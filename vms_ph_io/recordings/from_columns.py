# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Recordings from files of columns: CSV and other text files, NPZ, MAT, Parquet and PX4."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from vms_ph_dynamics import Array

from ..progress import Progress, no_progress
from .column_map import (
    BASE_SIZES,
    JOINT_QUANTITIES,
    STAMP,
    WRENCH_PREFIX,
    ColumnMap,
    Quantity,
    read_map,
)
from .number_files import TextColumns, load_arrays
from .recording import POSE, TWIST, WRENCH, Recording, RecordingError, Series, Table

_Blocks = Iterator[dict[str, Array]]
_KINDS = {".npz": "NPZ", ".mat": "MAT", ".parquet": "Parquet", ".ulg": "PX4"}
ARRAY_SUFFIXES = tuple(_KINDS)
TEXT_SUFFIXES = (".csv", ".txt", ".tsv", ".dat", ".log")

_LATEST_TIME = 9e9
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
    column_map = ColumnMap(Path(), (), {}) if columns is None else read_map(columns)
    recording = Recording(path, _KINDS.get(path.suffix, "CSV"))
    has_files = any(quantity.file for quantity in column_map.quantities.values())
    source_type = _ArraySource if path.suffix in ARRAY_SUFFIXES or has_files else _TextSource
    source = source_type(recording, column_map, progress)
    quantities, joints = _quantities(path, column_map, source)
    if not joints and "base_position" not in quantities:
        raise RecordingError(f"{path} names no joints and has no base_position")
    recording.has_stamps = "time" in quantities
    blocks = source.blocks(quantities, len(joints))
    if joints:
        factors = column_map.coupling(joints)
        if column_map.couplings:
            blocks = _joint_blocks(blocks, factors)
        recording.joints.append(Series.make(path.name, names=joints, motors=np.linalg.inv(factors)))
    _store(recording, blocks, list(quantities), column_map.rate)
    if not len((recording.joints or recording.bases)[0].table):
        raise RecordingError(f"{path} contains no rows of numbers")
    return recording


def _joint_blocks(blocks: _Blocks, factors: Array) -> _Blocks:
    """Yield blocks with the quantities of joints in place of those of the motors that move them."""
    # The power stays the same. A share of zero of what is not known is no share.
    factor_maps = {"position": factors, "velocity": factors, "effort": np.linalg.inv(factors).T}
    for block in blocks:
        for name in factor_maps.keys() & block.keys():
            rows = [(np.abs(row) > 1e-12, row) for row in factor_maps[name]]
            block[name] = np.stack([block[name][:, k] @ row[k] for k, row in rows], axis=1)
        yield block


def _store(recording: Recording, blocks: _Blocks, names: list[str], rate: float) -> None:
    """Add blocks of rows, which have quantities of these names, to a recording with its joints."""
    name = recording.path.name
    tables: list[tuple[Table, Mapping[str, int]]] = [
        (joints.table, dict.fromkeys(JOINT_QUANTITIES, len(joints.names)))
        for joints in recording.joints
    ]
    if "base_position" in names:
        recording.bases.append(Series.make(name, (*POSE, *TWIST)))
        tables.append((recording.bases[0].table, BASE_SIZES))
    for key in (key for key in names if key.startswith(WRENCH_PREFIX)):
        series = Series.make(name, WRENCH, frame=key.removeprefix(WRENCH_PREFIX))
        recording.wrenches.append(series)
        tables.append((series.table, {key: len(WRENCH)}))
    origin = None
    for block in blocks:
        count = len(next(iter(block.values())))
        stamps = block.get("time")
        if stamps is None:
            stamps = (len(tables[0][0]) + np.arange(count)[:, None]) / rate
        if count and not np.any(np.abs(stamps) < _LATEST_TIME) and np.isfinite(stamps).any():
            text = f"the times of {name} reach {np.nanmax(np.abs(stamps)):.3g} s, which no clock "
            text += "shows; if they are nanoseconds, give time the unit ns in a column map"
            raise RecordingError(text)
        is_valid = (np.abs(stamps) < _LATEST_TIME).all(axis=1)  # nor what is not a number
        if not is_valid.all():
            recording.notes.append(f"{int((~is_valid).sum())} rows without a time were left out")
        stamps = stamps[is_valid]
        if not len(stamps):
            continue
        # Whole seconds apart: a float of seconds since 1970 times 1e9 is not exact.
        if origin is None:
            origin = float(np.floor(stamps[0, 0]))
        seconds_since_origin = stamps[:, 0] - origin + stamps[:, 1:].sum(axis=1)
        times = np.round(seconds_since_origin * 1e9).astype(np.int64) + int(origin) * 10**9
        for table, sizes in tables:
            arrays = [block.get(key, np.full((count, size), np.nan)) for key, size in sizes.items()]
            table.extend(times, np.hstack([np.zeros((count, 1)), *arrays])[is_valid])


def _quantities(
    path: Path, column_map: ColumnMap, source: "_TextSource | _ArraySource"
) -> tuple[Mapping[str, Quantity], tuple[str, ...]]:
    """Return where the quantities stand, by the map or else by names, and the joints."""
    quantities = column_map.quantities
    if column_map.is_empty:
        arrays = source.joint_arrays() if isinstance(source, _ArraySource) else None
        return arrays or _by_name(path, source.names)
    if "position" not in quantities and "base_position" not in quantities:
        raise RecordingError(f"the column map for {path.name} lacks position")
    if "time" not in quantities and not column_map.rate > 0.0:
        raise RecordingError(f"the column map for {path.name} needs time, or rate: 500 (Hz)")
    position = quantities.get("position", Quantity())
    names = [str(column).removeprefix("position.") for column in position.columns]
    if "position" in quantities and not (column_map.joints or names):
        raise RecordingError(
            f"the column map for {path.name} needs joints, the names for the columns of the array "
            "of positions, in their order: joints: [joint_1, ...]"
        )
    return quantities, column_map.joints or tuple(names)


def _by_name(path: Path, names: tuple[str, ...]) -> tuple[dict[str, Quantity], tuple[str, ...]]:
    joints = tuple(n.removeprefix("position.") for n in names if n.startswith("position."))
    has_stamps = set(STAMP) <= set(names)
    if not ("time" in names or has_stamps) or not joints:
        text = f"{path.name} must have the columns time, position.<joint>, velocity.<joint> and "
        text += "effort.<joint>, or a column map (--columns), which --propose writes; its columns "
        raise RecordingError(f"{text}are {', '.join(names) or 'numbers without names'}")
    stamp = Quantity(STAMP, np.array([1.0, 1e-9]))
    quantities = {"time": stamp if has_stamps else Quantity(("time",))}
    for quantity in JOINT_QUANTITIES:
        required_names = tuple(f"{quantity}.{joint}" for joint in joints)
        missing_names = [name for name in required_names if name not in names]
        if not missing_names:
            quantities[quantity] = Quantity(required_names)
        elif len(missing_names) < len(required_names):
            raise RecordingError(f"{path.name} lacks the columns {', '.join(missing_names)}")
    return quantities, joints


class _TextSource:
    """Quantities in the columns of one text file, block by block."""

    def __init__(self, recording: Recording, column_map: ColumnMap, progress: Progress) -> None:
        self._recording, self._progress = recording, progress
        self._text = _open_text(recording.path, column_map)
        self.names = self._text.names

    def blocks(self, quantities: Mapping[str, Quantity], _n: int) -> _Blocks:
        """Yield the quantities of some rows, each (N, columns)."""
        indices = {k: [_index(c, self._text) for c in q.columns] for k, q in quantities.items()}
        columns = sorted({column for index in indices.values() for column in index})
        indices = {name: [columns.index(k) for k in index] for name, index in indices.items()}
        for rows in self._text.blocks(self._progress, columns):
            yield {k: rows[:, indices[k]] * q.scale + q.offset for k, q in quantities.items()}
        if self._text.damage_note:
            self._recording.notes.append(self._text.damage_note)


def _open_text(path: Path, column_map: ColumnMap) -> TextColumns:
    return TextColumns(path, column_map.header, column_map.delimiter, column_map.skip)


def _index(column: str | int, text: TextColumns) -> int:
    name = text.path.name
    if isinstance(column, int):
        if not 1 <= column <= text.width:
            raise RecordingError(f"{name} has {text.width} columns; there is none {column}")
        return column - 1
    hits = [k for k, label in enumerate(text.names, 1) if label == column]
    if not hits:
        names = ", ".join(text.names)
        raise RecordingError(f"{name} has no column '{column}'; its columns are {names}")
    if len(hits) > 1:
        raise RecordingError(f"{name} has several '{column}': give in a map the number, of {hits}")
    return hits[0] - 1


class _ArraySource:
    """Quantities of which each is an array, of an archive or of a file of its own."""

    def __init__(self, recording: Recording, column_map: ColumnMap, _progress: Progress) -> None:
        self._path, self._column_map, self._recording = recording.path, column_map, recording
        self._archives: dict[Path, dict[str, Any]] = {}

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the arrays of the archive."""
        return tuple(self._archive(self._path))

    def joint_arrays(self) -> tuple[dict[str, Quantity], tuple[str, ...]] | None:
        """Return the arrays ``time``, ``position``, ... and the joints, if it has ``joints``.

        A vehicle has none, but ``base_position``.
        """
        arrays = self._archive(self._path)
        if not {"position", "joints"} <= set(arrays) and not {*BASE_SIZES} <= set(arrays):
            return None
        names = ("time", *JOINT_QUANTITIES, *BASE_SIZES)
        joints = tuple(str(name).strip() for name in np.ravel(arrays.get("joints", ())))
        return {name: Quantity(array=name) for name in names if name in arrays}, joints

    def blocks(self, quantities: Mapping[str, Quantity], joint_count: int) -> _Blocks:
        """Yield the quantities of all rows, each (N, columns)."""
        sizes = {"time": 1, **BASE_SIZES, **dict.fromkeys(JOINT_QUANTITIES, joint_count)}
        arrays = {
            name: self._array(name, q, sizes.get(name, len(WRENCH))) * q.scale + q.offset
            for name, q in quantities.items()
        }
        lengths = {name: len(values) for name, values in arrays.items()}
        shortest = min(lengths.values())
        if max(lengths.values()) > shortest:
            counts = ", ".join(f"{name} {count}" for name, count in lengths.items())
            text = f"the arrays have different lengths; read as far as the shortest goes: {counts}"
            self._recording.notes.append(text)
        yield {name: values[:shortest] for name, values in arrays.items()}

    def _array(self, name: str, quantity: Quantity, size: int) -> Array:
        path = self._column_map.folder / quantity.file if quantity.file else self._path
        if path.suffix not in ARRAY_SUFFIXES:
            return self._from_text(path, quantity, size)
        arrays = self._archive(path)
        is_single = quantity.array or not quantity.columns
        for label in (quantity.array or name,) if is_single else quantity.columns:
            if label not in arrays:
                names = ", ".join(arrays)
                raise RecordingError(f"{path.name} has no array '{label}'; its arrays are {names}")
        if is_single:
            array = np.asarray(arrays[quantity.array or name], dtype=float)
            array = array.reshape(-1, 1) if array.ndim == 1 else array
            if array.ndim == 2 and array.shape[1] != size and array.shape[0] == size:
                array = array.T
            if quantity.columns and all(isinstance(column, int) for column in quantity.columns):
                array = array[:, [int(c) - 1 for c in quantity.columns]]
        else:
            array = np.column_stack([np.ravel(arrays[str(c)]) for c in quantity.columns])
        if array.ndim != 2 or array.shape[1] != size:
            text = f"{path.name}: {name} must have {size} columns; given: shape {array.shape}"
            raise RecordingError(text)
        return array

    def _archive(self, path: Path) -> dict[str, Any]:
        if path not in self._archives:
            self._archives[path] = load_arrays(path)
        return self._archives[path]

    def _from_text(self, path: Path, quantity: Quantity, size: int) -> Array:
        text = _open_text(path, self._column_map)
        columns = [_index(column, text) for column in quantity.columns] or range(text.width)
        rows = np.vstack([np.empty((0, len(columns))), *text.blocks(no_progress, columns)])
        if text.damage_note:
            self._recording.notes.append(text.damage_note)
        if quantity.interleaved:
            return rows.ravel()[: rows.size // size * size].reshape(-1, size)
        return rows

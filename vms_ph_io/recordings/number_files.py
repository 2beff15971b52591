# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Columns of numbers from text files, and arrays from NPZ, MAT, Parquet and PX4 files."""

import csv
import io
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import numpy as np

from vms_ph_dynamics import Array

from ..progress import Progress
from ..settings.bounded_files import check_decompressed, load_mat, load_npz
from .column_map import JOINT_QUANTITIES, STAMP
from .px4_log import load_px4_log
from .recording import RecordingError

_DELIMITERS = (";", "\t", ",")  # with a decimal comma, the comma is no delimiter
_DECIMAL_COMMA = re.compile(r"[-+]?\d*,\d+(?:[eE][-+]?\d+)?")
_ARRAY = re.compile(r"\[[^\[\]]*\]")
_EMPTY_CELLS = ("", "n/a", "na", "null", "none", "-")  # cells without a value
_COMMENT_MARKS = ("#", "%")
_DATE = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:")


class TextColumns:
    """A text file with rows of cells, of which some columns are numbers or times.

    Numbers may have a decimal comma where it does not separate columns; times may be ISO 8601; a
    cell may hold an array, as ``[0.1, 0.2]``, whose items are columns. Lines that begin with ``#``
    or ``%`` are comments; the last one may name the columns.

    Args:
        path: of the file.
        header: whether the first line has names; None: if most of its cells are no numbers.
        delimiter: between columns; empty: as the file has it.
        skip: lines before the header.

    Raises:
        RecordingError: the file cannot be read.
    """

    def __init__(
        self, path: Path, header: bool | None = None, delimiter: str = "", skip: int = 0
    ) -> None:
        self.path, self.skip = path, skip
        self.damaged_lines = 0
        """Number of lines that were left out, valid once all blocks are read."""
        self.damage_note = ""
        self._wrong_cell = ""
        comment, first_line, second_line = self._first_lines()
        if not first_line or "\0" in first_line:
            raise RecordingError(f"{path.name} is empty, or is no text in UTF-8 (iconv -t UTF-8)")
        self.delimiter = delimiter or next((d for d in _DELIMITERS if d in first_line), "")
        cells = self._cells(first_line)
        is_number = [self._number(cell) is not None for cell in cells if cell]
        self.has_header = 2 * sum(is_number) <= len(is_number) if header is None else header
        names = self._cells(comment)
        if self.has_header:
            names = cells = self._named_items(first_line, second_line)
        self.width = len(cells)
        self.names = tuple(names) if len(names) == self.width else ()
        joints = cells[3 : 3 + (self.width - 3) // 4]
        is_echo = not self.has_header and joints and self.width == 3 + 4 * len(joints)
        if is_echo and all(self._number(cell) is None for cell in joints):
            # Without a header, as ros2 topic echo --csv writes joint states.
            columns = [f"{kind}.{joint}" for kind in JOINT_QUANTITIES for joint in joints]
            self.names = (*STAMP, "frame_id", *joints, *columns)

    def blocks(self, progress: Progress, columns: Sequence[int]) -> Iterator[Array]:
        """Yield rows of some columns, NaN where a cell is empty, without damaged lines.

        Args:
            progress: called while the file is read.
            columns: indices.

        Raises:
            RecordingError: no line has numbers in these columns.
        """
        size, count = max(self.path.stat().st_size, 1), 0
        with self.path.open("rb") as file:
            for _ in range(self.skip + int(self.has_header)):
                file.readline()
            while lines := file.readlines(1 << 21):
                progress(min(1.0, file.tell() / size), "reading")
                rows = self._parse(lines, columns)
                count += len(rows)
                if len(rows):
                    yield rows
        if self.damaged_lines:
            self.damage_note = f"{self.path.name}: {self.damaged_lines} lines are no rows of "
            self.damage_note += f"{self.width} numbers{self._wrong_cell}"
        if self.damaged_lines and not count:
            raise RecordingError(self.damage_note)

    def numeric_columns(self) -> list[int]:
        """Return the columns whose cells in the first lines are numbers or times."""
        with self.path.open("rb") as file:
            lines = [file.readline() for _ in range(self.skip + int(self.has_header) + 20)]
        rows = [self._cells(line.decode("utf-8", "replace").strip()) for line in lines]
        rows = [row for row in rows[self.skip + int(self.has_header) :] if len(row) >= self.width]
        # Not a second header, of units.
        rows = [row for row in rows if any(cell and self._number(cell) is not None for cell in row)]
        columns = {k: [row[k] for row in rows] for k in range(self.width)}
        numeric_ids = (k for k, c in columns.items() if all(self._number(x) is not None for x in c))
        return [k for k in numeric_ids if any(columns[k])]

    def _parse(self, lines: list[bytes], columns: Sequence[int]) -> Array:
        separator = self.delimiter.encode()
        if not separator or {line.count(separator) for line in lines} == {self.width - 1}:
            with suppress(ValueError, IndexError):
                text, mark = io.BytesIO(b"".join(lines)), self.delimiter or None
                return np.loadtxt(text, delimiter=mark, ndmin=2, comments=None, usecols=columns)
        cells = [self._cells(line.decode("utf-8", "replace").strip()) for line in lines]
        rows = [self._row(row, columns) for row in cells if row not in ([], [""])]
        self.damaged_lines += rows.count(None)
        return np.array([row for row in rows if row is not None]).reshape(-1, max(len(columns), 1))

    def _row(self, cells: list[str], columns: Sequence[int]) -> list[float | None] | None:
        if len(cells) != self.width and not (len(cells) == self.width + 1 and not cells[-1]):
            return None
        row = [self._number(cells[column]) for column in columns]
        if None in row:
            column = columns[row.index(None)]
            name = f"'{self.names[column]}'" if self.names else f"number {column + 1}"
            text = f"; the first wrong cell is {cells[column][:40]!r} in the column {name}"
            self._wrong_cell = self._wrong_cell or text
            return None
        return row if any(cells[column] for column in columns) else None

    def _number(self, cell: str) -> float | None:
        """Return the number or the time in s that a cell is, or None."""
        with suppress(ValueError):
            return np.nan if cell.lower() in _EMPTY_CELLS else float(cell)
        if self.delimiter != "," and _DECIMAL_COMMA.fullmatch(cell):
            return float(cell.replace(",", "."))
        with suppress(ValueError):
            if _DATE.match(cell):
                time = datetime.fromisoformat(cell.replace("Z", "+00:00"))
                return (time if time.tzinfo else time.replace(tzinfo=timezone.utc)).timestamp()
        return None

    def _first_lines(self) -> tuple[str, str, str]:
        """Return the last comment, without its mark, and the two lines after it; skip comments."""
        comment = ""
        try:
            with self.path.open("r", encoding="utf-8-sig", errors="replace") as file:
                for _ in range(self.skip):
                    file.readline()
                while (line := file.readline(1 << 20).strip()).startswith(_COMMENT_MARKS):
                    comment, self.skip = line.lstrip("#% "), self.skip + 1
                return comment, line, file.readline(1 << 20).strip()
        except OSError as error:
            raise RecordingError(f"{self.path} cannot be read: {error.strerror or error}") from None

    def _named_items(self, names: str, line: str) -> list[str]:
        """Return the names of columns, those of the items of an array with their numbers."""
        cells = self._split_line(names)
        counts = [len(_array_numbers(cell)) for cell in self._split_line(line)]
        if len(counts) != len(cells) or max(counts) == 1:
            return cells
        pairs = zip(cells, counts, strict=True)
        return [f"{name}[{k}]" if n > 1 else name for name, n in pairs for k in range(1, n + 1)]

    def _cells(self, line: str) -> list[str]:
        cells = self._split_line(line)
        return [item for cell in cells for item in _array_numbers(cell)] if "[" in line else cells

    def _split_line(self, line: str) -> list[str]:
        if not self.delimiter:
            return line.split()
        try:
            return [cell.strip() for cell in next(csv.reader([line], delimiter=self.delimiter), [])]
        except csv.Error:
            return []


def _array_numbers(cell: str) -> list[str]:
    """Return the numbers of an array in a cell, or the cell."""
    return re.split(r"[\s,;]+", cell[1:-1].strip()) if _ARRAY.fullmatch(cell) else [cell]


def load_arrays(path: Path) -> dict[str, Any]:
    """Return the arrays of an NPZ, MAT, Parquet or PX4 file by name.

    Raises:
        RecordingError: the file cannot be read, or what reads it is not installed.
    """
    try:
        arrays = {name: _as_seconds(a) for name, a in _READERS[path.suffix](path).items()}
        check_decompressed(
            path.name, path.stat().st_size, 8 * sum(a.size for a in arrays.values()), "split it"
        )
        return arrays
    except ImportError:
        kind, package, remedy = _PACKAGES[path.suffix]
        raise RecordingError(
            f"{kind} files are read with {package}; install it with: pip install {remedy}"
        ) from None
    except Exception as error:  # numpy, zipfile, scipy and pyarrow raise anything for damage
        raise RecordingError(f"{path} cannot be read: {error}") from None


def _as_seconds(array: Any) -> Any:
    """Return times since 1970 in s; what is no time as it is."""
    is_time = getattr(array, "dtype", np.dtype(float)).kind == "M"
    return array.astype("datetime64[ns]").astype(np.int64) * 1e-9 if is_time else array


def _load_parquet(path: Path) -> dict[str, Any]:
    """Return the columns of numbers, those with a list in each row as (N, columns)."""
    from pyarrow import parquet

    table = parquet.read_table(path)
    check_decompressed(path.name, path.stat().st_size, table.nbytes, "split it")
    arrays = {}
    for name in table.column_names:
        values = table.column(name).to_numpy()
        if values.dtype.kind == "O" and len(values) and np.ndim(values[0]) == 1:
            lengths = {len(row) for row in values}
            values = np.stack(values.tolist()) if len(lengths) == 1 else values
        if values.dtype.kind in "fiubM":
            arrays[name] = values
    return arrays


_READERS = {
    ".npz": load_npz, ".mat": load_mat, ".parquet": _load_parquet, ".ulg": load_px4_log,
}  # fmt: skip
_PACKAGES = {
    ".mat": ("MAT", "scipy", "'vms-ph[audit]'"), ".parquet": ("Parquet", "pyarrow", "pyarrow"),
    ".ulg": ("PX4", "pyulog", "pyulog"),
}  # fmt: skip
"""Kind, package that reads it, and what brings that."""

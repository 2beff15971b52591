# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Columns of numbers from CSV, NPZ and MAT files, block by block."""

import csv
import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from vms_ph_dynamics.arrays import Array

from ..progress import Progress
from .recording import RecordingError

_LINES = 20_000
_DELIMITERS = (",", ";", "\t")


class TextColumns:
    """A text file with rows of numbers.

    Args:
        path: of the file.
        header: whether the first line has names; None: if it is no row of numbers.
        delimiter: between columns; empty: as the file has it.
        skip: lines before the header.

    Raises:
        RecordingError: the file cannot be read.
    """

    def __init__(
        self, path: Path, header: bool | None = None, delimiter: str = "", skip: int = 0
    ) -> None:
        self.path, self.skip = path, skip
        self.damaged = 0
        """Number of lines that were left out, valid once all blocks are read."""
        self.reason = ""
        first = self._first_line(skip)
        self.delimiter = delimiter or next((d for d in _DELIMITERS if d in first), "")
        cells = self._cells(first)
        self.has_header = not _are_numbers(cells) if header is None else header
        self.names = tuple(cells) if self.has_header else ()
        self.width = len(cells)

    def blocks(self, progress: Progress) -> Iterator[Array]:
        """Yield rows, (N, width), NaN where a cell is empty, without damaged lines."""
        size = max(self.path.stat().st_size, 1)
        with self.path.open("rb") as file:
            for _ in range(self.skip + int(self.has_header)):
                file.readline()
            while lines := file.readlines(1 << 21):
                progress(min(1.0, file.tell() / size), "reading")
                rows = self._parsed(lines)
                if len(rows):
                    yield rows
        if self.damaged:
            self.reason = (
                f"{self.path.name}: {self.damaged} lines are no rows of {self.width} numbers"
            )

    def _parsed(self, lines: list[bytes]) -> Array:
        text = b"".join(lines)
        try:
            rows = np.loadtxt(
                io.BytesIO(text), delimiter=self.delimiter or None, ndmin=2, comments=None
            )
            if rows.shape[1] == self.width:
                return rows
        except ValueError:
            pass
        valid = []
        for line in lines:
            cells = self._cells(line.decode("utf-8", "replace").strip())
            if not cells or cells == [""]:
                continue
            if len(cells) == self.width and _are_numbers(cells):
                valid.append([float(cell) if cell else np.nan for cell in cells])
            else:
                self.damaged += 1
        return np.array(valid).reshape(-1, self.width)

    def _first_line(self, skip: int) -> str:
        try:
            with self.path.open("r", encoding="utf-8-sig", errors="replace") as file:
                for _ in range(skip):
                    file.readline()
                return file.readline(1 << 20).strip()
        except OSError as error:
            raise RecordingError(f"{self.path} cannot be read: {error.strerror or error}") from None

    def _cells(self, line: str) -> list[str]:
        if not self.delimiter:
            return line.split()
        try:
            return [cell.strip() for cell in next(csv.reader([line], delimiter=self.delimiter), [])]
        except csv.Error:
            return []


def _are_numbers(cells: list[str]) -> bool:
    try:
        for cell in cells:
            float(cell or "nan")
    except ValueError:
        return False
    return any(cells)


def load_arrays(path: Path) -> dict[str, Any]:
    """Return the arrays of an NPZ or MAT file by name.

    Raises:
        RecordingError: the file cannot be read, or scipy is not installed for a MAT file.
    """
    if path.suffix == ".npz":
        try:
            with path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
                return {name: archive[name] for name in archive.files}
        except Exception as error:  # numpy and zipfile raise anything for a damaged file
            raise RecordingError(f"{path} cannot be read: {error}") from None
    try:
        from scipy.io import loadmat
    except ImportError:
        raise ImportError(
            "MAT files are read with scipy; install it with: pip install 'vms-ph[audit]'"
        ) from None
    try:
        return {name: value for name, value in loadmat(path).items() if name[:2] != "__"}
    except Exception as error:  # likewise
        raise RecordingError(f"{path} cannot be read: {error}") from None

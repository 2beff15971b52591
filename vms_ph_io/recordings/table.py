# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Time series of a recording, on disk, so that they need no memory for their length."""

import tempfile
import weakref
from array import array
from collections.abc import Sequence
from typing import Any, cast

import numpy as np

from vms_ph_dynamics.arrays import Array

# Numbers that wait to be written, 1 MB.
_WAITING = 2**17


class Table:
    """Rows of numbers with their times, in the order of the recording.

    The rows are in a temporary file without a name, which ends with the process; only the times
    can be had as a whole.

    Args:
        columns: names of the columns.
    """

    def __init__(self, columns: Sequence[str]) -> None:
        self.columns = tuple(columns)
        self._rows, self._times = array("d"), array("q")
        self._file: Any = tempfile.TemporaryFile(prefix="vms_ph_")  # noqa: SIM115  lives as long
        weakref.finalize(self, self._file.close)

    def __len__(self) -> int:
        return len(self._times)

    def append(self, time: int, row: Sequence[float]) -> None:
        """Add a row.

        Args:
            time: ns.
            row: one number for each column.
        """
        self._times.append(time)
        self._rows.extend(row)
        if len(self._rows) >= _WAITING:
            self._flush()

    def extend(self, times: Array, rows: Array) -> None:
        """Add many rows; ``times`` (N,) in ns, ``rows`` (N, columns)."""
        self._flush()
        self._times.frombytes(np.ascontiguousarray(times, dtype=np.int64).tobytes())
        self._file.write(np.ascontiguousarray(rows, dtype=np.float64).tobytes())

    @property
    def times(self) -> Any:
        """Times of all rows, (N,) integers, ns."""
        return np.frombuffer(self._times, dtype=np.int64) if self._times else np.empty(0, np.int64)

    def rows(self, start: int, stop: int) -> Array:
        """Return some rows, (stop - start, columns)."""
        self._flush()
        width = len(self.columns)
        self._file.seek(8 * width * start)
        data = self._file.read(8 * width * (min(stop, len(self)) - start))
        self._file.seek(0, 2)
        return np.frombuffer(data).reshape(-1, width)

    def at(self, index: Any) -> Array:
        """Return the rows of these indices, which lie close together, (len(index), columns)."""
        if not len(index):
            return np.empty((0, len(self.columns)))
        first, last = int(np.min(index)), int(np.max(index))
        return cast(Array, self.rows(first, last + 1)[np.asarray(index) - first])

    def _flush(self) -> None:
        if self._rows:
            self._file.write(self._rows.tobytes())
            self._rows = array("d")

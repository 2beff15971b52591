# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""A recording: the time series of a robot, from whatever file they were read."""

import tempfile
import weakref
from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import numpy as np

from vms_ph_dynamics import Array, VmsPhError

# Numbers that wait to be written, 1 MB.
_MAX_BUFFERED_ROWS = 2**17

_BLOCK = 100_000  # rows that are copied at once


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
        self._rows.extend(array("d", row))
        self._times.append(time)
        if len(self._rows) >= _MAX_BUFFERED_ROWS:
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

    def set_time(self, row: int, time: int) -> None:
        """Give a row another time, ns."""
        self._times[row] = time

    def has(self, column: int) -> bool:
        """Return whether a column, LOG not counted, has numbers in some of 64 even rows."""
        rows = np.unique(np.linspace(0, max(len(self) - 1, 0), 64).astype(int)).tolist()
        return any(np.isfinite(self.rows(row, row + 1)[:, 1 + column]).any() for row in rows)

    def take(self, index: Any) -> Array:
        """Return the rows of these indices, which lie close together, (len(index), columns)."""
        if not len(index):
            return np.empty((0, len(self.columns)))
        first_row, last_row = int(np.min(index)), int(np.max(index))
        return cast(Array, self.rows(first_row, last_row + 1)[np.asarray(index) - first_row])

    def _flush(self) -> None:
        if self._rows:
            self._file.write(self._rows.tobytes())
            self._rows = array("d")


class RecordingError(VmsPhError):
    """A recording that cannot be read, or that does not contain what is asked of it."""


POSE = ("x", "y", "z", "qx", "qy", "qz", "qw")
TWIST = ("vx", "vy", "vz", "wx", "wy", "wz")
WRENCH = ("fx", "fy", "fz", "mx", "my", "mz")

LARGEST_NUMBER = 1e9
"""Largest accepted size of a number in SI units; what is larger is damage."""

LOG = "log"
"""First column of every table: log time less stamp, s."""


@dataclass(frozen=True)
class Series:
    """One time series.

    Attributes:
        name: topic, or name in a file of columns.
        table: its rows; the first column is :data:`LOG`.
        names: joints, in the order of their positions, velocities and efforts; empty for others.
        frame: the frame in which it is given, or empty.
        child: the frame whose motion it is, or empty.
        motors: (n, n) that gives the rates of motors from those of the joints, where one motor
            moves several; or None.
    """

    name: str
    table: Table
    names: tuple[str, ...] = ()
    frame: str = ""
    child: str = ""
    motors: Array | None = None

    @classmethod
    def make(cls, name: str, columns: Iterable[str] = (), **options: Any) -> "Series":
        """Return an empty series of columns, by default those of its joints."""
        quantities = ("position", "velocity", "effort")
        columns = columns or [f"{q}.{joint}" for q in quantities for joint in options["names"]]
        return cls(name, Table((LOG, *columns)), **options)

    def followed_by(self, other: "Series") -> "Series":
        """Return one series of joints with the rows of both, NaN for joints that one lacks."""
        union = Series.make(self.name, names=tuple(dict.fromkeys((*self.names, *other.names))))
        for table in (self.table, other.table):
            columns = [union.table.columns.index(column) for column in table.columns]
            for k in range(0, len(table), _BLOCK):
                rows = np.full((min(_BLOCK, len(table) - k), len(union.table.columns)), np.nan)
                rows[:, columns] = table.rows(k, k + _BLOCK)
                union.table.extend(table.times[k : k + _BLOCK], rows)
        return union


@dataclass
class Recording:
    """All series of a recording that an audit can use.

    Attributes:
        path: of the recording.
        kind: kind of file, such as "rosbag2" or "CSV".
        joints: joint states: columns positions, velocities, efforts, NaN where there are none.
        bases: poses and twists of the base: columns :data:`POSE` and :data:`TWIST`, NaN where
            there are none.
        wrenches: columns :data:`WRENCH`.
        port_energies: energies integrated by a simulation, or None; its columns are those of
            vms_ph/msg/PortEnergy.
        description: URDF in the recording, or empty.
        notes: sentences on what was damaged or left out.
        has_stamps: whether times are recorded; else they are those of a given rate.
    """

    path: Path
    kind: str
    joints: list[Series] = field(default_factory=list)
    bases: list[Series] = field(default_factory=list)
    wrenches: list[Series] = field(default_factory=list)
    port_energies: Series | None = None
    description: str = ""
    notes: list[str] = field(default_factory=list)
    has_stamps: bool = True

    @property
    def joint_names(self) -> tuple[str, ...]:
        """Names of all recorded joints."""
        return tuple(dict.fromkeys(name for series in self.joints for name in series.names))

    @property
    def last_energies(self) -> dict[str, float]:
        """Last energies that a simulation recorded, J, by port; NaN where a port has none.

        Among them is :data:`.ledger.DISSIPATED`.
        """
        if self.port_energies is None or not len(table := self.port_energies.table):
            return {}
        row = table.rows(len(table) - 1, len(table))[0]
        return dict(zip(table.columns[1:-1], row.tolist()[1:-1], strict=True))

# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Quick decoding of serialised joint states, which are most of a long recording.

The names are the same in message after message; only what follows them is unpacked anew.
"""

import struct
from collections.abc import Sequence

_HEAD = 12  # encapsulation (4), seconds, nanoseconds
_STAMP = struct.Struct("<iI")
_LITTLE_ENDIAN = b"\x00\x01"


class JointStateBytes:
    """Reads joint states in CDR that have the layout of an earlier one."""

    def __init__(self) -> None:
        self._row: struct.Struct | None = None
        self._fixed = b""
        self._start = self._n = 0

    def learn(self, data: bytes, values: Sequence[Sequence[float]]) -> None:
        """Take the layout of a message that was decoded in full.

        Args:
            data: the message.
            values: its positions, velocities and efforts; without all three, no layout is taken.
        """
        n = len(values[0])
        self._row = None
        if not n or any(len(part) != n for part in values) or data[:2] != _LITTLE_ENDIAN:
            return
        # Of the sequences after the first, the length takes 4 bytes and 4 more to align the rest.
        row = struct.Struct(f"<{n}dI4x{n}dI4x{n}d")
        start = len(data) - row.size
        if start < _HEAD:
            return
        self._start, self._n, self._fixed = start, n, data[_HEAD:start]
        self._row = row
        decoded = self.read(data)
        if decoded is None or decoded[1] != tuple(float(x) for part in values for x in part):
            self._row = None

    def read(self, data: bytes) -> tuple[int, tuple[float, ...]] | None:
        """Return stamp (ns) and positions, velocities, efforts; None for another layout."""
        row, n = self._row, self._n
        if row is None or len(data) != self._start + row.size:
            return None
        if data[_HEAD : self._start] != self._fixed:
            return None
        values = row.unpack_from(data, self._start)
        if values[n] != n or values[2 * n + 1] != n:
            return None
        seconds, rest = _STAMP.unpack_from(data, 4)
        return seconds * 1_000_000_000 + rest, (
            *values[:n],
            *values[n + 1 : 2 * n + 1],
            *values[2 * n + 2 :],
        )

# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Record by record reading of ROS 1 bags whose index is missing or damaged.

A recorder that was killed leaves a bag without an index, which other readers refuse. The format is
that of http://wiki.ros.org/Bags/Format/2.0.
"""

import bz2
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import lz4.frame  # type: ignore[import-untyped]

from .recording import RecordingError

_MAGIC = b"#ROSBAG V2.0\n"
_MESSAGE, _CHUNK, _CONNECTION = 2, 5, 7

# Largest accepted size of a header and of the data of a record, bytes.
_LARGEST_HEADER = 2**20
_LARGEST_DATA = 2**30


@dataclass(frozen=True)
class Ros1Connection:
    """A connection: topic, type as in ``sensor_msgs/JointState``, and definition."""

    topic: str
    type: str
    definition: str


class Ros1Records:
    """Yields connection, time (ns) and bytes of each message, up to what is damaged.

    Args:
        path: a bag of ROS 1.

    Raises:
        RecordingError: the file is not such a bag.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.share, self.reason = 0.0, ""
        self._connections: dict[int, Ros1Connection] = {}

    def __iter__(self) -> Iterator[tuple[Ros1Connection, int, bytes]]:
        size = max(self.path.stat().st_size, 1)
        with self.path.open("rb") as file:
            if file.read(len(_MAGIC)) != _MAGIC:
                raise RecordingError(f"{self.path} is not a bag of ROS 1 (version 2.0)")
            try:
                while True:
                    position = file.tell()
                    record = _record(file)
                    if record is None:
                        break
                    self.share = position / size
                    yield from self._inside(*record)
            except (ValueError, KeyError, struct.error, OSError, EOFError, RuntimeError) as error:
                self.reason = f"read up to byte {position} of {size}: {error or 'it ends there'}"

    def _inside(
        self, header: dict[str, bytes], data: bytes
    ) -> Iterator[tuple[Ros1Connection, int, bytes]]:
        kind = header["op"][0]
        if kind == _CHUNK:
            content = _decompressed(header["compression"], data)
            position = 0
            while position < len(content):
                inner, body, position = _parsed(content, position)
                yield from self._inside(inner, body)
        elif kind == _CONNECTION:
            about = _fields(data)
            self._connections[int.from_bytes(header["conn"], "little")] = Ros1Connection(
                header["topic"].decode(),
                about["type"].decode(),
                about["message_definition"].decode("utf-8", "replace"),
            )
        elif kind == _MESSAGE:
            seconds, rest = struct.unpack("<II", header["time"])
            connection = self._connections.get(int.from_bytes(header["conn"], "little"))
            if connection is not None:
                yield connection, seconds * 1_000_000_000 + rest, data


def _record(file: BinaryIO) -> tuple[dict[str, bytes], bytes] | None:
    start = file.read(4)
    if not start:
        return None
    header = _exactly(file, _size(start, _LARGEST_HEADER))
    return _fields(header), _exactly(file, _size(_exactly(file, 4), _LARGEST_DATA))


def _parsed(data: bytes, position: int) -> tuple[dict[str, bytes], bytes, int]:
    length = _size(data[position : position + 4], _LARGEST_HEADER)
    header = data[position + 4 : position + 4 + length]
    position += 4 + length
    length = _size(data[position : position + 4], _LARGEST_DATA)
    body = data[position + 4 : position + 4 + length]
    if len(body) < length:
        raise ValueError("a record reaches beyond its chunk")
    return _fields(header), body, position + 4 + length


def _size(data: bytes, largest: int) -> int:
    size: int = struct.unpack("<I", data)[0]
    if size > largest:
        raise ValueError(f"a record of {size} bytes")
    return size


def _exactly(file: BinaryIO, size: int) -> bytes:
    data = file.read(size)
    if len(data) < size:
        raise EOFError
    return data


def _fields(data: bytes) -> dict[str, bytes]:
    fields, position = {}, 0
    while position < len(data):
        length = _size(data[position : position + 4], _LARGEST_HEADER)
        name, equals, value = data[position + 4 : position + 4 + length].partition(b"=")
        if not equals:
            raise ValueError("a field of a header without a value")
        fields[name.decode("ascii", "replace")] = value
        position += 4 + length
    return fields


def _decompressed(compression: bytes, data: bytes) -> bytes:
    if compression == b"none":
        return data
    if compression == b"bz2":
        return bz2.decompress(data)
    if compression == b"lz4":
        content: bytes = lz4.frame.decompress(data)
        return content
    raise ValueError(f"unknown compression {compression!r}")

# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Sequential reading of complete or truncated MCAP files.

Only the records are needed, no footer, summary or index. Records are delimited here and not by the
``mcap`` package, whose streams return short data at the end of a truncated file; the ``mcap``
package parses the content of the records.
"""

import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from io import BytesIO
from typing import BinaryIO

import zstandard
from mcap.data_stream import ReadDataStream
from mcap.exceptions import McapError
from mcap.opcode import Opcode
from mcap.records import Channel, Chunk, Message, Schema

from ..settings.bounded_files import DecompressionError, decompress, max_decompressed
from .errors import BagError

MAGIC = b"\x89MCAP0\r\n"

_RECORD_HEADER = struct.Struct("<BQ")
_MESSAGE_HEADER = struct.Struct("<HIQQ")


Record = Channel | Message


@dataclass
class McapReader:
    """Reads one file; its attributes describe what has been read so far.

    Args:
        file: File opened for reading, at its beginning.
        size: Size of the file in bytes; bytes that a writer appends later are not read.
        name: Name for error messages.
    """

    file: BinaryIO
    size: int
    name: str
    schemas: dict[int, Schema] = field(default_factory=dict)
    channels: dict[int, Channel] = field(default_factory=dict)
    compression: str | None = None
    """Compression of the first chunk; None before it is read."""
    is_complete: bool = False
    """Whether the file ends with a footer, which a killed writer does not write."""
    unreadable_bytes: int = 0
    """Number of bytes in a truncated last record and in damaged records."""
    position: int = 0
    """Number of bytes before the current record of the file."""

    def records(self) -> Iterator[Record]:
        """Yield the records up to the last complete one, without damaged chunks.

        Raises:
            BagError: The file is not an MCAP file.
        """
        magic = self.file.read(len(MAGIC))
        if magic != MAGIC[: len(magic)]:
            raise BagError(f"{self.name} is not an MCAP file: its magic bytes are missing")
        position = len(magic)
        while len(magic) == len(MAGIC):
            header = self.file.read(_RECORD_HEADER.size)
            if len(header) < _RECORD_HEADER.size:
                break
            opcode, length = _RECORD_HEADER.unpack(header)
            # Zeros: the file was extended, but its content was not written.
            if opcode == 0 or length > self.size - position - _RECORD_HEADER.size:
                break
            if opcode not in _READ_OPCODES:
                self.file.seek(length, 1)
            else:
                body = self.file.read(length)
                if len(body) < length:
                    break
                try:
                    yield from (
                        self._chunk_records(body)
                        if opcode == Opcode.CHUNK
                        else self._parsed_records(opcode, memoryview(body))
                    )
                except _DAMAGE_ERRORS:
                    self.unreadable_bytes += _RECORD_HEADER.size + length
            position += _RECORD_HEADER.size + length
            self.position = position
            if opcode == Opcode.FOOTER:
                self.is_complete = self.file.read(len(MAGIC)) == MAGIC
                position += len(MAGIC) if self.is_complete else 0
                break
        self.unreadable_bytes += self.size - position

    def _chunk_records(self, chunk_body: bytes) -> Iterator[Record]:
        chunk = Chunk.read(_stream(chunk_body))
        if self.compression is None:
            self.compression = chunk.compression or "none"
        limit = min(chunk.uncompressed_size, max_decompressed(len(chunk.data)))
        content = memoryview(decompress(chunk.data, chunk.compression, limit))
        if chunk.uncompressed_crc and zlib.crc32(content) != chunk.uncompressed_crc:
            raise ValueError("checksum")
        position = 0
        while position < len(content):
            opcode, length = _RECORD_HEADER.unpack_from(content, position)
            position += _RECORD_HEADER.size
            body = content[position : position + length]
            if len(body) < length:
                raise ValueError("a record reaches beyond its chunk")
            position += length
            yield from self._parsed_records(opcode, body)

    def _parsed_records(self, opcode: int, body: memoryview) -> Iterator[Record]:
        if opcode == Opcode.MESSAGE:
            channel_id, sequence, log_time, publish_time = _MESSAGE_HEADER.unpack_from(body)
            if channel_id in self.channels:
                data = bytes(body[_MESSAGE_HEADER.size :])
                yield Message(channel_id, log_time, data, publish_time, sequence)
            else:  # its channel was defined in a damaged chunk
                self.unreadable_bytes += len(body)
        elif opcode == Opcode.SCHEMA:
            schema = Schema.read(_stream(body))
            self.schemas[schema.id] = schema
        elif opcode == Opcode.CHANNEL:
            channel = Channel.read(_stream(body))
            if channel.id not in self.channels:  # the summary repeats them
                self.channels[channel.id] = channel
                yield channel


# The others are skipped; message indexes, for one, have a tenth of the size of messages.
_READ_OPCODES = (Opcode.SCHEMA, Opcode.CHANNEL, Opcode.MESSAGE, Opcode.CHUNK)

# The exceptions that the mcap package raises for damaged records.
_DAMAGE_ERRORS = (
    struct.error, ValueError, RuntimeError, MemoryError, OverflowError, zstandard.ZstdError,
    McapError, DecompressionError,
)  # fmt: skip


def _stream(body: bytes | memoryview) -> ReadDataStream:
    return ReadDataStream(BytesIO(body))

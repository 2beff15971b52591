# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Writing of an MCAP file: chunks, their indexes, and a summary at the end.

The ``mcap`` package defines the records. Its ``Writer`` is not used because its memory grows with
the recording: it keeps objects of about 1.5 KB per chunk until the end, 20 MB per hour at four
chunks per second. Here the index of a chunk is kept as the bytes that the summary will contain.
"""

import contextlib
import fcntl
import os
import struct
import zlib
from collections.abc import Mapping
from pathlib import Path

import lz4.frame  # type: ignore[import-untyped]
import zstandard
from mcap.data_stream import RecordBuilder
from mcap.opcode import Opcode
from mcap.records import (
    Channel,
    Chunk,
    ChunkIndex,
    DataEnd,
    Footer,
    Header,
    McapRecord,
    MessageIndex,
    Metadata,
    MetadataIndex,
    Schema,
    Statistics,
    SummaryOffset,
)

from .errors import BagError

MAGIC = b"\x89MCAP0\r\n"
CHUNK_SIZE = 64 * 1024
COMPRESSIONS = ("none", "lz4", "zstd")

_MESSAGE = struct.Struct("<BQHIQQ")
_MESSAGE_HEADER = _MESSAGE.size - 9  # without opcode and length


class McapWriter:
    """Writes one MCAP file of profile "ros2".

    Every write is passed to the operating system at once and consists of complete records, so that
    the file of a killed process can be read up to its last chunk. A failed write (disk full) is
    undone.

    Args:
        path: Path of a file that does not exist yet.
        compression: Compression of the chunks: "none", "lz4" or "zstd".

    Raises:
        OSError: The file exists or cannot be created.
    """

    def __init__(self, path: Path, compression: str = "none") -> None:
        if compression not in COMPRESSIONS:
            raise BagError(
                f"compression is {compression!r}; accepted are {', '.join(COMPRESSIONS)}"
            )
        self.compression = compression
        self.message_count = 0
        self.start_time: int | None = None
        self.end_time: int | None = None
        self.counts: dict[int, int] = {}
        self._schemas: dict[int, Schema] = {}
        self._channels: dict[int, Channel] = {}
        self._chunk_indexes = bytearray()
        self._metadata_indexes = bytearray()
        self._chunk_count = self._metadata_count = self._attachment_count = 0
        self._begin_chunk()
        self._descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644)
        self._size = 0
        # The lock shows other processes that the file is being written, until this process ends.
        with contextlib.suppress(OSError):  # the file system does not support locks
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        try:
            self._write(MAGIC + _record(Header("ros2", "vms_ph")))
        except OSError:
            os.close(self._descriptor)
            raise

    def add_schema(self, name: str, encoding: str, data: bytes) -> int:
        """Write a message definition and return its number.

        Schemas and channels are written outside the chunks: they precede their messages, and a
        damaged chunk does not affect them.
        """
        number = len(self._schemas) + 1
        self._schemas[number] = Schema(id=number, name=name, encoding=encoding, data=data)
        self._write(_record(self._schemas[number]))
        return number

    def add_channel(
        self, topic: str, encoding: str, schema: int, metadata: Mapping[str, str]
    ) -> int:
        """Write a topic and return its number."""
        number = len(self._channels) + 1
        self._channels[number] = Channel(
            id=number,
            topic=topic,
            message_encoding=encoding,
            schema_id=schema,
            metadata=dict(metadata),
        )
        self._write(_record(self._channels[number]))
        self.counts[number] = 0
        return number

    def add_message(
        self, channel: int, log_time: int, publish_time: int, data: bytes, sequence: int = 0
    ) -> None:
        """Add a message to the current chunk; a full chunk is written to the file first."""
        size = _MESSAGE.size + len(data)
        if self._chunk and len(self._chunk) + size > CHUNK_SIZE:
            self.flush()
        self._index.setdefault(channel, []).append((log_time, len(self._chunk)))
        header = _MESSAGE_HEADER + len(data)
        self._chunk += _MESSAGE.pack(
            Opcode.MESSAGE, header, channel, sequence, log_time, publish_time
        )
        self._chunk += data

    def flush(self) -> None:
        """Write the current chunk unless it is empty.

        Raises:
            OSError: For instance, the disk is full; the chunk is dropped, the file is unchanged.
        """
        if not self._chunk:
            return
        times = [time for entries in self._index.values() for time, _ in entries]
        first, last = min(times), max(times)
        records = bytes(self._chunk)
        chunk = _record(
            Chunk(
                compression=_COMPRESSION_NAMES[self.compression],
                data=self._compressed(records),
                message_start_time=first,
                message_end_time=last,
                uncompressed_crc=zlib.crc32(records),
                uncompressed_size=len(records),
            )
        )
        start, offsets, indexes = self._size, {}, bytearray()
        for channel, entries in self._index.items():
            offsets[channel] = start + len(chunk) + len(indexes)
            indexes += _record(MessageIndex(channel_id=channel, records=entries))
        counts = {channel: len(entries) for channel, entries in self._index.items()}
        self._begin_chunk()
        self._write(chunk + indexes)
        self._chunk_count += 1
        self._chunk_indexes += _record(
            ChunkIndex(
                chunk_start_offset=start,
                chunk_length=len(chunk),
                message_index_offsets=offsets,
                message_index_length=len(indexes),
                message_start_time=first,
                message_end_time=last,
                compression=_COMPRESSION_NAMES[self.compression],
                compressed_size=len(chunk)
                - _CHUNK_OVERHEAD
                - len(_COMPRESSION_NAMES[self.compression]),
                uncompressed_size=len(records),
            )
        )
        for channel, count in counts.items():
            self.counts[channel] += count
            self.message_count += count
        self.start_time = first if self.start_time is None else min(first, self.start_time)
        self.end_time = last if self.end_time is None else max(last, self.end_time)

    def add_metadata(self, name: str, values: Mapping[str, str]) -> None:
        """Write a metadata record of names and strings."""
        self.flush()
        start, record = self._size, _record(Metadata(name=name, metadata=dict(values)))
        self._write(record)
        self._metadata_count += 1
        self._metadata_indexes += _record(
            MetadataIndex(offset=start, length=len(record), name=name)
        )

    def add_attachment(self, record: bytes) -> None:
        """Copy an attachment of another file."""
        self.flush()
        self._write(record)
        self._attachment_count += 1

    def sync(self) -> None:
        """Flush the buffers of the operating system to the disk (fsync)."""
        os.fsync(self._descriptor)

    def finish(self) -> None:
        """Write the summary that indexed readers need, and close the file.

        Raises:
            OSError: For instance, the disk is full; the file can still be read sequentially.
        """
        try:
            self.flush()
            self._write(_record(DataEnd(data_section_crc=0)) + self._summary())
            self.sync()
        finally:
            self.close()

    def close(self) -> None:
        """Close the file without a summary."""
        with contextlib.suppress(OSError):
            os.close(self._descriptor)

    def _summary(self) -> bytes:
        start = self._size + len(_record(DataEnd(data_section_crc=0)))
        groups = {
            Opcode.SCHEMA: b"".join(_record(schema) for schema in self._schemas.values()),
            Opcode.CHANNEL: b"".join(_record(channel) for channel in self._channels.values()),
            Opcode.STATISTICS: _record(self._statistics()),
            Opcode.CHUNK_INDEX: bytes(self._chunk_indexes),
            Opcode.METADATA_INDEX: bytes(self._metadata_indexes),
        }
        summary, offsets = b"", b""
        for opcode, records in groups.items():
            if records:
                offset = SummaryOffset(
                    group_opcode=opcode, group_start=start + len(summary), group_length=len(records)
                )
                offsets += _record(offset)
                summary += records
        offset_start = start + len(summary)
        summary += offsets
        # The checksum covers the summary and the footer up to the checksum itself.
        footer = struct.pack("<BQQQ", Opcode.FOOTER, 20, start, offset_start)
        crc = zlib.crc32(footer, zlib.crc32(summary))
        return summary + _record(Footer(start, offset_start, crc)) + MAGIC

    def _statistics(self) -> Statistics:
        return Statistics(
            attachment_count=self._attachment_count,
            channel_count=len(self._channels),
            channel_message_counts=dict(self.counts),
            chunk_count=self._chunk_count,
            message_count=self.message_count,
            message_end_time=self.end_time or 0,
            message_start_time=self.start_time or 0,
            metadata_count=self._metadata_count,
            schema_count=len(self._schemas),
        )

    def _begin_chunk(self) -> None:
        self._chunk = bytearray()
        self._index: dict[int, list[tuple[int, int]]] = {}

    def _compressed(self, records: bytes) -> bytes:
        if self.compression == "lz4":
            compressed: bytes = lz4.frame.compress(records)
            return compressed
        return zstandard.compress(records) if self.compression == "zstd" else records

    def _write(self, data: bytes | bytearray) -> None:
        """Write all bytes, or leave the file unchanged."""
        rest = memoryview(data)
        try:
            while rest:
                rest = rest[os.write(self._descriptor, rest) :]
        except OSError:
            with contextlib.suppress(OSError):
                os.ftruncate(self._descriptor, self._size)
                os.lseek(self._descriptor, self._size, os.SEEK_SET)
            raise
        self._size += len(data)


_COMPRESSION_NAMES = {"none": "", "lz4": "lz4", "zstd": "zstd"}
_CHUNK_OVERHEAD = 9 + 8 + 8 + 8 + 4 + 4 + 8


def _record(record: McapRecord) -> bytes:
    builder = RecordBuilder()
    record.write(builder)
    data: bytes = builder.end()  # type: ignore[no-untyped-call]
    return data

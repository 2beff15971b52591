# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Recording of a bag: a folder for rosbag2, rosbags and mcap that is readable at any time.

Data loss: messages are collected in a chunk of at most 64 KiB, which is passed to the operating
system when it is full, and twice a second. After kill -9 at most the last half second is missing.
After a power cut, data that the kernel had not yet written may be missing, about 30 s: fsync twice
a second would delay the recording on slow disks, and is called only at the end.

The records are those of the ``mcap`` package. A file takes whole chunks with their index, so that
what a killed process leaves can be read up to its last chunk; a write that fails is undone.
The index of the chunks, which is written at the end, takes 7 MB of memory per hour with ten topics.
"""

import contextlib
import fcntl
import os
import threading
from collections.abc import Iterable
from copy import copy
from pathlib import Path
from typing import Any, NoReturn

from mcap.data_stream import RecordBuilder
from mcap.records import Channel, Schema
from mcap.writer import CompressionType, Writer

from .errors import BagError
from .messages import BagTopic, MessageDefinition, QosProfile, dump_profiles
from .metadata import (
    FILE_NAME,
    BagMetadata,
    FileMetadata,
    TopicInfo,
    bag_files,
    is_being_recorded,
    time_span,
)

FLUSH_PERIOD = 0.5
"""Largest time until a message is written to the file, s."""

CHUNK_SIZE = 64 * 1024
"""Largest size of the messages of a chunk, bytes, unless one message is larger."""

RECORDING = {"vms_ph_state": "recording"}
"""Entry of ``metadata.yaml`` during the recording."""

_COMPRESSIONS = {kind.name.lower(): kind for kind in CompressionType}
_MESSAGE_OVERHEAD = 31  # bytes of a message record besides its data


def was_interrupted(folder: Path) -> bool:
    """Return whether a folder has a recording that ended without being completed."""
    try:
        # A recorder that is killed at its start leaves a file without metadata.
        is_unfinished = (
            not (folder / FILE_NAME).exists()
            or RECORDING.items() <= BagMetadata.read(folder).custom.items()
        )
        return is_unfinished and not any(is_being_recorded(file) for file in bag_files(folder))
    except (BagError, OSError):
        return False


class _File:
    """A new file, to which every flush adds what was written since the last one, or nothing."""

    def __init__(self, path: Path) -> None:
        self._descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644)
        self._size, self._buffer = 0, bytearray()
        # The lock shows other processes that the file is being written, until this process ends.
        with contextlib.suppress(OSError):  # the file system does not support locks
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def write(self, data: bytes) -> None:
        self._buffer += data

    def tell(self) -> int:
        return self._size + len(self._buffer)

    def flush(self) -> None:
        buffer, self._buffer = self._buffer, bytearray()
        unwritten = memoryview(buffer)
        try:
            while unwritten:
                unwritten = unwritten[os.write(self._descriptor, unwritten) :]
        except OSError:
            with contextlib.suppress(OSError):
                os.ftruncate(self._descriptor, self._size)
            raise
        self._size += len(buffer)

    def sync(self) -> None:
        os.fsync(self._descriptor)

    def close(self) -> None:
        with contextlib.suppress(OSError):
            os.close(self._descriptor)


class BagWriter:
    """Writes a new bag; thread-safe.

    Args:
        folder: Folder of the bag, which must not exist; its name is the name of the bag.
        compression: Compression of the chunks: "none", "lz4" or "zstd".
        ros_distro: ROS distribution stored in the bag; default: ROS_DISTRO.
        flush_period: Period of the flushes, s.

    Raises:
        BagError: The folder exists, or cannot be created.
    """

    def __init__(
        self,
        folder: str | Path,
        *,
        compression: str = "none",
        ros_distro: str | None = None,
        flush_period: float = FLUSH_PERIOD,
    ) -> None:
        if compression not in _COMPRESSIONS:
            raise BagError(
                f"compression is {compression!r}; accepted are {', '.join(_COMPRESSIONS)}"
            )
        self.folder = Path(folder)
        self.file = self.folder / f"{self.folder.resolve().name}_0.mcap"
        self._distro = os.environ.get("ROS_DISTRO", "") if ros_distro is None else ros_distro
        self._schemas: dict[MessageDefinition, int] = {}
        self._channels: dict[str, int] = {}
        self._topics: dict[str, TopicInfo] = {}
        self._entries: list[tuple[str, int]] = []  # topics and times of the messages of the chunk
        self._pending_size = 0
        self._lock = threading.Lock()
        self._failure: BagError | None = None
        self._metadata_is_old = False
        self._close_event = threading.Event()
        self._stream = self._create_file()
        self._writer: Any = Writer(self._stream, 2**62, _COMPRESSIONS[compression])  # type: ignore[arg-type]
        try:
            self._writer.start("ros2", "vms_ph")
            self._stream.flush()
            self._metadata(RECORDING).write(self.folder)
        except OSError as error:
            self._stream.close()
            raise self._error_for(error) from None
        self._flusher = threading.Thread(
            target=self._flush_regularly, args=(flush_period,), name="bag flusher", daemon=True
        )
        self._flusher.start()

    def _create_file(self) -> _File:
        try:
            self.folder.mkdir(parents=True)
            return _File(self.file)
        except FileExistsError:
            raise BagError(
                f"{self.folder} exists; bags are not overwritten: choose another name, or remove it"
            ) from None
        except OSError as error:
            with contextlib.suppress(OSError):  # where it is new, it is empty
                self.folder.rmdir()
            raise BagError(
                f"cannot create a bag in {self.folder}: {error.strerror}; choose a folder that can "
                "be written"
            ) from None

    @property
    def message_count(self) -> int:
        """Number of written messages; those of the last half second may be missing."""
        return sum(info.message_count for info in self._topics.values())

    def add_topic(
        self,
        name: str,
        definition: MessageDefinition,
        qos: Iterable[QosProfile] = (QosProfile(),),
        serialization_format: str = "cdr",
    ) -> None:
        """Add a topic; required before its first message.

        Args:
            name: Name of the topic, as in "/joint_states".
            definition: Definition of its type, from ``MessageTypes.definition``.
            qos: QoS profiles of its publishers, which ``ros2 bag play`` offers again.
            serialization_format: Serialization format of the messages.

        Raises:
            BagError: The topic has another type, the disk is full, or the bag is closed.
        """
        topic = BagTopic(name, definition, tuple(qos), serialization_format)
        with self._lock:
            self._require_open()
            entry = self._topics.get(name)
            if entry is not None and entry.topic.type != topic.type:
                raise BagError(
                    f"topic {name} is recorded with type {entry.topic.type}; a bag has one type "
                    f"for a topic, {topic.type} cannot be added"
                )
            if entry is not None:
                return
            try:
                self._channels[name] = self._add_channel(topic)
                self._stream.flush()
                self._topics[name] = TopicInfo(topic)
                self._metadata_is_old = True
            except OSError as error:
                self._fail(error)

    def _add_channel(self, topic: BagTopic) -> int:
        """Register a topic and its type.

        They are written before the chunks, too: a damaged chunk does not affect them, and a bag
        without messages has its topics.
        """
        definition = topic.definition
        if not definition.type:
            self._schemas[definition] = 0
        elif definition not in self._schemas:
            schema: dict[str, Any] = {
                "name": definition.type,
                "encoding": definition.encoding,
                "data": definition.text.encode(),
            }
            record_id = self._writer.register_schema(**schema)
            self._schemas[definition] = record_id
            self._write_record(Schema(id=record_id, **schema))
        channel: dict[str, Any] = {
            "topic": topic.name,
            "message_encoding": topic.serialization_format,
            "schema_id": self._schemas[definition],
            "metadata": {
                "offered_qos_profiles": dump_profiles(topic.qos),
                "topic_type_hash": definition.hash,
            },
        }
        record_id = self._writer.register_channel(**channel)
        self._write_record(Channel(id=record_id, **channel))
        return record_id

    def _write_record(self, record: Schema | Channel) -> None:
        builder = RecordBuilder()
        record.write(builder)
        self._stream.write(builder.end())  # type: ignore[no-untyped-call]

    def write(
        self,
        topic: str,
        data: bytes | bytearray | memoryview,
        log_time: int,
        publish_time: int | None = None,
        sequence: int = 0,
    ) -> None:
        """Record a message.

        Args:
            topic: Name of a topic that was added by ``add_topic``.
            data: The serialised message, with the CDR encapsulation header.
            log_time: Time of reception in nanoseconds since 1970.
            publish_time: Time of publication; default: the log time.
            sequence: Sequence number of the publisher; 0 if unknown.

        Raises:
            BagError: The topic was not added, the disk is full, or the bag is closed.
        """
        published_time = log_time if publish_time is None else publish_time
        with self._lock:
            self._require_open()
            if (channel := self._channels.get(topic)) is None:
                raise BagError(f"topic {topic} was not added to the bag; call add_topic first")
            if log_time < 0 or published_time < 0:
                raise BagError(f"a message on {topic} has a time before 1970: {log_time}")
            size = len(data) + _MESSAGE_OVERHEAD
            if self._entries and self._pending_size + size > CHUNK_SIZE:
                self._write_chunk()
            self._writer.add_message(channel, log_time, bytes(data), published_time, sequence)
            self._entries.append((topic, log_time))
            self._pending_size += size

    def flush(self) -> None:
        """Write all messages to the file.

        Raises:
            BagError: The disk is full, or the bag is closed.
        """
        with self._lock:
            self._require_open()
            self._flush()

    def _flush(self) -> None:
        self._write_chunk()
        try:
            if self._metadata_is_old:
                self._metadata(RECORDING).write(self.folder)
                self._metadata_is_old = False
        except OSError as error:
            self._fail(error)

    def _write_chunk(self) -> None:
        """Write the messages since the last chunk, and count them once they are in the file."""
        try:
            self._writer.flush()
        except OSError as error:
            self._fail(error)
        for topic, time in self._entries:
            self._topics[topic].add(time)
        self._entries, self._pending_size = [], 0

    def _flush_regularly(self, period: float) -> None:
        while not self._close_event.wait(period):
            with self._lock:
                if self._failure is None and not self._close_event.is_set():
                    # Stored in self._failure and raised by the next call of the recording thread.
                    with contextlib.suppress(BagError):
                        self._flush()

    def close(self) -> None:
        """Complete the bag; further calls have no effect.

        Raises:
            BagError: Messages were lost, for instance because the disk is full. The bag can be read
                up to them.
        """
        with self._lock:
            if self._close_event.is_set():
                return
            self._close_event.set()
        self._flusher.join()
        try:
            self._finish()
        except OSError as error:
            self._fail(error)
        finally:
            self._stream.close()

    def _finish(self) -> None:
        if self._failure is not None:
            raise self._failure
        self._write_chunk()
        metadata = self._metadata({})
        self._writer.add_metadata("rosbag2", {"serialized_metadata": metadata.as_text()})
        self._writer.finish()
        self._stream.flush()
        self._stream.sync()
        metadata.write(self.folder)

    def __enter__(self) -> "BagWriter":
        return self

    def __exit__(self, kind: object, exception: BaseException | None, traceback: object) -> None:
        try:
            self.close()
        except BagError:
            if exception is None:  # the first error is raised
                raise

    def _metadata(self, custom: dict[str, str]) -> BagMetadata:
        topics = tuple(map(copy, self._topics.values()))
        file = FileMetadata(self.file.name, self.message_count, *time_span(topics))
        return BagMetadata((file,), topics, ros_distro=self._distro, custom=custom)

    def _require_open(self) -> None:
        if self._failure is not None:
            raise self._failure
        if self._close_event.is_set():
            raise BagError(f"bag {self.folder} is closed")

    def _error_for(self, error: OSError) -> BagError:
        return BagError(
            f"cannot write to bag {self.folder}: {error.strerror or error}; recording has stopped. "
            "What was recorded before can be read; free some space and start another bag"
        )

    def _fail(self, error: OSError) -> NoReturn:
        self._failure = self._error_for(error)
        raise self._failure from None

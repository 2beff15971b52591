# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Recording of a bag: a folder for rosbag2, rosbags and mcap that is readable at any time.

Data loss: messages are collected in a chunk of at most 64 KiB, which is passed to the operating
system when it is full, and twice a second. After kill -9 at most the last half second is missing.
After a power cut, data that the kernel had not yet written may be missing, about 30 s: fsync twice
a second would delay the recording on slow disks, and is called only on request (``fsync=True``) and
at the end.

Cost, measured with 600 messages per second of 250 bytes on ten topics: 650 MB per hour on disk, of
which 35 MB are the index; 0.15 % of one core (2.3 us per message); and 3.4 MB of memory per hour,
for the index of the chunks, which is written at the end.
"""

import contextlib
import os
import threading
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import NoReturn

from .errors import BagError
from .mcap_writer import McapWriter
from .metadata import BagMetadata, FileMetadata, TopicMetadata, bag_files, is_being_recorded
from .qos import QosProfile, dump_profiles
from .types import MessageDefinition

FLUSH_PERIOD = 0.5
"""Largest time until a message is written to the file, s."""

RECORDING = {"vms_ph_state": "recording"}
"""Entry of ``metadata.yaml`` during the recording."""


def was_interrupted(folder: Path) -> bool:
    """Return whether a folder has a recording that ended without being completed."""
    try:
        unfinished = RECORDING.items() <= BagMetadata.read(folder).custom.items()
        return unfinished and not any(is_being_recorded(file) for file in bag_files(folder))
    except (BagError, OSError):
        return False


class BagWriter:
    """Writes a new bag; thread-safe.

    Args:
        folder: Folder of the bag, which must not exist; its name is the name of the bag.
        compression: Compression of the chunks: "none", "lz4" or "zstd".
        fsync: Whether every flush waits until the data are on the disk.
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
        fsync: bool = False,
        ros_distro: str | None = None,
        flush_period: float = FLUSH_PERIOD,
    ) -> None:
        self.folder = Path(folder)
        self.file = self.folder / f"{self.folder.resolve().name}_0.mcap"
        self._fsync = fsync
        self._distro = os.environ.get("ROS_DISTRO", "") if ros_distro is None else ros_distro
        self._schemas: dict[str, int] = {}
        self._channels: dict[str, int] = {}
        self._topics: dict[str, TopicMetadata] = {}
        self._lock = threading.Lock()
        self._failure: BagError | None = None
        self._metadata_is_old = False
        self._closed = threading.Event()
        self._writer = self._create(compression)
        self._flusher = threading.Thread(
            target=self._flush_regularly, args=(flush_period,), name="bag flusher", daemon=True
        )
        self._flusher.start()

    def _create(self, compression: str) -> McapWriter:
        is_new = False
        try:
            self.folder.mkdir(parents=True)
            is_new = True
            writer = McapWriter(self.file, compression)
        except FileExistsError:
            raise BagError(
                f"{self.folder} exists; bags are not overwritten: choose another name, or remove it"
            ) from None
        except OSError as error:
            self._remove_folder(is_new)
            raise BagError(
                f"cannot create a bag in {self.folder}: {error.strerror}; choose a folder that can "
                "be written"
            ) from None
        except BagError:
            self._remove_folder(is_new)
            raise
        try:
            self._metadata(writer, RECORDING).write(self.folder)
        except OSError as error:
            writer.close()
            raise self._failed(error) from None
        return writer

    def _remove_folder(self, is_new: bool) -> None:
        if is_new:
            with contextlib.suppress(OSError):
                self.folder.rmdir()

    @property
    def message_count(self) -> int:
        """Number of written messages; those of the last half second may be missing."""
        return self._writer.message_count

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
        topic = TopicMetadata(
            name, definition.type, 0, definition.hash, tuple(qos), serialization_format
        )
        with self._lock:
            self._check()
            existing = self._topics.get(name)
            if existing is not None and existing.type != topic.type:
                raise BagError(
                    f"topic {name} is recorded with type {existing.type}; a bag has one type for a "
                    f"topic, {topic.type} cannot be added"
                )
            if existing is not None:
                return
            try:
                if topic.type not in self._schemas:
                    self._schemas[topic.type] = self._writer.add_schema(
                        topic.type, definition.encoding, definition.text.encode()
                    )
                self._channels[name] = self._writer.add_channel(
                    name,
                    serialization_format,
                    self._schemas[topic.type],
                    {
                        "offered_qos_profiles": dump_profiles(topic.qos),
                        "topic_type_hash": topic.hash,
                    },
                )
                self._topics[name] = topic
                self._metadata_is_old = True
            except OSError as error:
                self._fail(error)

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
        published = log_time if publish_time is None else publish_time
        with self._lock:
            self._check()
            channel = self._channels.get(topic)
            if channel is None:
                raise BagError(f"topic {topic} was not added to the bag; call add_topic first")
            if log_time < 0 or published < 0:
                raise BagError(f"a message on {topic} has a time before 1970: {log_time}")
            try:
                self._writer.add_message(channel, log_time, published, bytes(data), sequence)
            except OSError as error:
                self._fail(error)

    def flush(self) -> None:
        """Write all messages to the file.

        Raises:
            BagError: The disk is full, or the bag is closed.
        """
        with self._lock:
            self._check()
            self._flush()

    def _flush(self) -> None:
        try:
            self._writer.flush()
            if self._fsync:
                self._writer.sync()
            if self._metadata_is_old:
                self._metadata(self._writer, RECORDING).write(self.folder)
                self._metadata_is_old = False
        except OSError as error:
            self._fail(error)

    def _flush_regularly(self, period: float) -> None:
        while not self._closed.wait(period):
            with self._lock:
                if self._failure is None and not self._closed.is_set():
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
            if self._closed.is_set():
                return
            self._closed.set()
        self._flusher.join()
        try:
            self._writer.flush()
            final = self._metadata(self._writer, {})
            self._writer.add_metadata("rosbag2", {"serialized_metadata": final.as_text()})
            self._writer.finish()
            final.write(self.folder)
        except OSError as error:
            self._writer.close()
            self._failure = self._failure or self._failed(error)
        if self._failure is not None:
            raise self._failure

    def __enter__(self) -> "BagWriter":
        return self

    def __exit__(
        self,
        exception_type: type[BaseException] | None,
        exception: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        try:
            self.close()
        except BagError:
            if exception is None:  # the first error is raised
                raise

    def _metadata(self, writer: McapWriter, custom: dict[str, str]) -> BagMetadata:
        counts = {name: writer.counts[channel] for name, channel in self._channels.items()}
        topics = tuple(
            TopicMetadata(
                t.name, t.type, counts.get(t.name, 0), t.hash, t.qos, t.serialization_format
            )
            for t in self._topics.values()
        )
        file = FileMetadata(
            self.file.name, writer.message_count, writer.start_time, writer.end_time
        )
        return BagMetadata((file,), topics, ros_distro=self._distro, custom=custom)

    def _check(self) -> None:
        if self._failure is not None:
            raise self._failure
        if self._closed.is_set():
            raise BagError(f"bag {self.folder} is closed")

    def _failed(self, error: OSError) -> BagError:
        return BagError(
            f"cannot write to bag {self.folder}: {error.strerror or error}; recording has stopped. "
            "What was recorded before can be read; free some space and start another bag"
        )

    def _fail(self, error: OSError) -> NoReturn:
        self._failure = self._failed(error)
        raise self._failure from None

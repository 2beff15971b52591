"""Recording a bag: a folder that rosbag2, rosbags and mcap open, readable at any moment.

What a kill costs: messages are gathered in a chunk of at most 64 KiB, which goes to the operating
system when it is full, and twice a second in any case. After kill -9 at most the last half second
is missing. After a power cut it may be what the kernel had not yet written, some 30 s: a call of
fsync each half second would hold up the recording on slow disks, and is made only on request
(``fsync=True``) and at the end.

What a recording costs, measured at 600 messages a second of 250 bytes on ten topics: 650 MB an
hour on disk, of which 35 MB are the index by which readers seek; 0.15 % of one core (2.3 us a
message); and 3.4 MB of memory an hour, for the index of the chunks that stands at the end.
"""

import contextlib
import os
import threading
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import NoReturn

from vms_ph_io.bag.errors import BagError
from vms_ph_io.bag.mcap_writer import McapWriter
from vms_ph_io.bag.metadata import BagMetadata, FileMetadata, TopicMetadata
from vms_ph_io.bag.qos import QosProfile, dump_profiles
from vms_ph_io.bag.types import MessageDefinition

FLUSH_PERIOD = 0.5
"""Seconds; a message is on file at the latest after this time."""

RECORDING = {"vms_ph_state": "recording"}
"""Entry of ``metadata.yaml`` while its numbers are not final."""


class BagWriter:
    """Writes a new bag. Its methods may be called from several threads.

    Args:
        folder: Of the bag; must not exist. Its name is that of the bag.
        compression: Of the chunks: "none", "lz4" or "zstd".
        fsync: Whether every flush waits until the disk has the data.
        ros_distro: Noted in the bag; default: ROS_DISTRO of the environment.
        flush_period: Seconds between two flushes.

    Raises:
        BagError: The folder exists, or cannot be made.
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
        made = False
        try:
            self.folder.mkdir(parents=True)
            made = True
            writer = McapWriter(self.file, compression)
        except FileExistsError:
            raise BagError(
                f"{self.folder} exists; bags are not overwritten: choose another name, or remove it"
            ) from None
        except OSError as error:
            self._remove_folder(made)
            raise BagError(
                f"cannot make a bag in {self.folder}: {error.strerror}; choose a folder that can "
                "be written"
            ) from None
        except BagError:
            self._remove_folder(made)
            raise
        try:
            self._metadata(writer, RECORDING).write(self.folder)
        except OSError as error:
            writer.close()
            raise self._failed(error) from None
        return writer

    def _remove_folder(self, made: bool) -> None:
        if made:
            with contextlib.suppress(OSError):
                self.folder.rmdir()

    @property
    def message_count(self) -> int:
        """Messages on file; those of the last half second may be missing."""
        return self._writer.message_count

    def add_topic(
        self,
        name: str,
        definition: MessageDefinition,
        qos: Iterable[QosProfile] = (QosProfile(),),
        serialization_format: str = "cdr",
    ) -> None:
        """Make a topic known; needed once before its first message.

        Args:
            name: As in "/joint_states".
            definition: Of its type, from ``MessageTypes.definition``.
            qos: What its publishers offer; ``ros2 bag play`` offers the same.
            serialization_format: Of the messages.

        Raises:
            BagError: The topic is known with another type, the disk is full, or the bag is closed.
        """
        topic = TopicMetadata(
            name, definition.type, 0, definition.hash, tuple(qos), serialization_format
        )
        with self._lock:
            self._check()
            known = self._topics.get(name)
            if known is not None and known.type != topic.type:
                raise BagError(
                    f"topic {name} is recorded with type {known.type}; a bag has one type for a "
                    f"topic, {topic.type} cannot be added"
                )
            if known is not None:
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
            topic: Made known by ``add_topic``.
            data: Serialised, with the encapsulation header of CDR.
            log_time: When it was received, in nanoseconds since 1970.
            publish_time: When it was sent; default: the log time.
            sequence: A number of the publisher's; 0 for none.

        Raises:
            BagError: The topic is not known, the disk is full, or the bag is closed.
        """
        published = log_time if publish_time is None else publish_time
        with self._lock:
            self._check()
            channel = self._channels.get(topic)
            if channel is None:
                raise BagError(f"topic {topic} is not known to the bag; call add_topic first")
            if log_time < 0 or published < 0:
                raise BagError(f"a message on {topic} has a time before 1970: {log_time}")
            try:
                self._writer.add_message(channel, log_time, published, bytes(data), sequence)
            except OSError as error:
                self._fail(error)

    def flush(self) -> None:
        """Bring everything to the file now.

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
                    # Kept in self._failure: the next call of the recording thread raises it.
                    with contextlib.suppress(BagError):
                        self._flush()

    def close(self) -> None:
        """Complete the bag. Once more does nothing.

        Raises:
            BagError: Messages were lost, now or before, because the disk is full, say. The bag can
                be read up to them in any case.
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
            if exception is None:  # the first error is the one to report
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

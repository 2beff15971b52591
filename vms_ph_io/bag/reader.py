# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Reading of the messages of a complete or truncated bag in the order of the recording."""

import sqlite3
from collections.abc import Collection, Iterator
from contextlib import closing
from functools import cache
from pathlib import Path

from mcap.records import Channel
from rosbags.interfaces import MessageDefinitionFormat
from rosbags.rosbag2 import Reader as RosbagsReader
from rosbags.rosbag2 import ReaderError

from .errors import BagError
from .mcap_reader import McapReader
from .messages import BagMessage, BagTopic, MessageDefinition, SchemaDecoder
from .metadata import bag_files, bag_path
from .types import MessageTypes


class BagReader:
    """Reads a bag: a rosbag2 folder or file, of format MCAP or sqlite3.

    An MCAP bag that was truncated by a killed process or a full disk is read up to its last
    complete chunk; ``metadata.yaml`` is not needed. Messages are in the order of the recording.

    Args:
        path: The bag folder, one of its files, or the folder of a run with the bag.

    Raises:
        BagError: There is no bag.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = bag_path(path)
        self.files = bag_files(self.path)
        self.is_complete = False
        """Whether every file is complete; valid once all messages are read."""
        self.unreadable_bytes = 0
        """Number of unreadable bytes; valid once all messages are read."""
        self.compression = "none"
        """Compression of the chunks; valid once all messages are read."""
        self.position = 0
        """Number of bytes read of the current MCAP file."""
        # Cached by content, as schema numbers are valid within one file only.
        self._decoder_of = cache(SchemaDecoder)

    def messages(self, topics: Collection[str] | None = None) -> Iterator[BagMessage]:
        """Yield the messages.

        Args:
            topics: Names of the topics to read; None: all.

        Raises:
            BagError: A file is not of the format of its suffix, or cannot be opened.
        """
        for record in self.records():
            if isinstance(record, BagMessage) and (topics is None or record.topic in topics):
                yield record

    def records(self) -> Iterator[BagMessage | BagTopic]:
        """Yield the messages, and each topic of each file once before its first message.

        Raises:
            BagError: A file is not of the format of its suffix, or cannot be opened.
        """
        self.is_complete, self.unreadable_bytes = True, 0
        for path in self.files:
            if path.suffix == ".db3":
                yield from self._from_sqlite(path)
                continue
            try:
                with path.open("rb") as file:
                    reader = McapReader(file, path.stat().st_size, str(path))
                    yield from self._from_mcap(reader)
            except OSError as error:
                raise BagError(f"cannot read {path}: {error.strerror or error}") from None
            self.is_complete &= reader.is_complete
            self.unreadable_bytes += reader.unreadable_bytes
            self.compression = reader.compression or self.compression

    def _from_mcap(self, reader: McapReader) -> Iterator[BagMessage | BagTopic]:
        topics: dict[int, tuple[BagTopic, SchemaDecoder | None]] = {}
        for record in reader.records():
            self.position = reader.position
            if isinstance(record, Channel):
                topic = BagTopic.from_channel(record, reader.schemas.get(record.schema_id))
                topics[record.id] = topic, self._decoder(topic)
                yield topic
                continue
            topic, decoder = topics[record.channel_id]
            times = record.log_time, record.publish_time
            yield BagMessage(topic.name, topic.type, *times, record.data, record.sequence, decoder)

    def _decoder(self, topic: BagTopic) -> SchemaDecoder | None:
        if not topic.definition.text:
            return None
        return self._decoder_of(topic.definition, topic.serialization_format)

    def _from_sqlite(self, path: Path) -> Iterator[BagMessage | BagTopic]:
        """Read by ``rosbags``; files without definitions use those of ROS 2 Jazzy."""
        types = MessageTypes()
        decoders: dict[int, SchemaDecoder | None] = {}
        try:
            _check_columns(path)
            with RosbagsReader(path) as reader:
                for connection in reader.connections:
                    name, kind, text = connection.topic, connection.msgtype, connection.msgdef.data
                    _check_types(path, str, name, kind)
                    is_idl = connection.msgdef.format is MessageDefinitionFormat.IDL
                    if not text and kind in types.store.fielddefs:
                        text = types.definition(kind).text
                    encoding = "ros2idl" if is_idl else "ros2msg"
                    definition = MessageDefinition(kind, text, connection.digest, encoding)
                    topic = BagTopic(name, definition)
                    decoders[connection.id] = self._decoder(topic)
                    yield topic
                for connection, time, data in reader.messages():
                    _check_types(path, int, time)
                    _check_types(path, bytes, data)
                    topic_and_type = connection.topic, connection.msgtype
                    yield BagMessage(*topic_and_type, time, time, data, 0, decoders[connection.id])
        except BagError:
            raise
        except Exception as error:  # rosbags and SQLite raise anything for a damaged file
            reason = str(error) if isinstance(error, ReaderError) else repr(error)
            if isinstance(error, sqlite3.DatabaseError):
                reason = (
                    f"it is damaged ({error}); `sqlite3 {path.name} .recover` saves what it can"
                )
            raise BagError(f"cannot read {path}: {reason}") from None


def _check_columns(path: Path) -> None:
    """Refuse columns that SQLite generates, whose entries the file does not contain."""
    with closing(sqlite3.connect(f"{path.absolute().as_uri()}?immutable=1", uri=True)) as database:
        for table in ("messages", "topics"):
            for column in database.execute(f"PRAGMA table_xinfo({table})"):
                if column[-1]:
                    raise BagError(f"cannot read {path}: column {column[1]} is generated")


def _check_types(path: Path, expected: type, *values: object) -> None:
    """Check entries of an SQLite file, whose columns may contain values of any type."""
    for value in values:
        if not isinstance(value, expected):
            raise BagError(
                f"cannot read {path}: it is damaged, an entry is a {type(value).__name__} in place "
                f"of a {expected.__name__}"
            )

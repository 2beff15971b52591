"""Reading a bag message by message, in the order of the recording, complete or not."""

from collections.abc import Collection, Iterator
from pathlib import Path

from mcap.records import Channel, Schema
from rosbags.interfaces import MessageDefinitionFormat
from rosbags.rosbag2 import Reader as RosbagsReader
from rosbags.rosbag2 import ReaderError

from vms_ph_io.bag.decoding import Decoder, SchemaDecoder
from vms_ph_io.bag.errors import BagError
from vms_ph_io.bag.files import bag_files
from vms_ph_io.bag.mcap_reader import McapReader, RawMessage
from vms_ph_io.bag.messages import BagMessage, BagTopic
from vms_ph_io.bag.types import MessageTypes


class BagReader:
    """Reads a bag: a rosbag2 folder or file, of format MCAP or sqlite3.

    Of an MCAP bag that was cut off, by a kill or a full disk, everything up to the last whole chunk
    is read; ``metadata.yaml`` is not needed. Messages come in the order in which they were
    recorded.

    Args:
        path: The folder or the file.

    Raises:
        BagError: There is no bag.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self.files = bag_files(self.path)
        self.is_complete = False
        """Whether every file has its end; known once all messages were read."""
        self.unreadable_bytes = 0
        """Number of bytes that could not be read; known once all messages were read."""
        self.compression = "none"
        """Of the chunks; known once all messages were read."""
        self._decoders: dict[tuple[str, str, str, str], Decoder] = {}

    def messages(self, topics: Collection[str] | None = None) -> Iterator[BagMessage]:
        """The messages.

        Args:
            topics: The only ones wanted; None: all.

        Raises:
            BagError: A file is not of the format of its name, or cannot be opened.
        """
        for item in self.records():
            if isinstance(item, BagMessage) and (topics is None or item.topic in topics):
                yield item

    def records(self) -> Iterator[BagMessage | BagTopic]:
        """The messages, and each topic of each file once, before its first message.

        Raises:
            BagError: A file is not of the format of its name, or cannot be opened.
        """
        self.is_complete, self.unreadable_bytes = False, 0
        complete = True
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
            complete &= reader.is_complete
            self.unreadable_bytes += reader.unreadable_bytes
            self.compression = reader.compression or self.compression
        self.is_complete = complete

    def _from_mcap(self, reader: McapReader) -> Iterator[BagMessage | BagTopic]:
        for record in reader.records():
            if isinstance(record, RawMessage):
                schema = record.schema
                yield BagMessage(
                    record.channel.topic,
                    schema.name if schema else "",
                    record.log_time,
                    record.publish_time,
                    record.data,
                    record.sequence,
                    self._decoder(record.channel, schema),
                )
            elif isinstance(record, Channel):
                yield BagTopic.of(record, reader.schemas.get(record.schema_id))

    def _decoder(self, channel: Channel, schema: Schema | None) -> Decoder | None:
        if schema is None or not schema.data:
            return None
        text = schema.data.decode("utf-8", "replace")
        return self._decoder_of(schema.name, schema.encoding, text, channel.message_encoding)

    def _decoder_of(self, name: str, encoding: str, text: str, format_: str) -> Decoder:
        # By content: the numbers of schemas mean something within one file only.
        key = (name, encoding, text, format_)
        if key not in self._decoders:
            self._decoders[key] = SchemaDecoder(*key)
        return self._decoders[key]

    def _from_sqlite(self, path: Path) -> Iterator[BagMessage | BagTopic]:
        """Read by ``rosbags``. Older files hold no definitions: those of ROS 2 Jazzy are taken."""
        known = MessageTypes()
        decoders: dict[int, Decoder | None] = {}
        try:
            with RosbagsReader(path) as reader:
                for connection in reader.connections:
                    yield BagTopic(connection.topic, connection.msgtype, connection.digest)
                    encoding, text = "ros2msg", connection.msgdef.data
                    if connection.msgdef.format is MessageDefinitionFormat.IDL:
                        encoding = "ros2idl"
                    if not text and connection.msgtype in known.store.fielddefs:
                        text = known.definition(connection.msgtype).text
                    decoders[connection.id] = (
                        self._decoder_of(connection.msgtype, encoding, text, "cdr")
                        if text
                        else None
                    )
                for connection, time, data in reader.messages():
                    yield BagMessage(
                        connection.topic,
                        connection.msgtype,
                        time,
                        time,
                        bytes(data),
                        0,
                        decoders[connection.id],
                    )
        except ReaderError as error:
            raise BagError(f"cannot read {path}: {error}") from None

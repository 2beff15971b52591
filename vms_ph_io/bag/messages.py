# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Messages of a bag, and their topics."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Protocol, cast

from mcap.records import Channel, Schema
from rosbags.interfaces import Nodetype
from rosbags.interfaces.typing import FieldDesc, Typesdict
from rosbags.typesys import Stores, get_types_from_idl, get_types_from_msg, get_typestore
from rosbags.typesys.store import Typestore

from .errors import BagError
from .qos import QosProfile, parse_profiles

_SEPARATOR = "=" * 80 + "\n"


class Decoder(Protocol):
    """A function that decodes recorded bytes to a message."""

    def __call__(self, data: bytes) -> object:
        """Return the message; its fields are attributes."""


LARGEST_DEFINITION = 2**18
"""Largest number of characters of a definition with the types it uses; real ones have 20 000."""

LONGEST_ARRAY = 2**16
"""Largest length of an array of texts or messages, for which rosbags generates a line each."""


def _check_arrays(types: Typesdict) -> None:
    """Reject arrays that take no bytes, of which a sequence has no end, and those of many lines."""
    for name, (_, fields) in types.items():
        for field_name, (kind, content) in fields:
            if kind != Nodetype.ARRAY:
                continue
            (item, item_content), length = cast("tuple[FieldDesc, int]", content)
            is_numeric = item == Nodetype.BASE and item_content[0] not in ("string", "wstring")
            if length < 1 or (length > LONGEST_ARRAY and not is_numeric):
                raise BagError(
                    f"the array {field_name} of {name} has the length {length}; accepted are 1 to "
                    f"{LONGEST_ARRAY}"
                )


class SchemaDecoder:
    """Decodes the messages of one definition, which is parsed at the first message.

    Each definition has its own type store: two files of a bag may contain two versions of a type.

    Args:
        type_name: Name of the type, as in "sensor_msgs/msg/JointState".
        encoding: Encoding of the definition, "ros2msg" or "ros2idl".
        text: The definition, with the definitions of the types it uses.
        serialization_format: Serialization format of the messages; only "cdr" can be decoded.
    """

    def __init__(
        self, type_name: str, encoding: str, text: str, serialization_format: str = "cdr"
    ) -> None:
        self._type = type_name
        self._encoding = encoding
        self._text = text
        self._format = serialization_format
        self._store: Typestore | None = None

    def __call__(self, data: bytes) -> object:
        """Return the message; its fields are attributes.

        Raises:
            BagError: The definition is missing or malformed, or the bytes do not match it.
        """
        if self._store is None:
            self._store = self._make_store()
        try:
            if self._format == "ros1":
                return self._store.deserialize_ros1(data, self._type)
            return self._store.deserialize_cdr(data, self._type)
        except Exception as error:  # generated code raises anything for invalid bytes
            raise BagError(f"a message of type {self._type} cannot be decoded: {error}") from None

    def _make_store(self) -> Typestore:
        if self._format not in ("cdr", "ros1"):
            raise BagError(
                f"messages of type {self._type} are in format {self._format!r}; cdr and ros1 are "
                "decoded"
            )
        if len(self._text) > LARGEST_DEFINITION:
            raise BagError(
                f"the definition of {self._type} in the bag has {len(self._text)} characters; at "
                f"most {LARGEST_DEFINITION} are accepted"
            )
        store = get_typestore(Stores.EMPTY)
        try:
            for types in self._types():
                _check_arrays(types)
                store.register(types)
        except Exception as error:  # the parser, and code generated of what it has accepted
            raise BagError(
                f"the definition of {self._type} in the bag is malformed: {error}"
            ) from None
        if self._type not in store.fielddefs:
            raise BagError(f"the bag contains no definition of {self._type}")
        return store

    def _types(self) -> Iterator[Typesdict]:
        if self._encoding == "ros2msg":
            yield get_types_from_msg(self._text, self._type)
        elif self._encoding == "ros2idl":
            merged: Typesdict = {}
            for section in self._text.split(_SEPARATOR):
                heading, _, body = section.partition("\n")
                text = body if heading.startswith("IDL: ") else section
                if text.strip():
                    merged.update(get_types_from_idl(text))
            yield merged


@dataclass(frozen=True, slots=True)
class BagMessage:
    """One recorded message.

    Args:
        topic: Name of the topic, as in "/joint_states".
        type: Name of the type, as in "sensor_msgs/msg/JointState".
        log_time: Time of reception in nanoseconds since 1970.
        publish_time: Time of publication in nanoseconds since 1970.
        data: The serialised message.
        sequence: Sequence number of the publisher; 0 if unknown.
        decoder: Decoder of the recorded definition; None if the bag contains none.
    """

    topic: str
    type: str
    log_time: int
    publish_time: int
    data: bytes = field(repr=False)
    sequence: int = 0
    decoder: Decoder | None = field(default=None, repr=False, compare=False)

    def decode(self) -> object:
        """Return the message; its fields are attributes, its arrays are numpy arrays.

        Raises:
            BagError: The bag contains no definition of the type, or the bytes do not match it.
        """
        if self.decoder is None:
            raise BagError(f"the bag contains no definition of {self.type}")
        return self.decoder(self.data)


@dataclass(frozen=True, slots=True)
class BagTopic:
    """One topic of a bag.

    Args:
        name: Name of the topic, as in "/joint_states".
        type: Name of the type, as in "sensor_msgs/msg/JointState".
        hash: Hash of the type; empty if not recorded.
        qos: The QoS profiles that its publishers offered.
        serialization_format: Serialization format of the messages.
        definition: Text of the definition of the type; empty if not recorded.
        encoding: Encoding of that text.
    """

    name: str
    type: str
    hash: str = ""
    qos: tuple[QosProfile, ...] = ()
    serialization_format: str = "cdr"
    definition: str = field(default="", repr=False)
    encoding: str = "ros2msg"

    @classmethod
    def of(cls, channel: Channel, schema: Schema | None) -> "BagTopic":
        """Return the topic of an MCAP channel."""
        return cls(
            channel.topic,
            schema.name if schema else "",
            channel.metadata.get("topic_type_hash", ""),
            parse_profiles(channel.metadata.get("offered_qos_profiles", "")),
            channel.message_encoding,
            schema.data.decode("utf-8", "replace") if schema else "",
            schema.encoding if schema else "",
        )

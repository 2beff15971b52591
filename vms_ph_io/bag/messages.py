# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Messages of a bag, and their topics with the QoS profiles that publishers offered."""

import functools
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field, fields
from typing import Any, cast

import yaml
from mcap.records import Channel, Schema
from rosbags.interfaces import Nodetype
from rosbags.interfaces.typing import FieldDesc, Typesdict
from rosbags.typesys import Stores, get_types_from_idl, get_types_from_msg, get_typestore
from rosbags.typesys.store import Typestore

from ..settings.bounded_text import YamlError, parse_yaml
from .errors import BagError

SEPARATOR = "=" * 80 + "\n"
"""Stands between the definitions of a type and of those that it uses."""


LARGEST_DEFINITION = 2**18
"""Largest number of characters of a definition with the types it uses; real ones have 20 000."""

LONGEST_ARRAY = 2**16
"""Largest length of an array of texts or messages, for which rosbags generates a line each."""


def _check_arrays(types: Typesdict) -> None:
    """Reject arrays that take no bytes, of which a sequence has no end, and those of many lines."""
    for name, (_, members) in types.items():
        for field_name, (kind, content) in members:
            if kind != Nodetype.ARRAY:
                continue
            (item_kind, item_type), length = cast("tuple[FieldDesc, int]", content)
            is_numeric = item_kind == Nodetype.BASE and item_type[0] not in ("string", "wstring")
            if length < 1 or (length > LONGEST_ARRAY and not is_numeric):
                raise BagError(
                    f"the array {field_name} of {name} has the length {length}; accepted are 1 to "
                    f"{LONGEST_ARRAY}"
                )


@dataclass(frozen=True, slots=True)
class MessageDefinition:
    """The definition of a message type, as it is stored in a bag for decoding.

    Args:
        type: Name of the type, as in "sensor_msgs/msg/JointState".
        text: The definition, followed by the definitions of the types it uses; empty if not
            recorded.
        hash: Hash of the definition by REP 2011, "RIHS01_..."; empty if unknown.
        encoding: Encoding of the text, "ros2msg" or "ros2idl".
    """

    type: str
    text: str = field(default="", repr=False)
    hash: str = ""
    encoding: str = "ros2msg"


class SchemaDecoder:
    """Decodes the messages of one definition, which is parsed at the first message.

    Each definition has its own type store: two files of a bag may contain two versions of a type.

    Args:
        definition: The definition.
        serialization_format: Serialization format of the messages; "cdr" and "ros1" are decoded.
    """

    def __init__(self, definition: MessageDefinition, serialization_format: str = "cdr") -> None:
        self._definition, self._type = definition, definition.type
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
        if (length := len(self._definition.text)) > LARGEST_DEFINITION:
            text = f"the definition of {self._type} in the bag has {length} characters; at most "
            text += f"{LARGEST_DEFINITION} are accepted"
            raise BagError(text)
        store = get_typestore(Stores.EMPTY)
        try:
            for types in self._parsed_types():
                _check_arrays(types)
                store.register(types)
        except Exception as error:  # the parser, and code generated of what it has accepted
            raise BagError(
                f"the definition of {self._type} in the bag is malformed: {error}"
            ) from None
        if self._type not in store.fielddefs:
            raise BagError(f"the bag contains no definition of {self._type}")
        return store

    def _parsed_types(self) -> Iterator[Typesdict]:
        text = self._definition.text
        if self._definition.encoding == "ros2msg":
            yield get_types_from_msg(text, self._type)
        elif self._definition.encoding == "ros2idl":
            merged_types: Typesdict = {}
            for section in text.split(SEPARATOR):
                heading, _, body = section.partition("\n")
                text = body if heading.startswith("IDL: ") else section
                if text.strip():
                    merged_types.update(get_types_from_idl(text))
            yield merged_types


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
    decoder: SchemaDecoder | None = field(default=None, repr=False, compare=False)

    def decode(self) -> object:
        """Return the message; its fields are attributes, its arrays are numpy arrays.

        Raises:
            BagError: The bag contains no definition of the type, or the bytes do not match it.
        """
        if self.decoder is None:
            raise BagError(f"the bag contains no definition of {self.type}")
        return self.decoder(self.data)


_NS_PER_SEC = 10**9

# The duration that ROS 2 writes for "no limit", in nanoseconds.
INFINITE = 2**63 - 1
_DURATIONS = ("deadline", "lifespan", "liveliness_lease_duration")


@dataclass(frozen=True, slots=True)
class QosProfile:
    """One offered profile; names and values are those of ``ros2 topic info --verbose``.

    Args:
        history: "keep_last" or "keep_all".
        depth: Depth of the history.
        reliability: "reliable" or "best_effort".
        durability: "volatile" or "transient_local".
        deadline: Deadline in nanoseconds.
        lifespan: Lifespan in nanoseconds.
        liveliness: "automatic" or "manual_by_topic".
        liveliness_lease_duration: Lease duration in nanoseconds.
    """

    history: str = "keep_last"
    depth: int = 10
    reliability: str = "reliable"
    durability: str = "volatile"
    deadline: int = INFINITE
    lifespan: int = INFINITE
    liveliness: str = "automatic"
    liveliness_lease_duration: int = INFINITE

    def as_dict(self) -> dict[str, Any]:
        """Return the profile in the order and format of version 9 of rosbag2."""
        entries = asdict(self)
        for name in _DURATIONS:
            seconds, nanoseconds = divmod(entries[name], _NS_PER_SEC)
            entries[name] = {"sec": seconds, "nsec": nanoseconds}
        return {**entries, "avoid_ros_namespace_conventions": False}


def dump_profiles(profiles: Sequence[QosProfile]) -> str:
    """Return profiles as the text that a bag stores with a topic."""
    return yaml.safe_dump([profile.as_dict() for profile in profiles], sort_keys=False).rstrip("\n")


# Older versions of rosbag2 write numbers, which are indices of these names.
_NAMES_BY_NUMBER: dict[str, tuple[str, ...]] = {
    "history": ("system_default", "keep_last", "keep_all", "unknown"),
    "reliability": ("system_default", "reliable", "best_effort", "unknown", "best_available"),
    "durability": ("system_default", "transient_local", "volatile", "unknown", "best_available"),
    "liveliness": (
        "system_default", "automatic", "manual_by_node", "manual_by_topic", "unknown",
        "best_available",
    ),
}  # fmt: skip


def parse_profiles(content: str | Sequence[Any]) -> tuple[QosProfile, ...]:
    """Return the profiles in a bag of any version; invalid ones are skipped.

    Invalid profiles do not prevent reading a bag.
    """
    try:
        entries = _cached_yaml(content) if isinstance(content, str) else content
        return tuple(_profile(item) for item in entries or ())
    except (YamlError, LookupError, TypeError, ValueError, AttributeError, OverflowError):
        return ()


# Cached, as most topics of a bag have equal profiles and YAML parsing is slow.
_cached_yaml = functools.lru_cache(maxsize=256)(parse_yaml)


def _profile(entry: Any) -> QosProfile:
    def setting(name: str) -> Any:
        value = entry[name]
        if name in _DURATIONS:
            return min(int(value["sec"]) * _NS_PER_SEC + int(value["nsec"]), INFINITE)
        if name == "depth":
            return int(value)
        return _NAMES_BY_NUMBER[name][value] if isinstance(value, int) else str(value)

    return QosProfile(*(setting(field.name) for field in fields(QosProfile)))


@dataclass(frozen=True, slots=True)
class BagTopic:
    """One topic of a bag.

    Args:
        name: Name of the topic, as in "/joint_states".
        definition: Its type, with the definition and the hash as far as they are recorded.
        qos: The QoS profiles that its publishers offered.
        serialization_format: Serialization format of the messages.
    """

    name: str
    definition: MessageDefinition
    qos: tuple[QosProfile, ...] = ()
    serialization_format: str = "cdr"

    @property
    def type(self) -> str:
        """Name of the type, as in "sensor_msgs/msg/JointState"."""
        return self.definition.type

    @classmethod
    def from_channel(cls, channel: Channel, schema: Schema | None) -> "BagTopic":
        """Return the topic of an MCAP channel."""
        hash_ = channel.metadata.get("topic_type_hash", "")
        definition = MessageDefinition("", "", hash_, "")
        if schema is not None:
            text = schema.data.decode("utf-8", "replace")
            definition = MessageDefinition(schema.name, text, hash_, schema.encoding)
        qos = parse_profiles(channel.metadata.get("offered_qos_profiles", ""))
        return cls(channel.topic, definition, qos, channel.message_encoding)

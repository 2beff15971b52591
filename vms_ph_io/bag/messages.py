# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Messages of a bag, and their topics."""

from dataclasses import dataclass, field

from mcap.records import Channel, Schema

from .decoding import Decoder
from .errors import BagError
from .qos import QosProfile, parse_profiles


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
    """

    name: str
    type: str
    hash: str = ""
    qos: tuple[QosProfile, ...] = ()
    serialization_format: str = "cdr"

    @classmethod
    def of(cls, channel: Channel, schema: Schema | None) -> "BagTopic":
        """Return the topic of an MCAP channel."""
        return cls(
            channel.topic,
            schema.name if schema else "",
            channel.metadata.get("topic_type_hash", ""),
            parse_profiles(channel.metadata.get("offered_qos_profiles", "")),
            channel.message_encoding,
        )

"""Messages of a bag, and their topics."""

from dataclasses import dataclass, field

from mcap.records import Channel, Schema

from vms_ph_io.bag.decoding import Decoder
from vms_ph_io.bag.errors import BagError
from vms_ph_io.bag.qos import QosProfile, parse_profiles


@dataclass(frozen=True, slots=True)
class BagMessage:
    """One recorded message.

    Args:
        topic: As in "/joint_states".
        type: As in "sensor_msgs/msg/JointState".
        log_time: When it was received, in nanoseconds since 1970.
        publish_time: When it was sent.
        data: Serialised.
        sequence: A number of the publisher's; 0 for none.
        decoder: Of the recorded definition; None when the bag holds none.
    """

    topic: str
    type: str
    log_time: int
    publish_time: int
    data: bytes = field(repr=False)
    sequence: int = 0
    decoder: Decoder | None = field(default=None, repr=False, compare=False)

    def decode(self) -> object:
        """The message; its fields are attributes, its arrays are numpy's.

        Raises:
            BagError: The bag holds no definition of the type, or the bytes do not fit it.
        """
        if self.decoder is None:
            raise BagError(f"the bag holds no definition of {self.type}")
        return self.decoder(self.data)


@dataclass(frozen=True, slots=True)
class BagTopic:
    """One topic of a bag.

    Args:
        name: As in "/joint_states".
        type: As in "sensor_msgs/msg/JointState".
        hash: Of the type; empty when the bag has none.
        qos: What its publishers offered.
        serialization_format: Of the messages.
    """

    name: str
    type: str
    hash: str = ""
    qos: tuple[QosProfile, ...] = ()
    serialization_format: str = "cdr"

    @classmethod
    def of(cls, channel: Channel, schema: Schema | None) -> "BagTopic":
        """The topic of an MCAP channel."""
        return cls(
            channel.topic,
            schema.name if schema else "",
            channel.metadata.get("topic_type_hash", ""),
            parse_profiles(channel.metadata.get("offered_qos_profiles", "")),
            channel.message_encoding,
        )

"""Bags: recorded topics, in the format of rosbag2 with MCAP files; no ROS 2 is needed."""

from vms_ph_io.bag.errors import BagError
from vms_ph_io.bag.needs import require_packages

# Before the imports that would fail with the name of a module and no word on what to do.
require_packages()

from vms_ph_io.bag.earlier_names import PresentNames, present_topic, present_type  # noqa: E402
from vms_ph_io.bag.info import BagInfo, TopicInfo, bag_info  # noqa: E402
from vms_ph_io.bag.messages import BagMessage, BagTopic  # noqa: E402
from vms_ph_io.bag.qos import QosProfile  # noqa: E402
from vms_ph_io.bag.reader import BagReader  # noqa: E402
from vms_ph_io.bag.recover import Recovery, recover  # noqa: E402
from vms_ph_io.bag.types import MessageDefinition, MessageTypes  # noqa: E402
from vms_ph_io.bag.writer import BagWriter  # noqa: E402

__all__ = [
    "BagError",
    "BagInfo",
    "BagMessage",
    "BagReader",
    "BagTopic",
    "BagWriter",
    "MessageDefinition",
    "MessageTypes",
    "PresentNames",
    "QosProfile",
    "Recovery",
    "TopicInfo",
    "bag_info",
    "present_topic",
    "present_type",
    "recover",
]

"""Bags: recorded topics, in the format of rosbag2 with MCAP files. Nothing here needs ROS 2."""

from vms_ph_io.bag.errors import BagError
from vms_ph_io.bag.info import BagInfo, TopicInfo, bag_info
from vms_ph_io.bag.messages import BagMessage, BagTopic
from vms_ph_io.bag.qos import QosProfile
from vms_ph_io.bag.reader import BagReader
from vms_ph_io.bag.recover import Recovery, recover
from vms_ph_io.bag.types import MessageDefinition, MessageTypes
from vms_ph_io.bag.writer import BagWriter

__all__ = [
    "BagError",
    "BagInfo",
    "BagMessage",
    "BagReader",
    "BagTopic",
    "BagWriter",
    "MessageDefinition",
    "MessageTypes",
    "QosProfile",
    "Recovery",
    "TopicInfo",
    "bag_info",
    "recover",
]

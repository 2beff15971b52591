# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Bags: recorded topics in the format of rosbag2 with MCAP files, without ROS 2."""

from .errors import BagError, require_packages

# Checked before the imports below, which would fail without a hint on what to install.
require_packages()

from .earlier_names import PresentNames, present_topic, present_type  # noqa: E402
from .info import BagInfo, Recovery, bag_info, recover  # noqa: E402
from .messages import BagMessage, BagTopic, MessageDefinition, QosProfile  # noqa: E402
from .metadata import TopicInfo  # noqa: E402
from .reader import BagReader  # noqa: E402
from .types import MessageTypes  # noqa: E402
from .writer import BagWriter, was_interrupted  # noqa: E402

__all__ = [
    "BagError", "BagInfo", "BagMessage", "BagReader", "BagTopic", "BagWriter", "MessageDefinition",
    "MessageTypes", "PresentNames", "QosProfile", "Recovery", "TopicInfo", "bag_info",
    "present_topic", "present_type", "recover", "was_interrupted",
]  # fmt: skip

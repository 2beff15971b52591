# Copyright 2026 The vms_ph authors
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.

"""Bags: recorded topics in the format of rosbag2 with MCAP files, without ROS 2."""

from vms_ph_io.bag.errors import BagError
from vms_ph_io.bag.needs import require_packages

# Checked before the imports below, which would fail without a hint on what to install.
require_packages()

from vms_ph_io.bag.earlier_names import PresentNames, present_topic, present_type  # noqa: E402
from vms_ph_io.bag.info import BagInfo, TopicInfo, bag_info  # noqa: E402
from vms_ph_io.bag.messages import BagMessage, BagTopic  # noqa: E402
from vms_ph_io.bag.qos import QosProfile  # noqa: E402
from vms_ph_io.bag.reader import BagReader  # noqa: E402
from vms_ph_io.bag.recover import Recovery, recover  # noqa: E402
from vms_ph_io.bag.types import MessageDefinition, MessageTypes  # noqa: E402
from vms_ph_io.bag.writer import BagWriter, was_interrupted  # noqa: E402

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
    "was_interrupted",
]

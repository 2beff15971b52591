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

"""Conversion of ROS names and types to those of DDS, and back."""

from __future__ import annotations

TOPIC, REQUEST, REPLY = "rt", "rq", "rr"


def topic(ros_name: str) -> str:
    """The DDS topic of a ROS topic."""
    return f"{TOPIC}{ros_name}"


def request(ros_name: str) -> str:
    """The DDS topic of the requests to a service."""
    return f"{REQUEST}{ros_name}Request"


def reply(ros_name: str) -> str:
    """The DDS topic of the replies of a service."""
    return f"{REPLY}{ros_name}Reply"


def ros_topic(dds_topic: str) -> str | None:
    """The ROS topic of a DDS topic, or None when it is something else."""
    prefix, _, rest = dds_topic.partition("/")
    return f"/{rest}" if prefix == TOPIC and rest else None


def ros_service(dds_topic: str) -> str | None:
    """The ROS service whose requests or replies a DDS topic carries, or None."""
    prefix, _, rest = dds_topic.partition("/")
    suffix = {REQUEST: "Request", REPLY: "Reply"}.get(prefix)
    return f"/{rest.removesuffix(suffix)}" if suffix and rest.endswith(suffix) else None


def ros_type(dds_type: str) -> str:
    """The ROS name of a DDS type; one that follows no ROS convention stays as it is."""
    parts = dds_type.split("::")
    if len(parts) == 4 and parts[2] == "dds_" and parts[3].endswith("_"):
        return f"{parts[0]}/{parts[1]}/{parts[3][:-1]}"
    return dds_type


def ros_service_type(dds_type: str) -> str:
    """The ROS service type of the DDS type of its requests or replies."""
    return ros_type(dds_type).removesuffix("_Request").removesuffix("_Response")

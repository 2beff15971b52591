# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Conversion of ROS names and types to those of DDS, and back."""

from __future__ import annotations

TOPIC_PREFIX, REQUEST_PREFIX, REPLY_PREFIX = "rt", "rq", "rr"


def topic(ros_name: str) -> str:
    """The DDS topic of a ROS topic."""
    return f"{TOPIC_PREFIX}{ros_name}"


def request(ros_name: str) -> str:
    """The DDS topic of the requests to a service."""
    return f"{REQUEST_PREFIX}{ros_name}Request"


def reply(ros_name: str) -> str:
    """The DDS topic of the replies of a service."""
    return f"{REPLY_PREFIX}{ros_name}Reply"


def ros_topic(dds_topic: str) -> str | None:
    """The ROS topic of a DDS topic, or None when it is something else."""
    prefix, _, topic = dds_topic.partition("/")
    return f"/{topic}" if prefix == TOPIC_PREFIX and topic else None


def ros_service(dds_topic: str) -> str | None:
    """The ROS service whose requests or replies a DDS topic carries, or None."""
    prefix, _, service = dds_topic.partition("/")
    suffix = {REQUEST_PREFIX: "Request", REPLY_PREFIX: "Reply"}.get(prefix)
    return f"/{service.removesuffix(suffix)}" if suffix and service.endswith(suffix) else None


def ros_type(dds_type: str) -> str:
    """The ROS name of a DDS type; one that follows no ROS convention stays as it is."""
    parts = dds_type.split("::")
    if len(parts) == 4 and parts[2] == "dds_" and parts[3].endswith("_"):
        return f"{parts[0]}/{parts[1]}/{parts[3][:-1]}"
    return dds_type


def ros_service_type(dds_type: str) -> str:
    """The ROS service type of the DDS type of its requests or replies."""
    return ros_type(dds_type).removesuffix("_Request").removesuffix("_Response")

# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Information about a publisher or subscription."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

from rclpy.qos import QoSProfile

from vms_ph_embedded import subset

__getattr__ = subset.make_module_getattr(__name__)


class TopicEndpointTypeEnum(IntEnum):
    """Kind of an endpoint."""

    INVALID = 0
    PUBLISHER = 1
    SUBSCRIPTION = 2


@dataclass
class TopicEndpointInfo:
    """Information about a publisher or subscription."""

    node_name: str
    node_namespace: str
    topic_type: str
    topic_type_hash: str
    endpoint_type: TopicEndpointTypeEnum
    endpoint_gid: list[int]
    qos_profile: QoSProfile

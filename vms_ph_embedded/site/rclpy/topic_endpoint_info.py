# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Information about a publisher or subscription."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

from rclpy.qos import QoSProfile

from vms_ph_embedded import subset

__getattr__ = subset.missing_from(__name__)


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

    def __str__(self) -> str:
        qos = self.qos_profile
        history = qos.history.name
        if history == "KEEP_LAST":
            history = f"{history} ({qos.depth})"
        return "\n".join(
            (
                f"Node name: {self.node_name}",
                f"Node namespace: {self.node_namespace}",
                f"Topic type: {self.topic_type}",
                f"Topic type hash: {self.topic_type_hash}",
                f"Endpoint type: {self.endpoint_type.name}",
                f"GID: {'.'.join(f'{byte:02x}' for byte in self.endpoint_gid)}",
                "QoS profile:",
                f"  Reliability: {qos.reliability.name}",
                f"  History (Depth): {history}",
                f"  Durability: {qos.durability.name}",
                f"  Lifespan: {qos.lifespan}",
                f"  Deadline: {qos.deadline}",
                f"  Liveliness: {qos.liveliness.name}",
                f"  Liveliness lease duration: {qos.liveliness_lease_duration}",
            )
        )

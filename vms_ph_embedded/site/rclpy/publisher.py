# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Publishers."""

from __future__ import annotations

from typing import Any

from cyclonedds.core import DDSException
from rclpy._entity import Entity
from rclpy.exceptions import RCLError
from rclpy.logging import get_logger
from rclpy.qos import QoSProfile

from vms_ph_embedded import subset
from vms_ph_embedded.interfaces.messages import serialize
from vms_ph_embedded.wire.participant import Writer

__getattr__ = subset.make_module_getattr(__name__)


class Publisher(Entity, subset.RclpySubset):
    """Publishes messages on a topic; made by :meth:`Node.create_publisher`."""

    def __init__(
        self, writer: Writer, msg_type: Any, topic: str, topic_name: str, qos_profile: QoSProfile
    ) -> None:
        self._writer = writer
        self.msg_type = msg_type
        self.topic = topic
        self.topic_name = topic_name
        self.qos_profile = qos_profile

    def publish(self, msg: Any) -> None:
        """Publish a message, or the CDR bytes of one."""
        if isinstance(msg, self.msg_type):
            data = serialize(msg)
        elif isinstance(msg, bytes):
            data = msg
        else:
            raise TypeError(f"Expected {self.msg_type}, got {type(msg)}")
        self._require_open()
        try:
            delivered = self._writer.write(data)
        except DDSException as error:
            raise RCLError(f"Failed to publish on {self.topic_name}: {error}") from error
        if not delivered:
            get_logger("rclpy.publisher").warning(
                f"a subscriber of {self.topic_name} does not keep up: a message was dropped",
                throttle_duration_sec=10.0,
            )

    def get_subscription_count(self) -> int:
        """Number of matched subscriptions."""
        self._require_open()
        return len(self._writer.matches())

    def destroy(self) -> None:
        """Stop; call :meth:`Node.destroy_publisher` instead."""
        self._close()

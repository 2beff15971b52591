# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Waiting for one message."""

from __future__ import annotations

from typing import Any

from rclpy.node import Node
from rclpy.qos import QoSProfile

from vms_ph_embedded.wire.waiting import FOREVER, WaitSet


def wait_for_message(
    msg_type: Any,
    node: Node,
    topic: str,
    *,
    qos_profile: QoSProfile | int = 1,
    time_to_wait: float = -1,
) -> tuple[bool, Any]:
    """Wait for the next message of a topic; (False, None) at the end of the time or a shutdown."""
    received: list[Any] = []
    subscription = node.create_subscription(msg_type, topic, received.append, qos_profile)
    waiting = WaitSet(node.context._participant.entity)  # type: ignore[union-attr]
    try:
        waiting.watch([subscription._reader.condition, node.context._make_guard()])
        waiting.wait(FOREVER if time_to_wait < 0 else int(time_to_wait * 1e9))
        if node.context.ok() and (call := subscription._take()) is not None:
            call()
        return (True, received[0]) if received else (False, None)
    finally:
        waiting.close()
        node.destroy_subscription(subscription)

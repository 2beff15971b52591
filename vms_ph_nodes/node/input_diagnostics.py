# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Warnings about messages that a node cannot use, in the log and in its heartbeat."""

from weakref import WeakKeyDictionary

from rclpy.clock import Clock, ClockType
from rclpy.node import Node

from ..messages.conversions import NANOSECONDS

# Largest number of warnings per second, where every message has a different reason.
_LINES = 5

_refused: "WeakKeyDictionary[Node, tuple[int, str]]" = WeakKeyDictionary()


def refused_messages(node: Node) -> tuple[int, str]:
    """Return how many messages a node has refused, and why the last one."""
    return _refused.get(node, (0, ""))


class InputDiagnostics:
    """Logs why a message is ignored, each reason at most once a second, and counts them.

    Without this limit, repeated invalid commands would flood the log; the throttle of the logger
    would also suppress a different reason within the same second.
    """

    def __init__(self, node: Node) -> None:
        self._node = node
        self._steady = Clock(clock_type=ClockType.STEADY_TIME)
        self._reported: set[str] = set()
        self._when = 0

    def report(self, why: object, what: str = "ignored") -> None:
        """Warn about a message, at most once a second for the same reason.

        Args:
            why: the reason.
            what: what is done with the message.
        """
        text, now = f"{what}: {why}", self._steady.now().nanoseconds
        _refused[self._node] = (refused_messages(self._node)[0] + 1, text)
        if now - self._when >= NANOSECONDS:
            self._reported, self._when = set(), now
        if text not in self._reported and len(self._reported) < _LINES:
            self._reported.add(text)
            self._node.get_logger().warning(text)

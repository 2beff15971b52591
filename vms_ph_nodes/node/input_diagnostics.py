"""Warnings about messages that a node cannot use."""

from rclpy.clock import Clock, ClockType
from rclpy.node import Node

from ..messages.conversions import NANOSECONDS


class InputDiagnostics:
    """Logs why a message is ignored, each reason at most once a second.

    Without this limit, repeated invalid commands would flood the log; the throttle of the logger
    would also suppress a different reason within the same second.
    """

    def __init__(self, node: Node) -> None:
        self._node = node
        self._steady = Clock(clock_type=ClockType.STEADY_TIME)
        self._reported, self._when = "", 0

    def report(self, why: object) -> None:
        """Warn that a message is ignored, at most once a second for the same reason."""
        text, now = f"ignored: {why}", self._steady.now().nanoseconds
        if text != self._reported or now - self._when >= NANOSECONDS:
            self._reported, self._when = text, now
            self._node.get_logger().warning(text)

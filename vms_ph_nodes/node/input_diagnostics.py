"""What a node says of messages it cannot use."""

from rclpy.clock import Clock, ClockType
from rclpy.node import Node

from ..messages.conversions import NANOSECONDS


class InputDiagnostics:
    """Says why a message is ignored, but not the same again and again.

    A stream of bad commands would flood the log; the logger's own throttle would swallow a second
    kind of mistake that follows the first within the same second.
    """

    def __init__(self, node: Node) -> None:
        self._node = node
        self._steady = Clock(clock_type=ClockType.STEADY_TIME)
        self._said, self._when = "", 0

    def say(self, why: object) -> None:
        """Warn that a message is ignored, at most once a second for the same reason."""
        text, now = f"ignored: {why}", self._steady.now().nanoseconds
        if text != self._said or now - self._when >= NANOSECONDS:
            self._said, self._when = text, now
            self._node.get_logger().warning(text)

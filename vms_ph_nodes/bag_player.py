"""Plays a bag: publishes its messages unchanged at their recorded times, and bag time on /clock.

Messages recorded under earlier names of topics and fields are published under the present ones.
"""

from collections.abc import Iterator
from typing import Any

from rclpy.clock import Clock, ClockType
from rclpy.executors import ExternalShutdownException
from rclpy.node import Node
from rclpy.publisher import Publisher
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from rosgraph_msgs.msg import Clock as ClockMessage

from vms_ph_dynamics.errors import VmsPhError

from .messages.conversions import NANOSECONDS, to_stamp
from .messages.message_text import load_interface
from .node.health import OK, Health
from .node.parameters import declare
from .node.process import errors_in_one_sentence, run

with errors_in_one_sentence():
    from vms_ph_io.bag import (
        BagMessage,
        BagReader,
        PresentNames,
        bag_info,
        present_topic,
        present_type,
    )

# Period of the check for messages that are due, s; it bounds the delay of a message.
_TICK = 0.002

# Time to wait after the last message until reliable messages have been delivered, s.
_LINGER = 0.5


class BagPlayer(Node):
    """Publishes the messages of a bag, once or in a loop."""

    PARAMETERS = "bag_player"

    def __init__(self) -> None:
        """Open the bag.

        Raises:
            VmsPhError: no bag, no message to play, or a message type that is not installed.
        """
        super().__init__("bag_player")
        self._bag: str = declare(self, "bag")
        wanted: list[str] = declare(self, "topics")
        left_out: list[str] = declare(self, "exclude")
        self._rate: float = declare(self, "rate")
        self._loop: bool = declare(self, "loop")
        clock_rate: float = declare(self, "clock")
        delay: float = declare(self, "delay")
        self._offset: float = declare(self, "start_offset")
        found = bag_info(self._bag)
        topics = {t.topic.name for t in found.topics}
        chosen = {present_topic(name) for name in wanted if name} or {*map(present_topic, topics)}
        chosen -= {present_topic(name) for name in left_out}
        chosen -= {"/clock"} if clock_rate else set()
        self._names = {name for name in topics if present_topic(name) in chosen}
        played = [t for t in found.topics if t.topic.name in self._names and t.message_count]
        if not played or found.start_time is None:
            raise VmsPhError(
                f"{self._bag} contains no message to play; its topics are "
                f"{', '.join(sorted(topics)) or 'none'}"
            )
        self._out = {present_topic(t.topic.name): self._publisher_of(t.topic) for t in played}
        self._clock_out: Publisher | None = None
        self._clock_period = 0
        if clock_rate:
            self._clock_out = self.create_publisher(ClockMessage, "/clock", 10)
            self._clock_period = round(NANOSECONDS / clock_rate)
        self._first = found.start_time + round(self._offset * NANOSECONDS)
        self._health = Health(self)
        self._steady = Clock(clock_type=ClockType.STEADY_TIME)
        self._count, self._ended_at = 0, 0
        self._begin(self._steady.now().nanoseconds + round(delay * NANOSECONDS))
        self.create_timer(_TICK, self._tick, clock=self._steady)

    def destroy_node(self) -> None:
        """Announce the shutdown to the other nodes, then end."""
        self._health.announce_shutdown()
        super().destroy_node()

    def _begin(self, start: int) -> None:
        self._start, self._next_clock = start, self._first
        self._messages = self._from_offset()
        self._waiting = next(self._messages, None)

    def _from_offset(self) -> Iterator[BagMessage]:
        """Yield the messages after the start offset, and latched messages from before it."""
        present = PresentNames()
        for recorded in BagReader(self._bag).messages(self._names):
            message = present.translated(recorded)
            latched = self._out[message.topic].qos_profile.durability
            if message.log_time >= self._first or latched == DurabilityPolicy.TRANSIENT_LOCAL:
                yield message

    def _tick(self) -> None:
        now = self._steady.now().nanoseconds
        if self._ended_at:
            if now - self._ended_at > _LINGER * NANOSECONDS:
                raise ExternalShutdownException
            return
        passed = now - self._start
        if passed < 0:
            return
        due = self._first + round(passed * self._rate)
        while self._waiting is not None and self._waiting.log_time <= due:
            message = self._waiting
            self._publish_clock(message.log_time)
            self._out[message.topic].publish(message.data)
            self._count += 1
            self._waiting = next(self._messages, None)
        self._publish_clock(due)
        self._health.report(OK, "playing", {"messages": self._count, "bag": self._bag})
        if self._waiting is not None:
            return
        if self._loop:
            self._begin(now)
        else:
            self.get_logger().info(f"played {self._count} messages of {self._bag}")
            self._ended_at = now

    def _publish_clock(self, time: int) -> None:
        """Publish the clock up to a bag time; the clock never runs ahead of the next message."""
        while self._clock_out is not None and self._next_clock <= time:
            self._clock_out.publish(ClockMessage(clock=to_stamp(self._next_clock)))
            self._next_clock += self._clock_period

    def _publisher_of(self, topic: Any) -> Publisher:
        offered = topic.qos[0] if topic.qos else None
        latched = offered is not None and offered.durability == "transient_local"
        best_effort = offered is not None and offered.reliability == "best_effort"
        profile = QoSProfile(
            depth=max(1, offered.depth) if offered is not None else 10,
            durability=DurabilityPolicy.TRANSIENT_LOCAL if latched else DurabilityPolicy.VOLATILE,
            reliability=(
                ReliabilityPolicy.BEST_EFFORT if best_effort else ReliabilityPolicy.RELIABLE
            ),
        )
        kind = load_interface(present_type(topic.type), "msg")
        return self.create_publisher(kind, present_topic(topic.name), profile)


def main() -> None:
    """Run the node."""
    run(BagPlayer)


if __name__ == "__main__":
    main()

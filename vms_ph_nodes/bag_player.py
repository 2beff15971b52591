# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Plays a bag: publishes its messages unchanged at their recorded times, and bag time on /clock.

It can be paused, stepped message by message, and moved to another time, as the services say.

Messages recorded under earlier names of topics and fields are published under the present ones.
"""

from collections.abc import Iterator
from typing import Any

from rclpy.executors import ExternalShutdownException
from rclpy.publisher import Publisher
from rclpy.qos import DurabilityPolicy
from rosgraph_msgs.msg import Clock as ClockMessage
from std_srvs.srv import SetBool
from vms_ph.srv import SeekBag, StepBag

from vms_ph_dynamics import VmsPhError

from .messages.conversions import NS_PER_SEC, to_stamp
from .node.health import OK
from .node.parameters import declare
from .node.process import ReportingNode, errors_in_one_sentence, run
from .topics.interfaces import load_interface, qos_profile

with errors_in_one_sentence():
    from vms_ph_io.bag import (
        BagMessage,
        BagReader,
        PresentNames,
        bag_info,
        present_topic,
        present_type,
    )
    from vms_ph_io.bag import QosProfile as BagQos

# Period of the check for messages that are due, s; it bounds the delay of a message.
_TICK_PERIOD = 0.002

# Time to wait after the last message until reliable messages have been delivered, s.
_DELIVERY_TIME = 0.5

_MAX_STEP_MESSAGES = 100_000
"""Largest number of messages of a step: services must answer."""


class BagPlayer(ReportingNode):
    """Publishes the messages of a bag, once or in a loop."""

    PARAMETER_FILE = "bag_player"

    def __init__(self) -> None:
        """Open the bag.

        Raises:
            VmsPhError: no bag, no message to play, or a message type that is not installed.
        """
        super().__init__("bag_player")
        self._bag: str = declare(self, "bag")
        chosen_topics = [name for name in declare(self, "topics") if name]
        self._speed_ratio: float = declare(self, "rate")
        self._loop: bool = declare(self, "loop")
        clock_rate: float = declare(self, "clock")
        delay: float = declare(self, "delay")
        self._paused: bool = declare(self, "paused")
        bag = bag_info(self._bag)
        topics = {topic.topic.name for topic in bag.topics}
        selected_topics = set(map(present_topic, chosen_topics or topics))
        selected_topics -= {"/clock"} if clock_rate else set()
        self._played_topics = {name for name in topics if present_topic(name) in selected_topics}
        infos = [t for t in bag.topics if t.topic.name in self._played_topics and t.message_count]
        if not infos or bag.start_time is None:
            raise VmsPhError(
                f"{self._bag} contains no message to play; its topics are "
                f"{', '.join(sorted(topics)) or 'none'}"
            )
        self._senders = {present_topic(t.topic.name): self._publisher_for(t.topic) for t in infos}
        self._clock_publisher: Publisher | None = None
        if clock_rate:
            self._clock_publisher = self.create_publisher(ClockMessage, "/clock", 10)
            self._clock_period = round(NS_PER_SEC / clock_rate)
        self._time_bounds = bag.start_time, bag.end_time
        self.create_service(SetBool, "~/pause", self._on_pause)
        self.create_service(StepBag, "~/step", self._on_step)
        self.create_service(SeekBag, "~/seek", self._on_seek)
        self._played_count = 0
        self._begin(self._steady.now().nanoseconds + round(delay * NS_PER_SEC), bag.start_time)
        self.create_timer(_TICK_PERIOD, self._tick, clock=self._steady)

    def _begin(self, steady_time: int, bag_time: int) -> None:
        """Go on from a bag time, at a time of the steady clock."""
        self._bag_origin = self._bag_time = self._clock_time = bag_time
        self._steady_origin, self._finish_time = steady_time, 0
        self._messages = self._messages_from(bag_time)
        self._next_message = next(self._messages, None)

    def _messages_from(self, start_time: int) -> Iterator[BagMessage]:
        """Yield the messages from a bag time on, and latched messages from before it."""
        translator = PresentNames()
        for raw_message in BagReader(self._bag).messages(self._played_topics):
            message = translator.translate(raw_message)
            durability = self._senders[message.topic].qos_profile.durability
            if message.log_time >= start_time or durability == DurabilityPolicy.TRANSIENT_LOCAL:
                yield message

    def _tick(self) -> None:
        now = self._steady.now().nanoseconds
        if self._finish_time:
            if now - self._finish_time > _DELIVERY_TIME * NS_PER_SEC:
                raise ExternalShutdownException
            return
        if self._paused:
            self._report("paused")
            return
        duration = now - self._steady_origin
        if duration < 0:
            return
        due_time = min(self._bag_origin + round(duration * self._speed_ratio), self._time_bounds[1])
        while self._next_message is not None and self._next_message.log_time <= due_time:
            self._publish_next()
        self._publish_clock(due_time)
        self._bag_time = due_time
        self._report("playing")
        if self._next_message is not None:
            return
        if self._loop:
            self._begin(now, self._time_bounds[0])
        else:
            self.get_logger().info(f"played {self._played_count} messages of {self._bag}")
            self._finish_time = now

    def _report(self, activity: str) -> None:
        time = f"{self._elapsed_time():.3f}"
        values = {"messages": self._played_count, "bag": self._bag, "bag time (s)": time}
        self._health.report(OK, activity, values)

    def _elapsed_time(self) -> float:
        """Return the present time of the bag since its start, s."""
        return (self._bag_time - self._time_bounds[0]) / NS_PER_SEC

    def _publish_next(self) -> None:
        message = self._next_message
        self._publish_clock(message.log_time)
        self._senders[message.topic].publish(message.data)
        self._played_count += 1
        self._bag_time = max(self._bag_time, message.log_time)
        self._next_message = next(self._messages, None)

    def _on_pause(self, request: SetBool.Request, response: SetBool.Response) -> SetBool.Response:
        if self._paused and not request.data:
            self._bag_origin, self._steady_origin = self._bag_time, self._steady.now().nanoseconds
        self._paused = request.data
        response.success = True
        response.message = "paused" if self._paused else "playing"
        return response

    def _on_step(self, request: StepBag.Request, response: StepBag.Response) -> StepBag.Response:
        response.message = self._step_refusal(request.messages)
        if not response.message:
            for _ in range(request.messages):
                if self._next_message is None:
                    break
                self._publish_next()
            response.success = True
            end_note = ", the end of the bag" if self._next_message is None else ""
            response.message = f"at {self._elapsed_time():.6f} s{end_note}"
        response.stamp = to_stamp(self._bag_time)
        return response

    def _step_refusal(self, message_count: int) -> str:
        """Return why messages cannot be published now, or an empty string."""
        if not self._paused:
            return "the bag is playing; pause it before stepping"
        if not 1 <= message_count <= _MAX_STEP_MESSAGES:
            return f"messages must be from 1 to {_MAX_STEP_MESSAGES}; given: {message_count}"
        return "the bag is at its end; ~/seek goes back" if self._next_message is None else ""

    def _on_seek(self, request: SeekBag.Request, response: SeekBag.Response) -> SeekBag.Response:
        start, end = self._time_bounds
        duration = (end - start) / NS_PER_SEC
        if 0.0 <= request.time <= duration:
            self._begin(self._steady.now().nanoseconds, start + round(request.time * NS_PER_SEC))
            response.success = True
            response.message = f"at {request.time:.6f} s"
        else:
            response.message = f"time must be from 0 to {duration:.6f} s; given: {request.time:g}"
        response.stamp = to_stamp(self._bag_time)
        return response

    def _publish_clock(self, bag_time: int) -> None:
        """Publish the clock up to a bag time; the clock never runs ahead of the next message."""
        while self._clock_publisher is not None and self._clock_time <= bag_time:
            self._clock_publisher.publish(ClockMessage(clock=to_stamp(self._clock_time)))
            self._clock_time += self._clock_period

    def _publisher_for(self, topic: Any) -> Publisher:
        offered_qos = (*topic.qos, BagQos())[0]
        latched = offered_qos.durability == "transient_local"
        is_reliable = offered_qos.reliability != "best_effort"
        qos = qos_profile(max(1, offered_qos.depth), latched, is_reliable)
        message_type = load_interface(present_type(topic.type), "msg")
        return self.create_publisher(message_type, present_topic(topic.name), qos)


def main() -> None:
    """Run the node."""
    run(BagPlayer)

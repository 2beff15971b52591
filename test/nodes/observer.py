# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""A node in the process of the tests, which calls services and receives messages of others."""

import contextlib
import os
import time
from collections.abc import Callable, Iterator
from typing import Any

import rclpy
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node


@contextlib.contextmanager
def joined(number: int) -> Iterator[None]:
    """Join a DDS domain in this process."""
    before = dict(os.environ)
    for name in [n for n in os.environ if n.startswith(("ROS_", "CYCLONEDDS"))]:
        del os.environ[name]
    os.environ["ROS_DOMAIN_ID"] = str(number)
    rclpy.init(args=[])
    try:
        yield
    finally:
        rclpy.try_shutdown()
        os.environ.clear()
        os.environ.update(before)


class Observer:
    """A node beside those that a test starts; it does at once what a command takes a second for.

    Attributes:
        node: in this process, in the domain that it has joined.
    """

    def __init__(self, name: str = "observer") -> None:
        self.node = Node(name)
        self._clients: dict[str, Any] = {}
        self._executor = SingleThreadedExecutor()
        self._executor.add_node(self.node)

    def close(self) -> None:
        """Leave the domain."""
        self._executor.shutdown()
        self.node.destroy_node()

    def call(self, kind: type, service: str, request: Any, seconds: float = 20.0) -> Any:
        """Call a service and return its response."""
        future = self.ask(kind, service, request)
        self.until(future.done, f"{service} did not answer", seconds)
        return future.result()

    def ask(self, kind: type, service: str, request: Any) -> Any:
        """Call a service and return the future of its response."""
        if service not in self._clients:
            self._clients[service] = self.node.create_client(kind, service)
            assert self._clients[service].wait_for_service(20.0), service
        return self._clients[service].call_async(request)

    def take(
        self,
        kind: type,
        topic: str,
        fits: Callable[[Any], bool] = lambda message: True,
        seconds: float = 30.0,
    ) -> Any:
        """Return the next message of a topic that fits."""
        taken: list[Any] = []
        subscription = self.node.create_subscription(
            kind, topic, lambda m: taken.append(m) if fits(m) else None, 10
        )
        self.until(lambda: taken, f"no message of {topic} fits", seconds)
        self.node.destroy_subscription(subscription)
        return taken[0]

    def receive(self, kind: type, topic: str, number: int, seconds: float = 90.0) -> None:
        """Receive a number of messages."""
        taken: list[Any] = []
        subscription = self.node.create_subscription(kind, topic, taken.append, 100)
        self.until(lambda: len(taken) >= number, f"fewer than {number} of {topic}", seconds)
        self.node.destroy_subscription(subscription)

    def count(self, kind: type, topic: str, seconds: float) -> int:
        """Return how many messages a topic with a publisher has in a time, s."""
        taken: list[Any] = []
        subscription = self.node.create_subscription(kind, topic, taken.append, 100)
        self.until(lambda: self.node.count_publishers(topic), f"nobody publishes {topic}")
        self.spin(seconds)
        self.node.destroy_subscription(subscription)
        return len(taken)

    def rate(self, kind: type, topic: str, number: int = 200, stamped: bool = False) -> float:
        """Return the rate at which a number of messages arrive, or are stamped, 1/s."""
        times: list[float] = []
        subscription = self.node.create_subscription(
            kind,
            topic,
            lambda m: times.append(
                m.header.stamp.sec + 1e-9 * m.header.stamp.nanosec if stamped else time.monotonic()
            ),
            100,
        )
        self.until(lambda: len(times) > number, f"{topic} stands")
        self.node.destroy_subscription(subscription)
        return number / (times[number] - times[0])

    def spin(self, seconds: float) -> None:
        """Receive for a while."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self._executor.spin_once(timeout_sec=0.02)

    def until(self, holds: Callable[[], Any], what: str, seconds: float = 20.0) -> None:
        """Receive until something holds."""
        end = time.monotonic() + seconds
        while not holds():
            assert time.monotonic() < end, self._said(what)
            self._executor.spin_once(timeout_sec=0.02)

    def _said(self, what: str) -> str:
        return what

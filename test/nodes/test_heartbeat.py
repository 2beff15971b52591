# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Heartbeats of nodes that are busy, and of nodes that listen late."""

import threading
import time
from collections.abc import Callable, Iterator

import pytest
import rclpy
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node

from vms_ph_nodes.node import health
from vms_ph_nodes.node.health import TIMEOUT, TOPIC, Health, node_name


class Worker:
    """A node with a heartbeat, whose callbacks run in a thread and may be kept busy."""

    def __init__(self, context: rclpy.Context, name: str) -> None:
        self.node = Node(name, context=context, start_parameter_services=False)
        self.health = Health(self.node)
        self.busy_until = 0.0
        self._executor = SingleThreadedExecutor(context=context)
        self._executor.add_node(self.node)
        self._ended = False
        self._thread = threading.Thread(target=self._work)
        self._thread.start()

    def _work(self) -> None:
        while not self._ended:
            time.sleep(max(0.0, self.busy_until - time.monotonic()))
            self._executor.spin_once(timeout_sec=0.1)

    def keep_busy(self, seconds: float) -> None:
        self.busy_until = time.monotonic() + seconds

    def end(self) -> None:
        self._ended = True
        self._thread.join()
        self._executor.shutdown()
        self.health.announce_shutdown()
        self.node.destroy_node()


@pytest.fixture
def context() -> Iterator[rclpy.Context]:
    made = rclpy.Context()
    rclpy.init(context=made, args=["--ros-args", "--disable-rosout-logs"], domain_id=78)
    yield made
    rclpy.shutdown(context=made)


@pytest.fixture
def worker(context: rclpy.Context) -> Iterator[Callable[[str], Worker]]:
    made: list[Worker] = []

    def begin(name: str) -> Worker:
        made.append(Worker(context, name))
        return made[-1]

    yield begin
    for each in made:
        each.end()


def statuses(context: rclpy.Context, seconds: float) -> list[DiagnosticStatus]:
    """Return what the nodes publish for some time."""
    found: list[DiagnosticStatus] = []
    node = Node("listener", context=context, start_parameter_services=False)
    node.create_subscription(DiagnosticArray, TOPIC, lambda m: found.extend(m.status), 50)
    executor = SingleThreadedExecutor(context=context)
    executor.add_node(node)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        executor.spin_once(timeout_sec=0.05)
    node.destroy_node()
    return found


def test_a_busy_node_is_not_lost_and_says_when_it_does_not_respond(
    context: rclpy.Context,
    worker: Callable[[str], Worker],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(health, "BLOCKED", TIMEOUT + 0.5)
    busy, _ = worker("busy"), worker("another")
    assert {node_name(s) for s in statuses(context, 0.8)} == {"busy", "another"}
    busy.keep_busy(TIMEOUT + 1.5)
    found = [s for s in statuses(context, TIMEOUT + 1.5) if node_name(s) == "busy"]
    assert len(found) >= 6
    assert not [s.message for s in found if "lost" in s.message]
    errors = [s.message for s in found if s.level == DiagnosticStatus.ERROR]
    assert errors
    assert all(text.startswith("does not respond: its callbacks have not") for text in errors)
    assert [s.message for s in statuses(context, 0.8) if node_name(s) == "busy"][-1] == "running"


def test_a_node_that_was_busy_itself_reports_no_other_one(
    context: rclpy.Context, worker: Callable[[str], Worker]
) -> None:
    # The first by name is the one that reports.
    first, _ = worker("a_first"), worker("another")
    assert len({node_name(s) for s in statuses(context, 0.8)}) == 2
    first.keep_busy(TIMEOUT + 0.5)
    found = statuses(context, TIMEOUT + 1.5)
    assert not [s.message for s in found if "lost" in s.message]

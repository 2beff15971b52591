# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Heartbeats of nodes that are busy, and of nodes that listen late."""

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import rclpy
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node

from vms_ph_nodes.node import health, heartbeat
from vms_ph_nodes.node.health import DIAGNOSTICS, LOST_AFTER, Health, node_name
from vms_ph_nodes.node.heartbeat import UnexpectedErrors


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
    node.create_subscription(DiagnosticArray, DIAGNOSTICS, lambda m: found.extend(m.status), 50)
    executor = SingleThreadedExecutor(context=context)
    executor.add_node(node)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        executor.spin_once(timeout_sec=0.05)
    node.destroy_node()
    return found


def _beats(context: rclpy.Context, name: str, seconds: float = 0.8) -> list[DiagnosticStatus]:
    return [s for s in statuses(context, seconds) if node_name(s) == name]


def _tell(context: rclpy.Context, *heartbeats: dict[str, str]) -> None:
    """Publish heartbeats of another node, with these values."""
    node = Node("teller", context=context, start_parameter_services=False)
    publisher = node.create_publisher(DiagnosticArray, DIAGNOSTICS, 50)
    end = time.monotonic() + 5.0
    while publisher.get_subscription_count() == 0 and time.monotonic() < end:
        time.sleep(0.02)
    status = [
        DiagnosticStatus(
            name="x: vms_ph node", values=[KeyValue(key=k, value=v) for k, v in values.items()]
        )
        for values in heartbeats
    ]
    publisher.publish(DiagnosticArray(status=status))
    time.sleep(0.3)
    node.destroy_node()


def test_no_valid_heartbeat_ends_the_thread_of_another_one(
    context: rclpy.Context, worker: Callable[[str], Worker]
) -> None:
    worker("victim")
    ranks = ("\N{SUPERSCRIPT TWO}", "9" * 5000, "-0", "1e3", "", "\0")
    _tell(context, *({"robot": "x", "robot from": rank} for rank in ranks))
    found = _beats(context, "victim")
    assert len(found) >= 2
    assert found[-1].message == "running"


def test_an_error_in_the_heartbeat_is_contained_counted_and_told(
    context: rclpy.Context,
    worker: Callable[[str], Worker],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(heartbeat, "UNEXPECTED", errors := UnexpectedErrors())
    monkeypatch.setattr(health, "UNEXPECTED", errors)
    victim = worker("victim")

    def raise_it(*_: object) -> None:
        raise ZeroDivisionError("of a test")

    monkeypatch.setattr(victim.health._agreement, "update", raise_it)
    _tell(context, {"robot": "x"})
    found = _beats(context, "victim")
    values = {pair.key: pair.value for pair in found[-1].values}
    assert found[-1].level == DiagnosticStatus.WARN
    assert "running; 1 unexpected errors" in found[-1].message
    assert values["last"].startswith("the heartbeat: ZeroDivisionError: of a test (test_heartbeat")


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_thread_of_the_heartbeat_that_ends_begins_again(
    context: rclpy.Context,
    worker: Callable[[str], Worker],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(heartbeat, "UNEXPECTED", errors := UnexpectedErrors())
    victim = worker("victim")
    monkeypatch.setattr(victim.health._agreement, "update", lambda *_: sys.exit("of a test"))
    _tell(context, {"robot": "x"})
    end = time.monotonic() + 20.0
    while not errors.last and time.monotonic() < end:
        time.sleep(0.05)
    monkeypatch.undo()
    assert len(_beats(context, "victim")) >= 2
    assert errors.last.endswith("it has ended, and begins again")


def test_a_callback_or_thread_that_raises_ends_no_node_and_is_told(tmp_path: Path) -> None:
    script = tmp_path / "node.py"
    script.write_text(
        "import threading\n"
        "import vms_ph_nodes\n"
        "from vms_ph_nodes.node.process import ReportingNode, run\n"
        "class Raiser(ReportingNode):\n"
        "    def __init__(self):\n"
        "        super().__init__('raiser')\n"
        "        self.count = 0\n"
        "        self.create_timer(0.12, self.tick)\n"
        "        threading.Thread(target=lambda: [][1], name='helper').start()\n"
        "    def tick(self):\n"
        "        self.count += 1\n"
        "        if self.count == 12:\n"
        "            status = self._health._own_status(0, 0.0)\n"
        "            print('told', status.level, status.message, flush=True)\n"
        "            raise KeyboardInterrupt\n"
        "        raise TypeError('of a test')\n"
        "run(Raiser)\n"
    )
    environment = {**os.environ, "ROS_DOMAIN_ID": "79", "ROS_LOG_DIR": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, str(script)], env=environment, capture_output=True, text=True, timeout=60
    )
    told = "told b'\\x02' running; 12 unexpected errors; ended threads: helper"
    assert told in done.stdout, done.stdout + done.stderr
    assert "a callback: TypeError: of a test (node.py, line 16)" in done.stderr
    assert "the thread helper, which has ended: IndexError" in done.stderr
    assert done.returncode == 1


def test_a_busy_node_is_not_lost_and_says_when_it_does_not_respond(
    context: rclpy.Context,
    worker: Callable[[str], Worker],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(health, "BLOCKED_AFTER", LOST_AFTER + 0.5)
    busy, _ = worker("busy"), worker("another")
    assert {node_name(s) for s in statuses(context, 0.8)} == {"busy", "another"}
    busy.keep_busy(LOST_AFTER + 1.5)
    found = [s for s in statuses(context, LOST_AFTER + 1.5) if node_name(s) == "busy"]
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
    first.keep_busy(LOST_AFTER + 0.5)
    found = statuses(context, LOST_AFTER + 1.5)
    assert not [s.message for s in found if "lost" in s.message]

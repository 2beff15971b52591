# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The heartbeat of a node on /diagnostics, with rates and refused messages, and that of the others.

A killed process stays in DDS discovery for seconds, so discovery does not show that a node runs.
Each node therefore publishes a status four times a second. When one stops, the first (by name) of
the others publishes an error status with the name of the lost node until it publishes again. All
this takes place in a thread of its own, since the callbacks of a node may be late.
"""

import os
import socket
import time
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from weakref import WeakKeyDictionary

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from rclpy.clock import Clock, ClockType
from rclpy.node import Node

from vms_ph_dynamics import VMSModel, VmsPhError

from ..messages.conversions import NS_PER_SEC
from .agreement import OTHER, RobotAgreement
from .heartbeat import BEAT_PERIOD, UNEXPECTED, HeartbeatThread

# Number of samples in the frequency: two seconds of heartbeats.
_SAMPLE_COUNT = 8


class RateStatistics:
    """Counts events; computes their frequency and the time since the last one.

    Attributes:
        count: number of events.
    """

    def __init__(self) -> None:
        self.count = 0
        self._sample_times: deque[tuple[int, int]] = deque(maxlen=_SAMPLE_COUNT + 1)
        self._change_time = 0

    def tick(self) -> None:
        """Count one event."""
        self.count += 1

    def sample(self, now: int) -> tuple[float, float]:
        """Return the frequency (Hz) over the last samples, and the time since the last event (s).

        Args:
            now: time of a monotonic clock, ns.
        """
        if not self._sample_times or self._sample_times[-1][1] != self.count:
            self._change_time = now
        self._sample_times.append((now, self.count))
        first_time, first_count = self._sample_times[0]
        interval = (now - first_time) / NS_PER_SEC
        frequency = (self.count - first_count) / interval if interval > 0.0 else 0.0
        return frequency, (now - self._change_time) / NS_PER_SEC


# Largest number of warnings per second, where every message has a different reason.
_MAX_WARNINGS = 5

_refusals: "WeakKeyDictionary[Node, tuple[int, str]]" = WeakKeyDictionary()


def refused_messages(node: Node) -> tuple[int, str]:
    """Return how many messages a node has refused, and why the last one."""
    return _refusals.get(node, (0, ""))


class InputDiagnostics:
    """Logs why a message is ignored, each reason at most once a second, and counts them.

    Without this limit, repeated invalid commands would flood the log; the throttle of the logger
    would also suppress a different reason within the same second.
    """

    def __init__(self, node: Node) -> None:
        self._node = node
        self._reasons: set[str] = set()
        self._window_start = 0

    def report(self, reason: object, action: str = "ignored") -> None:
        """Warn about a message, at most once a second for the same reason.

        Args:
            reason: the reason.
            action: clause on what is done with the message.
        """
        text, now = f"{action}: {reason}", time.monotonic_ns()
        _refusals[self._node] = (refused_messages(self._node)[0] + 1, text)
        if now - self._window_start >= NS_PER_SEC:
            self._reasons, self._window_start = set(), now
        if text not in self._reasons and len(self._reasons) < _MAX_WARNINGS:
            self._reasons.add(text)
            self._node.get_logger().warning(text)

    @contextmanager
    def refusing(self, subject: str = "") -> Iterator[None]:
        """Report an error of the message that is handled within; ``subject`` begins the reason."""
        try:
            yield
        except VmsPhError as error:
            self.report(f"{subject}{error}")


LOST_AFTER = 1.5  # silence after which a node counts as lost, s; load delays heartbeats
BLOCKED_AFTER = 5.0  # time without callbacks after which a node says that it does not respond, s
INPUT_TIMEOUT = 2.0  # time without input after which a node warns, s
DIAGNOSTICS = "/diagnostics"

OK, WARN, ERROR = DiagnosticStatus.OK, DiagnosticStatus.WARN, DiagnosticStatus.ERROR

PAUSED = "paused"
"""Status of a simulator whose time stands still."""

SPEED_KEY = "real time factor"
"""Value of a simulator's status: the ratio of simulated to real time that it is to keep."""

NO_INPUT_START = "no "
"""Beginning of the message of a node whose input has stopped."""

# Largest number of other nodes whose heartbeats are supervised, and longest name of one: ROS 2
# allows 255 characters to a name with its namespace.
_MAX_NODES, _LONGEST_NAME = 100, 255

_NODE_SUFFIX = ": vms_ph node"
_SHUTDOWN_TEXT = "stopped"
_REPORTER_KEY = "reported by"
_NAMESAKE_TEXT = (
    "another {} runs in this DDS domain ({}), and both publish the same topics; set another "
    "ROS_DOMAIN_ID for one of them, or give it a namespace"
)


def node_name(status: DiagnosticStatus) -> str:
    """Return the node of this package that published a status, or an empty string."""
    name = status.name
    return name.removesuffix(_NODE_SUFFIX) if name.endswith(_NODE_SUFFIX) else ""


class Health:
    """Publishes the status of a node and supervises the heartbeats of the others."""

    def __init__(self, node: Node, input_name: str = "") -> None:
        """Start the heartbeat.

        Args:
            node: the node whose status is published.
            input_name: description of the node's input; a warning is published when it stops after
                the first :meth:`tick`.
        """
        self._node = node
        self._input_name = input_name
        self._cycle_rate = RateStatistics()
        self._name = node.get_fully_qualified_name().lstrip("/")
        self._own_report: tuple[bytes, str, dict[str, object]] = (OK, "running", {})
        self._agreement = RobotAgreement(self._name)
        self._own_process = f"{socket.gethostname()} process {os.getpid()}"
        self._namesake, self._namesake_time = "", 0
        self._clock = Clock(clock_type=ClockType.STEADY_TIME)
        self._last_beats: dict[str, int] = {}
        self._beat_time: int | None = None
        self._callback_ns: int | None = None
        node.create_timer(BEAT_PERIOD, self._note_callback, clock=self._clock)
        self._thread = HeartbeatThread(node)
        hidden_node, topic = self._thread.node, node.resolve_topic_name(DIAGNOSTICS)
        self._publisher = hidden_node.create_publisher(DiagnosticArray, topic, 10)
        hidden_node.create_subscription(DiagnosticArray, topic, self._on_diagnostics, 50)
        hidden_node.create_timer(BEAT_PERIOD, self._beat, clock=self._clock)

    def report(
        self, level: bytes, message: str, values: Mapping[str, object] | None = None
    ) -> None:
        """Set the status that the next heartbeats publish."""
        self._own_report = (level, message, dict(values or {}))

    def tick(self) -> None:
        """Count one cycle; the frequency of cycles is published in the heartbeats."""
        self._cycle_rate.tick()

    def declare_robot(self, model: VMSModel, rank: int = OTHER) -> None:
        """Publish the robot of this node, and compare it with those of other nodes.

        Args:
            model: its model.
            rank: SIMULATOR, CONTROLLER or OTHER of :mod:`.agreement`.
        """
        self._agreement.declare(model, rank)

    @property
    def disagreement(self) -> str:
        """Why this node must not answer: another one has another robot. Empty if none has."""
        return self._agreement.disagreement

    def announce_shutdown(self) -> None:
        """Publish the shutdown notice, so that the other nodes do not report this one as lost."""
        self._thread.end()
        self._publish([self._status(self._name, OK, _SHUTDOWN_TEXT)])
        self._thread.destroy()

    def _note_callback(self) -> None:
        """Note that the callbacks of the node run; the only one that does not run in the thread.

        The thread starts at the first call: a node whose construction fails has none to stop.
        """
        is_first, self._callback_ns = self._callback_ns is None, self._clock.now().nanoseconds
        if is_first:
            self._thread.start()
        else:
            self._thread.revive()

    def _beat(self) -> None:
        now = self._clock.now().nanoseconds
        statuses = [self._own_status(now, (now - self._callback_ns) / 1e9)]
        delay = 0 if self._beat_time is None else now - self._beat_time - int(2e9 * BEAT_PERIOD)
        self._beat_time = now
        if delay > 0:  # this node has not listened, which is no silence of the others
            self._last_beats = {name: beat + delay for name, beat in self._last_beats.items()}
        silences = {name: (now - last_beat) / 1e9 for name, last_beat in self._last_beats.items()}
        lost_nodes = {name: silence for name, silence in silences.items() if silence > LOST_AFTER}
        for name in lost_nodes:
            self._agreement.forget(name)
        if self._name == min([self._name, *(n for n in self._last_beats if n not in lost_nodes)]):
            for name, silence in lost_nodes.items():
                text = f"{name} is lost: no heartbeat for {silence:.1f} s"
                statuses.append(self._status(name, ERROR, text, {_REPORTER_KEY: self._name}))
        self._publish(statuses)

    def _own_status(self, now: int, silence: float) -> DiagnosticStatus:
        frequency, idle_time = self._cycle_rate.sample(now)
        level, message, values = self._own_report
        if silence > BLOCKED_AFTER:
            reason = f"does not respond: its callbacks have not run for {silence:.0f} s"
            return self._status(self._name, ERROR, reason, self._agreement.values())
        # The embedded runtime counts them; a real ROS 2 drops and logs them below rclpy.
        counts = [getattr(node, "_ros_undecoded", {}) for node in (self._node, self._thread.node)]
        if undecoded_count := sum(sum(by_topic.values()) for by_topic in counts):
            values = {**values, "messages that could not be decoded": undecoded_count}
        refused_count, reason = refused_messages(self._node)
        if refused_count:
            values = {**values, "messages refused": refused_count, "last one": reason}
        if UNEXPECTED.count:
            values = {**values, "unexpected errors": UNEXPECTED.count, "last": UNEXPECTED.last}
            level, message = max(level, WARN), f"{message}; {UNEXPECTED.count} unexpected errors"
        if UNEXPECTED.ended:
            level, message = ERROR, f"{message}; ended threads: {', '.join(UNEXPECTED.ended[:10])}"
        values = {**values, **self._agreement.values()}
        if reason := self.disagreement:
            return self._status(self._name, ERROR, reason, values)
        if self._namesake and now - self._namesake_time < LOST_AFTER * 1e9:
            values = {**values, "also runs in": self._namesake}
            if level < ERROR:
                level, message = WARN, _NAMESAKE_TEXT.format(self._name, self._namesake)
        if not self._cycle_rate.count:
            return self._status(self._name, level, message, values)
        if self._input_name and idle_time > INPUT_TIMEOUT:
            reason = f"; {message}" if level > OK else ""
            message = f"{NO_INPUT_START}{self._input_name} for {idle_time:.1f} s{reason}"
            level = max(level, WARN)
        values = {**values, "frequency (Hz)": f"{frequency:.1f}"}
        return self._status(self._name, level, message, values)

    def _on_diagnostics(self, message: DiagnosticArray) -> None:
        now = self._clock.now().nanoseconds
        for status in message.status:
            name = node_name(status)
            # A status about a lost node is not a heartbeat of that node.
            is_report = any(pair.key == _REPORTER_KEY for pair in status.values)
            if not 0 < len(name) <= _LONGEST_NAME or is_report:
                continue
            if name == self._name:
                self._check_namesake(status, now)
            elif status.message == _SHUTDOWN_TEXT:
                self._last_beats.pop(name, None)
                self._agreement.forget(name)
            elif name in self._last_beats or len(self._last_beats) < _MAX_NODES:
                # A flood of names must not fill the memory.
                self._last_beats[name] = now
                self._agreement.update(name, {pair.key: pair.value for pair in status.values})

    def _check_namesake(self, status: DiagnosticStatus, now: int) -> None:
        """Warn where another process runs a node of the same name."""
        other_process = status.hardware_id
        if other_process in ("", self._own_process) or status.message == _SHUTDOWN_TEXT:
            return
        if other_process != self._namesake and now - self._namesake_time > NS_PER_SEC:
            self._node.get_logger().warning(_NAMESAKE_TEXT.format(self._name, other_process))
        self._namesake, self._namesake_time = other_process, now

    def _status(
        self, name: str, level: bytes, message: str, values: Mapping[str, object] | None = None
    ) -> DiagnosticStatus:
        return DiagnosticStatus(
            name=name + _NODE_SUFFIX,
            level=level,
            message=message,
            values=[KeyValue(key=k, value=str(v)) for k, v in (values or {}).items()],
            hardware_id=self._own_process if name == self._name else "",
        )

    def _publish(self, statuses: list[DiagnosticStatus]) -> None:
        array = DiagnosticArray(status=statuses)
        array.header.stamp = self._node.get_clock().now().to_msg()
        self._publisher.publish(array)

# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""A launch of all nodes, and a node beside it that does to them what nobody should."""

import contextlib
import math
import os
import re
import signal
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import psutil
from cyclonedds.core import DDSException, Policy, Qos
from cyclonedds.util import duration
from diagnostic_msgs.msg import DiagnosticArray
from nodes.conftest import Program
from nodes.observer import Observer
from sensor_msgs.msg import JointState

from vms_ph_embedded.wire import names
from vms_ph_nodes.node.robot_parameters import LATCHED

NODES = (
    "simulator", "controller", "energy_monitor", "marker_publisher", "model_server", "web_viewer",
)  # fmt: skip

_RAW = Qos(
    Policy.Reliability.Reliable(duration(milliseconds=100)),
    Policy.History.KeepLast(10),
    Policy.DataRepresentation(use_cdrv0_representation=True),
)
_SUFFIX = ": vms_ph node"


class World(Observer):
    """All nodes of a robot in a domain, started by a launch.

    Attributes:
        launch: the launcher.
        node: a node in this process, on the same domain.
        status: last status of every node, with level and message.
    """

    def __init__(self, launch: Program) -> None:
        super().__init__("intruder")
        self.launch = launch
        self.status: dict[str, tuple[int, str]] = {}
        self._heard: dict[str, float] = {}
        self._states: deque[JointState] = deque(maxlen=200)
        self._publishers: dict[str, Any] = {}
        self._writers: dict[str, Any] = {}
        self.node.create_subscription(DiagnosticArray, "/diagnostics", self._listen, 100)
        self.node.create_subscription(
            JointState, "/joint_states", lambda m: self._states.append(m), 100
        )

    # What a fault may do.

    def publish(self, topic: str, message: Any) -> None:
        """Publish a message, as any program in the domain may."""
        if topic not in self._publishers:
            latched = topic in ("/robot_description", "/tf_static")
            publisher = self.node.create_publisher(type(message), topic, LATCHED if latched else 10)
            self._publishers[topic] = publisher
            self.until(lambda: publisher.get_subscription_count() > 0, f"nobody reads {topic}")
        self._publishers[topic].publish(message)

    def write(self, topic: str, kind: type, data: bytes) -> None:
        """Write bytes to a topic in place of a message."""
        if topic not in self._writers:
            typename = kind.__msgtype__  # type: ignore[attr-defined]
            writer = self.node._ros_participant.writer(names.topic(topic), typename, _RAW)
            self._writers[topic] = writer
            self.until(writer.matches, f"nobody reads {topic}")
        # Cyclone itself refuses to send what is too short for the type.
        with contextlib.suppress(DDSException):
            self._writers[topic].write(data)

    def pid(self, process: str) -> int:
        """Return the process id of the last start of a process."""
        return int(re.findall(rf"\[{process}-\d+\]: process started with pid \[(\d+)\]",
                              self.launch.output)[-1])  # fmt: skip

    def kill(self, process: str, number: signal.Signals = signal.SIGKILL) -> None:
        """Send a signal to a process."""
        os.kill(self.pid(process), number)

    # What is seen of the nodes.

    def await_life(self, seconds: float = 20.0) -> None:
        """Wait for a heartbeat of every node, and finite joint states, from now on."""
        self._heard.clear()
        self._states.clear()
        self.until(
            lambda: self._heard.keys() >= set(NODES) and len(self._states) > 3,
            f"no life from {sorted(set(NODES) - self._heard.keys()) or 'the robot'}",
            seconds,
        )
        for state in self._states:
            if len(state.position) == len(state.name) > 1 and state.name[0] == "panda_joint1":
                numbers = [*state.position, *state.velocity, *state.effort]
                assert all(map(math.isfinite, numbers)) or "intruder" in state.header.frame_id

    def heard_of(self, node: str) -> bool:
        """Whether a heartbeat of a node has come since the last call of :meth:`await_life`."""
        return node in self._heard

    def forget(self) -> None:
        """Forget all heartbeats so far."""
        self._heard.clear()

    def memory(self, *processes: str) -> int:
        """Return the resident memory of processes, bytes."""
        return sum(psutil.Process(self.pid(name)).memory_info().rss for name in processes)

    def _said(self, what: str) -> str:
        return f"{what}; output of the launch:\n{self.launch.output}"

    def _listen(self, message: DiagnosticArray) -> None:
        for status in message.status:
            if not status.name.endswith(_SUFFIX):
                continue
            name = status.name.removesuffix(_SUFFIX)
            self.status[name] = (status.level[0], status.message)
            if not any(pair.key == "reported by" for pair in status.values):
                self._heard[name] = time.monotonic()


@dataclass(frozen=True)
class Fault:
    """Something that goes wrong.

    Attributes:
        name: a sentence.
        act: does it.
        says: pattern of what the launch prints or a node reports then; empty for nothing.
    """

    name: str
    act: Callable[[World], None]
    says: str = ""

    def __str__(self) -> str:
        return self.name

# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Valid messages with hostile values on every topic that the nodes of a launch subscribe to."""

from __future__ import annotations

import random
import tempfile
import time
from functools import cache
from pathlib import Path
from typing import Any

import rclpy
from fuzz.surface import Surface
from rclpy.context import get_default_context
from rclpy.node import Node
from sensor_msgs.msg import JointState

from vms_ph_dynamics.errors import VmsPhError
from vms_ph_embedded.interfaces.fields import ListField, NumericSequenceField
from vms_ph_embedded.interfaces.messages import deserialize, serialize
from vms_ph_ephs.nodes.joint_heat import JointHeatNode
from vms_ph_nodes import closed_loop
from vms_ph_nodes.controller import ControllerNode
from vms_ph_nodes.energy_guard import EnergyGuardNode
from vms_ph_nodes.energy_monitor import EnergyMonitor
from vms_ph_nodes.force_observer import ForceObserver
from vms_ph_nodes.marker_publisher import MarkerPublisher
from vms_ph_nodes.messages.conversions import to_stamp
from vms_ph_nodes.messages.finite import is_finite
from vms_ph_nodes.model_server import ModelServer
from vms_ph_nodes.reference_marker import ReferenceMarker
from vms_ph_nodes.task_runner import TaskRunner

_NUMBERS = (
    0.0, -0.0, 1.0, -1.5, 1e-320, 1e-9, 1e3, 1e6, 1e9, 1.1e9, 1e30, 1e155, 1e300, -1e308,
    float("nan"), float("inf"), -float("inf"),
)  # fmt: skip
_TEXTS = (
    "", "\N{SUPERSCRIPT TWO}", "9" * 5000, "-0", "1e400", "nan", "abc", "\0", "\n", "%s%n",
    "a=b;c=d", "x" * 20_000, "<img src=x onerror=alert(1)>", "../../etc/passwd", "${HOME}",
    "\N{ZERO WIDTH SPACE}", "\N{RIGHT-TO-LEFT OVERRIDE}abc", "world", "odom", "robot",
    "robot from", "reported by", "stopped", "simulator: vms_ph node", "controller: vms_ph node",
    "x: vms_ph node", ": vms_ph node", "real time factor", "paused",
)  # fmt: skip

# What the robot acts on; a number on these that is not finite is a defect.
_ACTING = ("torque", "wrench_base", "joint_states", "odom", "tf")


_TASKS = {"panda": "arm_reach", "satellite_panda": "satellite_station"}


class _Domain:
    """The nodes of all launches with one robot, of which nothing is sent."""

    def __init__(self, robot: str) -> None:
        folder = Path(tempfile.mkdtemp(prefix="vms_ph_fuzz_"))
        words = [f"robot:={robot}", "identify.enabled:=false", "compensate_payload:=true"]
        words += [f"task:={_TASKS[robot]}", f"bag:={folder / 'bag'}", "native:=false"]
        args = ["--ros-args", "--disable-rosout-logs", "--log-level", "fatal"]
        for word in words:
            args += ["-p", word]
        rclpy.init(args=args, domain_id=75)
        kinds = (ControllerNode, EnergyGuardNode, EnergyMonitor, ForceObserver, MarkerPublisher,
                 ModelServer, JointHeatNode)  # fmt: skip
        self.nodes: list[Node] = [*closed_loop.make(), *(kind() for kind in kinds)]
        self.nodes += [*self._optional(ReferenceMarker), *self._optional(TaskRunner)]
        beside = [n._health._thread for n in self.nodes if getattr(n, "_health", None)]
        for thread in beside:
            thread.end()
        self.subscriptions = [
            subscription
            for node in (*self.nodes, *(thread.node for thread in beside))
            for subscription in node.subscriptions
            if not subscription.raw and not subscription.topic_name.endswith("robot_description")
        ]
        self.timers = [timer for node in self.nodes for timer in node.timers]
        for publisher in [p for node in self.nodes for p in node.publishers]:
            publisher.publish = _Sent(publisher.topic_name)
        model = self.nodes[0].model
        self.names = list(model.joint_names)
        self.home = model.joint_positions(self.nodes[0]._home).tolist()
        # The nodes keep their context; another domain may follow with arguments of its own.
        get_default_context(shutting_down=True)
        self.frames = ("", "world", "odom", self.nodes[1]._root, model.end_effector)

    def _optional(self, kind: Any) -> list[Node]:
        try:
            return [kind()]
        except VmsPhError:  # no RViz, or the robot has no such task
            return []


class _Sent:
    """Takes what a node publishes, and looks at what acts on a robot."""

    def __init__(self, topic: str) -> None:
        self._acts = topic.rpartition("/")[2] in _ACTING
        self._topic = topic

    def __call__(self, message: Any) -> None:
        assert not self._acts or is_finite(message), f"{self._topic}: {message}"[:500]


_domain = cache(_Domain)


def _plausible(rng: random.Random, domain: _Domain, kind: Any, depth: int = 4) -> Any:
    """Return a message as it may come."""
    message = kind()
    for field in kind.__fields__:
        value = getattr(message, field.name)
        if field.name == "stamp":
            value = to_stamp(time.time_ns() - rng.choice((0, 0, 10**6)))
        elif field.name in ("frame_id", "child_frame_id"):
            value = rng.choice(domain.frames)
        elif field.name == "w" and kind.__name__ == "Quaternion":
            value = 1.0
        elif hasattr(value, "__fields__"):
            value = _plausible(rng, domain, type(value), depth - 1)
        elif isinstance(field, ListField) and not field.is_array and depth > 0:
            make = field.element.python_type
            value = [
                _plausible(rng, domain, make, depth - 1) if hasattr(make, "__fields__") else make()
                for _ in range(rng.randrange(3))
            ]
        elif isinstance(value, float):
            value = rng.uniform(-0.1, 0.1) if kind.__name__ != "Quaternion" else 0.0
        setattr(message, field.name, value)
    if isinstance(message, JointState):
        _fill_joints(rng, domain, message)
    return message


def _fill_joints(rng: random.Random, domain: _Domain, message: JointState) -> None:
    names = domain.names
    if rng.random() < 0.3:
        names = rng.choice((names[:1], names[1:], names[::-1], [*names, "finger"], ["finger"]))
    at = dict(zip(domain.names, domain.home, strict=True))
    message.name = list(names)
    message.position = [at.get(name, 0.0) + rng.uniform(-1e-3, 1e-3) for name in names]
    message.velocity = [rng.uniform(-0.1, 0.1) for _ in names]
    message.effort = [rng.uniform(-5.0, 5.0) for _ in names]


def _spoil(rng: random.Random, message: Any) -> None:
    """Give one field of a message, or of one within it, a value that its type allows."""
    field = rng.choice(type(message).__fields__)
    value = getattr(message, field.name)
    if hasattr(value, "__fields__"):
        _spoil(rng, value)
        return
    if isinstance(field, ListField) and len(value):
        k = rng.randrange(len(value))
        if hasattr(value[k], "__fields__") and rng.random() < 0.8:
            _spoil(rng, value[k])
            return
    for _ in range(10):
        try:
            setattr(message, field.name, _hostile(rng, field, value))
            return
        except (AssertionError, ValueError, TypeError, OverflowError):
            continue  # no value of this type


def _hostile(rng: random.Random, field: Any, value: Any) -> Any:
    if isinstance(value, str):
        return rng.choice(_TEXTS)
    if isinstance(value, bool):
        return not value
    if isinstance(value, float):
        return rng.choice(_NUMBERS)
    if isinstance(value, int):
        return rng.choice((0, 1, -1, 127, 255, 10**9, 2**31 - 1, -(2**31), 2**32 - 1))
    if isinstance(value, bytes):
        return rng.choice((b"\0", b"\1", b"\2", b"\3", b"\xff"))
    items = list(value)
    how = rng.randrange(5)
    if how == 0 and not getattr(field, "is_array", False):
        return []
    if how == 1:
        return items + items
    if how == 2 and items:
        return items[:-1]
    if how == 3 and items:
        return items + items[:1]
    if isinstance(field, NumericSequenceField) or (items and isinstance(items[0], (float, str))):
        texts = bool(items) and isinstance(items[0], str)
        pool: tuple[Any, ...] = _TEXTS if texts else _NUMBERS
        k = rng.randrange(len(items) + 1)
        items[k : k + 1] = [rng.choice(pool)]
    return items


def _attempt_with(robot: str) -> Any:
    def attempt(data: bytes) -> None:
        rng, domain = random.Random(data), _domain(robot)
        subscription = rng.choice(domain.subscriptions)
        message = _plausible(rng, domain, subscription.msg_type)
        for _ in range(rng.choice((0, 1, 1, 1, 2, 5))):
            _spoil(rng, message)
        # What cannot be sent is no input.
        message = deserialize(serialize(message), subscription.msg_type)
        subscription.callback(message)
        if rng.random() < 0.05:
            rng.choice(domain.timers).callback()

    return attempt


def _seeds() -> list[bytes]:
    return [bytes([k]) * 16 for k in range(40)]


TOPICS = Surface(
    "topics", _attempt_with("panda"), _seeds, refusals=(), seconds=10.0, short=600, long=600_000
)
TOPICS_OF_A_BASE = Surface(
    "topics of a base", _attempt_with("satellite_panda"), _seeds, refusals=(), seconds=10.0,
    short=400, long=400_000,
)  # fmt: skip

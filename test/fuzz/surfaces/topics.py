# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Valid messages with hostile values on every topic that the nodes of a launch subscribe to."""

from __future__ import annotations

import random
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import rclpy
from fuzz.hostile import Robot, hostile
from fuzz.surface import Surface
from rclpy.context import get_default_context
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node

from vms_ph_dynamics import VmsPhError
from vms_ph_embedded.interfaces.messages import deserialize, serialize
from vms_ph_ephs.nodes.joint_heat import JointHeatNode
from vms_ph_nodes import closed_loop
from vms_ph_nodes.controller import ControllerNode
from vms_ph_nodes.energy_guard import EnergyGuardNode
from vms_ph_nodes.energy_monitor import EnergyMonitor
from vms_ph_nodes.force_observer import ForceObserver
from vms_ph_nodes.marker_publisher import MarkerPublisher
from vms_ph_nodes.messages.conversions import nonfinite_path
from vms_ph_nodes.model_server import ModelServer
from vms_ph_nodes.reference_marker import ReferenceMarker
from vms_ph_nodes.servo_guard import ServoGuardNode
from vms_ph_nodes.task_runner import TaskRunner

# What the robot acts on; a number on these that is not finite is a defect.
_ACTING = ("torque", "wrench_base", "joint_command", "joint_states", "odom", "tf")


# What the robots do: a payload and a second tool, and a mechanism and actuators, have topics.
_OF_ROBOT = {
    "panda": ("task:=arm_pick", "tools:=panda_link5"),
    "bluerov2_alpha5": ("task:=underwater_valve",),
}


class _Domain:
    """The nodes of all launches with one robot, of which nothing is sent."""

    def __init__(self, robot: str) -> None:
        folder = Path(tempfile.mkdtemp(prefix="vms_ph_fuzz_"))
        words = [f"robot:={robot}", *_OF_ROBOT[robot], "identify.enabled:=false"]
        words += ["compensate_payload:=true", f"bag:={folder / 'bag'}", "native:=false"]
        words += ["servo_guard:stiffness:=[100.0]"]
        args = ["--ros-args", "--disable-rosout-logs", "--log-level", "fatal"]
        for word in words:
            args += ["-p", word]
        rclpy.init(args=args, domain_id=75)
        kinds = (ControllerNode, EnergyGuardNode, EnergyMonitor, ForceObserver, MarkerPublisher,
                 ModelServer, JointHeatNode, ServoGuardNode)  # fmt: skip
        self.nodes: list[Node] = [*closed_loop.make(), *(kind() for kind in kinds)]
        self.nodes += [*self._optional(ReferenceMarker), *self._optional(TaskRunner)]
        executor = SingleThreadedExecutor()  # never spun: callbacks are called one by one
        for node in self.nodes:
            executor.add_node(node)
        self.executor = executor  # nodes do not keep it
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
        home = model.joint_positions(self.nodes[0]._home)
        # The nodes keep their context; another domain may follow with arguments of its own.
        get_default_context(shutting_down=True)
        frames = ("", "world", "odom", self.nodes[1]._frames.root, model.end_effector)
        self.robot = Robot(tuple(model.joint_names), tuple(home.tolist()), frames)

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
        assert not self._acts or not nonfinite_path(message), f"{self._topic}: {message}"[:500]


_domain = cache(_Domain)


def _attempt_with(robot: str) -> Any:
    def attempt(data: bytes) -> None:
        rng, domain = random.Random(data), _domain(robot)
        subscription = rng.choice(domain.subscriptions)
        message = hostile(rng, domain.robot, subscription.msg_type)
        # What cannot be sent is no input.
        message = deserialize(serialize(message), subscription.msg_type)
        subscription.callback(message)
        if rng.random() < 0.05:
            rng.choice(domain.timers).callback()

    return attempt


def _seeds() -> list[bytes]:
    return [bytes([k]) * 16 for k in range(40)]


TOPICS = Surface(
    "topics", _attempt_with("panda"), _seeds, refusals=(), seconds=10.0, short=600, long=200_000
)
TOPICS_OF_A_BASE = Surface(
    "topics of a base", _attempt_with("bluerov2_alpha5"), _seeds, refusals=(), seconds=10.0,
    short=400, long=120_000,
)  # fmt: skip

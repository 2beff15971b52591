# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""A node that guards, and the topics of a Panda and of a controller on both its sides."""

import time
from collections.abc import Callable

import rclpy
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile
from sensor_msgs.msg import JointState
from vms_ph.msg import EnergyCertificate

from vms_ph_dynamics import VMSModel
from vms_ph_io import robots
from vms_ph_nodes.messages.conversions import to_stamp
from vms_ph_nodes.topics.guard_node import GuardNode


class GuardSession:
    """Both in one process.

    Attributes:
        guard: the node.
        other: the node of robot and controller.
        model: the Panda.
        q: its configuration, in which it stays.
        certificates: those received.
    """

    def __init__(self, make: Callable[[], GuardNode], domain: int, *parameters: str) -> None:
        words = [word for each in ("robot:=panda", *parameters) for word in ("-p", each)]
        rclpy.init(args=["--ros-args", *words], domain_id=domain)
        self.guard, self.other = make(), Node("other")
        self.executor = SingleThreadedExecutor()
        for node in (self.guard, self.other):
            self.executor.add_node(node)
        self.certificates: list[EnergyCertificate] = []
        self._states = self.other.create_publisher(JointState, "joint_states", 10)
        latched = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
        topic = f"{self.guard.get_name()}/certificate"
        self.other.create_subscription(EnergyCertificate, topic, self.certificates.append, latched)
        known = robots.get("panda")
        self.model: VMSModel = known.load()
        self.q = self.model.configuration(known.home)

    def spin(self, seconds: float) -> None:
        """Handle what arrives for some time."""
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0.0:
            self.executor.spin_once(left)

    def publish_state(self, rate: float = 0.0) -> None:
        """Publish the joint states, with one velocity (rad/s) of all joints."""
        names = list(self.model.joint_names)
        message = JointState(name=names, position=self.q.tolist(), velocity=[rate] * 7)
        message.header.stamp = to_stamp(time.time_ns())
        self._states.publish(message)

    def close(self) -> None:
        """End both nodes."""
        self.executor.shutdown()
        self.guard.destroy_node()
        self.other.destroy_node()
        rclpy.shutdown()

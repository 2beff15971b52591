# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""What nodes do with a robot that the topic robot_description names, and names again."""

import time
from collections.abc import Iterator

import pytest
import rclpy
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from std_msgs.msg import String

from vms_ph_dynamics import VMSModel
from vms_ph_io import robots
from vms_ph_nodes.node.robot_parameters import LATCHED, RobotParameters

pytestmark = pytest.mark.wire


class Described:
    """A node that waits for a robot, and one that publishes descriptions."""

    def __init__(self) -> None:
        rclpy.init(domain_id=85)
        self.waiting, self.other = Node("waiting"), Node("other")
        self.executor = SingleThreadedExecutor()
        for node in (self.waiting, self.other):
            self.executor.add_node(node)
        self.models: list[VMSModel] = []
        self._publisher = self.other.create_publisher(String, "robot_description", LATCHED)

    def say(self, *names: str) -> list[str]:
        """Publish descriptions of robots; return the names of all models used so far."""
        for name in names:
            self._publisher.publish(String(data=robots.get(name).description()))
            end = time.monotonic() + 1.0
            while time.monotonic() < end:
                self.executor.spin_once(0.05)
        return [model.name for model in self.models]

    def close(self) -> None:
        self.executor.shutdown()
        self.waiting.destroy_node()
        self.other.destroy_node()
        rclpy.shutdown()


@pytest.fixture
def described() -> Iterator[Described]:
    made = Described()
    yield made
    made.close()


def test_a_node_begins_once_with_the_robot_that_it_is_told(described: Described) -> None:
    RobotParameters(described.waiting).when_known(described.models.append)
    assert described.say("panda", "panda", "hextilt", "panda") == ["panda"]


def test_a_node_that_can_takes_another_robot(described: Described) -> None:
    RobotParameters(described.waiting).when_known(described.models.append, takes_others=True)
    names = described.say("panda", "panda", "hextilt")
    assert names == ["panda", robots.load("hextilt").name]

# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""A ROS node beside the others: it warns while the robot has more than some kinetic energy.

Run ``./vms demo`` in one terminal and ``.venv/bin/python examples/12_ros_node.py`` in another; with
a ROS 2 that is sourced, plain ``python3`` does.
"""

import contextlib
import sys

import vms_ph_nodes  # noqa: F401  brings the embedded runtime where no ROS 2 is

import rclpy
from rclpy.executors import ExternalShutdownException
from rclpy.node import Node
from vms_ph.msg import Energy


class Watch(Node):
    """Subscribes to the energies that ``energy_monitor`` publishes."""

    def __init__(self, limit: float) -> None:
        super().__init__("watch")
        self.declare_parameter("limit", limit)  # J
        self.heard = 0
        self.create_subscription(Energy, "vms_ph/energy", self.judge, 10)

    def judge(self, energy: Energy) -> None:
        """Compare one message with the limit."""
        self.heard += 1
        limit = self.get_parameter("limit").value
        if energy.kinetic > limit:
            self.get_logger().warning(f"{energy.kinetic:.3f} J, above {limit} J")


def main(seconds: float = float("inf")) -> int:
    """Listen for some time; return the number of messages."""
    rclpy.init()
    node = Watch(limit=0.01)
    end = node.get_clock().now().nanoseconds * 1e-9 + seconds
    with contextlib.suppress(KeyboardInterrupt, ExternalShutdownException):  # Ctrl-C
        while rclpy.ok() and node.get_clock().now().nanoseconds * 1e-9 < end:
            rclpy.spin_once(node, timeout_sec=0.1)
    node.destroy_node()
    rclpy.try_shutdown()
    return node.heard


if __name__ == "__main__":
    print(main(*map(float, sys.argv[1:])), "messages")

# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Simulator and controller in one process; the controller is called at every integrator step."""

from rclpy.node import Node

from .controller import ControllerNode
from .node.process import run
from .simulator import Simulator


def make() -> list[Node]:
    """Return both nodes, connected."""
    simulator = Simulator()
    controller = ControllerNode(simulator.model)
    simulator.close_loop(controller)
    controller.begin()
    simulator.begin()
    return [simulator, controller]


def main() -> None:
    """Run both nodes."""
    run(make)

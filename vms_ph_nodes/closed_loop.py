"""Simulator and controller in one process, so that the loop closes at every integrator step."""

from rclpy.node import Node

from .controller import ControllerNode
from .node.process import run
from .simulator import Simulator


def make() -> list[Node]:
    """Return both nodes, the loop between them closed."""
    simulator = Simulator()
    controller = ControllerNode(simulator.model)
    simulator.close_loop(controller)
    controller.begin()
    simulator.begin()
    return [simulator, controller]


def main() -> None:
    """Run both nodes."""
    run(make)


if __name__ == "__main__":
    main()

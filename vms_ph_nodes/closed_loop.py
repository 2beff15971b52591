# Copyright 2026 The vms_ph authors
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.

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


if __name__ == "__main__":
    main()

# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Integers for parameters that are numbers, as command lines and files write them."""

import math

import rclpy
from rclpy.node import Node
from rclpy.parameter import Parameter

from vms_ph_controllers import TaskSpaceIDAPBC
from vms_ph_io import robots
from vms_ph_nodes.node.parameters import declare, declare_gains


class Declaring(Node):
    """Declares the gains of a law and a parameter of the simulator."""

    PARAMETER_FILE = "simulator"

    def __init__(self, context: rclpy.Context) -> None:
        super().__init__("controller", context=context, start_parameter_services=False)
        self.controller = TaskSpaceIDAPBC(robots.load("panda"))
        declare_gains(self, lambda: self.controller)
        self.rate = declare(self, "rate")


def test_an_integer_is_taken_for_a_number_and_nothing_else_is() -> None:
    context = rclpy.Context()
    given = ("stiffness:=40", "rate:=50")
    words = [word for value in given for word in ("-p", value)]
    rclpy.init(context=context, args=["--ros-args", "--disable-rosout-logs", *words], domain_id=77)
    try:
        node = Declaring(context)
        assert node.controller.gains.stiffness == 40.0
        assert isinstance(node.rate, float)
        assert node.rate == 50.0

        def succeeds(name: str, value: object) -> bool:
            return bool(node.set_parameters([Parameter(name, value=value)])[0].successful)

        assert succeeds("stiffness", 100)
        assert node.controller.gains.stiffness == 100.0
        assert isinstance(node.controller.gains.stiffness, float)
        assert not succeeds("stiffness", -1)
        assert not succeeds("stiffness", "soft")
        assert not succeeds("stiffness", math.nan)
        assert not succeeds("stiffness", True)
        node.destroy_node()
    finally:
        rclpy.shutdown(context=context)

# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""A simulated robot that no controller commands, not yet or no more, is held and braked."""

import time

import numpy as np
import pytest
import rclpy
from geometry_msgs.msg import WrenchStamped
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from sensor_msgs.msg import JointState

from vms_ph_nodes.simulator import Simulator

pytestmark = pytest.mark.wire


@pytest.mark.parametrize("name", ["panda", "hextilt"])
def test_a_robot_is_held_before_its_controller_begins_and_after_it_has_ended(name: str) -> None:
    parameters = [f"robot:={name}", "command_timeout:=0.1", "joint_friction:=false"]
    arguments = [part for each in parameters for part in ("-p", each)]
    rclpy.init(args=["--ros-args", *arguments], domain_id=79)
    simulator, driver = Simulator(), Node("driver")
    simulator.begin()
    executor = SingleThreadedExecutor()
    executor.add_node(simulator)
    executor.add_node(driver)
    torques = driver.create_publisher(JointState, "simulator/torque", 10)
    wrenches = driver.create_publisher(WrenchStamped, "simulator/wrench_base", 10)

    def spin(seconds: float) -> None:
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0.0:
            executor.spin_once(left)

    def speed() -> float:
        return float(np.abs(simulator.simulation.sample().v).max())

    try:
        names = list(simulator.model.joint_names)
        end = time.monotonic() + 30.0
        while simulator.simulation.time < 0.3 and time.monotonic() < end:
            spin(0.1)
        assert simulator.simulation.time >= 0.3
        assert speed() < 1e-3
        while speed() < 0.05:
            wrenches.publish(WrenchStamped())
            torques.publish(JointState(name=names, effort=[0.0] * len(names)))
            spin(0.01)
        end = time.monotonic() + 20.0
        while speed() > 0.02 and time.monotonic() < end:
            spin(0.1)
        assert speed() < 0.02
    finally:
        executor.shutdown()
        simulator.destroy_node()
        driver.destroy_node()
        rclpy.shutdown()

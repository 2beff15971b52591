# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The controller node carries the payload that an observer has found."""

import time

import numpy as np
import pytest
import rclpy
from geometry_msgs.msg import Point, Vector3
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from vms_ph.msg import Payload

from vms_ph_io import robots
from vms_ph_nodes.controller import ControllerNode

pytestmark = pytest.mark.wire


def test_the_weight_of_an_observed_payload_is_added_to_the_efforts_of_a_law() -> None:
    arguments = ["-p", "controller:=CartesianImpedance", "-p", "compensate_payload:=true"]
    rclpy.init(args=["--ros-args", *arguments], domain_id=83)
    known = robots.get("panda")
    model = known.load()
    node, other = ControllerNode(model), Node("observer")
    executor = SingleThreadedExecutor()
    executor.add_node(node)
    executor.add_node(other)
    try:
        node.begin()
        found = other.create_publisher(Payload, "vms_ph/payload", 10)
        q, v = model.configuration(known.home), np.zeros(7)
        alone = np.array(node.control(q, v, 0.01).torque)
        spread = Vector3(x=0.01, y=0.01, z=0.01)
        told = Payload(mass=1.0, mass_deviation=0.02, centre_deviation=spread)
        told.centre_of_mass = Point(x=0.0, y=0.0, z=0.05)
        until = time.monotonic() + 20.0
        while not node.controller.mass and time.monotonic() < until:
            found.publish(told)
            executor.spin_once(0.05)
            node.control(q, v, 0.01)
        for _ in range(100):
            loaded = node.control(q, v, 0.01).torque
        d = model.evaluate(q, v)
        up = d.placement(model.end_effector)[:3, :3].T @ np.array([0.0, 0.0, 9.81])
        weight = np.concatenate([up, np.cross([0.0, 0.0, 0.05], up)])
        np.testing.assert_allclose(loaded - alone, d.J_end_effector.T @ weight, atol=1e-6)
    finally:
        executor.shutdown()
        node.destroy_node()
        other.destroy_node()
        rclpy.shutdown()

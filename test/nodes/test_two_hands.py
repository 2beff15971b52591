# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Wrenches at both hands of a robot: topics, power ports and energy balance."""

import pytest
from geometry_msgs.msg import Vector3, Wrench, WrenchStamped
from std_msgs.msg import Header
from vms_ph.msg import Power

from .conftest import Start
from .observer import Observer, joined


@pytest.mark.wire
def test_pushes_at_both_hands_are_accounted_by_name(start: Start, domain: int) -> None:
    start("launch", "baxter", "tools:=left_gripper", "markers:=false", "rate:=50.0")
    with joined(domain):
        observer = Observer()
        topics = {
            "simulator/wrench_end_effector": Vector3(y=8.0),
            "simulator/wrench/left_gripper": Vector3(z=12.0),
        }
        publishers = {
            topic: observer.node.create_publisher(WrenchStamped, topic, 10) for topic in topics
        }
        last: list[Power] = []
        observer.node.create_subscription(Power, "vms_ph/power", last.append, 10)

        def moved() -> bool:
            for topic, force in topics.items():
                message = WrenchStamped(header=Header(frame_id="world"), wrench=Wrench(force=force))
                publishers[topic].publish(message)
            if not last:
                return False
            power = last[-1]
            there = power.tool_names == ["left_gripper"] and abs(power.tool_energy[0]) > 0.01
            return there and abs(power.wrench_end_effector_energy) > 0.01

        observer.until(moved, "no energy crosses the hands", 60.0)
        seen = observer.take(WrenchStamped, "vms_ph/wrench/left_gripper")
        observer.close()
    power = last[-1]
    assert seen.header.frame_id == "left_gripper"
    assert power.exact_energies
    assert abs(power.unaccounted_energy) < 1e-10

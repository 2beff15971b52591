# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""A robot in a scene: the same topics, contact as a port of its own, and the scene's markers."""

import time

import pytest
import rclpy
from geometry_msgs.msg import WrenchStamped
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from visualization_msgs.msg import Marker, MarkerArray
from vms_ph.msg import Power

from vms_ph_nodes.energy_monitor import EnergyMonitor
from vms_ph_nodes.node.robot_parameters import LATCHED
from vms_ph_nodes.simulator import Simulator

from .conftest import Start


@pytest.mark.wire
def test_a_robot_that_falls_on_the_ground_shows_what_the_ground_takes() -> None:
    pytest.importorskip("mujoco")
    parameters = ["robot:=panda", "engine:=mujoco", "scene:=ground", "brakes:=false"]
    arguments = [part for each in parameters for part in ("-p", each)]
    rclpy.init(args=["--ros-args", *arguments], domain_id=83)
    simulator, monitor, observer = Simulator(), EnergyMonitor(), Node("observer")
    simulator.begin()
    executor = SingleThreadedExecutor()
    for node in (simulator, monitor, observer):
        executor.add_node(node)
    powers: list[Power] = []
    scenes: list[MarkerArray] = []
    contacts: list[WrenchStamped] = []
    observer.create_subscription(Power, "vms_ph/power", powers.append, 10)
    observer.create_subscription(MarkerArray, "vms_ph/scene", scenes.append, LATCHED)
    observer.create_subscription(WrenchStamped, "vms_ph/contact_wrench", contacts.append, 10)

    def energies() -> dict[str, float]:
        last = powers[-1] if powers else Power()
        return dict(zip(last.tool_names, last.tool_energy, strict=True))

    def pushed() -> bool:
        forces = (message.wrench.force for message in contacts)
        return any(max(abs(f.x), abs(f.y), abs(f.z)) > 1.0 for f in forces)

    try:
        end = time.monotonic() + 60.0
        while time.monotonic() < end and not (pushed() and energies().get("contact", 0.0) < -1.0):
            executor.spin_once(0.1)
        assert energies()["contact"] < -1.0
        assert set(energies()) == {"contact", "joint_stops"}
        assert powers[-1].exact_energies
        assert pushed()
        assert contacts[-1].header.frame_id == "panda_link8"
        (scene,) = scenes  # nothing of it moves: it is drawn once, for all who come later
        drawn = {marker.ns: marker for marker in scene.markers}
        assert drawn["ground"].type == Marker.CUBE
        assert drawn["ground"].header.frame_id == "panda_link0"
        assert drawn["tool"].header.frame_id == "panda_link8"
        (values,) = [simulator._diagnostics()]
        assert "energy from MuJoCo's step errors (J)" in values
    finally:
        executor.shutdown()
        for node in (simulator, monitor, observer):
            node.destroy_node()
        rclpy.shutdown()


@pytest.mark.parametrize(
    ("parameters", "said"),
    [
        (("scene:=wall",), "set engine:=mujoco"),
        (("engine:=mujoco", "robot:=bluerov2_alpha5"), "does not simulate the fluid around"),
    ],
)
def test_an_engine_that_cannot_is_answered_in_one_line(
    parameters: tuple[str, ...], said: str, start: Start
) -> None:
    if "engine:=mujoco" in parameters:
        pytest.importorskip("mujoco")
    words = [part for each in ("robot:=panda", *parameters) for part in ("-p", each)]
    program = start("run", "simulator", "--ros-args", *words)
    assert program.wait(60) == 1
    assert said in program.output
    assert "Traceback" not in program.output

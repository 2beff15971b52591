# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The MJCF of a robot in a scene, for the MuJoCo hardware of ros2_control."""

import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import mujoco
import numpy as np
import pytest

from vms_ph_dynamics import ModelError, Ports, StandardForm
from vms_ph_dynamics.simulation import Simulation
from vms_ph_dynamics.simulation.contact import MujocoEngine
from vms_ph_io.descriptions.robot_shapes import robot_shapes
from vms_ph_io.robots.robot_settings import RobotSettings
from vms_ph_io.settings import scenes
from vms_ph_nodes.describe import describe
from vms_ph_nodes.scene_model import main, scene_model

HARDWARE = Path(__file__).parents[2] / "urdf/mujoco_hardware.xacro"


def test_the_mjcf_moves_as_the_engine_with_the_same_torques() -> None:
    loaded = mujoco.MjModel.from_xml_string(scene_model("panda", "wall"))
    data = mujoco.MjData(loaded)
    mujoco.mj_resetDataKeyframe(loaded, data, 0)
    file = scenes.load("wall")
    assert file.task is not None
    words = " ".join(f"{k}={v!r}" for k, v in file.task.initial_positions.items())
    settings = RobotSettings("panda", initial_positions=words)
    description = settings.description()
    model = settings.model(description)
    q = settings.initial_configuration(model)
    assert data.qpos == pytest.approx(q)
    assert [loaded.actuator(i).name for i in range(loaded.nu)] == list(model.joint_names)
    shapes = robot_shapes(model, description)
    ours = Simulation(
        StandardForm(model),
        q,
        1e-3,
        friction=True,
        joint_stops=True,
        engine=MujocoEngine(file.scene, shapes),
    )
    # Pushed into the wall.
    d = model.evaluate(q, np.zeros(model.nv))
    pushing = Ports(d.g + d.J_end_effector.T @ np.array([0.0, 0.0, 15.0, 0.0, 0.0, 0.0]))
    ours.apply(pushing)
    ours.advance(200, pushing)
    data.ctrl[:] = pushing.torque
    mujoco.mj_step(loaded, data, 200)
    assert ours.sample().port_energy["contact"] < -1e-3
    # The file has six digits of each number.
    assert data.qpos == pytest.approx(ours.sample().q, abs=2e-5)


def test_a_moving_base_is_refused() -> None:
    with pytest.raises(ModelError, match="has a floating base, which motors of joints cannot move"):
        scene_model("hextilt", "drone_wall")


def test_the_tag_of_the_hardware_has_the_model_and_every_joint() -> None:
    told = {"mujoco_model": "/some/scene.xml", "headless": "true"}
    root = ET.fromstring(describe("panda", str(HARDWARE), arguments=told))
    (tag,) = root.findall("ros2_control")
    assert tag.findtext("hardware/plugin") == "mujoco_ros2_control/MujocoSystemInterface"
    found = {item.get("name"): item.text for item in tag.findall("hardware/param")}
    assert found["mujoco_model"] == "/some/scene.xml"
    assert found["headless"] == "true"
    joints = [joint.get("name") for joint in tag.findall("joint")]
    assert joints == list(RobotSettings("panda").model(describe("panda")).joint_names)


def test_an_unknown_scene_ends_the_command_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["scene_model", "panda", "--scene", "moon"])
    with pytest.raises(SystemExit, match="scene_model: there is no scene 'moon'; there are box"):
        main()

# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The descriptions and configurations that come for ros2_control."""

import re
import xml.etree.ElementTree as ET
from functools import cache
from pathlib import Path

import pytest
import yaml

from vms_ph_dynamics import VMSModel, VmsPhError
from vms_ph_dynamics.robot.kinematic_tree import LinkTree
from vms_ph_io import robots
from vms_ph_io.robots.robot_settings import RobotSettings
from vms_ph_io.tasks import robot_tasks
from vms_ph_nodes.describe import describe
from vms_ph_nodes.node.agreement import identity

ROOT = Path(__file__).parents[2]
simulated = cache(lambda name: describe(name, "simulated"))
TAGS = sorted(p.name.split(".")[0] for p in (ROOT / "urdf").glob("*.ros2_control.xacro"))
ROBOTS = [name for name in TAGS if name in robots.names()]
PLUGINS = {
    str(item.get("name"))
    for file in (ROOT / "ros2_control").glob("*_plugins.xml")
    for item in ET.parse(file).getroot().iter("class")
}


@pytest.mark.parametrize("name", ROBOTS)
def test_the_tag_has_every_joint_of_the_robot_at_its_home(name: str) -> None:
    robot = robots.get(name)
    root = ET.fromstring(simulated(name))
    (tag,) = root.findall("ros2_control")
    assert tag.findtext("hardware/plugin") in PLUGINS
    joints = {str(joint.get("name")): joint for joint in tag.findall("joint")}
    assert set(joints) == set(robot.load().joint_names)
    for joint_name, joint in joints.items():
        home = joint.findtext("state_interface[@name='position']/param[@name='initial_value']")
        assert float(str(home)) == robot.home.get(joint_name, 0.0)
    parameters = {p.get("name"): p.text for p in tag.findall("hardware/param")}
    assert parameters["base"] == robot.base
    assert parameters["end_effector"] == robot.end_effector


@pytest.mark.parametrize("name", ROBOTS)
def test_a_moving_base_has_its_motion_as_states_and_its_wrench_as_commands(name: str) -> None:
    base = ET.fromstring(simulated(name)).find("ros2_control/gpio[@name='base']")
    kind = robots.get(name).base
    if kind == "fixed":
        assert base is None
        return
    assert base is not None
    assert len(base.findall("state_interface")) == 13
    assert len(base.findall("command_interface")) == (3 if kind == "planar" else 6)


@pytest.mark.parametrize("name", ROBOTS)
@pytest.mark.parametrize(
    ("gpio", "arrays"),
    [("clock", ["kStampNames"]), ("port_energy", ["kPortEnergyNames", "kActuatorEnergyNames"])],
)
def test_clock_and_port_energies_have_the_interfaces_that_the_plugins_write(
    name: str, gpio: str, arrays: list[str]
) -> None:
    source = (ROOT / "ros2_control/src/interface_names.hpp").read_text()
    declared = "".join(re.findall(rf"(?:{'|'.join(arrays)}){{([^}}]*)}}", source))
    described = ET.fromstring(simulated(name)).findall(
        f"ros2_control/gpio[@name='{gpio}']/state_interface"
    )
    assert [item.get("name") for item in described] == re.findall(r'"([^"]+)"', declared)


@pytest.mark.parametrize("name", ROBOTS)
def test_the_controllers_of_a_robot_are_for_its_base_and_end_effector(name: str) -> None:
    robot = robots.get(name)
    # The wildcard is for any namespace.
    content = {
        key.removeprefix("/**/"): value
        for key, value in yaml.safe_load(
            (ROOT / f"config/{name}_controllers.yaml").read_text()
        ).items()
    }
    manager = content.pop("controller_manager")["ros__parameters"]
    types = {k: v["type"] for k, v in manager.items() if isinstance(v, dict)}
    assert set(content) <= set(types)
    for controller, kind in types.items():
        if not kind.startswith("vms_ph/"):
            continue
        assert kind in PLUGINS
        parameters = content[controller]["ros__parameters"]
        assert parameters.get("base", "fixed") == robot.base
        assert parameters["stamp"] == "clock"
        if kind != "vms_ph/RobotBroadcaster":
            assert parameters["end_effector"] == robot.end_effector


@pytest.mark.parametrize("name", ROBOTS)
def test_trajectories_command_all_joints_of_the_robot_or_of_a_law_for_it(name: str) -> None:
    joints = list(robots.load(name).joint_names)
    content = yaml.safe_load((ROOT / f"config/{name}_controllers.yaml").read_text())
    types = content["/**/controller_manager"]["ros__parameters"]
    assert content["/**/joint_trajectory_controller"]["ros__parameters"]["joints"] == joints
    if robots.get(name).base == "fixed":  # whose laws have no joint references
        assert "/**/chained_trajectory_controller" not in content
        return
    chained = content["/**/chained_trajectory_controller"]["ros__parameters"]
    assert chained["joints"] == joints
    (law,) = {command.partition("/")[0] for command in chained["command_joints"]}
    assert types[law]["type"] == "vms_ph/DecoupledVMSController"
    assert chained["command_joints"] == [f"{law}/{joint}" for joint in joints]


def arguments_of(launch: str) -> dict[str, str]:
    root = ET.parse(ROOT / f"launch/{launch}.launch.xml").getroot()
    return {str(arg.get("name")): str(arg.get("default")) for arg in root.findall("arg")}


def test_a_robot_on_wheels_is_that_of_its_task_with_the_same_wheels_everywhere() -> None:
    given, task = arguments_of("tiago_ros2_control"), robot_tasks.load("wheels_drive")
    assert given["robot"] == task.robot
    locked = given["locked_joints"].split()
    assert set(locked) == set(task.locked_joints)
    root = ET.fromstring(describe(given["robot"], "simulated", locked_joints=locked))
    fixed = {joint.get("name") for joint in root.findall("joint") if joint.get("type") == "fixed"}
    assert set(locked) <= fixed
    (tag,) = root.findall("ros2_control")
    homes = {
        str(joint.get("name")): float(
            joint.findtext("state_interface/param[@name='initial_value']", "nan")
        )
        for joint in tag.findall("joint")
    }
    assert homes == {**dict.fromkeys(task.wheels, 0.0), **task.initial_positions}
    base = tag.find("gpio[@name='base']")
    assert base is not None
    assert len(base.findall("state_interface")) == 13
    assert not base.findall("command_interface")
    wheels = tag.findtext("hardware/param[@name='wheels']")
    assert wheels == " ".join(f"{name}={radius}" for name, radius in task.wheels.items())
    content = yaml.safe_load((ROOT / "config/tiago_controllers.yaml").read_text())
    for law in ("differential_drive", "wheeled_impedance"):
        parameters = content[f"/**/{law}"]["ros__parameters"]
        assert parameters["wheels"] == wheels
        assert (parameters["base"], parameters["end_effector"]) == (task.base, task.end_effector)
    gains = content["/**/differential_drive"]["ros__parameters"]
    assert task.gains.items() <= gains.items()
    moved = content["/**/joint_trajectory_controller"]["ros__parameters"]["joints"]
    assert moved == [name for name in homes if name not in task.wheels]
    # The other nodes have the robot of the plugins.
    nodes = yaml.safe_load((ROOT / "config/tiago.yaml").read_text())["/**"]["ros__parameters"]
    settings = RobotSettings(robot=given["robot"], **nodes)
    model = settings.model(settings.description())
    of_plugins = VMSModel.from_urdf(
        ET.tostring(root, encoding="unicode"), "planar", task.end_effector, inertia="as_given"
    )
    assert set(model.joint_names) == set(homes)
    assert identity(model) == identity(of_plugins)


def test_a_joint_to_be_locked_that_there_is_not_is_named() -> None:
    with pytest.raises(VmsPhError, match="'panda_joint9' to be locked is not in panda"):
        describe("panda", "simulated", locked_joints=["panda_joint9"])


def test_a_joint_that_mimics_a_locked_one_is_locked_with_it(tmp_path: Path) -> None:
    hand, file = robots.get("panda").path(), tmp_path / "panda.urdf"
    text = describe(str(hand), "franka_fer", locked_joints=["panda_finger_joint1"])
    assert list(VMSModel.from_urdf(text).joint_names) == list(robots.load("panda").joint_names)
    tag = '<mimic joint="panda_finger_joint1"'
    file.write_text(hand.read_text().replace(tag, f'{tag} offset="0.01"'))
    with pytest.raises(VmsPhError, match="'panda_finger_joint2' cannot be locked at zero"):
        describe(str(file), "franka_fer", locked_joints=["panda_finger_joint1"])


@pytest.mark.parametrize("name", robots.names())
def test_a_description_for_ros_has_a_base_link_and_a_root_without_inertia(name: str) -> None:
    robot = robots.get(name)
    given, published = robot.description(), describe(name)
    links = {link.get("name"): link for link in ET.fromstring(published).findall("link")}
    children = {child.get("link") for child in ET.fromstring(published).iterfind("joint/child")}
    (root,) = links.keys() - children
    assert root == LinkTree(robot.load().tree).root
    assert "base_link" in links
    assert links[root].find("inertial") is None
    # robot_state_publisher does not warn, and every node has the same robot.
    assert identity(robot.model(published)) == identity(robot.model(given))
    guessed, before = (VMSModel.from_urdf(xml, robot.base) for xml in (published, given))
    assert guessed.end_effector == before.end_effector


def test_any_arm_has_a_tag_and_a_moving_base_needs_a_file() -> None:
    (tag,) = ET.fromstring(describe("baxter", "simulated")).findall("ros2_control")
    joints = [joint.get("name") for joint in tag.findall("joint")]
    assert joints == list(robots.load("baxter").joint_names)
    with pytest.raises(
        VmsPhError, match="no ros2_control tag for a planar base; give a xacro file"
    ):
        describe("prismatic_hopper", "simulated")

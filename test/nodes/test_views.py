# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Every topic and field in the PlotJuggler and Foxglove layouts and the RViz files exists."""

import json
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
import rclpy
import yaml
from rclpy.node import Node
from vms_ph.msg import ControllerState, Energy, Momentum, Power

from vms_ph_dynamics.robot.kinematic_tree import LinkTree
from vms_ph_io import robots, share_directory
from vms_ph_nodes.closed_loop import make
from vms_ph_nodes.energy_monitor import EnergyMonitor
from vms_ph_nodes.marker_publisher import MarkerPublisher

MESSAGES = {
    "/vms_ph/energy": Energy,
    "/vms_ph/momentum": Momentum,
    "/vms_ph/power": Power,
    "/controller/state": ControllerState,
}


def _field(topic: str, path: list[str]) -> object:
    value: object = MESSAGES[topic]()
    for name in path:
        value = getattr(value, name)
    return value


def test_every_curve_of_the_plotjuggler_layout_is_a_number_of_a_message() -> None:
    root = ET.parse(share_directory() / "config/plotjuggler/energy.xml").getroot()
    curves = [str(curve.get("name")) for curve in root.iter("curve")]
    assert len(curves) > 20
    used = set()
    for curve in curves:
        topic = next(t for t in MESSAGES if curve.startswith(f"{t}/"))
        assert isinstance(_field(topic, curve.removeprefix(f"{topic}/").split("/")), float)
        used.add(topic)
    assert {topic.get("name") for topic in root.iter("topic")} == used


def test_every_series_of_the_foxglove_layout_is_a_number_of_a_message() -> None:
    layout = json.loads((share_directory() / "config/foxglove/energy.json").read_text())
    panels = layout["configById"]
    paths = [p["value"] for panel in panels.values() for p in panel.get("paths", [])]
    assert len(paths) > 10
    for path in paths:
        topic, *fields = path.split(".")
        assert isinstance(_field(topic, fields), float)

    def leaves(node: object) -> list[str]:
        if isinstance(node, str):
            return [node]
        assert isinstance(node, dict)
        return leaves(node["first"]) + leaves(node["second"])

    assert sorted(leaves(layout["layout"])) == sorted(panels)


@pytest.mark.wire
def test_the_nodes_publish_every_topic_of_the_layouts() -> None:
    rclpy.init(args=["--ros-args", "-p", "robot:=hextilt"], domain_id=78)
    nodes: list[Node] = [*make(), EnergyMonitor(), MarkerPublisher()]
    try:
        published = {p.topic_name: p.msg_type for node in nodes for p in node.publishers}
    finally:
        for node in nodes:
            node.destroy_node()
        rclpy.shutdown()
    layout = json.loads((share_directory() / "config/foxglove/energy.json").read_text())
    shown = layout["configById"]["3D!robot"]["topics"]
    assert shown.keys() == {"/vms_ph/markers", "/robot_description"}
    assert published.keys() >= shown.keys()
    assert {topic: published[topic] for topic in MESSAGES} == MESSAGES


@pytest.mark.parametrize("name", robots.names())
def test_every_robot_has_a_launch_file_a_parameter_file_and_an_rviz_file(name: str) -> None:
    share = share_directory()
    launch = ET.parse(share / f"launch/{name}.launch.xml").getroot()
    defaults = {arg.get("name"): str(arg.get("default")) for arg in launch.findall("arg")}
    assert defaults["robot"] == name
    for argument in ("config", "rviz_config"):
        file = defaults[argument].replace("$(find-pkg-share vms_ph)", str(share))
        yaml.safe_load(Path(file).read_text())
    assert defaults["config"].endswith(f"/{name}.yaml")
    fixed = robots.get(name).base == "fixed"
    root = LinkTree(robots.load(name).tree).root
    assert defaults["fixed_frame"] == (root if fixed else "odom")
    kind = "hopper" if name.endswith("hopper") else "fixed" if fixed else "moving"
    assert defaults["rviz_config"].endswith(f"/rviz/{kind}.rviz")


# One of every view; reading the launch files of a robot takes a second.
VIEWS = ("panda", "bluerov2_alpha5", "prismatic_hopper")


@pytest.mark.parametrize(
    "name",
    [n if n in VIEWS else pytest.param(n, marks=pytest.mark.slow) for n in robots.names()],
)
@pytest.mark.usefixtures("copied_commands")
def test_a_replay_shows_a_robot_as_its_own_launch_file_does(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    share = share_directory()
    launching = pytest.importorskip(
        "vms_ph_embedded.launch"
    )  # a colcon build does not have the embedded launcher
    shown = []
    for file, given in ((f"{name}.launch.xml", {}), ("replay.launch.xml", {"robot": name})):
        monkeypatch.setenv("ROS_HOME", str(tmp_path / file))  # where RViz's file is written
        found = launching.load(
            share / "launch" / file,
            {**given, "rviz": "true", "prefix": "left/"},
            find_share=lambda package: share,
            resolve=lambda package, name: [name],
        )
        words = next(list(p.command) for p in found.processes if p.command[0] == "rviz2")
        content = yaml.safe_load(Path(words[2]).read_text())
        shown.append((words[1], content, words[3:5]))
    assert shown[0] == shown[1]
    assert shown[0][2][1].startswith("left/")


STANDARD = {
    "robot", "namespace", "prefix", "use_sim_time", "use_mock_hardware", "rviz", "rviz_config",
}  # fmt: skip


@pytest.mark.parametrize("name", robots.names())
def test_every_launch_file_describes_all_its_arguments(name: str) -> None:
    share = share_directory()
    declared = _arguments(share / f"launch/{name}.launch.xml", share)
    assert declared.keys() >= STANDARD
    assert declared["robot"].get("default") == name
    for argument in declared.values():
        assert len(str(argument.get("description"))) > 8
        assert argument.get("default") is not None


def _arguments(file: Path, share: Path) -> dict[str, ET.Element]:
    """Return the arguments of a launch file and its includes; outer ones take precedence."""
    root = ET.parse(file).getroot()
    found = {str(argument.get("name")): argument for argument in root.findall("arg")}
    for include in root.findall("include"):
        inner = str(include.get("file")).replace("$(find-pkg-share vms_ph)", str(share))
        found = {**_arguments(Path(inner), share), **found}
    return found


def test_the_usual_push_is_as_large_as_what_it_pushes() -> None:
    pytest.importorskip("viser")
    from vms_ph_nodes.views.controls import suggested_force

    def force(name: str, port: str = "") -> float:
        model = robots.load(name)
        return suggested_force(model, model.configuration(robots.get(name).home), port)

    assert 20.0 < force("panda") < 35.0
    assert force("omnidirectional_panda") == pytest.approx(force("panda"), rel=0.05)
    assert 0.1 < force("hextilt") < 0.5  # of its gripper
    assert 2.0 < force("hextilt", "base") < 5.0

# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The launch file of every bundled robot, run as processes and checked by its bag."""

import re
import xml.etree.ElementTree as ET
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml
from vms_ph.msg import Energy

from vms_ph_io import robots, share_directory
from vms_ph_io.bag import BagReader, bag_info

from .conftest import Start
from .independent_momentum import worst_differences
from .observer import Observer

pytestmark = pytest.mark.wire


@dataclass
class Run:
    name: str
    bag: Path
    types: dict[str, str]
    frames: set[tuple[str, str]]
    description: str
    output: str


# One robot of every kind of base; the campaign runs them all.
SHORT = {"panda", "bluerov2_alpha5", "prismatic_hopper"}


@pytest.fixture(
    scope="module",
    params=[
        pytest.param(name, marks=() if name in SHORT else pytest.mark.slow)
        for name in robots.names()
    ],
)
def run(
    request: pytest.FixtureRequest,
    start: Start,
    observer: Observer,
    tmp_path_factory: pytest.TempPathFactory,
) -> Run:
    name = request.param
    bag = tmp_path_factory.mktemp(name) / "bag"
    program = start("launch", name, "push_period:=0.5", "record:=true", f"bag:={bag}", "rate:=50.0")
    # A push begins after half a second of simulated time, which takes longer on a busy machine.
    observer.receive(Energy, "/vms_ph/energy", 80)
    assert program.interrupt() == 0
    topics = {t.topic.name: t.topic.type for t in bag_info(bag).topics}
    frames, description = set(), ""
    for message in BagReader(bag).messages({"/tf", "/tf_static", "/robot_description"}):
        content = message.decode()
        if message.topic == "/robot_description":
            description = content.data  # type: ignore[attr-defined]
        else:
            for item in content.transforms:  # type: ignore[attr-defined]
                frames.add((item.header.frame_id, item.child_frame_id))
    return Run(name, bag, topics, frames, description, program.output)


def test_every_process_ends_cleanly(run: Run) -> None:
    assert "Traceback" not in run.output
    assert "has died" not in run.output
    assert run.output.count("finished cleanly") == 5


def test_energies_and_momenta_are_those_of_an_independent_computation(run: Run) -> None:
    known = robots.get(run.name)
    fluid = known.load().fluid
    worst = worst_differences(run.bag, known.base, list(known.gravity), fluid)
    # The recorder finds the topics later than the observer does, on a busy machine half a second.
    assert worst.pop("samples") > 20
    # Rounding, times the condition number of the mass matrices.
    too_far = {name: value for name, value in worst.items() if value > 1e-9}
    assert not too_far


# The message type of each display of RViz.
_DISPLAYS = {
    "rviz_default_plugins/RobotModel": "std_msgs/msg/String",
    "rviz_default_plugins/MarkerArray": "visualization_msgs/msg/MarkerArray",
    "rviz_default_plugins/Wrench": "geometry_msgs/msg/WrenchStamped",
    "rviz_default_plugins/Odometry": "nav_msgs/msg/Odometry",
}


def test_every_topic_of_the_rviz_displays_is_published(run: Run) -> None:
    share = share_directory()
    launch = ET.parse(share / f"launch/{run.name}.launch.xml").getroot()
    defaults = {arg.get("name"): str(arg.get("default")) for arg in launch.findall("arg")}
    file = defaults["rviz_config"].replace("$(find-pkg-share vms_ph)", str(share))
    content = yaml.safe_load(Path(file).read_text())["Visualization Manager"]
    shown = 0
    for display in content["Displays"]:
        topic = display.get("Topic") or display.get("Description Topic")
        if topic is None:
            assert display["Class"].endswith(("/Grid", "/TF", "/InteractiveMarkers"))
            continue
        if topic["Value"] == "/vms_ph/scene":  # of a scene, a payload or a mechanism alone
            continue
        assert run.types[topic["Value"]] == _DISPLAYS[display["Class"]]
        shown += 1
    assert shown >= 3
    assert defaults["fixed_frame"] in {parent for parent, _ in run.frames}


def test_the_frames_form_one_tree_with_a_moving_base_below_odom(run: Run) -> None:
    parents = {child: parent for parent, child in run.frames}
    assert len(parents) == len(run.frames)
    roots = {parent for parent in parents.values() if parent not in parents}
    known = robots.get(run.name)
    links = {str(link.get("name")) for link in ET.fromstring(run.description).findall("link")}
    links.add("base_link")  # of REP-105, where the root link has another name
    if known.base == "fixed":
        assert len(roots) == 1
        assert set(parents) | roots == links
    else:
        assert roots == {"odom"}
        assert set(parents) == links


def test_every_mesh_has_an_address_that_rviz_can_open(run: Run) -> None:
    meshes = re.findall(r'<mesh[^>]* filename="([^"]*)"', run.description)
    for mesh in meshes:
        assert mesh.startswith("file:///")
        assert Path(mesh.removeprefix("file://")).is_file()

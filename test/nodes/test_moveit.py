# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The configuration of MoveIt for the Panda, as far as it can be checked without MoveIt."""

import xml.etree.ElementTree as ET

import numpy as np
import pytest
import yaml

from vms_ph_dynamics import VMSModel
from vms_ph_io import robots, share_directory
from vms_ph_io.robots.robot_settings import RobotSettings

FOLDER = share_directory() / "config/moveit"


@pytest.fixture(scope="module")
def srdf() -> ET.Element:
    return ET.parse(FOLDER / "panda.srdf").getroot()


@pytest.fixture(scope="module")
def model() -> VMSModel:
    return robots.load("panda")


def test_the_group_is_the_chain_of_the_joints(srdf: ET.Element, model: VMSModel) -> None:
    chain = srdf.find("group[@name='panda_arm']/chain")
    assert chain is not None
    assert srdf.get("name") == model.name
    tree = ET.fromstring(robots.get("panda").description())
    parent = {
        j.find("child").get("link"): (j.get("name"), j.get("type"), j.find("parent").get("link"))  # type: ignore[union-attr]
        for j in tree.findall("joint")
    }
    link, joints = chain.get("tip_link"), []
    while link != chain.get("base_link"):
        name, kind, link = parent[link]
        joints += [name] if kind == "revolute" else []
    assert tuple(reversed(joints)) == model.joint_names
    assert chain.get("tip_link") == model.end_effector


def test_its_home_is_where_the_simulation_begins(srdf: ET.Element, model: VMSModel) -> None:
    found = {str(j.get("name")): float(str(j.get("value"))) for j in srdf.iter("joint")}
    home = RobotSettings(robot="panda").initial_configuration(model)
    np.testing.assert_allclose([found[name] for name in model.joint_names], home)


def test_every_pair_names_two_links_once_and_every_joint_has_its_neighbours(
    srdf: ET.Element, model: VMSModel
) -> None:
    pairs = [(p.get("link1"), p.get("link2")) for p in srdf.findall("disable_collisions")]
    assert len({frozenset(pair) for pair in pairs}) == len(pairs)
    assert {link for pair in pairs for link in pair} <= set(model.link_names)
    for k in range(7):
        assert (f"panda_link{k}", f"panda_link{k + 1}") in pairs
    # The hand can reach the first links, and the forearm.
    checked = {frozenset(pair) for pair in pairs}
    for near in ("panda_link0", "panda_link1", "panda_link2", "panda_link5"):
        assert frozenset({"panda_hand", near}) not in checked


def test_the_limits_and_the_controller_are_those_of_the_robot(model: VMSModel) -> None:
    content = yaml.safe_load((FOLDER / "panda.yaml").read_text())
    group = content["/**/move_group"]["ros__parameters"]
    limits = group["robot_description_planning"]["joint_limits"]
    assert tuple(limits) == model.joint_names
    speeds = [limit["max_velocity"] for limit in limits.values()]
    np.testing.assert_allclose(speeds, model.joints.velocity)
    (name,) = group["moveit_simple_controller_manager"]["controller_names"]
    served = group["moveit_simple_controller_manager"][name]
    assert tuple(served["joints"]) == model.joint_names
    loaded = yaml.safe_load((share_directory() / "config/panda_controllers.yaml").read_text())
    assert name in loaded["/**/controller_manager"]["ros__parameters"]
    assert loaded[f"/**/{name}"]["ros__parameters"]["joints"] == served["joints"]

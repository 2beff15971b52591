# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The tree of links and their relative poses."""

import xml.etree.ElementTree as ET

import numpy as np
import pinocchio as pin
import pytest

from vms_ph_dynamics import VMSModel
from vms_ph_dynamics.robot.building import read_inertials
from vms_ph_dynamics.robot.kinematic_tree import LinkTree
from vms_ph_io import robots


@pytest.mark.parametrize("base", ["fixed", "floating"])
def test_the_poses_of_links_chain_up_even_where_joints_mimic_others(
    base: str, rng: np.random.Generator
) -> None:
    # The Panda with its hand, one finger of which follows the other.
    model = VMSModel.from_urdf(robots.get("panda").path().read_text(), base)
    assert model.tree.projection is not None
    tree, q = LinkTree(model.tree), model.random_configuration(rng)
    d = model.evaluate(q, np.zeros(model.nv))
    poses = {tree.root: d.placement(tree.root)}
    for edge, relative in zip(tree.edges, tree.relative_poses(q), strict=True):
        poses[edge.child] = poses[edge.parent] @ pin.XYZQUATToSE3(relative).homogeneous
    assert set(poses) == set(model.link_names)
    for name, pose in poses.items():
        np.testing.assert_allclose(pose, d.placement(name), atol=1e-14)
    moving = {edge.child for edge in tree.edges if edge.moves}
    assert {"panda_leftfinger", "panda_rightfinger", "panda_link1"} <= moving
    assert "panda_hand" not in moving


@pytest.mark.parametrize("kind", ["floating", "planar"])
def test_the_root_is_the_link_of_the_base_where_the_urdf_has_a_joint_for_it(
    kind: str, rng: np.random.Generator
) -> None:
    solid = (
        '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/>'
        "</inertial>"
    )
    xml = (
        f'<robot name="r"><link name="world"/><link name="pole"/><link name="hull">{solid}</link>'
        f'<link name="arm">{solid}</link><joint name="f" type="fixed"><parent link="world"/>'
        f'<child link="pole"/></joint><joint name="b" type="{kind}"><parent link="world"/>'
        '<child link="hull"/><axis xyz="0 0 1"/></joint><joint name="j" type="continuous">'
        '<parent link="hull"/><child link="arm"/><origin xyz="1 0 0"/><axis xyz="0 0 1"/></joint>'
        "</robot>"
    )
    model = VMSModel.from_urdf(xml)
    assert model.base == kind
    tree, q = LinkTree(model.tree), model.random_configuration(rng)
    # Its pose is that of the odometry; the poses of all other links follow from it.
    assert (tree.root, [edge.child for edge in tree.edges]) == ("hull", ["arm"])
    d = model.evaluate(q, np.zeros(model.nv))
    np.testing.assert_allclose(d.placement("hull"), model.base_pose(q), atol=1e-14)
    relative = pin.XYZQUATToSE3(tree.relative_poses(q)[0]).homogeneous
    np.testing.assert_allclose(d.placement("hull") @ relative, d.placement("arm"), atol=1e-14)


def test_links_behind_locked_joints_keep_their_parents() -> None:
    model = robots.load("panda")
    free = {edge.child: edge.parent for edge in LinkTree(model.tree).edges}
    locked = VMSModel.from_urdf(
        robots.get("panda").description(), locked_joints=("panda_joint2", "panda_joint3")
    )
    edges = LinkTree(locked.tree).edges
    assert {edge.child: edge.parent for edge in edges} == free
    assert {e.child: e.moves for e in edges if e.child in ("panda_link2", "panda_link4")} == {
        "panda_link2": False, "panda_link4": True
    }  # fmt: skip


def test_an_inertia_is_read_in_the_axes_of_its_link() -> None:
    angles = (0.4, -0.7, 1.1)
    element = ET.fromstring(
        '<robot><link name="a"><inertial><origin xyz="0.1 0.2 0.3" '
        f'rpy="{" ".join(map(str, angles))}"/><mass value="2"/>'
        '<inertia ixx="1" iyy="2" izz="2.5" ixy="0.1" ixz="0.2" iyz="-0.3"/>'
        "</inertial></link></robot>"
    )
    found = read_inertials(element)["a"]
    tensor = np.array([[1.0, 0.1, 0.2], [0.1, 2.0, -0.3], [0.2, -0.3, 2.5]])
    turn = pin.SE3(pin.rpy.rpyToMatrix(*angles), np.array([0.1, 0.2, 0.3]))
    expected = turn.act(pin.Inertia(2.0, np.zeros(3), tensor))
    np.testing.assert_allclose(found.inertia, expected.inertia, atol=1e-15)
    np.testing.assert_allclose(found.centre, expected.lever, atol=1e-15)

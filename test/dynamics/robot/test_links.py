"""The tree of links and their relative poses."""

import numpy as np
import pinocchio as pin
import pytest

from vms_ph_dynamics import VMSModel
from vms_ph_dynamics.robot.links import LinkTree
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

# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Conversion of the motion of a base between messages and arrays."""

import numpy as np
import pytest
from geometry_msgs.msg import Pose, Twist, Wrench
from std_msgs.msg import Header

from vms_ph_dynamics import StateError, VMSModel
from vms_ph_io import robots
from vms_ph_nodes.messages.conversions import (
    from_odometry,
    from_pose_and_twist,
    from_wrench_base,
    to_odometry,
    to_wrench_base,
)


@pytest.fixture(params=["omnidirectional_panda", "hextilt"])
def moving(request: pytest.FixtureRequest) -> VMSModel:
    return robots.load(request.param)


def test_the_motion_of_a_base_is_unchanged_by_a_round_trip(
    moving: VMSModel, rng: np.random.Generator
) -> None:
    for _ in range(20):
        q, v = moving.random_configuration(rng), rng.normal(size=moving.nv)
        message = to_odometry(moving, Header(frame_id="odom"), "base_link", q, v)
        assert (message.header.frame_id, message.child_frame_id) == ("odom", "base_link")
        back = from_odometry(moving, message)
        np.testing.assert_allclose(back.q, q[: moving.nq_base], atol=1e-15)
        np.testing.assert_array_equal(back.v, v[: moving.b])


def test_a_base_wrench_is_unchanged_by_a_round_trip(
    moving: VMSModel, rng: np.random.Generator
) -> None:
    wrench = rng.normal(size=moving.b)
    message = to_wrench_base(Header(), wrench)
    np.testing.assert_array_equal(from_wrench_base(moving, message.wrench), wrench)
    if moving.b == 3:
        assert message.wrench.force.z == message.wrench.torque.x == 0.0
        assert message.wrench.torque.z == wrench[2]


def test_an_invalid_pose_is_rejected_with_a_message(moving: VMSModel) -> None:
    pose = Pose()
    pose.orientation.w = 2.0
    with pytest.raises(StateError, match=r"length 1 within 0\.001; its length is 2"):
        from_pose_and_twist(moving, pose, Twist())
    pose.orientation.w = float("nan")
    with pytest.raises(StateError, match="must be finite"):
        from_pose_and_twist(moving, pose, Twist())
    wrench = Wrench()
    wrench.torque.z = float("inf")
    with pytest.raises(StateError, match="a wrench must be finite"):
        from_wrench_base(moving, wrench)


def test_a_planar_base_is_not_tilted() -> None:
    pose = Pose()
    pose.orientation.x, pose.orientation.w = float(np.sin(0.05)), float(np.cos(0.05))
    with pytest.raises(StateError, match="rotates about z only"):
        from_pose_and_twist(robots.load("omnidirectional_panda"), pose, Twist())

# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Conversion between messages and arrays."""

import numpy as np
import pytest
from builtin_interfaces.msg import Time
from geometry_msgs.msg import Wrench
from sensor_msgs.msg import JointState
from std_msgs.msg import Header

from vms_ph_dynamics import StateError, VMSModel
from vms_ph_nodes.messages.conversions import (
    from_joint_state,
    from_stamp,
    from_wrench,
    joint_values,
    to_joint_state,
    to_stamp,
)


def test_a_state_is_unchanged_by_a_round_trip(panda: VMSModel, rng: np.random.Generator) -> None:
    q, v, torque = panda.random_configuration(rng), rng.normal(size=7), rng.normal(size=7)
    message = to_joint_state(panda, Header(stamp=to_stamp(7_000_000_003)), q, v, torque)
    back = from_joint_state(panda, message)
    for given, got in zip((q, v, torque), back, strict=True):
        np.testing.assert_array_equal(got, given)
    assert from_stamp(message.header.stamp) == 7_000_000_003


def test_any_stamp_that_a_message_can_carry_is_a_stamp_again() -> None:
    last = Time(sec=2**31 - 1, nanosec=2**32 - 1)
    assert to_stamp(from_stamp(last)) == Time(sec=2**31 - 1, nanosec=999_999_999)


def test_joints_that_are_not_in_the_model_are_ignored(panda: VMSModel) -> None:
    names = ["panda_finger_joint1", *panda.joint_names]
    message = JointState(name=names, position=[0.04, *range(1, 8)])
    q, v, torque = from_joint_state(panda, message)
    assert q.tolist() == [1, 2, 3, 4, 5, 6, 7]
    assert not v.any()
    assert not torque.any()


def test_joints_that_a_request_does_not_name_are_at_zero(panda: VMSModel) -> None:
    q, _, _ = from_joint_state(panda, JointState(name=["panda_joint1"], position=[1.0]))
    assert q.tolist() == [1, 0, 0, 0, 0, 0, 0]


def test_entries_that_are_not_finite_are_reported(panda: VMSModel) -> None:
    with pytest.raises(StateError, match=r"effort must be finite .*; it is not for panda_joint2"):
        joint_values(panda, ["panda_joint1", "panda_joint2"], [1.0, np.nan], "effort")
    with pytest.raises(StateError, match="3 entries for 1 joint names"):
        joint_values(panda, ["panda_joint1"], [1.0, 2.0, 3.0], "position")
    bad = Wrench()
    bad.force.y = float("inf")
    with pytest.raises(StateError, match="a wrench must be finite"):
        from_wrench(bad)

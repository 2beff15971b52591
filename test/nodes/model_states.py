# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""States of robots as requests of the model server have them."""

from collections.abc import Mapping, Sequence

from sensor_msgs.msg import JointState
from vms_ph.msg import RobotState

from vms_ph_nodes.messages.conversions import to_point, to_vector


def robot_state(
    positions: Mapping[str, float],
    rates: Mapping[str, float] | None = None,
    base_pose: Sequence[float] | None = None,
    base_twist: Sequence[float] | None = None,
) -> RobotState:
    """Return a state; joints without an entry are at zero, a base without one at the origin."""
    rates = rates or {}
    names = list(dict.fromkeys([*positions, *rates]))
    state = RobotState()
    state.joint_state = JointState(
        name=names,
        position=[float(positions.get(name, 0.0)) for name in names],
        velocity=[float(rates.get(name, 0.0)) for name in names],
    )
    if base_pose is not None:
        turn = state.base_pose.orientation
        state.base_pose.position = to_point(base_pose[:3])
        turn.x, turn.y, turn.z, turn.w = map(float, base_pose[3:])
    if base_twist is not None:
        state.base_twist.linear = to_vector(base_twist[:3])
        state.base_twist.angular = to_vector(base_twist[3:])
    return state

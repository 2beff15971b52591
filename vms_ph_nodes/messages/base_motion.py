# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Conversion of the pose and twist of a moving base between messages and arrays."""

from typing import TYPE_CHECKING

import numpy as np
from geometry_msgs.msg import (
    Point,
    Pose,
    PoseWithCovariance,
    Quaternion,
    Twist,
    TwistWithCovariance,
    Vector3,
)
from nav_msgs.msg import Odometry
from std_msgs.msg import Header

from vms_ph_dynamics.arrays import Array
from vms_ph_dynamics.errors import StateError

from .conversions import BaseMotion, from_xyz, to_vector
from .finite import check_range

if TYPE_CHECKING:
    from vms_ph_dynamics import VMSModel

# Tolerance of the quaternion norm; odometry in single precision deviates by 1e-7.
_TOLERANCE = 1e-3


def to_odometry(model: "VMSModel", header: Header, base_frame: str, q: Array, v: Array) -> Odometry:
    """Return the odometry of the base; the twist is in the axes of ``base_frame`` (REP-105).

    The frame of ``header`` is the inertial frame. Covariances are zero: the base is simulated.
    """
    if model.base == "planar":
        x, y, c, s = q[:4].tolist()
        half = 0.5 * np.arctan2(s, c)
        point = Point(x=x, y=y)
        turn = Quaternion(z=float(np.sin(half)), w=float(np.cos(half)))
        vx, vy, wz = v[:3].tolist()
        twist = Twist(linear=Vector3(x=vx, y=vy), angular=Vector3(z=wz))
    else:
        x, y, z, qx, qy, qz, qw = q[:7].tolist()
        point, turn = Point(x=x, y=y, z=z), Quaternion(x=qx, y=qy, z=qz, w=qw)
        twist = Twist(linear=to_vector(v[:3]), angular=to_vector(v[3:6]))
    return Odometry(
        header=header,
        child_frame_id=base_frame,
        pose=PoseWithCovariance(pose=Pose(position=point, orientation=turn)),
        twist=TwistWithCovariance(twist=twist),
    )


def from_odometry(model: "VMSModel", message: Odometry) -> BaseMotion:
    """Return the motion of the base in an odometry message; see :func:`from_pose_and_twist`."""
    return from_pose_and_twist(model, message.pose.pose, message.twist.twist)


def from_pose_and_twist(model: "VMSModel", pose: Pose, twist: Twist) -> BaseMotion:
    """Return the motion of the base.

    Args:
        model: model of a robot on a moving base.
        pose: pose of the base in the inertial frame; only x, y and yaw are used on a planar base.
        twist: twist of the base in its own axes.

    Raises:
        StateError: an entry is not finite or too large, a quaternion is not normalised, or a planar
            base is tilted.
    """
    p, r = pose.position, pose.orientation
    turn = np.array([r.x, r.y, r.z, r.w])
    position = from_xyz(p)
    motion = np.concatenate([from_xyz(twist.linear), from_xyz(twist.angular)])
    check_range(np.concatenate([turn, position, motion]), "the pose and twist of the base")
    length = float(np.linalg.norm(turn))
    if abs(length - 1.0) > _TOLERANCE:
        raise StateError(
            f"the orientation of the base must be a quaternion of length 1 within {_TOLERANCE:g}; "
            f"its length is {length:.6g}"
        )
    turn = turn / length
    if model.base == "planar":
        if max(abs(turn[0]), abs(turn[1])) > _TOLERANCE:
            raise StateError(
                "a planar base rotates about z only; its orientation has "
                f"x = {turn[0]:.4g}, y = {turn[1]:.4g}"
            )
        angle = 2 * np.arctan2(turn[2], turn[3])
        return BaseMotion(
            np.array([p.x, p.y, np.cos(angle), np.sin(angle)]), motion[[0, 1, 5]].copy()
        )
    return BaseMotion(np.concatenate([position, turn]), motion)

# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Poses of MuJoCo and of URDF as ``pinocchio.SE3``."""

import xml.etree.ElementTree as ET
from typing import Any

import numpy as np
import pinocchio as pin

from vms_ph_dynamics.arrays import Array

from .notes import numbers


def origin(pose: Any) -> ET.Element:
    """Return the element <origin> of a ``pinocchio.SE3``."""
    return ET.Element(
        "origin", xyz=numbers(pose.translation), rpy=numbers(roll_pitch_yaw(pose.rotation))
    )


def roll_pitch_yaw(rotation: Array) -> Array:
    """Return the angles of ``Rz(yaw) Ry(pitch) Rx(roll)``, rad, (3,).

    At a pitch of 90 degrees yaw is noise; roll and pitch then are those that belong to it, so that
    the rotation has full precision everywhere.
    """
    yaw = np.arctan2(rotation[1, 0], rotation[0, 0])
    c, s = np.cos(yaw), np.sin(yaw)
    rest = np.array([[c, s, 0.0], [-s, c, 0.0], [0.0, 0.0, 1.0]]) @ rotation
    return np.array([np.arctan2(-rest[1, 2], rest[1, 1]), np.arctan2(-rest[2, 0], rest[0, 0]), yaw])


def pose_of(position: Array, quaternion: Array) -> Any:
    """Return the pose of a position and a quaternion [w x y z] of MuJoCo."""
    w, x, y, z = (quaternion / np.linalg.norm(quaternion)).tolist()
    return pin.SE3(pin.Quaternion(w, x, y, z).matrix(), np.array(position))


def shift(by: Array) -> Any:
    """Return a translation by (3,)."""
    return pin.SE3(np.eye(3), np.array(by))


def turn(axis: Array, angle: float) -> Any:
    """Return a rotation by an angle about an axis of length one, (3,)."""
    return pin.SE3(pin.exp3(axis * angle), np.zeros(3))

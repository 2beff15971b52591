# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Arms on a fixed base."""

import functools

from vms_ph_dynamics import Array, VMSModel
from vms_ph_io import load_urdf, robots
from vms_ph_io.descriptions.packages import resolve

_DATA = "package://example-robot-data/robots"

# Robots with limits on all joints, with less than seven of them, and with joints without an end.
ARMS = ("panda", "ur5", "kinova")


@functools.cache
def arm(name: str) -> VMSModel:
    """Return an arm by name."""
    if name == "panda":
        return robots.load("panda")
    if name == "ur5":
        return load_urdf(_path("ur_description/urdf/ur5_robot.urdf"), end_effector="tool0")
    return load_urdf(_path("kinova_description/robots/kinova.urdf"))


def home(name: str) -> Array:
    """Return a configuration away from limits and singular postures, (nq,)."""
    if name == "panda":
        return arm(name).configuration(robots.get("panda").home)
    angles = (0.3, -1.2, 1.4, -0.5, 0.8, 0.2) if name == "ur5" else (0.3, 3.6, 1.6, 0.5, 0.8, 0.2)
    return arm(name).configuration(dict(zip(arm(name).joint_names, angles, strict=True)))


def _path(file: str) -> str:
    found = resolve(f"{_DATA}/{file}")
    assert found is not None
    return str(found)

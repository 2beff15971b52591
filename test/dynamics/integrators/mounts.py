# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Robots whose base joint is mounted on the world with an origin, and their twins without one."""

from typing import NamedTuple

import numpy as np
import pinocchio as pin

from vms_ph_dynamics import Array, VMSModel

from .conftest import RATES, TWIST, panda_on

ASKEW = pin.SE3(pin.rpy.rpyToMatrix(1.1, -0.7, 2.0), np.array([1.0, -2.0, 3.0]))
LEVEL = pin.SE3(pin.rpy.rpyToMatrix(0.0, 0.0, 2.0), np.array([1.0, -2.0, 3.0]))
GRAVITY = (1.0, -2.0, -9.0)


class Mounted(NamedTuple):
    """A robot mounted on the world, the same one without the mount, and one motion of both.

    Attributes:
        model, q: the mounted robot.
        twin, q_twin: its twin.
        v: (nv,) of both.
        mount: the displacement from the twin to the mounted robot: that of the mount where the twin
            is not at its place, the height of a level plane, the unit on a floating base.
    """

    model: VMSModel
    q: Array
    twin: VMSModel
    q_twin: Array
    v: Array
    mount: pin.SE3


def mounted(base: str, mount: pin.SE3, gravity: tuple[float, ...] = GRAVITY) -> Mounted:
    """A Panda on a mounted base.

    The twin of a floating base, or of one in a level plane, begins at the pose to which the mount
    takes the base. A tilted plane is that of its twin under a gravity that is turned instead.
    """
    level = base == "floating" or mount.rotation[2, 2] == 1.0
    turned = gravity if level else tuple(mount.rotation.T @ gravity)
    twin = panda_on(base, turned)
    source = twin.pinocchio
    source.gravity.linear = np.array(gravity)
    source.jointPlacements[1] = mount
    model = VMSModel.from_pinocchio(source, twin.end_effector)
    q = model.random_configuration(np.random.default_rng(3))
    q[model.nq_base :] = [0.05, -0.16, -0.49, -0.9, -0.08, 0.5, -0.07]
    twist = TWIST if base == "floating" else TWIST[[0, 1, 5]]
    v = np.concatenate([twist, RATES])
    if not level:
        return Mounted(model, q, twin, q.copy(), v, mount)
    lift = pin.SE3.Identity()
    if base == "planar":
        lift.translation[2] = mount.translation[2]
    return Mounted(model, q, twin, moved(model, mount, q), v, lift)


def moved(model: VMSModel, mount: pin.SE3, q: Array) -> Array:
    """The configuration without a mount that is at the place of ``q`` with it."""
    q = q.copy()
    if model.base == "floating":
        q[:7] = pin.SE3ToXYZQUAT(mount * pin.XYZQUATToSE3(q[:7]))
        return q
    turn = mount.rotation[:2, :2]
    q[:2], q[2:4] = turn @ q[:2] + mount.translation[:2], turn @ q[2:4]
    return q

# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The contacts of a robot with its scene."""

from typing import Any, NamedTuple

import numpy as np

from ...arrays import Array
from .mujoco_robot import MujocoRobot
from .scene import Scene


class Contact(NamedTuple):
    """One contact.

    Attributes:
        body: of the scene.
        point: (3,) in the inertial frame, m.
        force: (3,) on the robot in the inertial frame, N.
        moment: (3,) about the point, N m.
        depth: of the penetration, m.
    """

    body: str
    point: Array
    force: Array
    moment: Array
    depth: float


def contacts_of(mujoco: Any, robot: MujocoRobot, scene: Scene, data: Any) -> list[Contact]:
    """Return the contacts of the robot at the start of the last step."""
    m, found = robot.model, []
    for i in range(data.ncon):
        contact = data.contact[i]
        names = [m.body(m.geom_bodyid[geom]).name for geom in contact.geom]
        ours = [not name.startswith("scene/") for name in names]
        if ours[0] == ours[1] or contact.efc_address < 0:
            continue
        local = np.zeros(6)
        mujoco.mj_contactForce(m, data, i, local)
        # The rows of the frame are its axes; the force acts on the second geom.
        axes = contact.frame.reshape(3, 3)
        sign = 1.0 if ours[1] else -1.0
        found.append(
            Contact(
                names[ours.index(False)].removeprefix("scene/"),
                contact.pos.copy(),
                sign * (local[:3] @ axes),
                sign * (local[3:] @ axes),
                max(0.0, -float(contact.dist)),
            )
        )
    return found

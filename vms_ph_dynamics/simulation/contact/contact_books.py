# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The energies of MuJoCo's constraints and damping over a step, by port."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from ...arrays import Array
from .mujoco_robot import MujocoRobot

CONTACT = "contact"
JOINT_STOPS = "joint_stops"
MIMICS = "mimic_joints"


class Entry(NamedTuple):
    """Energies of one step.

    Attributes:
        by_port: into the robot, J.
        dissipated: by friction and damping in its joints, J.
    """

    by_port: Mapping[str, float]
    dissipated: float


class ContactBooks:
    """Splits the work of MuJoCo's constraint forces on the robot.

    A step changes the velocity by ``M (v1 - v0) = h (f + J^T f_c - D v1)`` at the mass matrix of
    its start, and each part takes ``h f . (v0 + v1) / 2`` from the kinetic energy.

    Args:
        mujoco: the module.
        robot: the robot and its scene.
    """

    def __init__(self, mujoco: Any, robot: MujocoRobot) -> None:
        self._mujoco, self._robot = mujoco, robot
        kind = mujoco.mjtConstraint
        self._of = {
            int(kind.mjCNSTR_EQUALITY): MIMICS,
            int(kind.mjCNSTR_LIMIT_JOINT): JOINT_STOPS,
            int(kind.mjCNSTR_CONTACT_FRICTIONLESS): CONTACT,
            int(kind.mjCNSTR_CONTACT_PYRAMIDAL): CONTACT,
            int(kind.mjCNSTR_CONTACT_ELLIPTIC): CONTACT,
        }
        self._damping = robot.model.dof_damping * robot.own
        self._joints = np.flatnonzero(robot.own)

    def entry(self, data: Any, before: Array) -> Entry:
        """Return the energies of the step that has just been taken.

        Args:
            data: ``mujoco.MjData`` after it.
            before: (nv,) velocity before it.
        """
        m, h = self._robot.model, self._robot.model.opt.timestep
        mean = 0.5 * (before + data.qvel) * self._robot.own
        dissipated = h * float((self._damping * data.qvel) @ mean)
        if data.nefc == 0:
            return Entry({}, dissipated)
        speed = np.zeros(data.nefc)
        self._mujoco.mj_mulJacVec(m, data, speed, mean)
        work, kinds = h * data.efc_force * speed, data.efc_type
        by_port: dict[str, float] = {}
        for kind in np.unique(kinds):
            energy = float(work[kinds == kind].sum())
            port = self._of.get(int(kind))
            if port is None:
                dissipated -= energy  # dry friction
            else:
                by_port[port] = by_port.get(port, 0.0) + energy
        return Entry(by_port, dissipated)

# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The map between the coordinates of this project and those of MuJoCo.

MuJoCo's free joint has the pose of the base in the inertial frame, its quaternion with w first, the
velocity of the base's origin in world axes and the angular velocity in base axes. Its planar joint
is two slides along the axes of the mount and a hinge. A continuous joint is an angle.
"""

from typing import Any

import numpy as np
import pinocchio as pin

from ...arrays import Array
from ...groups import plane_rotation
from ...model import VMSModel
from .mujoco_robot import MujocoRobot


class Coordinates:
    """Reads and writes the motion of a robot in ``mujoco.MjData``.

    Args:
        model: the robot.
        mujoco_robot: MuJoCo's model of it, with the addresses of its coordinates.
    """

    def __init__(self, model: VMSModel, mujoco_robot: MujocoRobot) -> None:
        self._model, self._compiled = model, mujoco_robot
        self._mount = pin.SE3(np.array(model.tree.mount))
        self._neutral = model.neutral_configuration()

    def set_motion(self, data: Any, q: Array, v: Array) -> None:
        """Set the robot's configuration (nq,) and velocity (nv,)."""
        robot, compiled = self._model, self._compiled
        if robot.base == "planar":
            data.qpos[:3] = [q[0], q[1], np.arctan2(q[3], q[2])]
            data.qvel[:2] = plane_rotation(q[2], q[3]) @ v[:2]
            data.qvel[2] = v[2]
        elif robot.base == "floating":
            pose = self._mount * pin.XYZQUATToSE3(q[:7])
            xyzquat = pin.SE3ToXYZQUAT(pose)
            data.qpos[:7] = [*xyzquat[:3], xyzquat[6], *xyzquat[3:6]]
            data.qvel[:3] = pose.rotation @ v[:3]
            data.qvel[3:6] = v[3:6]
        data.qpos[compiled.joints_q] = robot.joint_positions(q)
        data.qvel[compiled.joints_v] = v[robot.b :]
        q_full = robot.tree.full_configuration(q)
        v_full = robot.tree.full_velocity(v)
        model = robot.tree.pinocchio
        for name in robot.tree.mimics:
            joint, mujoco_joint = model.joints[model.getJointId(name)], compiled.model.joint(name)
            data.qpos[mujoco_joint.qposadr[0]] = q_full[joint.idx_q]
            data.qvel[mujoco_joint.dofadr[0]] = v_full[joint.idx_v]

    def motion(self, data: Any) -> tuple[Array, Array]:
        """Return configuration (nq,) and velocity (nv,)."""
        robot, compiled = self._model, self._compiled
        displacement, v = np.zeros(robot.nv), np.empty(robot.nv)
        displacement[robot.b :] = data.qpos[compiled.joints_q]
        q = robot.integrate(self._neutral, displacement)
        if robot.base == "planar":
            x, y, angle = data.qpos[:3]
            q[:4] = x, y, np.cos(angle), np.sin(angle)
            v[:2], v[2] = data.qvel[:2] @ plane_rotation(q[2], q[3]), data.qvel[2]
        elif robot.base == "floating":
            w, *xyz = data.qpos[3:7]
            pose = pin.XYZQUATToSE3(np.array([*data.qpos[:3], *xyz, w]))
            q[:7] = pin.SE3ToXYZQUAT(self._mount.actInv(pose))
            v[:3] = data.qvel[:3] @ pose.rotation
            v[3:6] = data.qvel[3:6]
        v[robot.b :] = data.qvel[compiled.joints_v]
        return q, v

    def force(self, data: Any, torque: Array, wrench_base: Array) -> Array:
        """Return torques (n,) and a base wrench (b,) in base axes as a force of MuJoCo."""
        robot, force = self._model, np.zeros(self._compiled.model.nv)
        force[self._compiled.joints_v] = torque
        if robot.base == "planar":
            c, s = np.cos(data.qpos[2]), np.sin(data.qpos[2])
            force[:2], force[2] = plane_rotation(c, s) @ wrench_base[:2], wrench_base[2]
        elif robot.base == "floating":
            w, *xyz = data.qpos[3:7]
            rotation = pin.Quaternion(np.array([*xyz, w])).toRotationMatrix()
            force[:3], force[3:6] = rotation @ wrench_base[:3], wrench_base[3:]
        return force

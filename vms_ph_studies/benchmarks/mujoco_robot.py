# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""A robot in MuJoCo with one of its integrators, in the coordinates of this project.

MuJoCo's free joint has the velocity of the base's origin in world axes and the angular velocity in
base axes, and its quaternion starts with w. Its planar joint is two slides along world axes and a
hinge.
"""

import xml.etree.ElementTree as ET

import mujoco
import numpy as np

from vms_ph_dynamics import VMSModel
from vms_ph_dynamics.arrays import Array

from .libraries import bare_urdf

_COMPILER = {"fusestatic": "false", "discardvisual": "false", "balanceinertia": "false"}


class MujocoRobot:
    """Free motion of a robot in MuJoCo, without contacts, limits and friction."""

    def __init__(self, robot: VMSModel, xml: str, integrator: str) -> None:
        self._robot = robot
        # Without this, a diverging motion writes a log file to the working directory.
        mujoco.set_mju_user_warning(lambda message: None)
        m = mujoco.MjModel.from_xml_string(_bare(xml, robot.base))
        m.dof_damping[:] = 0.0
        m.dof_frictionloss[:] = 0.0
        m.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONSTRAINT
        m.opt.gravity[:] = robot.gravity
        m.opt.integrator = getattr(mujoco.mjtIntegrator, f"mjINT_{integrator.upper()}")
        self._model, self._data = m, mujoco.MjData(m)
        self._joints_q = [m.joint(name).qposadr[0] for name in robot.joint_names]
        self._joints_v = [m.joint(name).dofadr[0] for name in robot.joint_names]

    def begin(self, q: Array, v: Array, dt: float) -> None:
        """Set configuration (nq,), velocity (nv,) and step, s."""
        robot, data = self._robot, self._data
        mujoco.mj_resetData(self._model, data)
        self._model.opt.timestep = dt
        if robot.base == "planar":
            data.qpos[:3] = [q[0], q[1], np.arctan2(q[3], q[2])]
            data.qvel[:2] = _turn(q[2], q[3]) @ v[:2]
            data.qvel[2] = v[2]
        elif robot.base == "floating":
            data.qpos[:7] = [*q[:3], q[6], *q[3:6]]
            data.qvel[:3] = _rotation(data.qpos[3:7]) @ v[:3]
            data.qvel[3:6] = v[3:6]
        data.qpos[self._joints_q] = robot.joint_positions(q)
        data.qvel[self._joints_v] = v[robot.b :]

    def steps(self, count: int) -> None:
        """Perform a number of steps without returning to Python in between."""
        mujoco.mj_step(self._model, self._data, count)

    def set_torque(self, torque: Array) -> None:
        """Set the torques (n,) that act from now on, N m or N."""
        self._data.qfrc_applied[self._joints_v] = torque

    def accelerate(self) -> None:
        """Compute the accelerations of the present state."""
        mujoco.mj_forward(self._model, self._data)

    def joint_accelerations(self) -> Array:
        """Return the accelerations of the joints, (n,)."""
        self.accelerate()
        return self._data.qacc[self._joints_v].copy()

    def compute_mass(self) -> None:
        """Compute the mass matrix of the present configuration, sparse."""
        mujoco.mj_kinematics(self._model, self._data)
        mujoco.mj_comPos(self._model, self._data)
        mujoco.mj_crb(self._model, self._data)

    def motion(self) -> tuple[Array, Array]:
        """Return configuration and velocity."""
        robot, data = self._robot, self._data
        base: list[float] = []
        v = np.zeros(robot.nv)
        if robot.base == "planar":
            x, y, angle = data.qpos[:3]
            base = [x, y, np.cos(angle), np.sin(angle)]
            v[:2], v[2] = data.qvel[:2] @ _turn(base[2], base[3]), data.qvel[2]
        elif robot.base == "floating":
            base = [*data.qpos[:3], *data.qpos[4:7], data.qpos[3]]
            v[:3] = data.qvel[:3] @ _rotation(data.qpos[3:7])
            v[3:6] = data.qvel[3:6]
        v[robot.b :] = data.qvel[self._joints_v]
        angles = dict(zip(robot.joint_names, data.qpos[self._joints_q], strict=True))
        q = robot.configuration(angles, robot.neutral_configuration()[: robot.nq_base].tolist())
        q[: robot.nq_base] = base
        return q, v


def _turn(cosine: float, sine: float) -> Array:
    return np.array([[cosine, -sine], [sine, cosine]])


def _rotation(quaternion: Array) -> Array:
    """Return the rotation matrix of [w x y z], (3,3)."""
    matrix = np.empty(9)
    mujoco.mju_quat2Mat(matrix, quaternion)
    return matrix.reshape(3, 3)


def _bare(xml: str, base: str) -> str:
    """Return the URDF with bodies and joints only, a joint for the base, and MuJoCo's options."""
    root = ET.fromstring(bare_urdf(xml))
    if base != "fixed":
        joints = root.findall("joint/child")
        children = {child.get("link") for child in joints}
        names = [link.get("name") for link in root.findall("link")]
        first = next(name for name in names if name not in children)
        ET.SubElement(root, "link", name="world")
        joint = ET.SubElement(root, "joint", name="base", type=base)
        ET.SubElement(joint, "parent", link="world")
        ET.SubElement(joint, "child", link=str(first))
        ET.SubElement(joint, "axis", xyz="0 0 1")
    ET.SubElement(ET.SubElement(root, "mujoco"), "compiler", _COMPILER)
    return ET.tostring(root, encoding="unicode")

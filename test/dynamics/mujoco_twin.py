# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The same robot in MuJoCo, and the map between its velocities and ours.

MuJoCo's free joint has the velocity of the base's origin in world axes and the angular velocity in
base axes; its quaternion starts with w. Its planar joint is two slides along world axes and a
hinge. So its velocity is ``u = T(q) v`` with a T that turns the linear part, and

    M = T^T M_mj T,  bias = T^T (bias_mj + M_mj Tdot v),  vdot = T^-1 (udot - Tdot v).
"""

import xml.etree.ElementTree as ET

import mujoco
import numpy as np

from vms_ph_dynamics import VMSModel

_COMPILER = {"fusestatic": "false", "discardvisual": "false", "balanceinertia": "false"}


class MujocoTwin:
    def __init__(self, robot: VMSModel, xml: str) -> None:
        self.robot = robot
        m = mujoco.MjModel.from_xml_string(_bare(xml, robot.base))
        # Friction is another test's; what remains is that of rigid bodies alone.
        m.dof_damping[:] = 0.0
        m.dof_frictionloss[:] = 0.0
        m.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONSTRAINT
        m.opt.gravity[:] = robot.gravity
        assert (m.dof_armature == 0).all()
        assert (m.opt.density, m.opt.viscosity) == (0.0, 0.0)
        assert m.nv == robot.nv
        self.model = m
        self._q = [m.joint(name).qposadr[0] for name in robot.joint_names]
        joints = [m.joint(name).dofadr[0] for name in robot.joint_names]
        self._v = [*range(robot.b), *joints]
        self.data = mujoco.MjData(m)

    def transform(self, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """T(q) (nv,nv) and Tdot v (nv,), rows in our order."""
        turn, drift = np.eye(self.robot.nv), np.zeros(self.robot.nv)
        if self.robot.base == "planar":
            c, s = q[2:4]
            turn[:2, :2] = [[c, -s], [s, c]]
            drift[:2] = turn[:2, :2] @ (v[2] * np.array([-v[1], v[0]]))
        elif self.robot.base == "floating":
            turn[:3, :3] = rotation(q[3:7])
            drift[:3] = turn[:3, :3] @ np.cross(v[3:6], v[:3])
        return turn, drift

    def set(self, q: np.ndarray, v: np.ndarray) -> None:
        """Bring MuJoCo to a state of ours."""
        turn, _ = self.transform(q, v)
        if self.robot.base == "planar":
            self.data.qpos[:3] = [q[0], q[1], np.arctan2(q[3], q[2])]
        elif self.robot.base == "floating":
            self.data.qpos[:7] = [*q[:3], q[6], *q[3:6]]
        self.data.qpos[self._q] = self.robot.joint_positions(q)
        self.data.qvel[self._v] = turn @ v
        mujoco.mj_forward(self.model, self.data)

    def mass(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Mass matrix in our velocities."""
        turn, _ = self.transform(q, v)
        return turn.T @ self._mass(q, v) @ turn

    def bias(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Coriolis and gravity forces in our velocities."""
        turn, drift = self.transform(q, v)
        mass = self._mass(q, v)
        return turn.T @ (self.data.qfrc_bias[self._v] + mass @ drift)

    def acceleration(self, q: np.ndarray, v: np.ndarray, force: np.ndarray) -> np.ndarray:
        """The rate of our velocity under a generalised force of ours."""
        turn, drift = self.transform(q, v)
        # Power is the same in both: force . v = force_mj . u.
        self.data.qfrc_applied[self._v] = np.linalg.solve(turn.T, force)
        self.set(q, v)
        self.data.qfrc_applied[:] = 0.0
        return np.linalg.solve(turn, self.data.qacc[self._v] - drift)

    def _mass(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        self.set(q, v)
        columns = np.zeros((self.model.nv, self.model.nv))
        for column, unit in zip(columns, np.eye(self.model.nv), strict=True):
            mujoco.mj_mulM(self.model, self.data, column, unit)
        return columns[np.ix_(self._v, self._v)]


def rotation(quaternion: np.ndarray) -> np.ndarray:
    """The rotation matrix of [x y z w], (3,3)."""
    x, y, z, w = quaternion
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
            [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
            [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
        ]
    )


def _bare(xml: str, base: str) -> str:
    """The URDF with bodies and joints only, and the base as a joint of its own."""
    root = ET.fromstring(xml)
    for element in list(root):
        if element.tag not in ("link", "joint"):
            root.remove(element)
    for link in root.findall("link"):
        for shape in (*link.findall("visual"), *link.findall("collision")):
            link.remove(shape)
    if base != "fixed":
        children = {joint.find("child").get("link") for joint in root.findall("joint")}
        first = next(
            link.get("name") for link in root.findall("link") if link.get("name") not in children
        )
        ET.SubElement(root, "link", name="world")
        joint = ET.SubElement(root, "joint", name="base", type=base)
        ET.SubElement(joint, "parent", link="world")
        ET.SubElement(joint, "child", link=str(first))
        ET.SubElement(joint, "axis", xyz="0 0 1")
    ET.SubElement(ET.SubElement(root, "mujoco"), "compiler", **_COMPILER)
    return ET.tostring(root, encoding="unicode")

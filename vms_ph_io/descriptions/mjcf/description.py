# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The URDF equivalent of a compiled MuJoCo model.

MuJoCo moves a body by its joints one after another: with the pose ``T`` of the body in its parent,
anchors ``p`` and axes ``a`` in the body's axes, the pose at the joint positions ``q`` is

    T  prod_k  Trans(p_k) Rot(a_k, q_k - r_k) Trans(-p_k)      (hinges)
    T  prod_k  Trans(a_k (q_k - r_k))                          (slides)

with the reference positions ``r``. Each joint becomes one joint of the URDF with a link of its own,
so that a body with several joints is a chain of links, of which the last one has its inertia.
"""

import re
import xml.etree.ElementTree as ET
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pinocchio as pin

from .actuators import drives
from .compiling import Compiled
from .notes import MjcfNotes, numbers
from .poses import origin, pose_of, shift, turn
from .shapes import add_visuals
from .tree import HINGE, WORLD, Names, Tree, body_name, joints_of


def urdf_equivalent(mujoco: Any, compiled: Compiled, tree: Tree, notes: MjcfNotes) -> str:
    """Return the text of a URDF with the same bodies, joints, sites and shapes.

    The end effector is a site with a usual name for one, else the last body.
    """
    return _Writer(mujoco, compiled, tree).text(notes)


_END_EFFECTOR = re.compile(
    r"(^|[^a-z])(attachment|ee|eef|tcp|tool|grip|gripper|grasp|pinch|end_?effector|tip)([^a-z]|$)"
)

_NO_LIMIT = 1e101  # read as no limit


class _Writer:
    def __init__(self, mujoco: Any, compiled: Compiled, tree: Tree) -> None:
        self._m, self._compiled, self._tree = compiled.model, compiled, tree
        self._root = ET.Element("robot", name=compiled.name)
        self._links, self._joints = Names(), Names()
        self._drives = drives(mujoco, self._m, tree)
        off, bits = int(self._m.opt.disableflags), mujoco.mjtDisableBit
        self._damped = not off & int(bits.mjDSBL_DAMPER)
        self._rubbing = not off & int(bits.mjDSBL_FRICTIONLOSS)
        self._limited = not off & int(bits.mjDSBL_LIMIT)
        self._mujoco = mujoco

    def text(self, notes: MjcfNotes) -> str:
        m, tree = self._m, self._tree
        if tree.free is None:
            self._link("world")
        # Joints keep their names; those of fixed joints make way.
        joints = tree.joints
        for joint in joints.values():
            self._joints.take(joint)
        frames = {} if tree.free is not None else {WORLD: "world"}
        for i in tree.bodies:
            frames[i] = self._links.take(body_name(m, i))
        for i in tree.bodies:
            self._body(i, frames, joints)
        end_effector = ""
        for k in range(m.nsite):
            body = int(m.site_bodyid[k])
            if body in frames:
                name = self._link(m.site(k).name or f"site{k}")
                if not end_effector and _END_EFFECTOR.search(name.lower()):
                    end_effector = name
                self._fixed(frames[body], name, pose_of(m.site_pos[k], m.site_quat[k]))
        end_effector = end_effector or frames[tree.bodies[-1]]
        self._root.append(replace(notes, end_effector=end_effector).element())
        ET.indent(self._root)
        return ET.tostring(self._root, encoding="unicode")

    def _body(self, i: int, frames: dict[int, str], joint_names: Mapping[int, str]) -> None:
        m = self._m
        name = frames[i]
        pose = pose_of(m.body_pos[i], m.body_quat[i])
        joints = list(joints_of(m, i))
        link = ET.SubElement(self._root, "link", name=name)
        self._inertial(link, i)
        add_visuals(link, self._mujoco, self._compiled, i)
        if i == self._tree.free:
            return  # the root link of a floating base
        above = frames[int(m.body_parentid[i])]
        anchor = np.zeros(3)
        for k, j in enumerate(joints):
            axis = np.array(m.jnt_axis[j])
            reference, last = float(m.qpos0[m.jnt_qposadr[j]]), k == len(joints) - 1
            if m.jnt_type[j] == HINGE:
                pose = pose * shift(m.jnt_pos[j] - anchor) * turn(axis, -reference)
                anchor = np.array(m.jnt_pos[j])
            else:
                pose = pose * shift(-reference * axis)
            # The link of the body has the axes and the origin of the body.
            child = name if last and not anchor.any() else self._link(f"{name}_{joint_names[j]}")
            self._moving(j, joint_names[j], above, child, pose)
            above, pose = child, pin.SE3.Identity()
        if above != name:
            self._fixed(above, name, pose * shift(-anchor))

    def _moving(self, j: int, name: str, parent: str, child: str, pose: Any) -> None:
        m = self._m
        limited = bool(m.jnt_limited[j]) and self._limited
        hinge = m.jnt_type[j] == HINGE
        kind = ("revolute" if limited else "continuous") if hinge else "prismatic"
        joint = self._joint(name, kind, parent, child, pose)
        ET.SubElement(joint, "axis", xyz=numbers(m.jnt_axis[j]))
        effort = self._drives.effort.get(j, np.inf)
        # By the convention of URDF writers, 0 is "not given" for efforts and rates.
        limit = {"effort": repr(effort if np.isfinite(effort) else 0.0), "velocity": "0"}
        if limited or not hinge:
            low, high = m.jnt_range[j].tolist() if limited else (-_NO_LIMIT, _NO_LIMIT)
            limit |= {"lower": repr(low), "upper": repr(high)}
        ET.SubElement(joint, "limit", limit)
        dof = int(m.jnt_dofadr[j])
        damping = float(m.dof_damping[dof]) + self._drives.damping.get(j, 0.0)
        armature = float(m.dof_armature[dof]) + self._drives.armature.get(j, 0.0)
        dynamics = ET.SubElement(
            joint,
            "dynamics",
            damping=repr(damping if self._damped else 0.0),
            friction=repr(float(m.dof_frictionloss[dof]) if self._rubbing else 0.0),
            armature=repr(armature),
        )
        stiffness = float(np.ravel(m.jnt_stiffness[j])[0])
        if stiffness > 0.0:  # for systems of bodies and joints; models have no springs
            dynamics.set("stiffness", repr(stiffness))
            dynamics.set("rest", repr(float(m.qpos_spring[m.jnt_qposadr[j]])))

    def _inertial(self, link: ET.Element, i: int) -> None:
        m = self._m
        if not (m.body_mass[i] or m.body_inertia[i].any()):
            return
        axes = pose_of(np.zeros(3), m.body_iquat[i]).rotation
        tensor = axes @ np.diag(m.body_inertia[i]) @ axes.T
        inertial = ET.SubElement(link, "inertial")
        ET.SubElement(inertial, "origin", xyz=numbers(m.body_ipos[i]), rpy="0 0 0")
        ET.SubElement(inertial, "mass", value=repr(float(m.body_mass[i])))
        entries = zip(*np.triu_indices(3), strict=True)
        values = {f"i{'xyz'[r]}{'xyz'[c]}": repr(float(tensor[r, c])) for r, c in entries}
        ET.SubElement(inertial, "inertia", values)

    def _link(self, preferred: str) -> str:
        name = self._links.take(preferred)
        ET.SubElement(self._root, "link", name=name)
        return name

    def _fixed(self, parent: str, child: str, pose: Any) -> None:
        self._joint(self._joints.take(f"{child}_fixed"), "fixed", parent, child, pose)

    def _joint(self, name: str, kind: str, parent: str, child: str, pose: Any) -> ET.Element:
        joint = ET.SubElement(self._root, "joint", name=name, type=kind)
        ET.SubElement(joint, "parent", link=parent)
        ET.SubElement(joint, "child", link=child)
        joint.append(origin(pose))
        return joint

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
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pinocchio as pin

from vms_ph_dynamics import Array, ModelError

from ...settings.plugin_tags import numbers
from .compiling import Appearance, CompiledModel, compile_mjcf, import_mujoco
from .notes import MjcfNotes, left_out
from .tree import FREE, HINGE, WORLD, Tree, UniqueNames, body_name, drives, joints_of, robot_tree


def origin(pose: Any) -> ET.Element:
    """Return the element <origin> of a ``pinocchio.SE3``."""
    angles = pin.rpy.matrixToRpy(pose.rotation)  # of full precision, also at a pitch of 90 degrees
    return ET.Element("origin", xyz=numbers(pose.translation), rpy=numbers(angles))


def inertial(body: Any, text: Callable[[float], str] = repr) -> ET.Element:
    """Return the element <inertial> of a ``pinocchio.Inertia``; ``text`` writes a number."""
    tag = ET.Element("inertial")
    ET.SubElement(tag, "origin", xyz=" ".join(map(text, body.lever.tolist())), rpy="0 0 0")
    ET.SubElement(tag, "mass", value=text(body.mass))
    indices = zip(*np.triu_indices(3), strict=True)
    components = {f"i{'xyz'[r]}{'xyz'[c]}": text(float(body.inertia[r, c])) for r, c in indices}
    ET.SubElement(tag, "inertia", components)
    return tag


def pose_of(position: Array, quaternion: Array) -> Any:
    """Return the pose of a position and a quaternion [w x y z] of MuJoCo."""
    w, x, y, z = (quaternion / np.linalg.norm(quaternion)).tolist()
    return pin.SE3(pin.Quaternion(w, x, y, z).matrix(), np.array(position))


def translation_by(offset: Array) -> Any:
    """Return a translation by (3,)."""
    return pin.SE3(np.eye(3), np.array(offset))


LAST_VISIBLE_GROUP = 2
"""Last group of geoms that MuJoCo's viewer shows at first; shapes for collisions come after it."""


def add_visuals(link: ET.Element, mujoco: Any, compiled: CompiledModel, body: int) -> None:
    """Add the visible geoms of a body to its link; ellipsoids have no equivalent in a URDF."""
    m = compiled.model
    first_geom = int(m.body_geomadr[body])
    for k in range(first_geom, first_geom + int(m.body_geomnum[body])):
        appearance = compiled.appearances.get(m.geom(k).name)
        if appearance is None or m.geom_group[k] > LAST_VISIBLE_GROUP or not appearance.rgba[3]:
            continue
        pose = pose_of(m.geom_pos[k], m.geom_quat[k])
        for shape_pose, shape in _shapes(mujoco, m, k, pose, appearance):
            visual = ET.SubElement(link, "visual")
            visual.append(origin(shape_pose))
            ET.SubElement(visual, "geometry").append(shape)
            colour = "rgba_" + "_".join(f"{x:g}" for x in appearance.rgba)
            material = ET.SubElement(visual, "material", name=colour)
            ET.SubElement(material, "color", rgba=numbers(appearance.rgba))


def _shapes(
    mujoco: Any, m: Any, k: int, pose: Any, appearance: Appearance
) -> Iterator[tuple[Any, ET.Element]]:
    if appearance.mesh:
        if appearance.is_centred:
            mesh = int(m.geom_dataid[k])
            pose = pose * pose_of(m.mesh_pos[mesh], m.mesh_quat[mesh]).inverse()
        filename, scale = f"file://{appearance.mesh}", numbers(appearance.scale)
        yield pose, ET.Element("mesh", filename=filename, scale=scale)
        return
    geom_type, size = int(m.geom_type[k]), m.geom_size[k]
    radius = repr(float(size[0]))
    shapes = mujoco.mjtGeom
    if geom_type == int(shapes.mjGEOM_BOX):
        yield pose, ET.Element("box", size=numbers(2.0 * size))
    elif geom_type == int(shapes.mjGEOM_SPHERE):
        yield pose, ET.Element("sphere", radius=radius)
    elif geom_type in (int(shapes.mjGEOM_CYLINDER), int(shapes.mjGEOM_CAPSULE)):
        yield pose, ET.Element("cylinder", radius=radius, length=repr(2.0 * float(size[1])))
        if geom_type == int(shapes.mjGEOM_CAPSULE):  # not a shape of the standard
            for z in (-size[1], size[1]):
                offset = translation_by(np.array([0.0, 0.0, z]))
                yield pose * offset, ET.Element("sphere", radius=radius)


_END_EFFECTOR = re.compile(
    r"(^|[^a-z])(attachment|ee|eef|tcp|tool|grip[a-z]*|grasp|pinch|end_?effector|tip)([^a-z]|$)"
)

_NO_LIMIT = 1e101  # read as no limit


class _UrdfWriter:
    """Writes a URDF with the same bodies, joints, sites and shapes.

    The end effector is a site with a usual name for one, else the last body.
    """

    def __init__(self, mujoco: Any, compiled: CompiledModel, tree: Tree) -> None:
        self._m, self._compiled, self._tree = compiled.model, compiled, tree
        self._root = ET.Element("robot", name=compiled.name)
        self._link_names, self._joint_names = UniqueNames(), UniqueNames()
        self._drives = drives(mujoco, self._m, tree)
        disabled_bits, bits = int(self._m.opt.disableflags), mujoco.mjtDisableBit
        self._has_damping = not disabled_bits & int(bits.mjDSBL_DAMPER)
        self._has_friction_loss = not disabled_bits & int(bits.mjDSBL_FRICTIONLOSS)
        self._has_limits = not disabled_bits & int(bits.mjDSBL_LIMIT)
        self._mujoco = mujoco

    def text(self, notes: MjcfNotes) -> str:
        m, tree = self._m, self._tree
        # Joints keep their names; those of fixed joints make way.
        joints = tree.joints
        for joint in joints.values():
            self._joint_names.reserve(joint)
        links = {WORLD: self._add_link("world")} if tree.free_base is None else {}
        for i in tree.bodies:
            links[i] = self._link_names.reserve(body_name(m, i))
        for i in tree.bodies:
            self._add_body(i, links, joints)
        end_effector = ""
        for k in range(m.nsite):
            body = int(m.site_bodyid[k])
            if body in links:
                name = self._add_link(m.site(k).name or f"site{k}")
                if not end_effector and _END_EFFECTOR.search(name.lower()):
                    end_effector = name
                self._add_fixed_joint(links[body], name, pose_of(m.site_pos[k], m.site_quat[k]))
        end_effector = end_effector or links[tree.bodies[-1]]
        self._root.append(replace(notes, end_effector=end_effector).element())
        ET.indent(self._root)
        return ET.tostring(self._root, encoding="unicode")

    def _add_body(self, i: int, links: dict[int, str], joint_names: Mapping[int, str]) -> None:
        m = self._m
        name = links[i]
        pose = pose_of(m.body_pos[i], m.body_quat[i])
        joints = list(joints_of(m, i))
        link = ET.SubElement(self._root, "link", name=name)
        self._add_inertial(link, i)
        add_visuals(link, self._mujoco, self._compiled, i)
        if i == self._tree.free_base:
            return  # the root link of a floating base
        parent = links[int(m.body_parentid[i])]
        anchor = np.zeros(3)
        for k, j in enumerate(joints):
            axis = np.array(m.jnt_axis[j])
            reference, is_last = float(m.qpos0[m.jnt_qposadr[j]]), k == len(joints) - 1
            if m.jnt_type[j] == HINGE:
                reference_rotation = pin.SE3(pin.exp3(-reference * axis), np.zeros(3))
                pose = pose * translation_by(m.jnt_pos[j] - anchor) * reference_rotation
                anchor = np.array(m.jnt_pos[j])
            else:
                pose = pose * translation_by(-reference * axis)
            # The link of the body has the axes and the origin of the body.
            is_body_link = is_last and not anchor.any()
            child = name if is_body_link else self._add_link(f"{name}_{joint_names[j]}")
            self._add_moving_joint(j, joint_names[j], parent, child, pose)
            parent, pose = child, pin.SE3.Identity()
        if parent != name:
            self._add_fixed_joint(parent, name, pose * translation_by(-anchor))

    def _add_moving_joint(self, j: int, name: str, parent: str, child: str, pose: Any) -> None:
        m = self._m
        is_limited = bool(m.jnt_limited[j]) and self._has_limits
        is_hinge = m.jnt_type[j] == HINGE
        joint_type = ("revolute" if is_limited else "continuous") if is_hinge else "prismatic"
        joint = self._add_joint(name, joint_type, parent, child, pose)
        ET.SubElement(joint, "axis", xyz=numbers(m.jnt_axis[j]))
        effort = self._drives.effort.get(j, np.inf)
        # By the convention of URDF writers, 0 is "not given" for efforts and rates.
        limit = {"effort": repr(effort if np.isfinite(effort) else 0.0), "velocity": "0"}
        if is_limited or not is_hinge:
            low, high = m.jnt_range[j].tolist() if is_limited else (-_NO_LIMIT, _NO_LIMIT)
            limit |= {"lower": repr(low), "upper": repr(high)}
        ET.SubElement(joint, "limit", limit)
        dof_index = int(m.jnt_dofadr[j])
        damping = float(m.dof_damping[dof_index]) + self._drives.damping.get(j, 0.0)
        dynamics = ET.SubElement(
            joint,
            "dynamics",
            damping=repr(damping if self._has_damping else 0.0),
            friction=repr(float(m.dof_frictionloss[dof_index]) if self._has_friction_loss else 0.0),
            armature=repr(float(m.dof_armature[dof_index]) + self._drives.armature.get(j, 0.0)),
        )
        stiffness = float(np.ravel(m.jnt_stiffness[j])[0])
        if stiffness > 0.0:  # for systems of bodies and joints; models have no springs
            dynamics.set("stiffness", repr(stiffness))
            dynamics.set("rest", repr(float(m.qpos_spring[m.jnt_qposadr[j]])))

    def _add_inertial(self, link: ET.Element, i: int) -> None:
        m = self._m
        if not (m.body_mass[i] or m.body_inertia[i].any()):
            return
        axes = pose_of(np.zeros(3), m.body_iquat[i]).rotation
        tensor = axes @ np.diag(m.body_inertia[i]) @ axes.T
        link.append(inertial(pin.Inertia(float(m.body_mass[i]), m.body_ipos[i], tensor)))

    def _add_link(self, preferred_name: str) -> str:
        name = self._link_names.reserve(preferred_name)
        ET.SubElement(self._root, "link", name=name)
        return name

    def _add_fixed_joint(self, parent: str, child: str, pose: Any) -> None:
        self._add_joint(self._joint_names.reserve(f"{child}_fixed"), "fixed", parent, child, pose)

    def _add_joint(self, name: str, kind: str, parent: str, child: str, pose: Any) -> ET.Element:
        joint = ET.SubElement(self._root, "joint", name=name, type=kind)
        ET.SubElement(joint, "parent", link=parent)
        ET.SubElement(joint, "child", link=child)
        joint.append(origin(pose))
        return joint


def convert(file: Path) -> str:
    """Return the URDF equivalent of an MJCF file; see :func:`.mjcf_to_urdf`.

    Raises:
        VmsPhError: the file cannot be read, or MuJoCo is not installed.
        ModelError: MuJoCo refuses the file, or the robot in it is not covered.
    """
    compiled = compile_mjcf(file)
    mujoco, m = import_mujoco(), compiled.model
    try:
        tree = robot_tree(m)
        notes = _notes(mujoco, m, tree)
    except ModelError as error:
        raise ModelError(f"{file.name}: {error}") from None
    return _UrdfWriter(mujoco, compiled, tree).text(notes)


def _notes(mujoco: Any, m: Any, tree: Tree) -> MjcfNotes:
    is_weightless = int(m.opt.disableflags) & int(mujoco.mjtDisableBit.mjDSBL_GRAVITY)
    x, y, z = (0.0, 0.0, 0.0) if is_weightless else m.opt.gravity.tolist()
    qpos = _home_positions(m)
    if not np.isfinite(qpos).all():
        raise ModelError(f"the positions of its first or home keyframe are not finite: {qpos}")
    home: dict[str, float] = {}
    base_pose: tuple[float, ...] = ()
    for body in tree.bodies:
        for j in joints_of(m, body):
            address = int(m.jnt_qposadr[j])
            if m.jnt_type[j] == FREE:
                quaternion = qpos[address + 3 : address + 7]
                w, *vector = quaternion / np.linalg.norm(quaternion)
                base_pose = tuple(float(x) for x in (*qpos[address : address + 3], *vector, w))
            elif qpos[address]:
                home[tree.joints[j]] = float(qpos[address])
    return MjcfNotes((x, y, z), home, base_pose, tuple(left_out(mujoco, m, tree)))


def _home_positions(m: Any) -> Any:
    """Return the keyframe ``home``, else the first one, else the reference configuration."""
    if not m.nkey:
        return m.qpos0
    names = [m.key(k).name for k in range(m.nkey)]
    return m.key_qpos[names.index("home") if "home" in names else 0]

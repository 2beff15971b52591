# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""What an MJCF says beyond a URDF: gravity, a home posture, and what the model leaves out.

The URDF equivalent has it as an element of its own, which other readers ignore::

    <mjcf base="floating" gravity="0 0 -9.81" end_effector="tcp">
      <home base="0 0 0.3 0 0 0 1"><joint name="knee" position="-1.8"/></home>
      <left_out>tendons: tendon 'flexor'</left_out>
    </mjcf>
"""

import xml.etree.ElementTree as ET
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...settings.plugin_tags import numbers
from .tree import HINGE, SLIDE, Tree, covered_actuators, is_motor, joint_name, joints_of


@dataclass(frozen=True)
class MjcfNotes:
    """What an MJCF says beyond a URDF.

    Attributes:
        gravity: (3,) m/s^2.
        home: initial joint positions, rad or m: those of the keyframe ``home``, of the first
            keyframe, or the reference positions. Joints at zero are not listed.
        home_base: initial pose of a free base, [x y z qx qy qz qw]; empty for a fixed one.
        end_effector: the link that is the end effector unless another is chosen.
        omissions: things of the file that the model leaves out, a text for each kind.
    """

    gravity: tuple[float, float, float]
    home: Mapping[str, float] = field(default_factory=dict)
    home_base: tuple[float, ...] = ()
    omissions: tuple[str, ...] = ()
    end_effector: str = ""

    @property
    def base(self) -> str:
        """The kind of base: fixed, or floating for a robot with a free joint."""
        return "floating" if self.home_base else "fixed"

    def element(self) -> ET.Element:
        """Return the element of the URDF equivalent."""
        root = ET.Element("mjcf", base=self.base, gravity=numbers(self.gravity))
        if self.end_effector:
            root.set("end_effector", self.end_effector)
        home = ET.SubElement(root, "home")
        if self.home_base:
            home.set("base", numbers(self.home_base))
        for name, position in self.home.items():
            ET.SubElement(home, "joint", name=name, position=repr(float(position)))
        for text in self.omissions:
            ET.SubElement(root, "left_out").text = text
        return root


_MAX_NAMES = 8


def left_out(mujoco: Any, m: Any, tree: Tree) -> Iterator[str]:
    """Yield a text for each kind of thing in a ``mujoco.MjModel`` that the model leaves out."""
    yield from _named_list("free objects beside the robot", tree.objects)
    yield from _named_list("bodies fixed to the world beside the robot", tree.scenery)
    yield from _named_list("tendons", (m.tendon(i).name or f"tendon{i}" for i in range(m.ntendon)))
    kinds = {int(v): k.removeprefix("mjEQ_").lower() for k, v in mujoco.mjtEq.__members__.items()}
    yield from _named_list(
        "equality constraints",
        [f"{kinds[int(m.eq_type[i])]} '{m.equality(i).name or i}'" for i in range(m.neq)],
    )
    yield from _joint_notes(m, tree)
    yield from _actuator_notes(mujoco, m, tree)
    weightless = [body for body in tree.bodies if m.body_gravcomp[body]]
    yield from _named_list("gravity compensation of bodies", (m.body(i).name for i in weightless))
    if m.opt.density or m.opt.viscosity:
        yield (
            f"the fluid around it, density {m.opt.density:g} kg/m^3 and viscosity "
            f"{m.opt.viscosity:g} Pa s (VMSModel.in_fluid adds one)"
        )
    if plugins := getattr(m, "nplugin", 0):
        yield f"{plugins} plugins"
    geoms = np.isin(m.geom_bodyid, tree.bodies)
    colliding_count = int(((m.geom_contype != 0) | (m.geom_conaffinity != 0))[geoms].sum())
    if colliding_count or m.npair:
        yield f"contacts: {colliding_count} geoms that collide, {m.npair} pairs"


def _joint_notes(m: Any, tree: Tree) -> Iterator[str]:
    joints = [j for body in tree.bodies for j in joints_of(m, body)]
    joint_ids = [joint for joint in joints if m.jnt_type[joint] in (HINGE, SLIDE)]
    spring_ids = [j for j in joint_ids if _is_nonzero(m, j, "jnt_stiffness", "jnt_stiffnesspoly")]
    yield from _named_list("springs of joints", (joint_name(m, j) for j in spring_ids))
    nonlinear = [j for j in joint_ids if _is_nonzero(m, m.jnt_dofadr[j], "dof_dampingpoly")]
    yield from _named_list("damping not linear in the rate", (joint_name(m, j) for j in nonlinear))
    if tree.free_base is not None:
        first_dof = int(m.body_dofadr[tree.free_base])
        for name in ("armature", "damping", "frictionloss"):
            values = getattr(m, f"dof_{name}")[first_dof : first_dof + 6]
            if values.any():
                yield f"{name} of the free joint: {values.tolist()} (write <freejoint/> for none)"


def _actuator_notes(mujoco: Any, m: Any, tree: Tree) -> Iterator[str]:
    covered_ids = covered_actuators(mujoco, m, tree)
    yield from _named_list(
        "actuators that do not drive one hinge or slide of the robot",
        (_actuator_name(m, i) for i in range(m.nu) if i not in covered_ids),
    )
    yield from _named_list(
        "the laws of actuators, in place of which efforts are commanded",
        (_actuator_name(m, i) for i in covered_ids if not is_motor(mujoco, m, i)),
    )
    names = [_actuator_name(m, i) for i in covered_ids if _is_nonzero(m, i, "actuator_dampingpoly")]
    yield from _named_list("damping of actuators not linear in the rate", names)


def _actuator_name(m: Any, i: int) -> str:
    return str(m.actuator(i).name or i)


def _is_nonzero(m: Any, i: int, *fields: str) -> bool:
    """Return whether a row of some field is not zero; older versions of MuJoCo lack some."""
    return any(np.any(getattr(m, name)[i]) for name in fields if hasattr(m, name))


def _named_list(kind: str, names: Iterable[str]) -> Iterator[str]:
    names = list(names)
    if names:
        more_text = f" and {len(names) - _MAX_NAMES} more" if len(names) > _MAX_NAMES else ""
        yield f"{kind}: {', '.join(str(name) for name in names[:_MAX_NAMES])}{more_text}"

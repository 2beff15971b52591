# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Robot descriptions: URDF text, and xacro files."""

# ruff: noqa: E501  inputs as they are

from __future__ import annotations

import tempfile
from functools import cache
from pathlib import Path

import numpy as np
from fuzz.surface import Surface

from vms_ph_dynamics import VMSModel
from vms_ph_dynamics.robot.description import parse_description
from vms_ph_ephs.multibody import from_urdf
from vms_ph_io import load_urdf, read_urdf, robots, share_directory
from vms_ph_io.descriptions.urdf.checks import check_urdf
from vms_ph_io.descriptions.urdf.visuals import visuals

_INERTIAL = """<inertial><origin xyz="0 0 0.1" rpy="0 0 0"/><mass value="1.5"/>
<inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0" izz="0.05"/></inertial>"""

_ARM = f"""<?xml version="1.0"?>
<robot name="arm">
<material name="grey"><color rgba="0.5 0.5 0.5 1"/></material>
<link name="base">{_INERTIAL}
<visual><origin xyz="0 0 0" rpy="0 0 0"/><geometry><box size="0.1 0.1 0.1"/></geometry>
<material name="grey"/></visual></link>
<link name="upper">{_INERTIAL}
<visual><geometry><mesh filename="package://arm/upper.stl" scale="1 1 1"/></geometry></visual></link>
<link name="lower">{_INERTIAL}
<visual><geometry><cylinder radius="0.1" length="0.5"/></geometry></visual></link>
<link name="finger">{_INERTIAL}<visual><geometry><sphere radius="0.1"/></geometry></visual></link>
<link name="tool"/>
<joint name="shoulder" type="revolute"><origin xyz="0 0 0.1" rpy="0 1.57 0"/>
<parent link="base"/><child link="upper"/><axis xyz="0 1 0"/>
<limit lower="-1.5" upper="1.5" effort="10" velocity="2"/><dynamics damping="0.1" friction="0.2"/></joint>
<joint name="elbow" type="revolute"><origin xyz="0 0 0.5"/>
<parent link="upper"/><child link="lower"/><axis xyz="0 1 0"/>
<limit lower="-1.5" upper="1.5" effort="10" velocity="2"/></joint>
<joint name="wrist" type="continuous"><parent link="lower"/><child link="hand"/><axis xyz="0.6 0.8 0"/></joint>
<link name="hand">{_INERTIAL}</link>
<joint name="slide" type="prismatic"><parent link="lower"/><child link="finger"/><axis xyz="1 0 0"/>
<limit lower="0" upper="0.1" effort="10" velocity="2"/><mimic joint="elbow" multiplier="2" offset="0.1"/></joint>
<joint name="flange" type="fixed"><parent link="lower"/><child link="tool"/></joint>
</robot>
"""

_BASES = f"""<robot name="free"><link name="world"/><link name="hull">{_INERTIAL}</link>
<link name="arm">{_INERTIAL}</link>
<joint name="root" type="floating"><origin xyz="0 0 1" rpy="0.1 0 0"/><parent link="world"/>
<child link="hull"/></joint>
<joint name="turn" type="continuous"><parent link="hull"/><child link="arm"/><axis xyz="0 0 1"/></joint>
</robot>
"""

_WORDS = (
    b'type="floating"', b'type="planar"', b'type="fixed"', b'<mimic joint="shoulder"/>', b"<link/>",
    b"<joint/>", b"<!DOCTYPE robot [<!ENTITY a 'aaaaaaaaaa'><!ENTITY b '&a;&a;&a;&a;'>]>", b"&b;",
    b"<!--", b"-->", b"<![CDATA[", b"]]>", b"<?xml version='1.1' encoding='utf-16'?>", b"<inertial/>",
    b'<transmission name="t"><mechanicalReduction>10</mechanicalReduction></transmission>',
    b'<limit/>', b'<axis xyz="0 0 0"/>', b'name=""', b"<geometry/>", b'<capsule radius="1"/>',
    b'<rotorInertia value="1"/>', b"nan", b'<origin rpy="nan 0 0"/>', b'<mass value="1e308"/>',
)  # fmt: skip


def _urdf(data: bytes) -> None:
    """As ``vms-ph check`` reads it, then the model, its pattern and its pictures."""
    path = _scratch() / "robot.urdf"
    path.write_bytes(data)
    xml = read_urdf(path)
    check_urdf(xml)
    model = load_urdf(path)
    _is_finite(model)
    # No inertia is lost: that of the links that move is all there. That of the ground may be any.
    masses = parse_description(xml).findall("link/inertial/mass")
    given = sum(max(0.0, float(mass.get("value", ""))) for mass in masses)
    # A repair may add a small body.
    assert model.repairs or model.total_mass <= given * (1 + 1e-9)
    visuals(xml)


def _is_finite(model: VMSModel) -> None:
    """A model that was accepted has finite terms where it stands."""
    d = model.evaluate(model.neutral_configuration(), np.ones(model.nv))
    for name in ("M", "C", "g", "p", "kinetic_energy", "potential_energy", "J_end_effector"):
        assert np.isfinite(getattr(d, name)).all(), f"{name} is not finite"
    assert np.isfinite(model.total_mass)


def _description(data: bytes) -> None:
    """As the topic robot_description is read."""
    xml = data.decode(errors="replace")
    for visual in visuals(xml):
        assert np.isfinite(visual.size).all()
        assert np.isfinite(visual.pose).all()
    _is_finite(VMSModel.from_urdf(xml))


def _pattern(data: bytes) -> None:
    from_urdf(data.decode(errors="replace"))


@cache
def _scratch() -> Path:
    return Path(tempfile.mkdtemp(prefix="vms_ph_fuzz_"))


def _urdf_seeds() -> list[bytes]:
    return [
        _ARM.encode(),
        _ARM.encode(),
        _BASES.encode(),
        robots.get("panda").description().encode(),
    ]


_XACRO = """<?xml version="1.0"?>
<robot name="x" xmlns:xacro="http://www.ros.org/wiki/xacro">
<xacro:arg name="mass" default="1.5"/>
<xacro:property name="m" value="$(arg mass)"/>
<xacro:property name="k" value="${m * 2}"/>
<xacro:property name="names" value="${['a', 'b']}"/>
<xacro:macro name="body" params="name mass:=1 *block **blocks">
<link name="${name}"><inertial><mass value="${mass}"/>
<inertia ixx="${mass / 3}" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial></link>
<xacro:insert_block name="block"/>
</xacro:macro>
<xacro:body name="base" mass="${k}"><origin xyz="0 0 0"/><c><d/></c></xacro:body>
<xacro:if value="${m > 1}"><xacro:body name="arm"><a/><b/></xacro:body></xacro:if>
<xacro:unless value="0"><link name="tool"/></xacro:unless>
<joint name="j" type="continuous"><parent link="base"/><child link="arm"/><axis xyz="0 0 1"/></joint>
<joint name="f" type="fixed"><parent link="arm"/><child link="tool"/></joint>
</robot>
"""

_XACRO_WORDS = (
    b"${", b"}", b"$(", b")", b"$(arg mass)", b"$(find vms_ph)", b"${m}", b"${k*m}", b"$$", b"${1/0}",
    b"${m.__class__}", b"${[].append}", b"<xacro:body name='x'/>", b"<xacro:include filename='robot.xacro'/>",
    b"<xacro:property name='m' value='${m}'/>", b"<xacro:call macro='body'/>", b"${names[5]}", b"${pi}",
    b"<xacro:insert_block name='block'/>", b"<xacro:attribute name='a' value='b'/>", b"${''.join(names)}",
    b"<xacro:element xacro:name='b'/>", b"${xacro.load_yaml('robot.xacro')}", b"${list(range(9))}",
)  # fmt: skip


def _xacro(data: bytes) -> None:
    path = _scratch() / "robot.xacro"
    path.write_bytes(data)
    load_urdf(path)


# Those that need no argument and no file beside them.
_ALONE = ("bluerov2_alpha5", "prismatic_hopper", "revolute_hopper")


def _xacro_seeds() -> list[bytes]:
    folder = share_directory() / "urdf"
    own = [(folder / f"{name}.urdf.xacro").read_bytes() for name in _ALONE]
    return [*[_XACRO.encode()] * len(own), *own]


URDF = Surface("urdf", _urdf, _urdf_seeds, _WORDS, text=True, seconds=10.0, short=12, long=10_000)
DESCRIPTION = Surface(
    "description", _description, _urdf_seeds, _WORDS, text=True, seconds=10.0, short=30,
    long=20_000,
)  # fmt: skip
PATTERN = Surface(
    "ephs_urdf", _pattern, _urdf_seeds, _WORDS, text=True, seconds=10.0, short=8, long=4_000
)
XACRO = Surface(
    "xacro", _xacro, _xacro_seeds, _XACRO_WORDS, text=True, seconds=20.0, short=8, long=6_000
)

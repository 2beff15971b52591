# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""MJCF files, which MuJoCo reads in a process of its own."""

# ruff: noqa: E501  inputs as they are

from __future__ import annotations

import atexit
import tempfile
from functools import cache
from pathlib import Path

import numpy as np
from fuzz.surface import Surface

from vms_ph_dynamics import ModelError, VMSModel
from vms_ph_io.descriptions.mjcf import Worker
from vms_ph_io.descriptions.mjcf.worker import DEFECT
from vms_ph_io.descriptions.urdf import check_urdf
from vms_ph_io.descriptions.urdf.visuals import visuals

_ARM = """<mujoco model="arm">
<compiler angle="degree" eulerseq="zyx" autolimits="true"/>
<option gravity="0 0 -9.81"><flag contact="disable"/></option>
<default><joint damping="0.5" armature="0.02"/><default class="strong"><joint range="-90 45"/></default></default>
<asset><material name="m" rgba="1 0 0 1"/><mesh name="t" vertex="0 0 0 1 0 0 0 1 0 0 0 1"/></asset>
<worldbody><geom type="plane" size="1 1 1"/>
<body name="pedestal" euler="30 20 10"><geom type="cylinder" size="0.1 0.2" material="m"/>
<body name="upper" pos="0 0 0.2" quat="0.8 0.1 0 0.6"><joint name="pan" class="strong" axis="0 0 1"/>
<joint name="tilt" axis="0 1 0.2" pos="0.05 0 0.1" ref="20"/><geom type="mesh" mesh="t"/>
<inertial pos="0.1 0 0.2" mass="2" fullinertia="0.03 0.04 0.02 0.001 -0.002 0.003"/>
<body name="fore" pos="0.1 0 0.5"><joint name="lift" type="slide" range="-0.1 0.3"/>
<geom type="capsule" fromto="0 0 0 0.2 0.1 0.3" size="0.04" density="800"/><site name="tcp"/></body></body></body></worldbody>
<tendon><fixed name="cord"><joint joint="pan" coef="1"/></fixed></tendon>
<equality><joint joint1="pan" joint2="tilt"/></equality>
<actuator><motor name="m1" joint="pan" gear="50" ctrlrange="-2 2"/><position joint="lift" kp="100"/><motor tendon="cord"/></actuator>
<sensor><jointpos joint="pan"/></sensor>
<keyframe><key name="home" qpos="0.1 0.2 0.3"/></keyframe></mujoco>
"""

_FREE = """<mujoco><worldbody><body name="hull" pos="0 0 1"><freejoint name="free"/>
<geom type="mesh" mesh="t" density="500"/><site name="rotor"/>
<frame euler="0 0 90"><replicate count="3" euler="0 0 120"><body name="leg" pos="0.2 0 0"><joint name="knee" axis="0 1 0"/>
<geom type="box" size="0.1 0.02 0.02" mass="0.1"/></body></replicate></frame></body></worldbody>
<asset><mesh name="t" vertex="0 0 0 1 0 0 0 1 0 0 0 1"/></asset>
<actuator><general site="rotor" gear="0 0 1 0 0 0.1" ctrlrange="0 9"/></actuator></mujoco>
"""

_WORDS = (
    b"<composite/>", b'<replicate count="30">', b"</replicate>", b"nan", b"inf", b"1e308", b"-1", b"0",
    b'type="ball"', b"<freejoint/>", b'<default class="x">', b'<include file="robot.xml"/>', b"</body>",
    b"<body>", b"<frame>", b'type="hfield"', b'type="ellipsoid"', b"<plugin/>", b'childclass="strong"',
    b'<geom size="1"/>', b"<joint/>", b'mass="0"', b'<mesh file="robot.xml"/>', b'inertiafromgeom="true"',
    b'<texture name="c" builtin="checker" width="99999" height="99999"/>', b'<attach model="a" body="b"/>',
    b'<model name="a" file="robot.xml"/>', b'fusestatic="true"', b'discardvisual="true"', b"99999999999",
)  # fmt: skip

_workers: list[Worker] = []


def _worker() -> Worker:
    """The process, a new one where an input ended the last."""
    if not _workers or not _workers[-1].is_alive:
        _workers.append(Worker())
        atexit.register(_workers[-1].close)
    return _workers[-1]


@cache
def _scratch() -> Path:
    return Path(tempfile.mkdtemp(prefix="vms_ph_fuzz_"))


def _mjcf(data: bytes) -> None:
    path = _scratch() / "robot.xml"
    path.write_bytes(data)
    try:
        text = _worker().convert(path, timeout=8.0)
    except ModelError as error:
        if DEFECT in str(error):
            raise RuntimeError(str(error)) from None
        raise
    assert "<mjcf" in text
    check_urdf(text)
    visuals(text)
    model = VMSModel.from_urdf(text)
    d = model.evaluate(model.neutral_configuration(), np.ones(model.nv))
    for name in ("M", "C", "g", "potential_energy", "J_end_effector"):
        assert np.isfinite(getattr(d, name)).all(), f"{name} is not finite"


MJCF = Surface(
    "mjcf", _mjcf, lambda: [_ARM.encode(), _FREE.encode()], _WORDS, text=True, seconds=10.0,
    short=40, long=10_000,
)  # fmt: skip

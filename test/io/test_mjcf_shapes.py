# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Meshes and geoms of MJCF files are drawn where MuJoCo has them."""

from pathlib import Path

import mujoco
import numpy as np
import pinocchio as pin
import pytest
from mjcf_texts import CUBE, HAND, TWO_JOINTS_IN_A_BODY, mjcf

from vms_ph_dynamics import VMSModel
from vms_ph_io.descriptions.mjcf import Worker
from vms_ph_io.descriptions.mjcf.description import origin
from vms_ph_io.descriptions.urdf import check_urdf
from vms_ph_io.descriptions.urdf.visuals import visuals


@pytest.mark.parametrize("inertial", ["", '<inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/>'])
def test_a_mesh_is_drawn_where_mujoco_has_it(inertial: str, worker: Worker, tmp_path: Path) -> None:
    (tmp_path / "meshes").mkdir()
    (tmp_path / "meshes/cube.obj").write_text(CUBE)
    xml = mjcf(
        f'<body name="b">{inertial}<joint name="j"/><geom type="mesh" mesh="cube" pos="1 2 3" '
        'euler="30 40 50" material="m"/></body>',
        '<compiler meshdir="meshes"/><asset><mesh file="cube.obj" scale="0.1 0.2 0.1"/>'
        '<material name="m" rgba="1 0 0.5 1"/></asset>',
    )
    path = tmp_path / "robot.xml"
    path.write_text(xml)
    text = worker.convert(path)
    (visual,) = visuals(text)
    assert visual.mesh == f"file://{tmp_path}/meshes/cube.obj"
    assert visual.colour == (1.0, 0.0, 0.5, 1.0)
    corners = np.array([[float(w) for w in line.split()[1:]] for line in CUBE.split("\n")[:8]])
    drawn = corners * visual.size @ visual.pose[:3, :3].T + visual.pose[:3, 3]
    m = mujoco.MjModel.from_xml_path(str(path))
    d = mujoco.MjData(m)
    mujoco.mj_kinematics(m, d)
    axes = d.geom_xmat[0].reshape(3, 3)
    theirs = m.mesh_vert @ axes.T + d.geom_xpos[0]
    for corner in drawn:
        assert np.abs(theirs - corner).max(axis=1).min() < 1e-6  # single precision
    np.testing.assert_allclose(VMSModel.from_urdf(text).total_mass, m.body_mass[1])
    if inertial:  # nothing else needs the file
        (tmp_path / "meshes/cube.obj").unlink()
        findings = check_urdf(worker.convert(path))
        assert not findings.errors
        assert any("cube.obj' cannot be read" in text for text in findings.warnings)


def test_visible_geoms_are_drawn_by_standard_shapes(urdf) -> None:
    shapes = [(v.link, v.shape, v.size) for v in visuals(urdf(TWO_JOINTS_IN_A_BODY))]
    length = float(np.linalg.norm([0.2, 0.1, 0.3]))
    assert shapes[0] == ("pedestal", "cylinder", (0.1, 0.4))
    assert [(link, shape) for link, shape, _ in shapes[1:]] == [
        ("fore", "cylinder"),
        ("fore", "sphere"),
        ("fore", "sphere"),
    ]
    np.testing.assert_allclose(shapes[1][2], [0.04, length])
    # Those of group 3 are for collisions.
    links = {v.link for v in visuals(urdf(HAND))}
    assert links == {"palm", "index_tip", "pad_0", "pad_1"}


def test_rotations_at_the_pole_of_their_angles_keep_full_precision() -> None:
    rng = np.random.default_rng(0)
    for k in range(200):
        off = 10.0 ** rng.uniform(-18, -2) * (k % 3 - 1)
        pitch = rng.choice([-1, 1]) * np.pi / 2 + off
        roll, yaw = rng.uniform(-np.pi, np.pi, 2)
        rotation = pin.rpy.rpyToMatrix(roll, pitch, yaw)
        text = str(origin(pin.SE3(rotation, np.zeros(3))).get("rpy"))
        again = pin.rpy.rpyToMatrix(*map(float, text.split()))
        np.testing.assert_allclose(again, rotation, atol=2e-15)

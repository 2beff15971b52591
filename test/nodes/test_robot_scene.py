# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""A mesh that cannot be read leaves the robot drawn without it."""

import struct
from pathlib import Path

import pytest

from vms_ph_dynamics import VMSModel
from vms_ph_nodes.views.robot_scene import RobotScene

viser = pytest.importorskip("viser")

MESHES = {
    "a.stl": b"solid x\nfacet normal",
    "b.obj": b"v 1 2 3\nf 1 2 4294967295\n",
    "c.ply": b"ply\nformat ascii 1.0\nelement vertex 4294967295\nproperty float x\nend_header\n",
    "d.dae": b"<COLLADA",
    "e.glb": b"glTF" + struct.pack("<II", 2, 2**32 - 1),
    "f.xyz": b"",
}
_INERTIAL = (
    "<inertial><mass value='1'/><inertia ixx='1' iyy='1' izz='1' ixy='0' ixz='0' iyz='0'/>"
    "</inertial>"
)


def test_damaged_meshes_and_impossible_paths_are_reported_as_missing(tmp_path: Path) -> None:
    for name, content in MESHES.items():
        (tmp_path / name).write_bytes(content)
    paths = [*(str(tmp_path / name) for name in MESHES), "a" * 5000, "http://127.0.0.1/a.stl"]
    meshes = "".join(
        f"<visual><geometry><mesh filename='{path}'/></geometry></visual>" for path in paths
    )
    xml = f"<robot name='r'><link name='a'>{_INERTIAL}{meshes}</link></robot>"
    server = viser.ViserServer(host="127.0.0.1", port=0, verbose=False)
    try:
        scene = RobotScene(server, VMSModel.from_urdf(xml, "floating"), xml)
    finally:
        server.stop()
    told = [entry.split(": ")[0] for entry in scene.missing_meshes]
    assert set(paths[1:]) <= set(told)

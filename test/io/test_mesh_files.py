# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Files of meshes that unfold are refused before a library reads them."""

import json
import zipfile
from pathlib import Path

import pytest

from vms_ph_dynamics import VmsPhError
from vms_ph_io import load_urdf
from vms_ph_io.descriptions.mesh_files import check_mesh
from vms_ph_io.descriptions.robot_shapes import robot_shapes

_NAMESPACE = "http://www.collada.org/2005/11/COLLADASchema"


def _dae(nodes: str) -> str:
    geometry = f'<geometry id="g"><mesh><p>{"1 " * 500}</p></mesh></geometry>'
    return f'<COLLADA xmlns="{_NAMESPACE}">{geometry}{nodes}</COLLADA>'


def _doubled(levels: int) -> str:
    above = "".join(
        f'<node id="n{k}">' + f'<instance_node url="#n{k - 1}"/>' * 2 + "</node>"
        for k in range(1, levels)
    )
    return _dae('<node id="n0"><instance_geometry url="#g"/></node>' + above)


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        ("a.dae", _doubled(40), "without instances"),
        ("a.dae", _dae('<node id="n"><instance_node url="#n"/></node>'), "contains itself"),
        ("a.gltf", json.dumps({"accessors": [{"count": 10**9}]}), "without instances"),
        ("a.dae", "PK\x03\x04", "an archive: unpack it"),
        ("a.stl", "BZh91AY&SY", "an archive: unpack it"),
        ("a.zip", "PK\x03\x04", r"must be one of \.dae"),
    ],
)
def test_a_mesh_that_unfolds_is_refused(name: str, content: str, told: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_text(content)
    with pytest.raises(VmsPhError, match=told):
        check_mesh(str(path))


def test_a_mesh_that_is_drawn_twice_is_accepted(tmp_path: Path) -> None:
    (tmp_path / "a.dae").write_text(_doubled(2))
    check_mesh(str(tmp_path / "a.dae"))


def test_a_zipped_mesh_does_not_collide(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.dae", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.dae", " " * 10**6)
    inertia = "<inertia ixx='1' iyy='1' izz='1' ixy='0' ixz='0' iyz='0'/>"
    inertial = f"<inertial><mass value='1'/>{inertia}</inertial>"
    shape = f"<geometry><mesh filename='file://{tmp_path}/a.dae'/></geometry>"
    mesh = f"<collision>{shape}</collision>"
    text = (
        f"<robot name='r'><link name='a'/><link name='b'>{inertial}{mesh}</link>"
        "<joint name='j' type='continuous'><parent link='a'/><child link='b'/></joint></robot>"
    )
    path = tmp_path / "r.urdf"
    path.write_text(text)
    with pytest.raises(VmsPhError, match="an archive"):
        robot_shapes(load_urdf(path), text)

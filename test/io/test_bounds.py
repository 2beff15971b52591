# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The size or depth of a robot description or a bag cannot hang or crash a program."""

import struct
import zlib
from io import BytesIO
from pathlib import Path

import pytest

from vms_ph_dynamics import VMSModel, VmsPhError
from vms_ph_dynamics.robot.description import MOST_LINKS
from vms_ph_io import load_urdf
from vms_ph_io.bag.mcap_reader import MAGIC, McapReader
from vms_ph_io.descriptions.urdf import xacro_text
from vms_ph_io.descriptions.urdf.checks import check_urdf
from vms_ph_io.descriptions.urdf.visuals import visuals

_INERTIAL = (
    "<inertial><mass value='1'/><inertia ixx='1' iyy='1' izz='1' ixy='0' ixz='0' iyz='0'/>"
    "</inertial>"
)


def _chain(links: int, kind: str, inertial: str = _INERTIAL) -> str:
    parts = [f"<link name='l{i}'>{inertial}</link>" for i in range(links)]
    parts += [
        f"<joint name='j{i}' type='{kind}'><parent link='l{i}'/><child link='l{i + 1}'/>"
        "<axis xyz='0 0 1'/></joint>"
        for i in range(links - 1)
    ]
    return f"<robot name='chain'>{''.join(parts)}</robot>"


def _refusal(path: Path, text: str) -> str:
    path.write_text(text)
    with pytest.raises(VmsPhError) as caught:
        load_urdf(path)
    return str(caught.value)


def test_a_long_chain_of_links_is_checked_without_recursion(tmp_path: Path) -> None:
    told = _refusal(tmp_path / "chain.urdf", _chain(1100, "continuous"))
    assert "1099 degrees of freedom; at most 256" in told
    (error,) = check_urdf(_chain(1100, "continuous", "")).errors
    assert "no link has an <inertial>" in error


def test_a_chain_of_two_hundred_joints_is_accepted(tmp_path: Path) -> None:
    path = tmp_path / "chain.urdf"
    path.write_text(_chain(101, "continuous"))
    assert load_urdf(path).n == 100


def test_too_many_links_are_rejected(tmp_path: Path) -> None:
    told = _refusal(tmp_path / "many.urdf", _chain(10_000, "fixed"))
    assert f"it has 10000 links; at most {MOST_LINKS}" in told


@pytest.mark.parametrize("depth", [65, 50_000])
def test_too_deeply_nested_elements_are_rejected(depth: int, tmp_path: Path) -> None:
    nested = f"<robot name='deep'>{'<x>' * depth}{'</x>' * depth}</robot>"
    told = _refusal(tmp_path / "deep.urdf", nested)
    assert f"nested {depth + 1} deep; at most 64" in told


_XACRO = "<robot name='x' xmlns:xacro='http://www.ros.org/wiki/xacro'>{}</robot>"


@pytest.mark.parametrize(
    "expression",
    [
        "9**9**9",
        "1 &lt;&lt; 10**12",
        "'ab' * 10**12",
        "[m**9**9 for m in [3]]",
        "'%9999999999d' % 1",
    ],
)
def test_an_expression_of_a_huge_value_is_rejected(expression: str, tmp_path: Path) -> None:
    told = _refusal(tmp_path / "x.urdf.xacro", _XACRO.format(f'<link name="${{{expression}}}"/>'))
    assert "would take" in told or "three digits" in told


@pytest.mark.parametrize(
    "content",
    [
        "<xacro:macro name='m'><xacro:m/></xacro:macro><xacro:m/>",
        "<xacro:include filename='x.urdf.xacro'/>",
        "<x>" * 5000 + "</x>" * 5000,
    ],
    ids=["a macro that calls itself", "a file that includes itself", "infinitely nested elements"],
)
def test_an_infinite_xacro_is_rejected(content: str, tmp_path: Path) -> None:
    assert "contains itself" in _refusal(tmp_path / "x.urdf.xacro", _XACRO.format(content))


def test_an_invalid_path_is_reported() -> None:
    with pytest.raises(VmsPhError, match="is not the path of a file: File name too long"):
        load_urdf("/tmp/" + "a" * 5000 + ".urdf")


def _file_of_one_chunk(compression: bytes, claimed: int, data: bytes) -> bytes:
    def record(opcode: int, body: bytes) -> bytes:
        return struct.pack("<BQ", opcode, len(body)) + body

    def text(value: bytes) -> bytes:
        return struct.pack("<I", len(value)) + value

    header = record(1, text(b"ros2") + text(b"test"))
    chunk = struct.pack("<QQQI", 0, 1, claimed, zlib.crc32(b"")) + text(compression)
    chunk += struct.pack("<Q", len(data)) + data
    return MAGIC + header + record(6, chunk)


@pytest.mark.parametrize("compression", [b"zstd", b"lz4", b""])
@pytest.mark.parametrize("claimed", [2**62, 2**64 - 1, 2**30])
def test_a_chunk_with_an_excessive_stated_size_is_skipped(compression: bytes, claimed: int) -> None:
    content = _file_of_one_chunk(compression, claimed, b"\0" * 64)
    reader = McapReader(BytesIO(content), len(content), "bag")
    assert list(reader.records()) == []
    assert reader.unreadable_bytes > 64


def test_a_chunk_is_decompressed_to_at_most_its_stated_size() -> None:
    zstandard = pytest.importorskip("zstandard")
    bomb = zstandard.ZstdCompressor().compress(b"\0" * 10**8)
    content = _file_of_one_chunk(b"zstd", 1000, bomb)
    reader = McapReader(BytesIO(content), len(content), "bag")
    assert list(reader.records()) == []


_FREE = "<robot name='free'><link name='a'>{}</link>{}</robot>"
_ARM = (
    "<link name='b'>{}</link><joint name='j' type='continuous'><parent link='a'/>"
    "<child link='b'/>{}</joint>"
)


def _arm(inertial: str = _INERTIAL, inside: str = "") -> str:
    return _FREE.format(_INERTIAL, _ARM.format(inertial, inside))


@pytest.mark.parametrize(
    "place",
    [
        _INERTIAL.replace("<mass", "<origin xyz='nan 0 0'/><mass"),
        _INERTIAL.replace("<mass", "<origin xyz='0 0'/><mass"),
        _INERTIAL.replace("<mass", "<origin rpy='0 0 1e999'/><mass"),
        _INERTIAL.replace("<mass value='1'", "<mass value='1_000'"),
        _INERTIAL.replace("<mass value='1'", "<mass value='1e308'"),
        _INERTIAL.replace("ixx='1'", "ixx='inf'"),
    ],
)
def test_an_inertial_whose_numbers_are_none_is_refused_not_dropped(
    place: str, tmp_path: Path
) -> None:
    assert "must be" in _refusal(tmp_path / "arm.urdf", _arm(place))
    with pytest.raises(VmsPhError, match="link 'b' must be"):
        VMSModel.from_urdf(_arm(place), "floating")


@pytest.mark.parametrize(
    "inside", ["<origin xyz='0 nan 0'/>", "<axis xyz='x'/>", "<dynamics damping='1e300'/>"]
)
def test_the_numbers_of_a_joint_are_finite(inside: str) -> None:
    with pytest.raises(VmsPhError, match="of joint 'j' must be"):
        VMSModel.from_urdf(_arm(inside=inside))


@pytest.mark.parametrize("space", ["\n", "\t", "  ", "&#10;"])
def test_no_white_space_in_a_number_drops_an_inertia(space: str) -> None:
    origin = f"<origin xyz='{space}0{space}0 0.5{space}'/><mass"
    model = VMSModel.from_urdf(_arm(_INERTIAL.replace("<mass", origin)), "floating")
    assert model.total_mass == 2.0


def test_entities_and_namespaces_are_those_of_xml() -> None:
    entity = "<!DOCTYPE robot [<!ENTITY m '3'>]>" + _arm(
        _INERTIAL.replace("value='1'", "value='&m;'")
    )
    assert VMSModel.from_urdf(entity, "floating").total_mass == 4.0
    drake = _arm().replace("<robot", "<robot xmlns='http://drake.mit.edu'")
    assert VMSModel.from_urdf(drake, "floating").total_mass == 2.0


@pytest.mark.parametrize("depth", [65, 50_000])
def test_a_description_that_arrives_as_text_is_bounded_too(depth: int) -> None:
    nested = f"<robot name='deep'>{'<x>' * depth}{'</x>' * depth}</robot>"
    with pytest.raises(VmsPhError, match="nested"):
        VMSModel.from_urdf(nested)
    with pytest.raises(VmsPhError, match="nested"):
        visuals(nested)
    with pytest.raises(VmsPhError, match="at most 2000"):
        VMSModel.from_urdf(_chain(10_000, "fixed"))


@pytest.mark.parametrize(
    "text", ["", "<robot", "&a;", "<robot>\0</robot>", "<robot>\ud800</robot>"]
)
def test_a_description_that_is_no_xml_is_refused(text: str) -> None:
    with pytest.raises(VmsPhError, match="not well-formed"):
        VMSModel.from_urdf(text)


def test_a_mass_matrix_that_is_not_finite_is_refused() -> None:
    followers = "".join(
        f"<link name='l{i}'>{_INERTIAL}</link><joint name='j{i}' type='revolute'>"
        f"<parent link='a'/><child link='l{i}'/>"
        "<limit lower='-1' upper='1' effort='1' velocity='1'/>"
        + (f"<mimic joint='j{i - 1}' multiplier='1e12'/>" if i else "")
        + "</joint>"
        for i in range(20)
    )
    with pytest.raises(VmsPhError, match="is not finite"):
        VMSModel.from_urdf(_FREE.format(_INERTIAL, followers))


@pytest.mark.parametrize(
    "visual",
    [
        "<origin xyz='1e'/><geometry><sphere radius='1'/></geometry>",
        "<origin rpy='0 0'/><geometry><sphere radius='1'/></geometry>",
        "<geometry><box size='1 2'/></geometry>",
        "<geometry><sphere radius='nan'/></geometry>",
        "<geometry><cylinder radius='1' length='x'/></geometry>",
        "<geometry><sphere radius='1'/></geometry><material name='m'><color rgba='a'/></material>",
    ],
)
def test_a_shape_that_cannot_be_drawn_is_left_out(visual: str) -> None:
    good = "<visual><geometry><sphere radius='1'/></geometry></visual>"
    xml = f"<robot name='r'><link name='a'><visual>{visual}</visual>{good}</link></robot>"
    assert [shape.size for shape in visuals(xml)] == [(1.0,)]


def test_the_path_of_a_mesh_may_be_impossible() -> None:
    mesh = f"<visual><geometry><mesh filename='{'a' * 5000}'/></geometry></visual>"
    found = check_urdf(_FREE.format(_INERTIAL + mesh, ""))
    assert "cannot be read" in found.warnings[0]


_DOUBLING = "".join(
    f"<xacro:macro name='m{i}'><xacro:m{i + 1}/><xacro:m{i + 1}/></xacro:macro>" for i in range(40)
)


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (
            _DOUBLING + "<xacro:macro name='m40'><l/></xacro:macro><xacro:m0/>",
            "more than 2000 elements",
        ),
        (
            "<xacro:property name='a0' value='abcdefgh'/>"
            + "".join(
                f"<xacro:property name='a{i + 1}' value='${{a{i}}}${{a{i}}}'/>" for i in range(40)
            )
            + "<l name='${a40}'/>",
            "characters",
        ),
        ("<xacro:arg name='a'/>", "missing attribute 'default'"),
        ("<xacro:if/>", "missing attribute 'value'"),
        ("<xacro:property value='1'/>", "xacro"),
        ("<l name='${[].x}'/>", "no attribute"),
    ],
    ids=["macros", "properties", "no default", "no value", "no name", "an expression"],
)
def test_a_xacro_that_expands_without_end_or_fails_is_refused(
    content: str, told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(xacro_text, "MAX_ELEMENTS", 2000)  # xacro needs a millisecond for each
    assert told in _refusal(tmp_path / "x.urdf.xacro", _XACRO.format(content))


def test_a_file_that_is_too_large_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "large.urdf"
    with path.open("wb") as file:
        file.truncate(2**36)
    with pytest.raises(VmsPhError, match="too large"):
        load_urdf(path)


def test_a_path_with_a_null_character_is_reported() -> None:
    with pytest.raises(VmsPhError, match=r"is not the path of a file|there is no file"):
        load_urdf("a\0.urdf")


@pytest.mark.parametrize("origin", ['rpy="1.5"', 'rpy="inf 0 0"', 'xyz="1 2"', 'rpy="1 2 3 4"'])
def test_an_origin_of_an_inertia_with_wrong_numbers_is_reported(origin: str) -> None:
    inertial = _INERTIAL.replace("<inertial>", f"<inertial><origin {origin}/>")
    assert check_urdf(_chain(2, "continuous", inertial)).errors

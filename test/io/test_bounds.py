"""The size or depth of a robot description or a bag cannot hang or crash a program."""

import struct
import zlib
from io import BytesIO
from pathlib import Path

import pytest

from vms_ph_dynamics.errors import VmsPhError
from vms_ph_io import load_urdf
from vms_ph_io.bag.mcap_reader import LARGEST_CHUNK, McapReader
from vms_ph_io.bag.mcap_writer import MAGIC
from vms_ph_io.urdf.bounds import MOST_LINKS
from vms_ph_io.urdf.checks import check_urdf

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
    told = _refusal(tmp_path / "chain.urdf", _chain(1800, "continuous"))
    assert "1799 degrees of freedom; at most 256" in told
    (error,) = check_urdf(_chain(1800, "continuous", "")).errors
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
@pytest.mark.parametrize("claimed", [2**62, 2**64 - 1, LARGEST_CHUNK + 1])
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

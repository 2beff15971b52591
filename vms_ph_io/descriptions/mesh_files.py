# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Checks of a mesh file before a library reads it: no small file expands to a large one."""

import json
import os
import re
import xml.etree.ElementTree as ET
from functools import cache

from vms_ph_dynamics import ModelError

from ..settings.bounded_files import check_decompressed
from ..settings.bounded_text import read_bytes

LARGEST_MESH = 256 * 2**20
"""Largest accepted size of a mesh file, bytes; those of robots have less than 10 MB."""

SUFFIXES = (".dae", ".glb", ".gltf", ".msh", ".obj", ".off", ".ply", ".stl")

# How files of zip, gzip, bzip2, xz, zstd, 7z, rar and tar begin; libraries look into some of them.
_ARCHIVE = re.compile(
    rb"PK|\x1f\x8b|BZh|\xfd7zXZ|\x28\xb5\x2f\xfd|7z\xbc\xaf|Rar!|.{257}ustar", re.DOTALL
)
_MAX_VERTEX_BYTES = 64


def check_mesh(path: str) -> None:
    """Check the file of a mesh.

    Raises:
        ModelError: it is of no accepted kind, or an archive.
        VmsPhError: it cannot be read, is too large, or expands to more than is accepted of its
            size.
    """
    name = os.path.basename(path)
    suffix = os.path.splitext(path)[1].lower()
    if suffix not in SUFFIXES:
        raise ModelError(f"the mesh {name} must be one of {', '.join(SUFFIXES)}")
    content = read_bytes(path, LARGEST_MESH)
    if _ARCHIVE.match(content):
        raise ModelError(f"the mesh {name} is an archive: unpack it")
    if suffix == ".dae":
        size = _drawn_character_count(content)
    elif suffix in (".glb", ".gltf"):
        size = _accessor_byte_count(content)
    else:
        return
    check_decompressed(f"the mesh {name}", len(content), size, "export it without instances")


def _drawn_character_count(content: bytes) -> int:
    """Return the characters of the geometries of a Collada file, as often as they are drawn."""
    elements = {e.get("id"): e for e in ET.fromstring(content).iter() if e.get("id")}
    ancestors: list[str | None] = []

    @cache
    def character_count(name: str | None) -> int:
        if name in ancestors:
            raise ModelError(f"the node {name!r} of a mesh contains itself")
        ancestors.append(name)
        total_count = 0
        for element in elements[name].iter():
            url = element.get("url", "")[1:] if "}instance_" in element.tag else ""
            total_count += character_count(url) if url in elements else len(element.text or "")
        ancestors.pop()
        return total_count

    return max((character_count(name) for name in elements), default=0)


def _accessor_byte_count(content: bytes) -> int:
    """Return the bytes of the arrays of a glTF file, which need not be in the file."""
    if content[:4] == b"glTF":
        content = content[20 : 20 + int.from_bytes(content[12:16], "little")]
    accessors = json.loads(content).get("accessors", ())
    return sum(_MAX_VERTEX_BYTES * int(accessor["count"]) for accessor in accessors)

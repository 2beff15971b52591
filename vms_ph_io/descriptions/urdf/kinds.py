# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The kinds of robot descriptions, told apart by their content."""

from contextlib import suppress
from enum import Enum
from pathlib import Path
from xml.parsers import expat

_XACRO = ("http://www.ros.org/wiki/xacro", "http://wiki.ros.org/xacro", "http://ros.org/wiki/xacro")


class Kind(Enum):
    """A kind of robot description."""

    URDF = "URDF"
    XACRO = "xacro"
    MJCF = "MJCF"


def kind_of(text: str, path: Path) -> Kind:
    """Return the kind of a description; text that is not well-formed counts up to its error.

    Args:
        text: content of the file.
        path: its path, of which only the suffix .xacro matters.
    """
    roots: list[str] = []
    uses_xacro = False

    def start(tag: str, attributes: dict[str, str]) -> None:
        nonlocal uses_xacro
        roots.append(tag) if not roots else None
        names = (tag, *attributes)
        uses_xacro = uses_xacro or any(
            name.rpartition(" ")[0].rstrip("/#") in _XACRO for name in names
        )

    parser = expat.ParserCreate(namespace_separator=" ")
    parser.StartElementHandler = start
    with suppress(expat.ExpatError, ValueError, LookupError):
        parser.Parse(text, True)
    if uses_xacro:
        return Kind.XACRO
    if roots == ["mujoco"]:
        return Kind.MJCF
    return Kind.XACRO if path.suffix == ".xacro" else Kind.URDF

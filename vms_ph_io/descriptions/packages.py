# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Share folders of data packages, and resolution of ``package://`` URIs."""

import os
import re
import sys
from pathlib import Path

from ..installation import PACKAGE, share_directory

_URI = re.compile(r"package://([^/\"'<>\s]+)/?([^\"'<>]*)")


def package_directory(name: str) -> Path | None:
    """Return the share folder of a data package, or None if it is not installed.

    The sourced ROS 2 workspaces are searched first, then the Python packages (data wheels such as
    ``example-robot-data`` install their share folder beside the Python modules).
    """
    if name == PACKAGE:
        return share_directory()
    prefixes = [Path(p) for p in os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep) if p]
    modules = [Path(p) / "cmeel.prefix" for p in sys.path if p]
    for prefix in (*prefixes, *modules, Path(sys.prefix)):
        folder = prefix / "share" / name
        if os.path.isdir(folder):  # False, too, for a name that no folder can have
            return folder
    return None


def resolve(uri: str) -> Path | None:
    """Return the file of a ``package://`` or ``file://`` URI, or None."""
    if uri.startswith("file://"):
        return Path(uri.removeprefix("file://"))
    match = _URI.fullmatch(uri)
    if match is None:
        return Path(uri) if "://" not in uri else None
    folder = package_directory(match[1])
    return None if folder is None else folder / match[2]


def with_file_addresses(xml: str) -> str:
    """Return URDF text with ``package://`` URIs replaced by ``file://`` where resolvable.

    Viewers resolve ``package://`` only by the ROS index, which lacks Python packages.
    """

    def replace(match: "re.Match[str]") -> str:
        folder = package_directory(match[1])
        return match[0] if folder is None else f"file://{folder / match[2]}"

    return _URI.sub(replace, xml)

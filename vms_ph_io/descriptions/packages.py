# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Share folders of data packages, and resolution of ``package://`` URIs."""

import os
import re
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from vms_ph_dynamics import VmsPhError

from ..installation import PACKAGE, share_directory
from ..settings.bounded_text import read_text

_PACKAGE_NAME = re.compile(r"<name>\s*([\w-]+)\s*</name>")
_URI = re.compile(r"package://([^/\"'<>\s]+)/?([^\"'<>]*)")


def package_directory(
    name: str, beside: Path | None = None, environment: Mapping[str, str] = os.environ
) -> Path | None:
    """Return the folder of a data package, or None if there is none.

    The package in which a file is, known by the ``package.xml`` above it, comes first; then the
    sourced ROS 2 workspaces, then the Python packages (data wheels such as ``example-robot-data``
    install their share folder beside the Python modules), then the sources in ROS_PACKAGE_PATH.

    Args:
        name: of the package.
        beside: a file whose own package is a candidate.
        environment: with AMENT_PREFIX_PATH and ROS_PACKAGE_PATH.
    """
    if name == PACKAGE:
        return share_directory()
    enclosing = None if beside is None else _package_above(beside)
    if enclosing is not None and enclosing[0] == name:
        return enclosing[1]
    prefixes = [Path(p) for p in environment.get("AMENT_PREFIX_PATH", "").split(os.pathsep) if p]
    modules = [Path(p) / "cmeel.prefix" for p in sys.path if p]
    for prefix in (*prefixes, *modules, Path(sys.prefix)):
        folder = prefix / "share" / name
        if os.path.isdir(folder):  # False, too, for a name that no folder can have
            return folder
    for sources in environment.get("ROS_PACKAGE_PATH", "").split(os.pathsep):
        folder = Path(sources) / name
        if sources and os.path.isfile(folder / "package.xml"):
            return folder
    return None


def _package_above(file: Path) -> tuple[str, Path] | None:
    """Return name and folder of the package in which a file is."""
    for folder in file.absolute().parents:
        with suppress(VmsPhError):
            name = _PACKAGE_NAME.search(read_text(folder / "package.xml"))
            return None if name is None else (name[1], folder)
    return None


def with_own_package(xml: str, file: Path) -> str:
    """Return a text in which ``package://`` URIs of the file's own package are addresses."""
    package = _package_above(file)
    if package is None or package_directory(package[0]) is not None:
        return xml
    return xml.replace(f"package://{package[0]}/", f"file://{package[1]}/")


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

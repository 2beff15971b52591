# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Share folders of data packages, and resolution of ``package://`` URIs."""

import os
import re
import sys
from collections.abc import Iterator, Mapping
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
    install their share folder beside the Python modules), then the sources in ROS_PACKAGE_PATH,
    then those around the file: packages of its repository and of repositories beside that one that
    belong to the owner of the file or to root, as folders such as /tmp have those of strangers.

    Args:
        name: of the package.
        beside: a file whose own package and its neighbours are candidates.
        environment: with AMENT_PREFIX_PATH and ROS_PACKAGE_PATH.
    """
    if name == PACKAGE:
        return share_directory()
    own_package = None if beside is None else _package_above(beside)
    if own_package is not None and own_package[0] == name:
        return own_package[1]
    prefixes = [Path(p) for p in environment.get("AMENT_PREFIX_PATH", "").split(os.pathsep) if p]
    python_prefixes = [Path(p) / "cmeel.prefix" for p in sys.path if p]
    for prefix in (*prefixes, *python_prefixes, Path(sys.prefix)):
        folder = prefix / "share" / name
        if os.path.isdir(folder):  # False, too, for a name that no folder can have
            return folder
    sources = [Path(p) for p in environment.get("ROS_PACKAGE_PATH", "").split(os.pathsep) if p]
    candidates = [package for folder in sources for package in _packages_in(folder, name)]
    if beside is not None and not candidates:
        start = beside.absolute().parent if own_package is None else own_package[1]
        folders = (p for folder in (start, *start.parents[:3]) for p in _packages_in(folder, name))
        candidates = [p for p in folders if p.stat().st_uid in (0, beside.stat().st_uid)]
    return next(iter(candidates), None)


def _packages_in(folder: Path, name: str) -> Iterator[Path]:
    """Yield the folders in a folder, and one level below, that are a package or are named so."""
    for pattern in ("*/package.xml", "*/*/package.xml"):
        with suppress(OSError):  # a folder that is removed meanwhile
            yield from (f.parent for f in sorted(folder.glob(pattern)) if _package_name(f) == name)
    candidate = folder / name
    if os.path.isdir(candidate):  # False, too, for a name that no folder can have
        yield candidate


def _package_name(manifest: Path) -> str | None:
    with suppress(VmsPhError):
        match = _PACKAGE_NAME.search(read_text(manifest))
        return None if match is None else match[1]
    return None


def _package_above(file: Path) -> tuple[str, Path] | None:
    """Return name and folder of the package in which a file is."""
    names = ((_package_name(folder / "package.xml"), folder) for folder in file.absolute().parents)
    return next(((name, folder) for name, folder in names if name is not None), None)


def installed_file(path: Path) -> Path:
    """Return a file of a package; in its sources there may be a further folder around it.

    CMake's ``install(DIRECTORY description/urdf ...)`` removes the first folder.
    """
    for folder in () if os.path.exists(path) else path.parents:
        for file in sorted(folder.glob(f"*/{path.relative_to(folder)}")):
            return file
        if os.path.isfile(folder / "package.xml"):
            break
    return path


def with_neighbours(xml: str, file: Path) -> str:
    """Return a text in which ``package://`` URIs of packages around the file are addresses."""
    for name in {match[1] for match in _URI.finditer(xml)}:
        folder = package_directory(name, file) if package_directory(name) is None else None
        xml = xml if folder is None else xml.replace(f"package://{name}/", f"file://{folder}/")
    return xml


def resolve(uri: str) -> Path | None:
    """Return the file of a ``package://`` or ``file://`` URI, or None."""
    if uri.startswith("file://"):
        return Path(uri.removeprefix("file://"))
    if (match := _URI.fullmatch(uri)) is None:
        return Path(uri) if "://" not in uri else None
    return None if (folder := package_directory(match[1])) is None else folder / match[2]


def with_file_addresses(xml: str) -> str:
    """Return URDF text with ``package://`` URIs replaced by ``file://`` where resolvable.

    Viewers resolve ``package://`` only by the ROS index, which lacks Python packages.
    """
    folders = {name: package_directory(name) for name in {m[1] for m in _URI.finditer(xml)}}

    def replace(match: "re.Match[str]") -> str:
        folder = folders[match[1]]
        return match[0] if folder is None else f"file://{folder / match[2]}"

    return _URI.sub(replace, xml)

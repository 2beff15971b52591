# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Folders of the shared files of packages: launch files, robots, interfaces."""

from __future__ import annotations

import os
import sys
import sysconfig
from pathlib import Path

_share_folders: dict[str, Path] = {}


def register(package: str, share: Path) -> None:
    """Register the share folder of a package that is not installed in a searched prefix."""
    _share_folders[package] = Path(share).resolve()


def prefixes() -> list[Path]:
    """Prefixes searched for ``share/<package>``: AMENT_PREFIX_PATH, then this environment."""
    ament_paths = [Path(p) for p in os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep) if p]
    # Robot models on PyPI (example-robot-data) install into a prefix of their own.
    cmeel_prefix = Path(sysconfig.get_path("purelib")) / "cmeel.prefix"
    return [*ament_paths, Path(sys.prefix), cmeel_prefix]


def share_directory(package: str) -> Path | None:
    """The folder of shared files of a package, or None when there is no such package."""
    if package in _share_folders:
        return _share_folders[package]
    for prefix in prefixes():
        share = prefix / "share" / package
        if os.path.isfile(share / "package.xml"):
            return share
    return None

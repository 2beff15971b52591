# Copyright 2026 The vms_ph authors
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.

"""Folders of the shared files of packages: launch files, robots, interfaces."""

from __future__ import annotations

import os
import sys
import sysconfig
from pathlib import Path

_registered: dict[str, Path] = {}


def register(package: str, share: Path) -> None:
    """Register the share folder of a package that is not installed in a searched prefix."""
    _registered[package] = Path(share).resolve()


def prefixes() -> list[Path]:
    """Prefixes searched for ``share/<package>``: AMENT_PREFIX_PATH, then this environment."""
    ament = [Path(p) for p in os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep) if p]
    # Robot models on PyPI (example-robot-data) install into a prefix of their own.
    cmeel = Path(sysconfig.get_path("purelib")) / "cmeel.prefix"
    return [*ament, Path(sys.prefix), cmeel]


def share_directory(package: str) -> Path | None:
    """The folder of shared files of a package, or None when there is no such package."""
    if package in _registered:
        return _registered[package]
    for prefix in prefixes():
        share = prefix / "share" / package
        if os.path.isfile(share / "package.xml"):
            return share
    return None


def names() -> list[str]:
    """The names of all packages that can be found."""
    found = {
        path.parent.name for prefix in prefixes() for path in prefix.glob("share/*/package.xml")
    }
    return sorted(found | _registered.keys())

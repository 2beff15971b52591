# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Finds launch files by path or by name, and share folders of packages."""

import os
from pathlib import Path

from vms_ph_dynamics.errors import VmsPhError
from vms_ph_io import share_directory
from vms_ph_io.descriptions.packages import package_directory

_SUFFIX = ".launch.xml"


def find_launch_file(name: str) -> Path:
    """Return a launch file by its path, or a bundled one by its name without the suffix.

    Raises:
        VmsPhError: no such file; the message lists the bundled ones.
    """
    folder = share_directory() / "launch"
    for file in (Path(name), folder / name, folder / f"{name}{_SUFFIX}"):
        if os.path.isfile(file):  # False, too, for a path that no file can have
            return file
    ours = ", ".join(sorted(p.name.removesuffix(_SUFFIX) for p in folder.glob(f"*{_SUFFIX}")))
    raise VmsPhError(f"there is no launch file {name}; give a path, or one of: {ours}")


def find_share(package: str) -> Path:
    """Return the share folder of a package for $(find-pkg-share ...).

    Raises:
        LookupError: no such package.
    """
    folder = package_directory(package)
    if folder is None:
        raise LookupError(
            f"there is no package {package!r} in the ROS workspaces or among the Python packages"
        )
    return folder

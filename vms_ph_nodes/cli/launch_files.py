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

"""Finds launch files by path or by name, and share folders of packages."""

import os
from pathlib import Path

from vms_ph_dynamics.errors import VmsPhError
from vms_ph_io import share_directory
from vms_ph_io.packages import package_directory

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

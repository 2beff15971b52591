# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The installation: its share folder, files of its users, and how they type its commands."""

import os
import sys
import tempfile
from functools import cache
from pathlib import Path

from vms_ph_dynamics import VmsPhError

PACKAGE = "vms_ph"


def share_directory() -> Path:
    """Return the folder that contains msg/, srv/, launch/, urdf/, config/ and rviz/.

    The search order is: the ament index (a sourced ROS 2 workspace), ``share/vms_ph`` of this
    Python environment (a pip install), the checkout of this file (an editable install).

    Raises:
        VmsPhError: none of them has the folder.
    """
    prefixes = [Path(p) for p in os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep) if p]
    for prefix in prefixes:
        if (prefix / "share/ament_index/resource_index/packages" / PACKAGE).exists():
            return prefix / "share" / PACKAGE
    installed_folder = Path(sys.prefix) / "share" / PACKAGE
    checkout = Path(__file__).resolve().parent.parent
    for candidate in (installed_folder, checkout):
        if (candidate / "package.xml").is_file():
            return candidate
    folders = ", ".join(str(p) for p in (*prefixes, installed_folder, checkout))
    text = f"the shared files of {PACKAGE} (msg/, srv/, launch/ ...) are in none of: {folders}; "
    text += "install the package again with pip, or source the colcon workspace it was built in"
    raise VmsPhError(text)


@cache
def ros_home() -> Path:
    """Return the folder of ROS: ROS_HOME, or ~/.ros; a temporary one for a user without a home."""
    folder = os.path.expanduser(os.environ.get("ROS_HOME") or "~/.ros")
    return Path(tempfile.mkdtemp(prefix="ros_") if folder.startswith("~") else folder)


def write_user_file(name: str, text: str) -> Path:
    """Write a file into the folder of ROS in the home of the user; return its path."""
    home = ros_home() / "vms_ph"
    try:
        home.mkdir(parents=True, exist_ok=True)
        # Another launch may read the file at the same time.
        with tempfile.NamedTemporaryFile("w", dir=home, delete=False) as stream:
            stream.write(text)
        file = Path(stream.name).replace(home / name)
    except OSError:  # no home, or one that is not writable
        file = Path(tempfile.mkdtemp()) / name
        file.write_text(text)
    return file


def command_name() -> str:
    """Return what users type before a command: ``vms-ph``, or ``./vms`` in a checkout.

    ``./vms`` says how it was called in VMS_PH_COMMAND.
    """
    return os.environ.get("VMS_PH_COMMAND") or "vms-ph"


def python() -> str:
    """Return the Python of this environment as it is typed: ``python`` where it is on the path."""
    executable = Path(sys.executable)
    if str(executable.parent) in os.environ.get("PATH", "").split(os.pathsep):
        return executable.name
    folder = Path.cwd()
    return str(executable.relative_to(folder) if executable.is_relative_to(folder) else executable)

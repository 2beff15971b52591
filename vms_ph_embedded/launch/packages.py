# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Default lookup of the files and programs of packages.

The programs of this project's package are Python modules, see :func:`vms_ph_io.wings.programs`.
"""

import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from vms_ph_dynamics import VmsPhError
from vms_ph_io.descriptions.packages import package_directory
from vms_ph_io.wings import find_program

OWN_PACKAGE = "vms_ph"
"""The ROS package whose programs are Python modules."""


def prefixes(environment: Mapping[str, str]) -> list[Path]:
    """The install prefixes of a sourced ROS 2; empty without one."""
    search_path = environment.get("AMENT_PREFIX_PATH", "")
    return [Path(prefix) for prefix in search_path.split(os.pathsep) if prefix]


def _prefix_of(package: str, environment: Mapping[str, str]) -> Path | None:
    marker = Path("share/ament_index/resource_index/packages", package)
    return next((p for p in prefixes(environment) if os.path.exists(p / marker)), None)


def find_share(package: str, environment: Mapping[str, str] = os.environ) -> Path:
    """The share folder of a package for $(find-pkg-share ...), see :func:`.package_directory`.

    Raises:
        LookupError: No such package.
    """
    folder = package_directory(package, environment=environment)
    if folder is None:
        raise LookupError(
            f"there is no package {package!r} in AMENT_PREFIX_PATH or among the Python packages; "
            "source the ROS 2 workspace that holds it"
        )
    return folder


# What this launcher can read but not run.
_ONLY_IN_ROS = {
    "controller_manager": "; ros2_control loads C++ plugins and runs in a ROS 2 only: source one "
    "that has it, or take the launch file of the robot without ros2_control in its name",
    "mujoco_ros2_control": "; ros2_control loads C++ plugins and runs in a ROS 2 only: source one "
    "that has it, or run the robot with scene:=NAME",
    "moveit_ros_move_group": "; MoveIt runs in a ROS 2 only: source one that has it",
}


def find_executable(
    package: str, executable: str, environment: Mapping[str, str] = os.environ
) -> Sequence[str]:
    """The command that runs a program of a package.

    Args:
        package: Its name; a node of this project runs as ``python -m``.
        executable: The name of the program.
        environment: Where PATH and AMENT_PREFIX_PATH are looked up.

    Raises:
        LookupError: There is no such program; the message lists those there are.
    """
    if package == OWN_PACKAGE:
        try:
            find_program(executable)
            return (sys.executable, "-m", "vms_ph_nodes", executable)
        except VmsPhError as error:
            raise LookupError(f"package {package!r}: {error}") from error
    prefix = _prefix_of(package, environment)
    folder = prefix / "lib" / package if prefix else None
    program = shutil.which(executable, path=str(folder)) if folder else None
    if program is None and prefix is None:
        program = shutil.which(executable, path=environment.get("PATH"))
    if program is None:
        raise LookupError(
            f"executable {executable!r} of package {package!r} is neither in "
            f"{folder or 'lib/' + package + ' of a prefix in AMENT_PREFIX_PATH'} nor on the PATH"
            f"{_ONLY_IN_ROS.get(package, '')}"
        )
    return (program,)

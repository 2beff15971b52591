# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Default lookup of the files and programs of packages.

The programs of this project's package are Python modules. They are looked up without importing
them: their package chooses between a real and the embedded ROS on import, and that choice is the
started process's, not the launcher's.
"""

import importlib.util
import os
import pkgutil
import shutil
import sys
from collections.abc import Mapping, Sequence
from importlib.machinery import PathFinder
from pathlib import Path

MODULES: Mapping[str, str] = {"vms_ph": "vms_ph_nodes"}
"""The Python package that holds the programs of a ROS package, one module each."""

_NO_NODES = {"cli"}


def prefixes(environment: Mapping[str, str]) -> list[Path]:
    """The install prefixes of a sourced ROS 2; empty without one."""
    given = environment.get("AMENT_PREFIX_PATH", "")
    return [Path(prefix) for prefix in given.split(os.pathsep) if prefix]


def _prefix_of(package: str, environment: Mapping[str, str]) -> Path | None:
    marker = Path("share/ament_index/resource_index/packages", package)
    return next((p for p in prefixes(environment) if os.path.exists(p / marker)), None)


def find_share(package: str, environment: Mapping[str, str] = os.environ) -> Path:
    """The share folder of a package in a sourced ROS 2.

    Raises:
        LookupError: No prefix in AMENT_PREFIX_PATH holds the package.
    """
    prefix = _prefix_of(package, environment)
    if prefix is None:
        searched = ", ".join(str(p) for p in prefixes(environment)) or "nothing, it is empty"
        raise LookupError(
            f"no package {package!r} in AMENT_PREFIX_PATH ({searched}); "
            "source the ROS 2 workspace that holds it"
        )
    return prefix / "share" / package


# What this launcher can read but not run.
_ONLY_IN_ROS = {
    "controller_manager": "; ros2_control loads C++ plugins and runs in a ROS 2 only: source one "
    "that has it, or take the launch file of the robot without ros2_control in its name",
    "mujoco_ros2_control": "; ros2_control loads C++ plugins and runs in a ROS 2 only: source one "
    "that has it, or run the robot with scene:=NAME",
    "moveit_ros_move_group": "; MoveIt runs in a ROS 2 only: source one that has it",
}


def node_modules(package: str) -> dict[str, str]:
    """The programs of a package whose programs are Python modules: name to module.

    Empty for any other package, and where the Python package is not installed.
    """
    if package not in MODULES:
        return {}
    spec = importlib.util.find_spec(MODULES[package])
    if spec is None or spec.submodule_search_locations is None:
        return {}
    found = {}
    for _, name, is_package in pkgutil.iter_modules(spec.submodule_search_locations):
        if name.startswith("_") or name in _NO_NODES:
            continue
        full = f"{MODULES[package]}.{name}"
        module = PathFinder.find_spec(full, spec.submodule_search_locations)
        if module is None or module.origin is None:
            continue
        if is_package:
            runs = (Path(module.origin).parent / "__main__.py").is_file()
        else:
            runs = "\ndef main(" in Path(module.origin).read_text(encoding="utf-8")
        if runs:
            found[name] = full
    return found


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
    modules = node_modules(package)
    if executable in modules:
        return (sys.executable, "-m", modules[executable])
    if package in MODULES:
        available = ", ".join(sorted(modules)) or "none, its Python package is not installed"
        raise LookupError(
            f"package {package!r} has no executable {executable!r}; it has {available}"
        )
    prefix = _prefix_of(package, environment)
    folder = prefix / "lib" / package if prefix else None
    found = shutil.which(executable, path=str(folder)) if folder else None
    if found is None and prefix is None:
        found = shutil.which(executable, path=environment.get("PATH"))
    if found is None:
        raise LookupError(
            f"executable {executable!r} of package {package!r} is neither in "
            f"{folder or 'lib/' + package + ' of a prefix in AMENT_PREFIX_PATH'} nor on the PATH"
            f"{_ONLY_IN_ROS.get(package, '')}"
        )
    return (found,)

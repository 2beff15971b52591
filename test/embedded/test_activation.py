# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Activation is all or nothing, whatever lies on the path."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

ACTIVATE = f"""
import sys
from pathlib import Path
from vms_ph_embedded import activate, is_active
SHARE = Path({str(ROOT)!r})
"""


def run(code: str, *paths: Path, cwd: Path | None = None, **env: str) -> str:
    """What a Python prints that finds some folders before everything else."""
    lines = "\n".join(f"sys.path.insert(0, {str(path)!r})" for path in paths)
    done = subprocess.run(
        [sys.executable, "-c", f"{ACTIVATE}\n{lines}\n{code}"],
        capture_output=True,
        text=True,
        cwd=cwd,
        env={**os.environ, **env},
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.fixture
def decoys(tmp_path: Path) -> Path:
    """Folders with the names of packages, as a clone of a repository may have one."""
    for name in ("vms_ph", "vms_ph/msg", "std_msgs", "std_msgs/msg", "rclpy", "tf2_ros"):
        (tmp_path / name).mkdir()
    return tmp_path


def test_folders_named_like_packages_do_not_win(decoys):
    code = """
assert activate(SHARE)
import rclpy, tf2_ros, std_msgs.msg, vms_ph.msg
from ament_index_python.packages import get_package_share_directory
print(rclpy.Context.__module__, std_msgs.msg.String.__name__, vms_ph.msg.Energy().total)
print(get_package_share_directory("vms_ph") == str(SHARE))
"""
    expected = "rclpy.context String 0.0\nTrue"
    assert run(code, decoys) == expected
    assert run(code, cwd=decoys) == expected


def test_folders_that_were_imported_before_are_replaced(decoys):
    code = """
import vms_ph, std_msgs.msg
assert not hasattr(std_msgs.msg, "String")
activate(SHARE)
import vms_ph.msg, std_msgs.msg
print(vms_ph.msg.Energy.__name__, std_msgs.msg.String.__name__)
"""
    assert run(code, decoys) == "Energy String"


def test_a_real_rclpy_is_left_alone(tmp_path):
    (tmp_path / "rclpy").mkdir()
    (tmp_path / "rclpy" / "__init__.py").write_text("REAL = True\n")
    code = """
before = list(sys.meta_path)
print(activate(SHARE), is_active(), sys.meta_path == before)
import rclpy
print(rclpy.REAL)
try:
    import std_msgs
except ImportError:
    print("nothing of ours")
"""
    assert run(code, tmp_path) == "False False True\nTrue\nnothing of ours"
    chosen = "print(activate(SHARE)); import rclpy; print(hasattr(rclpy, 'REAL'))"
    assert run(chosen, tmp_path, VMS_PH_RUNTIME="embedded") == "True\nFalse"
    assert run("print(activate(SHARE))", VMS_PH_RUNTIME="ros2") == "False"


def test_parts_of_a_real_ros_and_ours_do_not_mix(tmp_path):
    (tmp_path / "std_msgs").mkdir()
    (tmp_path / "std_msgs" / "__init__.py").write_text("REAL = True\n")
    code = """
import std_msgs
try:
    activate(SHARE)
except RuntimeError as error:
    print(error)
print(is_active())
"""
    message, active = run(code, tmp_path).splitlines()
    assert message.startswith("std_msgs of another ROS 2 is already loaded from")
    assert active == "False"


def test_activating_again_changes_nothing():
    code = """
print(activate(SHARE), len(sys.meta_path))
import rclpy
first = rclpy
print(activate(SHARE), len(sys.meta_path), is_active())
import rclpy
print(rclpy is first)
"""
    one, two, three = run(code).splitlines()
    assert one.split() == two.split()[:2]
    assert (two.split()[2], three) == ("True", "True")


def test_an_unknown_runtime_is_refused():
    code = """
try:
    activate(SHARE)
except RuntimeError as error:
    print(error)
"""
    said = run(code, VMS_PH_RUNTIME="ros1")
    assert said == "VMS_PH_RUNTIME='ros1' is no runtime: give embedded or ros2."


def test_importing_messages_builds_none():
    code = """
activate(SHARE)
import sensor_msgs.msg, geometry_msgs.msg, vms_ph.msg, vms_ph.srv
from vms_ph_embedded.interfaces import messages
print(len(messages._interface_classes))
from std_msgs.msg import Header
print(sorted(messages._interface_classes))
print("String" in dir(__import__("std_msgs.msg").msg))
from std_msgs.msg import *
print(ColorRGBA.__name__)
"""
    assert run(code) == (
        "0\n['builtin_interfaces/msg/Time', 'std_msgs/msg/Header']\nTrue\nColorRGBA"
    )


def test_nothing_of_dds_is_needed_to_activate():
    code = """
sys.modules["cyclonedds"] = None
activate(SHARE)
import std_msgs.msg
print(std_msgs.msg.String(data="x").data)
try:
    import rclpy
except ImportError as error:
    print(str(error).split(":")[0])
"""
    assert run(code) == "x\nthe embedded ROS runtime needs the package cyclonedds"


def test_packages_with_shared_files_are_found(tmp_path):
    share = tmp_path / "share" / "some_robot"
    share.mkdir(parents=True)
    (share / "package.xml").write_text("<package/>")
    code = """
activate(SHARE)
from ament_index_python.packages import *
from ament_index_python import packages
print(packages.get_package_share_directory("some_robot"))
print(packages.get_package_prefix("some_robot"))
try:
    packages.get_package_share_directory("nowhere")
except packages.PackageNotFoundError as error:
    print(error.args[0].split(",")[0])
try:
    packages.get_package_share_directory("a/b")
except ValueError as error:
    print(error)
"""
    assert run(code, AMENT_PREFIX_PATH=str(tmp_path)).splitlines() == [
        str(share),
        str(tmp_path),
        "package 'nowhere' not found",
        "'a/b' is not a valid package name",
    ]

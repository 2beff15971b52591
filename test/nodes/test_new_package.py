# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""vms-ph new: the package it writes loads, controls its robot and installs."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from vms_ph_dynamics import OptionError, VmsPhError
from vms_ph_io.build.new_package import NewPackage
from vms_ph_io.robots.robot_settings import RobotSettings
from vms_ph_nodes.cli.app import make_app

# A colcon build does not have the embedded launcher.
load = pytest.importorskip("vms_ph_embedded.launch").load

_DRONE = """<robot name="quad"><link name="body"><inertial><mass value="1.2"/>
<inertia ixx="0.02" iyy="0.02" izz="0.03" ixy="0" ixz="0" iyz="0"/></inertial></link>
<link name="arm"><inertial><origin xyz="0 0 -0.1"/><mass value="0.2"/>
<inertia ixx="0.001" iyy="0.001" izz="0.0002" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="shoulder" type="revolute"><parent link="body"/><child link="arm"/>
<axis xyz="0 1 0"/><limit lower="-1.5" upper="1.5" effort="5" velocity="3"/>
<dynamics damping="0.01"/></joint></robot>"""


@pytest.fixture
def drone(tmp_path: Path) -> Path:
    file = tmp_path / "quad.urdf"
    file.write_text(_DRONE)
    return file


def _settings(file: Path, base: str = "floating") -> RobotSettings:
    return RobotSettings(robot=str(file), base=base)


def _run_tests(*tests: Path) -> str:
    """Run tests of packages, which are found from where they are, and return what was said."""
    words = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *map(str, tests)]
    folders = [str(test.parents[1]) for test in tests]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([*folders, *sys.path])}
    options = ["--import-mode=importlib", f"--rootdir={tests[0].parents[2]}"]
    done = subprocess.run([*words, *options], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
    return done.stdout


@pytest.mark.parametrize(
    "bases", [("fixed", "floating"), pytest.param(("planar",), marks=pytest.mark.slow)]
)
def test_its_own_test_passes_on_every_base(
    bases: tuple[str, ...], drone: Path, tmp_path: Path
) -> None:
    tests = []
    for base in bases:
        made = NewPackage(f"my_{base}", _settings(drone, base)).write(tmp_path)
        # pytest imports the tests of all in one process, by the names of their folders.
        tests.append(made.rename(tmp_path / base) / "test/test_law.py")
    assert f"{2 * len(bases)} passed" in _run_tests(*tests)


@pytest.mark.slow
@pytest.mark.parametrize("base", ["fixed", "planar", "floating"])
def test_its_twin_in_cpp_equals_its_law(base: str, drone: Path, tmp_path: Path) -> None:
    made = NewPackage("my_quad", _settings(drone, base)).write(tmp_path)
    assert "1 passed" in _run_tests(made / "test/test_twin.py")


def test_its_launch_file_starts_all_nodes_with_its_robot_and_law(
    drone: Path, tmp_path: Path
) -> None:
    made = NewPackage("my_quad", _settings(drone)).write(tmp_path)
    launched = load(made / "launch/my_quad.launch.xml")
    words = " ".join(str(node) for node in launched.processes)
    assert "my_quad/law.py:Law" in words
    assert "base=floating" in words


def test_its_files_are_installed_where_ros_looks_for_them(drone: Path, tmp_path: Path) -> None:
    made = NewPackage("my_quad", _settings(drone)).write(tmp_path)
    words = [
        sys.executable,
        "setup.py",
        "-q",
        "install_data",
        "--install-dir",
        str(tmp_path / "in"),
    ]
    done = subprocess.run(words, cwd=made, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    share = tmp_path / "in/share"
    assert (share / "ament_index/resource_index/packages/my_quad").is_file()
    for file in ("package.xml", "urdf/my_quad.urdf", "launch/my_quad.launch.xml", "my_quad/law.py"):
        assert (share / "my_quad" / file).is_file(), file


@pytest.mark.parametrize("name", ["My_Quad", "1quad", "vms_ph_mine", "urdf", "a-b"])
def test_a_name_that_no_package_can_have_is_refused(name: str, drone: Path, tmp_path: Path) -> None:
    with pytest.raises(OptionError, match=name):
        NewPackage(name, _settings(drone)).write(tmp_path)


def test_nothing_is_overwritten(drone: Path, tmp_path: Path) -> None:
    NewPackage("my_quad", _settings(drone)).write(tmp_path)
    with pytest.raises(VmsPhError, match="exists already"):
        NewPackage("my_quad", _settings(drone)).write(tmp_path)


def test_the_command_prints_what_to_type_next(drone: Path, tmp_path: Path) -> None:
    words = ["new", "my_quad", "--robot", str(drone), "--base", "floating"]
    done = CliRunner().invoke(make_app(), [*words, "--folder", str(tmp_path)])
    assert done.exit_code == 0, done.output
    assert f"vms-ph launch {tmp_path}/my_quad/launch/my_quad.launch.xml" in done.output

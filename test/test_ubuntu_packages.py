# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The package runs with the Python packages of apt on the Ubuntu of each supported ROS 2."""

import os
import subprocess
import sys
import venv
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

ROOT = Path(__file__).parents[1]
RELEASES = yaml.safe_load((Path(__file__).parent / "ubuntu_packages.yaml").read_text())


def _requirements() -> list[Requirement]:
    """All requirements in pyproject.toml, of extras too."""
    tomllib = pytest.importorskip("tomllib")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    lists = [project["dependencies"], *project["optional-dependencies"].values()]
    return [Requirement(text) for texts in lists for text in texts]


def _too_old(release: str) -> set[str]:
    packages = RELEASES[release]["packages"]
    required = [item for item in _requirements() if item.name in packages]
    assert {item.name for item in required} == set(packages)
    return {item.name for item in required if packages[item.name] not in item.specifier}


@pytest.mark.parametrize("release", ["noble", "trixie"])
def test_packages_of_apt_are_new_enough(release: str) -> None:
    assert _too_old(release) == set()


def test_the_bounds_of_package_xml_are_those_of_pyproject() -> None:
    bounds = {item.name: item.specifier for item in _requirements() if item.name != "pyyaml"}
    found = 0
    for item in ET.parse(ROOT / "package.xml").getroot().iter("exec_depend"):
        if "version_gte" in item.attrib:
            name = str(item.text).removeprefix("python3-")
            assert bounds[name] == SpecifierSet(f">={item.attrib['version_gte']}")
            found += 1
    assert found == 3


def test_packages_of_ubuntu_22_04_are_too_old_and_the_pages_say_so() -> None:
    assert _too_old("jammy") == set(RELEASES["jammy"]["packages"])
    assert "| Humble (Ubuntu 22.04) | not supported |" in (ROOT / "docs/ros2.md").read_text()


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_commands_run_with_the_packages_of_ubuntu_24_04(tmp_path: Path) -> None:
    if sys.version_info[:2] != (3, 11):
        pytest.skip("PyPI has all these versions as wheels for Python 3.11 only")
    venv.create(tmp_path / "venv", with_pip=True)
    python = str(tmp_path / "venv/bin/python")
    versions = RELEASES["noble"]["packages"] | RELEASES["noble"]["others"]
    pins = [f"{name}=={version}" for name, version in versions.items()]
    install = [python, "-m", "pip", "install", "--quiet", "--only-binary", ":all:"]
    # The Pinocchio of PyPI asks for numpy 2, and runs with this one, as that of ROS does.
    steps = [
        [*pins, "xacro", "mcap", "rosbags", "cyclonedds"],
        ["pin>=3.3"],
        ["--no-deps", pins[0]],
    ]
    for words in steps:
        if subprocess.run([*install, *words], timeout=600).returncode:
            pytest.skip("pip cannot install the versions of Ubuntu 24.04 here")
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "VMS_PH_NATIVE": "0"}
    code = "from vms_ph_nodes.cli import main; main()"
    commands = [
        "--help",
        "check panda",
        "demo --headless --seconds 1 --out run",
        "audit run/bag --out a",
    ]
    commands += [f"{name} --help" for name in ("bag", "bench", "ephs", "reproduce", "run", "sweep")]
    for line in commands:
        words = [python, "-c", code, *line.split()]
        subprocess.run(words, cwd=tmp_path, env=environment, check=True, timeout=100)
    assert (tmp_path / "run/energy.png").stat().st_size > 10_000
    assert (tmp_path / "a/audit.html").is_file()

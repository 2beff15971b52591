# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The script that a fresh clone is started by."""

import os
import pwd
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from vms_ph_embedded.launch.output import default_log_folder
from vms_ph_io import installation, share_directory
from vms_ph_nodes.node.user_files import write_user_file

ROOT = Path(__file__).parent.parent


def vms(*words: str, **more: str) -> subprocess.CompletedProcess[str]:
    """Run ./vms on the environment these tests run in."""
    environment = {**os.environ, "VMS_VENV": sys.prefix, "VMS_NATIVE": "off", **more}
    return subprocess.run(
        [str(ROOT / "vms"), *words], env=environment, capture_output=True, text=True, timeout=60
    )


needs_own_environment = pytest.mark.skipif(
    not (Path(sys.prefix) / ".installed-test").is_file(),
    reason="this environment was not made by ./vms test",
)


@needs_own_environment
def test_a_sourced_ros_2_does_not_get_in_the_way(tmp_path: Path) -> None:
    for name in ("rclpy", "numpy", "sensor_msgs"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text("raise ImportError('the wrong one')")
    index = tmp_path / "share/ament_index/resource_index/packages"
    index.mkdir(parents=True)
    (index / "vms_ph").touch()
    sourced = {"PYTHONPATH": str(tmp_path), "AMENT_PREFIX_PATH": str(tmp_path), "ROS_DISTRO": "x"}
    checked = vms("check", "panda", **sourced)
    assert checked.returncode == 0, checked.stderr
    assert "panda.urdf is valid" in checked.stdout
    listed = vms("node", "list", **sourced, ROS_DOMAIN_ID="231")
    assert listed.returncode == 0, listed.stderr
    shown = vms("interface", "show", "vms_ph/msg/Energy", **sourced)
    assert "float64 kinetic_shape" in shown.stdout


@needs_own_environment
def test_without_words_it_teaches_what_it_can_do() -> None:
    helped = vms()
    assert "demo" in helped.stdout
    assert "bag" in helped.stdout


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("echo Python 3.6.9; exit 1", "too old; Python 3.10 or newer"),
        (
            'case "$1" in -c) exit 0;; esac; exit 1',
            "apt install python3-venv",
        ),
    ],
    ids=["old", "no venv"],
)
def test_a_python_that_will_not_do_gets_one_sentence(
    tmp_path: Path, script: str, said: str
) -> None:
    python = tmp_path / "python"
    python.write_text(f"#!/bin/sh\n{script}\n")
    python.chmod(0o755)
    refused = vms("demo", VMS_VENV=str(tmp_path / "venv"), VMS_PYTHON=str(python))
    assert refused.returncode == 1
    assert said in refused.stderr
    assert "Traceback" not in refused.stderr


def test_a_missing_python_gets_one_sentence(tmp_path: Path) -> None:
    refused = vms("demo", VMS_VENV=str(tmp_path / "venv"), VMS_PYTHON="no-such-python")
    assert refused.returncode == 1
    assert "install Python 3.10 or newer" in refused.stderr


def test_the_shared_files_are_found_in_a_workspace_before_the_checkout(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert share_directory() == ROOT
    index = tmp_path / "share/ament_index/resource_index/packages"
    index.mkdir(parents=True)
    (index / "vms_ph").touch()
    monkeypatch.setenv("AMENT_PREFIX_PATH", f"/nowhere{os.pathsep}{tmp_path}")
    assert share_directory() == tmp_path / "share/vms_ph"


def test_a_user_without_a_home_has_a_temporary_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HOME", "ROS_HOME", "ROS_LOG_DIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(pwd, "getpwuid", lambda _: {}["no entry"])
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    installation.ros_home.cache_clear()
    try:
        assert default_log_folder().is_relative_to(tmp_path)
        assert write_user_file("a.yaml", "b").read_text() == "b"
        assert not Path("~").exists()
    finally:
        installation.ros_home.cache_clear()

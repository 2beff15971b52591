# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The script that a fresh clone is started by."""

import os
import pwd
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from vms_ph_embedded.launch.output import default_log_folder
from vms_ph_io import installation, share_directory
from vms_ph_io.build import environment
from vms_ph_io.installation import write_user_file

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
            'case "$2" in *ensurepip*) exit 1;; esac',
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


_BACKEND = """
import zipfile
def build_editable(folder, *_):
    with zipfile.ZipFile(f"{folder}/vms_ph-1-py3-none-any.whl", "w") as wheel:
        about = "vms_ph-1.dist-info"
        wheel.writestr("vms_ph_probe.py", "def main(): print('it runs')")
        wheel.writestr(f"{about}/METADATA", "Metadata-Version: 2.1\\nName: vms-ph\\nVersion: 1\\n")
        wheel.writestr(f"{about}/WHEEL", "Wheel-Version: 1.0\\nTag: py3-none-any\\n")
        wheel.writestr(f"{about}/entry_points.txt", "[console_scripts]\\nvms-ph=vms_ph_probe:main")
        names = [*wheel.namelist(), f"{about}/RECORD"]
        wheel.writestr(f"{about}/RECORD", "".join(f"{name},,\\n" for name in names))
    return "vms_ph-1-py3-none-any.whl"
"""


def _checkout(folder: Path) -> Path:
    """Make a checkout of nothing but ./vms, whose program says that it runs."""
    (folder / "vms_ph_io/build").mkdir(parents=True)
    for name in ("vms", "vms_ph_io/build/environment.py"):
        shutil.copy(ROOT / name, folder / name)
    (folder / "setup.py").touch()
    (folder / "backend.py").write_text(_BACKEND)
    build = "requires = []\nbuild-backend = 'backend'\nbackend-path = ['.']"
    (folder / "pyproject.toml").write_text(f"[build-system]\n{build}\n")
    return folder / "vms"


def _run(script: Path, killed_at: str = "") -> tuple[int, str]:
    """Run ./vms of a checkout, or kill all its processes as soon as a file exists."""
    variables = {**os.environ, "VMS_NATIVE": "off", "VMS_PYTHON": sys.executable}
    variables.pop("VMS_VENV", None)
    with subprocess.Popen(
        [script], env=variables, text=True, start_new_session=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    ) as process:  # fmt: skip
        while killed_at and process.poll() is None:
            if any(script.parent.glob(f".venv/{killed_at}")):
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
                return process.returncode, ""
            time.sleep(0.005)
        output = process.communicate(timeout=300)[0]
    return process.returncode, output


_PACKAGES = "lib/python3*/site-packages"


@pytest.mark.parametrize(
    "moments",
    [
        ["bin/python", f"{_PACKAGES}/pip/__init__.py"],
        pytest.param(
            [".packages.lock", "pyvenv.cfg", "bin/python3", f"{_PACKAGES}/pip/_vendor",
             f"{_PACKAGES}/pip/_vendor/rich", f"{_PACKAGES}/pip-*/METADATA", "bin/pip*",
             "bin/activate", f"{_PACKAGES}/vms_ph_probe.py", f"{_PACKAGES}/vms_ph-*/METADATA"],
            marks=pytest.mark.slow,
        ),
    ],
    ids=["two moments", "ten moments"],
)  # fmt: skip
def test_a_killed_installation_is_completed_by_the_next_start(
    moments: list[str], tmp_path: Path
) -> None:
    script = _checkout(tmp_path)
    for moment in moments:
        _run(script, moment)
    code, output = _run(script)
    assert (code, output.splitlines()[-1]) == (0, "it runs"), output
    assert _run(script) == (0, "it runs\n")


def test_an_empty_pip_of_a_killed_installation_is_made_anew(tmp_path: Path) -> None:
    script = _checkout(tmp_path)
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / ".venv"], check=True)
    (packages,) = tmp_path.glob(f".venv/{_PACKAGES}")
    (packages / "pip").mkdir()
    for name in ("__init__", "__main__"):
        (packages / f"pip/{name}.py").touch()
    code, output = _run(script)
    assert (code, output.splitlines()[-1]) == (0, "it runs"), output


@pytest.mark.parametrize(
    ("free", "said"), [(10**6, "disk is full: free some space"), (10**10, "no pip: remove it")]
)
def test_an_environment_that_cannot_be_made_says_what_to_do(
    free: int, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(environment.sys, "executable", "false")  # as venv where it fails
    monkeypatch.setattr(environment.shutil, "disk_usage", lambda _: SimpleNamespace(free=free))
    with pytest.raises(SystemExit, match=said):
        environment.main(tmp_path / "environment", [])


def test_packages_without_all_files_are_installed_anew(tmp_path: Path) -> None:
    complete, killed, partly = (tmp_path / f"{name}-1.dist-info" for name in "abc")
    for folder in (complete, killed, partly):
        folder.mkdir()
        (folder / "METADATA").touch()
    (complete / "RECORD").write_text('"a-1.dist-info/METADATA",,\na/__pycache__/a.pyc,,\n')
    (partly / "RECORD").write_text("c-1.dist-info/METADATA,,\nc/__init__.py,,\n")
    (tmp_path / "~umpy").mkdir()
    environment.remove_incomplete(tmp_path)
    assert list(tmp_path.iterdir()) == [complete]


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

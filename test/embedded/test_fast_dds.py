# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The rclpy of ROS 2 from PyPI, with Fast DDS: an oracle of the contract, and a peer."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.wire

_CONTRACT = Path(__file__).with_name("contract")
_PEER = Path(__file__).with_name("peer.py")
_CLONE = Path(__file__).parents[2]
_MESSAGES = ("diagnostic", "geometry", "lifecycle", "nav", "sensor", "std", "visualization")
_PACKAGES = ["rclpy", "rmw-fastrtps-cpp", "std-srvs", *(f"{name}-msgs" for name in _MESSAGES)]
# Kilted is installed and run in the long form only.
_DISTRIBUTIONS = ["jazzy", pytest.param("kilted", marks=pytest.mark.slow)]


@pytest.fixture(scope="module", params=_DISTRIBUTIONS)
def ros_python(request: pytest.FixtureRequest) -> str:
    """A Python with rclpy and rmw_fastrtps, in an environment of its own that is kept."""
    if platform.system() != "Linux" or platform.machine() != "x86_64":
        pytest.skip("PyPI has rclpy for Linux on x86-64 only")
    folder = Path(sys.prefix) / f"rclpy-{request.param}"
    python = folder / "bin/python"
    finished = folder / "finished"
    if not finished.exists():
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
        # numpy and pytest are those of the tests.
        purelib = folder.joinpath(*Path(pytest.__file__).parents[1].relative_to(sys.prefix).parts)
        (purelib / "of_the_tests.pth").write_text(str(Path(pytest.__file__).parents[1]))
        # Few of the modules are imported: they are compiled then.
        install = [sys.executable, "-m", "pip", "--python", str(python), "install", "-q"]
        install += ["--no-compile", "--no-warn-conflicts"]
        install += [f"ros-{request.param}-{name}" for name in _PACKAGES]
        done = subprocess.run(install, capture_output=True, text=True)
        if done.returncode != 0:
            pytest.skip(f"rclpy of {request.param} cannot be installed: {done.stderr[-300:]}")
        finished.touch()
    return str(python)


@pytest.fixture
def environment() -> dict[str, str]:
    """Variables for processes of other runtimes, in the domain of this session."""
    return {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "PYTEST_ADDOPTS")}


def test_the_contract_holds_on_it(ros_python: str, environment: dict[str, str]) -> None:
    # tf2_ros is not on PyPI.
    files = [str(f) for f in _CONTRACT.glob("test_*.py") if f.name != "test_transforms.py"]
    options = [
        "-q",
        "-c",
        os.devnull,
        "--confcutdir",
        str(_CONTRACT.parent),
        "-p",
        "no:cacheprovider",
    ]
    done = subprocess.run(
        [ros_python, "-m", "pytest", *options, *files],
        capture_output=True,
        text=True,
        env=environment,
        timeout=600,
    )
    assert done.returncode == 0, done.stdout[-3000:]
    assert " passed" in done.stdout


def _converse(
    ros_python: str, environment: dict[str, str], first: str, second: str, first_is_embedded: bool
) -> tuple[dict[str, Any], dict[str, Any]]:
    """What two peers report, of whom one runs embedded and the other on Fast DDS."""
    embedded = [sys.executable, str(_PEER)], [str(_CLONE)]
    other: tuple[list[str], list[str]] = [ros_python, str(_PEER)], []
    sides = (embedded, other) if first_is_embedded else (other, embedded)
    seconds = "20" if second == "listen" else "12"
    processes = [
        subprocess.Popen(
            [*start, role, seconds, *end], stdout=subprocess.PIPE, text=True, env=environment
        )
        for (start, end), role in zip(sides, (first, second), strict=True)
    ]
    try:
        later = json.loads(processes[1].communicate(timeout=90)[0])
        if second == "listen":
            processes[0].kill()
            processes[0].communicate()
            return {}, later
        return json.loads(processes[0].communicate(timeout=90)[0]), later
    finally:
        for process in processes:
            process.kill()


@pytest.mark.parametrize("embedded_talks", [True, False], ids=["from embedded", "to embedded"])
def test_topics_names_and_qos_go_both_ways(
    ros_python: str, environment: dict[str, str], embedded_talks: bool
) -> None:
    _, outcome = _converse(ros_python, environment, "talk", "listen", embedded_talks)
    assert outcome["heard"]
    assert outcome["knows the talker"]
    assert outcome["position"] == [1.0, -2.5]
    assert outcome["effort"] == [3.0, 1e300]
    assert outcome["latched"] == [["once"]]
    assert outcome["types"] == ["sensor_msgs/msg/JointState"]


def test_a_call_to_it_ends_with_a_sentence_and_sends_nothing(
    ros_python: str, environment: dict[str, str]
) -> None:
    served, called = _converse(ros_python, environment, "serve", "call", False)
    assert served["requests"] == []
    for service, answer in called["answers"].items():
        assert f"the service /{service} has a peer that runs rmw_fastrtps" in answer
        assert "RMW_IMPLEMENTATION=rmw_cyclonedds_cpp" in answer


def test_a_call_from_it_is_not_mistaken_for_one_of_ours(
    ros_python: str, environment: dict[str, str]
) -> None:
    served, called = _converse(ros_python, environment, "serve", "call", True)
    assert served["requests"] == []
    assert set(called["answers"].values()) == {"no answer"}

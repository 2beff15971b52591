"""Killed processes: the others report them and keep running, and recordings stay readable."""

import os
import re
import signal
import time
from pathlib import Path

import pytest
from rosbags.rosbag2 import Reader

from .conftest import Program, Start

pytestmark = pytest.mark.wire


def pid_of(demo: Program, node: str) -> int:
    return int(demo.await_output(rf"\[{node}-\d+\]: process started with pid \[(\d+)\]")[1])


def lost(node: str) -> str:
    return rf"level: 2\s+name: '?{node}: vms_ph node'?\s+message: '?{node} is lost: no heartbeat"


def rate_of(start: Start, topic: str) -> float:
    hz = start("topic", "hz", topic, "--seconds", "3.5")
    assert hz.wait(30) == 0
    return float(re.findall(r"average rate: ([\d.]+)", hz.output)[-1])


def test_a_killed_node_is_reported_within_two_seconds_and_the_others_keep_running(
    start: Start, tmp_path: Path
) -> None:
    demo = start("demo", "--headless", "--out", str(tmp_path))
    demo.await_output("first energy message")
    watch = start("topic", "echo", "/diagnostics")
    for name in ("simulator", "controller", "energy_monitor", "model_server", "bag_recorder"):
        watch.await_output(rf"name: '?{name}: vms_ph node")
    processes = (
        ("model_server", ("model_server",), "/vms_ph/energy"),
        ("energy_monitor", ("energy_monitor",), "/joint_states"),
        ("bag_recorder", ("bag_recorder",), "/joint_states"),
        ("closed_loop", ("simulator", "controller"), None),
    )
    for process, nodes, still_there in processes:
        os.kill(pid_of(demo, process), signal.SIGKILL)
        killed = time.monotonic()
        for node in nodes:
            # One process must be left to report the loss.
            if process != "closed_loop":
                watch.await_output(lost(node), seconds=5.0)
                assert time.monotonic() - killed < 2.0
        if still_there is not None:
            assert rate_of(start, still_there) > 90.0
    begun = time.monotonic()
    code = demo.interrupt() if demo.process.poll() is None else demo.wait(5)
    assert time.monotonic() - begun < 10.0
    assert code == 1
    assert "Traceback" not in demo.output
    assert "energy_monitor-2 ended with exit code -9" in demo.output


def test_a_killed_simulator_and_controller_are_reported_by_the_remaining_nodes(
    start: Start, tmp_path: Path
) -> None:
    demo = start("demo", "--headless", "--no-bag", "--out", str(tmp_path))
    demo.await_output("first energy message")
    watch = start("topic", "echo", "/diagnostics")
    watch.await_output("name: '?controller: vms_ph node")
    watch.await_output("name: '?energy_monitor: vms_ph node")
    os.kill(pid_of(demo, "closed_loop"), signal.SIGKILL)
    killed = time.monotonic()
    for node in ("simulator", "controller"):
        watch.await_output(lost(node), seconds=5.0)
        assert time.monotonic() - killed < 2.0
    assert demo.interrupt() == 1


def test_a_killed_recording_lacks_at_most_its_last_second(start: Start, tmp_path: Path) -> None:
    demo = start("demo", "--headless", "--out", str(tmp_path))
    demo.await_output("first energy message")
    start("topic", "hz", "/vms_ph/energy", "--seconds", "3").wait(20)
    os.kill(pid_of(demo, "bag_recorder"), signal.SIGKILL)
    killed = time.time()
    demo.interrupt()
    bag = tmp_path / "bag"
    info = start("bag", "info", str(bag))
    assert info.wait(20) == 0
    assert "truncated; `vms-ph bag recover` repairs it" in info.output
    repaired = start("bag", "recover", str(bag))
    assert repaired.wait(20) == 0
    assert "is repaired: " in repaired.output
    with Reader(bag) as reader:
        assert reader.message_count > 1000
        assert killed - reader.end_time * 1e-9 < 1.0
    assert "complete" in _output(start("bag", "info", str(bag)))


def _output(program: Program) -> str:
    assert program.wait(20) == 0
    return program.output


def test_a_folder_that_contains_a_bag_is_not_reused(start: Start, tmp_path: Path) -> None:
    (tmp_path / "bag").mkdir()
    demo = start("demo", "--headless", "--seconds", "1", "--out", str(tmp_path))
    assert demo.wait(30) == 1
    assert "already contains a bag; choose another folder with --out" in demo.output
    assert "Traceback" not in demo.output


def test_a_controller_without_states_holds_the_robot_and_reports_it(
    start: Start, tmp_path: Path
) -> None:
    # The controller starts first: an arm without torques soon falls too fast to be held.
    states = start("topic", "echo", "/controller/state")
    start("run", "controller", "--ros-args", "-p", "robot:=panda")
    robot = start("run", "simulator", "--ros-args", "-p", "robot:=panda")
    states.await_output("reason: ''")
    os.kill(robot.process.pid, signal.SIGKILL)
    states.await_output(r"status: 2\s+reason: '?no usable state for .*holding against gravity", 5.0)
    efforts = start("topic", "echo", "--once", "/torque")
    assert efforts.wait(20) == 0
    assert "panda_joint4" in efforts.output

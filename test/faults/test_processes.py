# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Killed and stopped processes, and full disks: what is restarted, and what the others report."""

import os
import re
import resource
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from nodes.conftest import Program, Start, echo_of, end, environment
from nodes.conftest import _domains as domains
from nodes.observer import Observer, joined
from rosbags.rosbag2 import Reader
from sensor_msgs.msg import JointState
from vms_ph.msg import Energy

from .conftest import free_port
from .world import NODES

pytestmark = pytest.mark.wire


@pytest.fixture
def domain() -> int:
    """A domain of one test alone."""
    return next(domains)


@pytest.fixture
def start(tmp_path: Path, domain: int) -> Iterator[Start]:
    """Start commands in the domain of this test, and end them with it."""
    programs = list[Program]()

    def begin(*words: str, fresh: bool = False, **more: str) -> Program:
        given = {**environment(domain), "ROS_LOG_DIR": str(tmp_path / "log"), **more}
        programs.append(Program(list(words), given, tmp_path, fresh))
        return programs[-1]

    yield begin
    end(programs)


def pid_of(launch: Program, node: str) -> int:
    started = rf"\[{node}-\d+\]: process started with pid \[(\d+)\]"
    launch.await_output(started)
    return int(re.findall(started, launch.output)[-1])


def lost(node: str) -> str:
    return rf"level: 2\s+name: '?{node}: vms_ph node'?\s+message: '?{node} is lost: no heartbeat"


def test_killed_nodes_are_reported_within_two_seconds_while_the_others_keep_running(
    start: Start, domain: int, tmp_path: Path
) -> None:
    bag = tmp_path / "bag"
    words = ("respawn:=false", "record:=true", f"bag:={bag}", "rate:=25.0")
    launch = start("launch", "panda", *words)
    watch = echo_of(start, "/diagnostics")
    for name in (*NODES[:5], "bag_recorder"):
        watch.await_output(name + r": vms_ph node", 60.0)
    killed_at = {}
    processes = (
        ("model_server", ("model_server",), (Energy, "/vms_ph/energy")),
        ("energy_monitor", ("energy_monitor",), (JointState, "/joint_states")),
        ("bag_recorder", ("bag_recorder",), (JointState, "/joint_states")),
        ("closed_loop", ("simulator", "controller"), None),
    )
    for process, nodes, still_there in processes:
        os.kill(pid_of(launch, process), signal.SIGKILL)
        killed_at[process] = time.time()
        for node in nodes:
            watch.await_output(lost(node), seconds=5.0)
            assert time.time() - killed_at[process] < 2.0
        launch.await_output(rf"\[{process}-\d\]: is not restarted")
        if still_there is not None:
            with joined(domain):
                observer = Observer()
                # By their stamps: a busy machine delays messages.
                assert observer.rate(*still_there, number=50, stamped=True) > 22.5
                observer.close()
    begun = time.monotonic()
    assert launch.interrupt() == 1
    assert time.monotonic() - begun < 10.0
    assert "Traceback" not in launch.output
    assert "truncated; `vms-ph bag recover` makes a complete one" in _output(
        start("bag", "info", str(bag))
    )
    assert "recovered is complete: " in _output(start("bag", "recover", str(bag)))
    bag = bag.with_name("bag_recovered")
    with Reader(bag) as reader:
        assert reader.message_count > 1000
        assert killed_at["bag_recorder"] - reader.end_time * 1e-9 < 1.0
    assert "complete" in _output(start("bag", "info", str(bag)))


def _output(program: Program) -> str:
    assert program.wait(30) == 0, program.output
    return program.output


def test_a_launch_restarts_every_node_that_is_killed_and_continues_the_recording(
    start: Start, tmp_path: Path
) -> None:
    bag = tmp_path / "bag"
    launch = start(
        *("launch", "panda", "record:=true", f"bag:={bag}", "web:=true", f"port:={free_port()}"),
        "rate:=50.0",
    )
    watch = echo_of(start, "/diagnostics")
    watch.await_output(r"name: '?bag_recorder: vms_ph node'?\s+message: recording", 60.0)
    watch.await_output(r"web_viewer: vms_ph node", 60.0)
    names = ("closed_loop", "energy_monitor", "marker_publisher", "model_server", "bag_recorder",
             "web_viewer")  # fmt: skip
    before = {name: pid_of(launch, name) for name in names}
    for pid in before.values():
        os.kill(pid, signal.SIGKILL)
    for name in names:
        launch.await_count(f"{name}-", 1)
        latest = time.monotonic() + 20.0
        while pid_of(launch, name) == before[name]:
            assert time.monotonic() < latest, launch.output
            time.sleep(0.1)
    launch.await_output("was interrupted; it goes on in .*bag_2")
    echo_of(start, "/vms_ph/energy").await_output("total: ")
    assert launch.interrupt() == 0, launch.output
    assert "complete" in _output(start("bag", "info", f"{bag}_2"))


def test_a_node_that_cannot_run_as_it_is_asked_to_is_not_restarted(start: Start) -> None:
    launch = start("launch", "panda", "rate:=5000.0", "markers:=false")
    launch.await_output(r"closed_loop-1\]: is not restarted: it cannot run as it is configured")
    assert launch.interrupt() == 1
    assert launch.output.count("Parameter rate out of range") == 1
    assert launch.output.count("started with pid") == 3


def test_a_launch_of_a_robot_that_there_is_not_ends_with_one_sentence(start: Start) -> None:
    launch = start("launch", "panda", "robot:=no_such_robot")
    assert launch.wait(60) == 1
    (line,) = launch.output.splitlines()
    assert line.startswith("error: there is no robot 'no_such_robot'; bundled are panda (")


def test_no_node_outlives_its_launcher(start: Start) -> None:
    # Its nodes have it for a parent, as those of users.
    launch = start("launch", "panda", "markers:=false", fresh=True)
    names = ("closed_loop", "energy_monitor", "model_server")
    nodes = [psutil.Process(pid_of(launch, name)) for name in names]
    echo_of(start, "/vms_ph/energy").await_output("total: ")
    psutil.Process(launch.process.pid).kill()
    _, alive = psutil.wait_procs(nodes, timeout=30.0)
    assert not [p for p in alive if p.status() != psutil.STATUS_ZOMBIE]


def test_a_full_disk_ends_the_recording_with_a_sentence_and_an_exit_code(
    start: Start, tmp_path: Path
) -> None:
    robot = start("run", "simulator", "--ros-args", "-p", "robot:=panda")
    recorder = start("run", "bag_recorder", "--ros-args", "-p", f"bag:={tmp_path / 'bag'}")
    watch = echo_of(start, "/diagnostics")
    watch.await_output(r"name: '?bag_recorder: vms_ph node'?\s+message: recording", 60.0)
    # A limit of the size of its files has the effect of a full disk on the process.
    resource.prlimit(recorder.process.pid, resource.RLIMIT_FSIZE, (100_000, 100_000))
    watch.await_output(
        r"level: 2\s+name: '?bag_recorder: vms_ph node'?\s+message: '?cannot write to"
    )
    recorder.await_output("recording stopped: cannot write to bag .*; recording has stopped")
    assert recorder.interrupt() == 1
    assert "Traceback" not in recorder.output
    info = _output(start("bag", "info", str(tmp_path / "bag")))
    assert int(re.findall(r"Messages: (\d+)", info)[0]) > 0
    assert robot.interrupt() == 0


def test_a_folder_that_contains_a_bag_is_not_reused(start: Start, tmp_path: Path) -> None:
    (tmp_path / "bag").mkdir()
    demo = start("demo", "--headless", "--seconds", "1", "--out", str(tmp_path))
    assert demo.wait(30) == 1
    assert "already has a bag; choose another folder with --out" in demo.output
    assert "Traceback" not in demo.output


def test_a_controller_without_states_holds_the_robot_and_reports_it(
    start: Start, tmp_path: Path
) -> None:
    # A robot without torques falls: it moves once the controller listens to it.
    start("run", "controller", "--ros-args", "-p", "robot:=panda")
    words = ("-p", "robot:=panda", "-p", "autostart:=false")
    robot = start("run", "simulator", "--ros-args", *words)
    watch = echo_of(start, "/diagnostics")
    watch.await_output(r"controller: vms_ph node'?\s+message: '?active; no state", 60.0)
    for transition in ("configure", "activate"):
        ask = f"{{transition: {{label: {transition}}}}}"
        assert "success: true" in _output(
            start("service", "call", "/simulator/change_state", "", ask)
        )
    states = echo_of(start, "/controller/state")
    states.await_output("status: 0")
    os.kill(robot.process.pid, signal.SIGKILL)
    states.await_output(r"status: 2\s+reason: '?no usable state for .*holding against gravity", 5.0)
    efforts = start("topic", "echo", "--once", "/torque")
    assert efforts.wait(20) == 0
    assert "panda_joint4" in efforts.output

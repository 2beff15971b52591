# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The demo as a user runs it: processes that communicate over DDS, observed from outside."""

import json
import re
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
import yaml
from mcap.reader import make_reader
from rosbags.rosbag2 import Reader
from std_srvs.srv import SetBool, Trigger
from vms_ph.msg import Energy
from vms_ph.srv import StepSimulation

from vms_ph_io.audits import Audit, audit
from vms_ph_io.audits.run_record import read_run
from vms_ph_io.bag import bag_info
from vms_ph_io.recordings.fields import read_fields

from .conftest import Program, Start
from .observer import Observer

pytestmark = pytest.mark.wire

TOPICS = ("/joint_states", "/tf", "/vms_ph/energy", "/vms_ph/power", "/controller/state")


@dataclass
class Demo:
    program: Program
    folder: Path


@pytest.fixture(
    scope="module", params=["copied", pytest.param("as those of users", marks=pytest.mark.slow)]
)
def demo(
    request: pytest.FixtureRequest, start: Start, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Demo]:
    """The demo; how every program of it begins is the parameter."""
    folder = tmp_path_factory.mktemp("run")
    fresh = request.param != "copied"
    program = start("demo", "--headless", "--push", "2", "--out", str(folder), fresh=fresh)
    program.await_output(r"first energy message after [\d.]+ s")
    yield Demo(program, folder)
    program.close()


def test_another_process_sees_its_nodes_and_topics(demo: Demo, start: Start) -> None:
    nodes, topics, info = (
        start(*words)
        for words in (
            ("node", "list"), ("topic", "list", "-t"), ("node", "info", "/energy_monitor")
        )
    )  # fmt: skip
    assert nodes.wait(20) == 0
    assert set(nodes.output.split()) >= {
        "/simulator",
        "/controller",
        "/energy_monitor",
        "/model_server",
        "/bag_recorder",
    }
    assert topics.wait(20) == 0
    assert set(TOPICS) <= {line.split()[0] for line in topics.output.splitlines()}
    assert "/vms_ph/energy [vms_ph/msg/Energy]" in topics.output
    assert info.wait(20) == 0
    published = info.output.partition("Publishers:")[2].partition("Subscribers:")[0]
    assert "/vms_ph/energy: vms_ph/msg/Energy" in published


def test_a_second_demo_in_the_same_domain_is_refused_before_it_starts(
    demo: Demo, start: Start, tmp_path: Path
) -> None:
    second = start("demo", "--headless", "--seconds", "1", "--out", str(tmp_path))
    assert second.wait(20) == 1
    assert "another robot's energies are on vms_ph/energy in DDS domain" in second.output
    assert re.search(r"run this one with ROS_DOMAIN_ID=\d+", second.output)
    assert "Traceback" not in second.output
    assert not (tmp_path / "bag").exists()
    # The first one goes on.
    echo = start("topic", "echo", "--once", "/vms_ph/energy")
    assert echo.wait(20) == 0


def test_another_process_reads_an_energy_message(demo: Demo, start: Start) -> None:
    echo = start("topic", "echo", "--once", "/vms_ph/energy")
    assert echo.wait(20) == 0
    energy = yaml.safe_load(echo.output.partition("---")[0])
    assert energy["total"] == pytest.approx(energy["kinetic"] + energy["potential"])
    assert energy["header"]["frame_id"] == "panda_link0"
    assert energy["kinetic"] == pytest.approx(energy["kinetic_task"] + energy["kinetic_null"])


def test_another_process_calls_the_model_server(demo: Demo, start: Start) -> None:
    ask = "{joint_state: {name: [panda_joint2], position: [-0.3], velocity: [1.0]}}"
    call = start("service", "call", "/model_server/get_dynamics", "", ask)
    bad = start("service", "call", "/model_server/get_dynamics", "", "{joint_state: {name: [a]}}")
    assert call.wait(20) == 0
    answer = yaml.safe_load(call.output)
    assert answer["success"] is True
    assert len(answer["mass_matrix"]) == 49
    assert answer["kinetic_energy"] == pytest.approx(answer["mass_matrix"][8] / 2)
    assert bad.wait(20) == 0
    assert yaml.safe_load(bad.output)["message"] == "position has 0 entries for 1 joint names"


def test_the_topics_are_published_at_one_hundred_hertz(demo: Demo, start: Start) -> None:
    echo = start("topic", "echo", "/joint_states")
    echo.await_count("\n---", 60)
    echo.interrupt()
    found = re.findall(r"stamp:\s+sec: (\d+)\s+nanosec: (\d+)", echo.output)
    stamps = np.array([float(sec) + 1e-9 * float(nanosec) for sec, nanosec in found])
    assert len(stamps) >= 60
    # In the time of the simulation: how fast a loaded machine is, only a benchmark can say.
    assert np.median(np.diff(stamps)) == pytest.approx(0.01, abs=1e-6)


STRANGER = """
    from dataclasses import dataclass
    from cyclonedds.core import Policy, Qos
    from cyclonedds.domain import DomainParticipant
    from cyclonedds.idl import IdlStruct
    from cyclonedds.idl.types import float64, int32, sequence, uint32
    from cyclonedds.sub import DataReader
    from cyclonedds.topic import Topic
    from cyclonedds.util import duration
    import os

    @dataclass
    class Time(IdlStruct, typename="builtin_interfaces::msg::dds_::Time_"):
        sec: int32
        nanosec: uint32

    @dataclass
    class Header(IdlStruct, typename="std_msgs::msg::dds_::Header_"):
        stamp: Time
        frame_id: str

    @dataclass
    class JointState(IdlStruct, typename="sensor_msgs::msg::dds_::JointState_"):
        header: Header
        name: sequence[str]
        position: sequence[float64]
        velocity: sequence[float64]
        effort: sequence[float64]

    participant = DomainParticipant(int(os.environ["ROS_DOMAIN_ID"]))
    qos = Qos(Policy.DataRepresentation(use_cdrv0_representation=True))
    reader = DataReader(participant, Topic(participant, "rt/joint_states", JointState), qos=qos)
    for state in reader.take_iter(timeout=duration(seconds=15)):
        print(",".join(state.name), len(state.effort))
        break
"""


def test_a_program_without_this_package_reads_the_joint_states_in_the_printed_environment(
    demo: Demo, start: Start, tmp_path: Path
) -> None:
    line = start("env").await_output(r"(export .*)")[1]
    script = tmp_path / "stranger.py"
    script.write_text(textwrap.dedent(STRANGER))
    shell = f"{line}\nexec {sys.executable} {script}"
    seen = subprocess.run(
        ["sh", "-c", shell], capture_output=True, text=True, timeout=30, check=True
    )
    assert seen.stdout.split() == [",".join(f"panda_joint{i}" for i in range(1, 8)), "7"]


def test_valid_commands_move_the_arm_and_invalid_ones_do_not(demo: Demo, start: Start) -> None:
    pose, effort, wrench = (
        ("/controller/reference_pose", "geometry_msgs/msg/PoseStamped"),
        ("/simulator/torque", "sensor_msgs/msg/JointState"),
        ("/simulator/wrench_end_effector", "geometry_msgs/msg/WrenchStamped"),
    )
    moon = "{header: {frame_id: moon}, wrench: {force: {x: 1}}}"
    # One after the other: of references that wait, a controller takes the last.
    there = start("topic", "pub", "--once", *pose, "{pose: {position: {x: 0.40, y: 0.1, z: 0.75}}}")
    assert there.wait(20) == 0
    published = [
        start("topic", "pub", "--once", *topic, message)
        for topic, message in (
            (pose, "{pose: {position: {x: .nan}}}"),
            (effort, "{name: [panda_joint1], effort: [.nan]}"),
            (wrench, moon),
        )
    ]
    assert [program.wait(20) for program in published] == [0, 0, 0]
    demo.program.await_output(r"ignored: a reference pose must be finite; given: \[nan")
    demo.program.await_output(
        r"ignored: effort must be finite and at most 1e\+09; it is not for panda_joint1"
    )
    demo.program.await_output(r"given: frame_id 'moon'")


def test_gains_can_be_changed_within_their_bounds(demo: Demo, start: Start) -> None:
    changed = start("param", "set", "/controller", "damping_null", "5")
    refused = start("param", "set", "/controller", "stiffness", "-1")
    fixed = start("param", "set", "/simulator", "step", "0.01")
    assert changed.wait(20) == 0
    read = start("param", "get", "/controller", "damping_null")
    assert read.wait(20) == 0
    assert read.output.strip() == "5.0"
    assert refused.wait(20) == 1
    assert "rejected stiffness = -1.0" in refused.output
    assert "Traceback" not in refused.output
    assert fixed.wait(20) == 1


def test_the_simulation_can_be_paused_stepped_and_reset(demo: Demo, observer: Observer) -> None:
    def step(steps: int) -> StepSimulation.Response:
        request = StepSimulation.Request(steps=steps)
        return observer.call(StepSimulation, "/simulator/step", request)

    def pause(on: bool) -> str:
        request = SetBool.Request(data=on)
        return str(observer.call(SetBool, "/simulator/pause", request).message)

    assert "pause it before stepping" in step(5).message
    assert "paused" in pause(True)
    assert step(1000).success
    assert "running" in pause(False)
    reset = observer.call(Trigger, "/simulator/reset", Trigger.Request())
    assert "a new energy audit begins" in reset.message


def assert_equals_live(audited: Audit, bag: Path) -> int:
    """Compare with the balance that the monitor published, from its last restart on.

    Return where in the ledger that is.
    """
    ledger = audited.ledger
    (live,) = read_fields(bag, ["/vms_ph/power"])[0].values()
    start = audited.recording.joints[0].table.times[0]
    stamps = start + np.round(1e9 * ledger.time).astype(np.int64)
    _, at, of = np.intersect1d(stamps, live.times, return_indices=True)
    columns = [live.columns.index(name) for name in ("stored", "unaccounted_energy")]
    theirs = live.rows(0, len(live))[of][:, columns]
    energy = ledger.series["kinetic"] + ledger.series["potential"]
    ours = np.column_stack([energy, ledger.series["unaccounted"]])[at]
    # At a reset the change of the monitor's energy is not that of the robot.
    restarts = np.flatnonzero(np.abs(np.diff(theirs[:, 0]) - np.diff(ours[:, 0])) > 1e-6)
    since = restarts[-1] + 1 if len(restarts) else 0
    theirs, ours = theirs[since:], ours[since:]
    assert len(theirs) > 100
    np.testing.assert_allclose(theirs - theirs[0], ours - ours[0], atol=1e-9)
    return int(at[since])


def test_at_the_end_it_leaves_a_bag_a_plot_and_a_summary(demo: Demo, observer: Observer) -> None:
    # This is the last test of the module, since it ends the demo. The energies of the monitor begin
    # anew at the reset of the test before; of a long recording, every second or third is compared.
    observer.receive(Energy, "/vms_ph/energy", 300)
    assert demo.program.interrupt() == 0
    output = demo.program.output
    assert "Traceback" not in output
    residual = re.search(r"largest power-balance residual +([\d.e+-]+) W", output)
    drift = re.search(r"unaccounted energy +([\d.e+-]+) J", output)
    assert residual
    assert float(residual[1]) < 1e-6
    assert drift
    assert abs(float(drift[1])) < 1e-5
    assert (demo.folder / "energy.png").stat().st_size > 20_000
    bag = demo.folder / "bag"
    audited = audit(bag, "panda")
    restart = assert_equals_live(audited, bag)
    # The reset itself moves the robot; whether that is a gap depends on the samples that are lost.
    from_samples = audited.ledger.series["from_samples"][restart:]
    assert abs(from_samples[-1] - from_samples[0]) <= audited.ledger.sampling_bound
    info = bag_info(bag)
    assert info.is_complete
    recorded = {t.topic.name: t.message_count for t in info.topics}
    assert all(recorded[topic] > 100 for topic in TOPICS)
    with Reader(bag) as reader:
        assert set(TOPICS) <= set(reader.topics)
        assert sum(1 for _ in reader.messages()) == info.message_count
    with (bag / "bag_0.mcap").open("rb") as file:
        summary = make_reader(file).get_summary()
    assert summary is not None
    assert set(TOPICS) <= {channel.topic for channel in summary.channels.values()}
    assert read_run(bag).seconds > 5


def test_an_independent_script_agrees_with_the_recorded_energies_and_powers(
    start: Start, tmp_path: Path
) -> None:
    program = start("demo", "--headless", "--seconds", "4", "--push", "1", "--out", str(tmp_path))
    assert program.wait(60) == 0
    script = Path(__file__).with_name("independent_audit.py")
    ran = subprocess.run(
        [sys.executable, str(script), str(tmp_path / "bag/bag_0.mcap")],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    found = json.loads(ran.stdout)
    assert found["samples"] > 20  # fewer where the machine is busy; the push is among them
    assert found["wrench_end_effector_energy"] > 0.05
    assert found["energy"] < 1e-9
    assert found["power"] < 1e-9
    assert abs(found["imbalance"]) < 1e-5
    # Controller and monitor compute the same power between null space and task independently.
    recorded = read_run(tmp_path / "bag")
    monitored, control = recorded.power["null_to_task"], recorded.control
    # Topics are discovered one after the other: the first samples may lack some topics.
    both = np.intersect1d(recorded.power["time"], control["time"], return_indices=True)
    assert len(both[0]) > 20
    np.testing.assert_allclose(monitored[both[1]], control["null_to_task"][both[2]], atol=1e-12)
    assert np.abs(monitored).max() > 1e-5
    assert np.isfinite(recorded.power["null_to_task_g12"]).all()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--robot", "nobody"), "there is no robot 'nobody'; bundled are panda"),
        (("--robot", "/no/such.urdf"), "there is no file /no/such.urdf"),
        (("--rate", "0"), "Invalid value for '--rate'"),
    ],
)
def test_invalid_options_are_reported_in_one_sentence(
    start: Start, words: tuple[str, ...], said: str
) -> None:
    program = start("demo", "--headless", "--seconds", "1", *words)
    assert program.wait(20) != 0
    assert said in " ".join(program.output.replace("│", " ").split())
    assert "Traceback" not in program.output


def test_a_port_in_use_is_reported_before_anything_starts(start: Start) -> None:
    import socket

    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        program = start("demo", "--port", str(port), "--seconds", "1")
        assert program.wait(20) == 1
    assert f"port {port} on 127.0.0.1 is in use" in program.output
    assert "process started" not in program.output

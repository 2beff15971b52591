# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""vms-ph audit and the export of bags, as a user types them."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.integrate import trapezoid
from typer.testing import CliRunner, Result

from vms_ph_dynamics import VmsPhError
from vms_ph_io import robots
from vms_ph_io.bag import BagWriter, MessageTypes
from vms_ph_nodes.cli.app import make_app

START = 1_700_000_000_000_000_000


def typed(*words: object) -> Result:
    return CliRunner().invoke(make_app(), [str(word) for word in words])


def record(
    folder: Path,
    shift: float = 0.0,
    offset: float = 0.0,
    description: str = "",
    other: str = "",
) -> Path:
    """A bag of a Panda whose first joint swings, and of another; the efforts are zero."""
    types = MessageTypes()
    kind = types.store.types
    name = "sensor_msgs/msg/JointState"
    joints = list(robots.load("panda").joint_names)
    with BagWriter(folder, ros_distro="") as bag:
        bag.add_topic("/joint_states", types.definition(name))
        if description:
            text = "std_msgs/msg/String"
            bag.add_topic("/robot_description", types.definition(text))
            message = kind[text](data=description)
            bag.write("/robot_description", bytes(types.store.serialize_cdr(message, text)), START)
        for k in range(400):
            t = 0.005 * k
            time = START + k * 5_000_000
            stamp = kind["builtin_interfaces/msg/Time"](time // 10**9, time % 10**9)
            q, v = np.zeros(7), np.zeros(7)
            q[0], v[0] = np.sin(3.0 * (t - shift)) + offset, 3.0 * np.cos(3.0 * (t - shift))
            message = kind[name](kind["std_msgs/msg/Header"](stamp, ""), joints, q, v, np.zeros(7))
            bag.write("/joint_states", bytes(types.store.serialize_cdr(message, name)), time)
        if other:
            message = kind[name](message.header, [other], q[:1], v[:1], v[:1])
            bag.write("/joint_states", bytes(types.store.serialize_cdr(message, name)), time)
    return folder


def test_a_bag_is_audited_in_words_and_as_one_document(tmp_path: Path) -> None:
    bag = record(tmp_path / "bag")
    said = typed("audit", bag, "--robot", "panda", "--friction", "none")
    assert said.exit_code == 0, said.output
    assert "energy balance, from the start to the end" in said.output
    done = typed("audit", bag, "--robot", "panda", "--friction", "none", "--json")
    found = json.loads(done.stdout)
    assert found["gross"] == 0.0
    assert found["identified"] == {}
    model = robots.load("panda")
    v = np.zeros(7)
    v[0] = 3.0 * np.cos(3.0 * 0.005 * 399)
    ends = [0.5 * 9.0, 0.5 * float(v @ v)]
    inertia = model.evaluate(np.zeros(7), v).M[0, 0]
    assert found["unaccounted"] == pytest.approx(inertia * (ends[1] - ends[0]), rel=1e-6)
    assert set(found["ledger"]["joint"]) == set(model.joint_names)


def test_the_robot_in_the_recording_needs_not_be_given(tmp_path: Path) -> None:
    text = robots.get("panda").description()
    bag = record(tmp_path / "bag", description=text)
    assert typed("audit", bag).exit_code == 0
    with pytest.raises(VmsPhError, match="give the robot"):
        raise typed("audit", record(tmp_path / "plain")).exception or AssertionError


def test_the_report_is_written_into_a_folder_of_its_own(tmp_path: Path) -> None:
    pytest.importorskip("plotly")
    bag = record(tmp_path / "bag")
    out = tmp_path / "report"
    done = typed("audit", bag, "--robot", "panda", "--out", out)
    assert done.exit_code == 0, done.output
    names = {file.name for file in out.iterdir()}
    assert names == {"audit.html", "audit.png", "audit.csv", "audit.json"}
    assert typed("audit", bag, "--robot", "panda", "--out", out).exit_code == 0


MISTAKES = {
    "nosuch": (["nosuch"], "there is no recording"),
    "robot": (["{bag}", "--robot", "baxter"], "a bundled robot that has the recorded joints"),
    "topic": (["{bag}", "--robot", "panda", "--topic", "joints=/nosuch"], "has no topic /nosuch"),
    "role": (["{bag}", "--robot", "panda", "--topic", "camera=/x"], "nothing that a topic can"),
    "pair": (["{bag}", "--robot", "panda", "--topic", "joints"], "NAME=VALUE"),
    "joint": (["{bag}", "--robot", "panda", "--joint", "a=b"], "is no joint of 'panda'"),
    "effort": (["{bag}", "--robot", "panda", "--effort", "volts"], "effort is one of"),
    "friction": (["{bag}", "--robot", "panda", "--friction", "no.yaml"], "cannot be read"),
    "columns": (["{bag}", "--robot", "panda", "--columns", "no.yaml"], "no column map"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistakes_are_answered_in_a_sentence(tmp_path: Path, mistake: str) -> None:
    words, answer = MISTAKES[mistake]
    bag = str(record(tmp_path / "bag"))
    done = typed("audit", *(word.replace("{bag}", bag) for word in words))
    assert isinstance(done.exception, VmsPhError), done.output
    assert answer in str(done.exception)


def test_a_proposal_takes_the_rate_of_a_map_and_refuses_more(tmp_path: Path) -> None:
    file, columns = tmp_path / "run.csv", tmp_path / "rate.yaml"
    joints = robots.load("panda").joint_names
    q = np.sin(np.arange(400.0)[:, None] / 25.0 + np.arange(7.0)) - 0.5
    np.savetxt(file, q, delimiter=",", comments="", header=",".join(f"q_{j}" for j in joints))
    columns.write_text("rate: 25\n")
    words = "audit", file, "--robot", "panda", "--propose", "--columns", columns
    said = typed(*words)
    assert said.exit_code == 0, said.output
    assert "rate: 25.0\n" in said.output
    assert "rate in Hz" not in said.output
    columns.write_text("rate: 25\nposition: [1, 2, 3, 4, 5, 6, 7]\n")
    said = typed(*words)
    assert said.exit_code != 0
    assert "gives the rate alone" in str(said.exception)


def test_a_friction_file_is_taken(tmp_path: Path) -> None:
    bag = record(tmp_path / "bag")
    file = tmp_path / "friction.yaml"
    file.write_text("friction: {panda_joint1: {viscous: 2.0, coulomb: 0.5}}")
    done = typed("audit", bag, "--robot", "panda", "--friction", file, "--json")
    t = 0.005 * np.arange(400)
    rate = 3.0 * np.cos(3.0 * t)
    lost = trapezoid(2.0 * rate**2 + 0.5 * rate * np.tanh(rate / 0.01), t)
    found = json.loads(done.stdout)
    assert found["ledger"]["joint"]["panda_joint1"]["dissipated"] == pytest.approx(lost)
    assert found["friction"] == "friction.yaml"
    file.write_text("friction: {panda_joint1: {thick: 2.0}}")
    wrong = typed("audit", bag, "--robot", "panda", "--friction", file)
    assert "thick" in str(wrong.exception)


def test_numbers_of_a_bag_are_exported(tmp_path: Path) -> None:
    bag = record(tmp_path / "bag")
    wrong = typed("bag", "export", bag, tmp_path / "out.csv", "--topics", "/nosuch")
    assert "there is no topic /nosuch with numbers" in str(wrong.exception)
    assert typed("bag", "export", bag, tmp_path / "out.npz").exit_code == 0
    with np.load(tmp_path / "out.npz") as arrays:
        assert arrays["/joint_states.position.panda_joint1"].shape == (400,)
    assert typed("bag", "export", bag, tmp_path / "folder").exit_code == 0
    assert [f.name for f in (tmp_path / "folder").iterdir()] == ["joint_states.csv"]


def test_an_export_names_what_it_leaves_out_and_why(tmp_path: Path) -> None:
    bag = record(tmp_path / "bag", description="<robot/>", other="finger")
    done = typed("bag", "export", bag, tmp_path / "out.npz")
    assert (
        "1 message of /robot_description (std_msgs/msg/String) left out: no numbers in it\n"
        "1 message of /joint_states (sensor_msgs/msg/JointState) left out: other columns than in "
        "the first message, such as effort.finger, effort.panda_joint1" in done.stderr
    )


def test_the_export_of_joint_states_is_audited_like_the_bag(tmp_path: Path) -> None:
    bag = record(tmp_path / "bag")
    file = tmp_path / "run.csv"
    assert typed("bag", "export", bag, file, "--topics", "/joint_states").exit_code == 0
    energies = [
        json.loads(typed("audit", path, "--robot", "panda", "--json").stdout)["unaccounted"]
        for path in (bag, file)
    ]
    # A float of seconds since 1970 resolves a quarter of a microsecond.
    assert energies[0] == pytest.approx(energies[1], rel=1e-6)


_MEASURED = """
import resource, sys
from vms_ph_nodes.cli import main
try:
    main()
finally:
    print("peak MB", resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, file=sys.stderr)
"""


@pytest.mark.slow
def test_a_recording_of_a_gigabyte_needs_less_than_half_of_that_in_memory(tmp_path: Path) -> None:
    bag = tmp_path / "big"
    types = MessageTypes()
    kind, name = types.store.types, "sensor_msgs/msg/JointState"
    with BagWriter(bag, ros_distro="") as writer:
        writer.add_topic("/joint_states", types.definition(name))
        joints = list(robots.load("panda").joint_names)
        head = kind["std_msgs/msg/Header"](kind["builtin_interfaces/msg/Time"](0, 0), "")
        zero = np.zeros(7)
        data = bytearray(types.store.serialize_cdr(kind[name](head, joints, *[zero] * 3), name))
        for k in range(1_000_000_000 // (len(data) + 47)):
            time = START + k * 1_000_000
            data[4:8] = (time // 10**9).to_bytes(4, "little")
            data[8:12] = (time % 10**9).to_bytes(4, "little")
            writer.write("/joint_states", data, time)
    words = [sys.executable, "-c", _MEASURED, "audit", str(bag), "--robot", "panda", "--json"]
    done = subprocess.run(words, capture_output=True, text=True, env=os.environ, check=True)
    assert json.loads(done.stdout)["samples"] > 2_000_000
    assert float(done.stderr.rpartition("peak MB")[2]) < 500.0

# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Nodes with different robots say so on /diagnostics, and refuse to answer."""

from pathlib import Path

import pytest
from diagnostic_msgs.msg import DiagnosticArray
from vms_ph.msg import Energy
from vms_ph.srv import GetModelInfo

from vms_ph_dynamics import VMSModel
from vms_ph_io import robots
from vms_ph_nodes.node.agreement import (
    CONTROLLER,
    OTHER,
    RANK_KEY,
    ROBOT_KEY,
    SIMULATOR,
    RobotAgreement,
    identity,
)

from .conftest import Start
from .observer import Observer

DRONE = Path(__file__).parent / "own_drone.urdf"


def _drone(**settings: object) -> VMSModel:
    return VMSModel.from_urdf(DRONE.read_text(), **{"base": "floating", **settings})  # type: ignore[arg-type]


def _says(model: VMSModel, rank: int) -> dict[str, str]:
    node = RobotAgreement("any")
    node.declare(model, rank)
    return {key: str(value) for key, value in node.values().items()}


def test_every_setting_changes_the_identity_of_a_robot_and_nothing_else_does() -> None:
    heavier = DRONE.read_text().replace('mass value="1.5"', 'mass value="1.500001"')
    longer = DRONE.read_text().replace('xyz="0 0 -0.2"', 'xyz="0 0 -0.21"')
    models = [
        _drone(),
        _drone(base="fixed"),
        _drone(base="planar"),
        _drone(end_effector="upper"),
        _drone(locked_joints=["elbow"]),
        _drone(gravity=(0, 0, -1.62)),
        VMSModel.from_urdf(heavier, "floating"),
        VMSModel.from_urdf(longer, "floating"),
    ]
    assert len({identity(model) for model in models}) == len(models)
    assert identity(_drone()) == identity(_drone())
    swimmer = robots.load("bluerov2_alpha5")
    assert "fluid=1000 kg/m^3" in identity(swimmer)


def test_a_node_disagrees_with_the_one_that_determines_the_motion() -> None:
    node = RobotAgreement("left/model_server")
    node.update("left/simulator", _says(_drone(), SIMULATOR))
    assert node.disagreement == ""  # without a robot of its own yet
    node.declare(_drone(base="fixed"), OTHER)
    assert "left/model_server has another robot than left/simulator" in node.disagreement
    assert "base: 'fixed', there 'floating'" in node.disagreement
    assert "mass: '0.2 kg', there '1.7 kg'" in node.disagreement
    node.forget("left/simulator")
    assert node.disagreement == ""


def test_the_simulator_is_right_and_other_namespaces_do_not_count() -> None:
    simulator, server = RobotAgreement("simulator"), RobotAgreement("model_server")
    simulator.declare(_drone(), SIMULATOR)
    server.declare(_drone(), OTHER)
    other = _says(_drone(base="fixed"), OTHER)
    for node in (simulator, server):
        node.update("energy_monitor", other)
        node.update("right/simulator", _says(_drone(base="fixed"), SIMULATOR))
    assert simulator.disagreement == ""
    assert "energy_monitor" in server.disagreement  # equals, of whom nobody is right
    server.update("controller", _says(_drone(), CONTROLLER))
    assert server.disagreement == ""
    # What isdigit takes for a number, int may not: a superscript, more digits than it converts.
    for rank in (
        "no number",
        "",
        "-1",
        "3",
        "\N{SUPERSCRIPT TWO}",
        "9" * 5000,
        "\N{ARABIC-INDIC DIGIT TWO}",
    ):
        server.update("controller", _says(_drone(), CONTROLLER))
        server.update("controller", {ROBOT_KEY: "x", RANK_KEY: rank})
        assert "energy_monitor" in server.disagreement


@pytest.mark.wire
def test_a_drone_of_a_user_flies_and_nodes_with_another_robot_refuse_to_answer(
    start: Start, observer: Observer
) -> None:
    launch = start(
        "launch", "robot", f"robot:={DRONE}", "base:=floating", "end_effector:=tip",
        "initial_positions:=elbow=0.5", "gravity:=0 0 -1.62", "markers:=false",
        "rate:=50.0",
    )  # fmt: skip
    info = observer.call(
        GetModelInfo, "/model_server/get_model_info", GetModelInfo.Request(), seconds=40.0
    )
    assert info.success
    assert (info.name, info.base, info.end_effector) == ("own_drone", "floating", "tip")
    assert info.total_mass == pytest.approx(1.7)
    assert list(info.gravity) == [0.0, 0.0, -1.62]
    energy = observer.take(Energy, "/vms_ph/energy")
    assert energy.header.frame_id == "odom"
    assert energy.kinetic == pytest.approx(energy.kinetic_base + energy.kinetic_shape)
    start(
        "run", "model_server", "--ros-args", "-r", "__node:=stranger",
        "-p", f"robot:={DRONE}", "-p", "base:=fixed",
    )  # fmt: skip

    def complains(message: DiagnosticArray) -> bool:
        return any("has another robot than simulator" in s.message for s in message.status)

    observer.take(DiagnosticArray, "/diagnostics", complains)
    answer = observer.call(GetModelInfo, "/stranger/get_model_info", GetModelInfo.Request())
    assert not answer.success
    assert "stranger has another robot than simulator" in answer.message
    assert "base: 'fixed', there 'floating'" in answer.message
    again = observer.call(GetModelInfo, "/model_server/get_model_info", GetModelInfo.Request())
    assert again.success
    assert launch.interrupt() == 0

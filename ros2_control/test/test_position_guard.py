# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""A JointTrajectoryController behind a guard before servos, under a real controller manager.

The servos are those of mock_components: a position is where it was commanded in the cycle before.
"""

import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest
from control_msgs.msg import JointTrajectoryControllerState
from control_session import Session, stamp
from vms_ph.msg import EnergyCertificate
from vms_ph.srv import ChangeBudget

JOINTS = [f"panda_joint{i}" for i in range(1, 8)]
HOME = [0.0, -0.3, 0.0, -1.5, 0.0, 1.5, 0.0]
NEAR = [0.2, -0.2, 0.1, -1.4, 0.1, 1.6, 0.2]
RATE = 200

CONTROLLERS = f"""
/**/controller_manager:
  ros__parameters:
    update_rate: {RATE}
    position_guard: {{type: vms_ph/PositionGuard}}
    guarded: {{type: joint_trajectory_controller/JointTrajectoryController}}
/**/position_guard:
  ros__parameters:
    stiffness: [600.0, 600.0, 600.0, 600.0, 250.0, 150.0, 50.0]
    tank_capacity: 2.0
    tank_initial: 2.0
    publish_rate: {RATE}.0
/**/guarded:
  ros__parameters:
    joints: [{", ".join(JOINTS)}]
    command_joints: [{", ".join("position_guard/" + name for name in JOINTS)}]
    command_interfaces: [position]
    state_interfaces: [position, velocity]
"""


def hardware() -> str:
    """The ros2_control tag of servos that are where they were commanded."""
    joints = "".join(
        f'<joint name="{name}"><command_interface name="position"/><state_interface '
        f'name="position"><param name="initial_value">{home}</param></state_interface>'
        '<state_interface name="velocity"/></joint>'
        for name, home in zip(JOINTS, HOME, strict=True)
    )
    return (
        '<robot xmlns:xacro="http://www.ros.org/wiki/xacro"><ros2_control name="servos" '
        'type="system"><hardware><plugin>mock_components/GenericSystem</plugin></hardware>'
        f"{joints}</ros2_control></robot>"
    )


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    folder: Path = tmp_path_factory.mktemp("servos")
    (folder / "controllers.yaml").write_text(CONTROLLERS)
    (folder / "servos.xacro").write_text(hardware())
    started = Session(
        "ros2_control.launch.xml",
        f"hardware:={folder / 'servos.xacro'}",
        f"controllers:={folder / 'controllers.yaml'}",
        "monitor:=false",
        "markers:=false",
    )
    try:
        for name, kind in {
            "position_guard": "vms_ph/PositionGuard",
            "guarded": "joint_trajectory_controller/JointTrajectoryController",
        }.items():
            started.know(name, kind, folder / "controllers.yaml")
            started.load(name)
        assert started.switch(["position_guard", "guarded"], [])
        yield started
    finally:
        started.end()


def certificate(session: Session) -> EnergyCertificate:
    found: EnergyCertificate = session.one(EnergyCertificate, "/position_guard/certificate")
    return found


def cycles(
    session: Session, goal: list[float], seconds: float
) -> list[tuple[list[float], list[float]]]:
    """What the trajectory controller commanded in a cycle, and the positions of the next one."""

    def send() -> bool:
        session.follow("guarded", JOINTS, goal, seconds)
        return True

    found = session.collect_during(
        seconds + 1.0, send, it=(JointTrajectoryControllerState, "/guarded/controller_state")
    )["it"]
    return [
        (list(a.output.positions), list(b.feedback.positions))
        for a, b in itertools.pairwise(found)
        if 0 < stamp(b) - stamp(a) < 1.6e9 / RATE
    ]


def test_a_trajectory_passes_bit_for_bit_while_the_tank_covers_it(session: Session) -> None:
    pairs = cycles(session, NEAR, 2.0)
    after = certificate(session)
    print(f"{len(pairs)} cycles, {after.largest_given:.3g} J of {after.budget:.3g} J")
    assert len(pairs) > 50
    assert all(sent == reached for sent, reached in pairs)
    assert pairs[-1][1] == pytest.approx(NEAR, abs=1e-6)
    assert (after.verdict, after.scaled, after.braked) == ("kept", 0, 0)
    assert list(after.ports) == JOINTS
    assert 0.0 < after.largest_given < after.budget


def test_a_trajectory_that_jumps_is_sent_in_part(session: Session) -> None:
    pairs = cycles(session, [0.9, *NEAR[1:]], 0.01)
    after = certificate(session)
    print(f"jump to 0.9: {pairs[-1][1][0]:.4g} rad, {after.largest_given:.3g} J")
    assert after.status == EnergyCertificate.SATURATED
    assert "the energy tank covers" in after.reason
    assert after.scaled > 0
    assert after.verdict == "kept"
    assert after.largest_given <= after.budget + 1e-9
    assert NEAR[0] < pairs[-1][1][0] < 0.8  # farther where the manager limits each step
    assert pairs[-1][0][0] == pytest.approx(0.9, abs=1e-6)  # still wanted


def test_a_larger_budget_lets_it_go_on(session: Session) -> None:
    for _ in range(200):
        answer = session.call(ChangeBudget, "change_budget", of="position_guard", energy=2.0)
        assert answer.success
        if certificate(session).status == EnergyCertificate.OK:
            break
    pairs = cycles(session, [0.9, *NEAR[1:]], 0.5)
    assert pairs[-1][1][0] == pytest.approx(0.9, abs=1e-6)
    assert certificate(session).verdict == "kept"


def test_without_a_controller_before_it_the_last_command_stays(session: Session) -> None:
    assert session.switch([], ["guarded"])
    session.until_topic(
        EnergyCertificate,
        "/position_guard/certificate",
        lambda m: m.status == EnergyCertificate.HOLDING and "command" in m.reason,
    )
    assert session.switch(["guarded"], [])
    assert cycles(session, NEAR, 2.0)[0][1][0] == pytest.approx(0.9, abs=0.02)

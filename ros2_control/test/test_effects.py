# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Actuators and water under a real controller manager: limits are kept, energy books closed."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from control_session import Session, differences, pairs
from geometry_msgs.msg import PoseStamped
from nav_msgs.msg import Odometry
from rcl_interfaces.srv import SetParameters
from rclpy.parameter import Parameter
from vms_ph.msg import ControllerState, PortEnergy

OURS, THEIRS = "decoupled_vms_controller", "python_controller"
TILTING = Path(__file__).parent / "tilting_rotors.yaml"
ENERGIES = ["total", "kinetic", "potential", "kinetic_base", "kinetic_shape"]


@dataclass
class Robot:
    session: Session
    near: tuple[float, float, float]
    far: tuple[float, float, float]
    in_water: bool


@pytest.fixture(
    scope="module",
    params=[
        ("hextilt_ros2_control.launch.xml", (0.1, 0.1, 0.2), (40.0, 20.0, 30.0), False),
        (
            "bluerov2_alpha5_ros2_control.launch.xml actuators:=own",
            (0.2, 0.1, 0.1),
            (40.0, 20.0, 30.0),
            True,
        ),
        (
            f"hextilt_ros2_control.launch.xml actuators:={TILTING}",
            (0.1, 0.1, 0.2),
            (40.0, 20.0, 30.0),
            False,
        ),
    ],
    ids=["hextilt", "bluerov2_alpha5", "tilting_rotors"],
)
def robot(request: pytest.FixtureRequest) -> Iterator[Robot]:
    launch, near, far, in_water = request.param
    session = Session(*launch.split())
    try:
        session.await_states(**{"robot_broadcaster": "active", OURS: "active", THEIRS: "inactive"})
        yield Robot(session, near, far, in_water)
    finally:
        session.end()


def place(message: Odometry) -> tuple[float, float, float]:
    p = message.pose.pose.position
    return p.x, p.y, p.z


def go_to(session: Session, law: str, where: tuple[float, float, float]) -> bool:
    target = PoseStamped()
    target.header.frame_id = "odom"
    p = target.pose.position
    p.x, p.y, p.z = where
    session.tell(PoseStamped, f"/{law}/reference_pose", target)
    return True


def watch(
    session: Session, law: str, seconds: float, action: Callable[[], bool] = lambda: True
) -> dict[str, list[Any]]:
    return session.watch_base(law, seconds, action)


def test_its_base_holds_the_pose_it_began_in(robot: Robot) -> None:
    found = watch(robot.session, OURS, 2.0)
    assert found["state"][-1].status == ControllerState.OK, found["state"][-1].reason
    # While rotors take up their thrust, the base sags.
    assert place(found["odom"][-1]) == pytest.approx((0.0, 0.0, 0.0), abs=2e-2)


@pytest.fixture
def law(robot: Robot, request: pytest.FixtureRequest) -> Iterator[str]:
    """One of both laws, active alone."""
    if request.param == THEIRS:
        assert robot.session.switch([THEIRS], [OURS])
    yield request.param
    if request.param == THEIRS:
        assert robot.session.switch([OURS], [THEIRS])


@pytest.mark.parametrize("law", [OURS, THEIRS], indirect=True)
def test_on_the_way_to_another_pose_the_energies_are_those_of_the_energy_monitor(
    robot: Robot, law: str
) -> None:
    session = robot.session
    before = session.one(PortEnergy, "/vms_ph/port_energy")
    goal = robot.near if law == OURS else (0.0, 0.0, 0.0)
    found = watch(session, law, 10.0, lambda: go_to(session, law, goal))
    # On a busy machine the monitor loses odometry, which is best effort, and predicts the base.
    worst = differences(found["ours"], found["theirs"], ENERGIES, share=0.8)
    matched = len(pairs(found["ours"], found["theirs"]))
    moving = max(message.kinetic for message in found["ours"])
    dragged = found["ports"][-1].dissipated - before.dissipated
    unaccounted = found["power"][-1].unaccounted_energy
    print(
        f"{law}: {matched} equal stamps, kinetic energy up to {moving:.3g} J, off by {worst}; "
        f"dissipated {dragged:.3g} J, unaccounted {unaccounted:.3g} J"
    )
    assert matched > 20
    assert moving > 1e-3
    assert max(worst.values()) < 1e-6
    assert found["power"][-1].exact_energies
    assert abs(unaccounted) < 1e-6
    assert (dragged > 1e-3) == robot.in_water
    assert place(found["odom"][-1]) == pytest.approx(goal, abs=5e-2)


def test_a_fast_goal_far_away_is_approached_at_the_limits_of_the_actuators(robot: Robot) -> None:
    session = robot.session
    # Faster than its rotors allow: the Hextilt may turn over, the books are closed all the same.
    hurry = {"base_speed": 10.0 if robot.in_water else 6.0}
    parameters = [Parameter(name, value=value).to_parameter_msg() for name, value in hurry.items()]
    answer = session.call(SetParameters, "set_parameters", of=OURS, parameters=parameters)
    assert all(result.successful for result in answer.results)
    found = watch(session, OURS, 3.0, lambda: go_to(session, OURS, robot.far))
    reasons = {message.reason for message in found["state"]}
    print(reasons)
    assert ControllerState.SATURATED in {message.status for message in found["state"]}
    assert any("base wrench at its limit" in reason for reason in reasons)
    # The base applies less than what is commanded without limits, and the books know it.
    assert abs(found["power"][-1].unaccounted_energy) < 1e-6

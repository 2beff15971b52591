# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""An admittance controller of others, unmodified, pushed and colliding: with the guard and without.

Both chains are of ros2_controllers: the admittance controller moves the references of a PID
controller for every joint. They differ in the guard before the hardware alone.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import pytest
from ament_index_python import PackageNotFoundError, get_package_prefix
from control_session import Session, pairs
from geometry_msgs.msg import WrenchStamped
from rcl_interfaces.srv import SetParameters
from rclpy.parameter import Parameter
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectoryPoint
from vms_ph.msg import Energy, EnergyCertificate, PortEnergy
from vms_ph.srv import ChangeBudget


def is_missing(package: str) -> bool:
    try:
        get_package_prefix(package)
    except PackageNotFoundError:
        return True
    return False


NEEDED = ["admittance_controller", "pid_controller", "kinematics_interface_kdl"]
MISSING = [package for package in NEEDED if is_missing(package)]
pytestmark = pytest.mark.skipif(bool(MISSING), reason=f"not installed: {', '.join(MISSING)}")

JOINTS = [f"panda_joint{i}" for i in range(1, 8)]
HOME = [0.0, -0.3, 0.0, -1.5, 0.0, 1.5, 0.0]
GUARDED = ["energy_guard", "guarded_pid_controller", "guarded_admittance_controller"]
ALONE = ["pid_controller", "admittance_controller"]

FORCE = 20.0  # of a push, sideways, N
TANK = 0.5  # J


@dataclass(frozen=True)
class Taken:
    """What happened while something was done, J."""

    given: float  # by the controllers at most, beyond the weight
    kinetic: float  # at most
    pushed: float  # by the push


@pytest.fixture(scope="module")
def session() -> Iterator[Session]:
    started = Session("panda_guarded_admittance_ros2_control.launch.xml")
    try:
        started.await_states(
            robot_broadcaster="active",
            energy_guard="active",
            guarded_pid_controller="active",
            guarded_admittance_controller="active",
            pid_controller="inactive",
            admittance_controller="inactive",
        )
        yield started
    finally:
        started.end()


def positions(session: Session) -> list[float]:
    message = session.one(JointState, "/joint_states")
    found = dict(zip(message.name, message.position, strict=True))
    return [found[name] for name in JOINTS]


def certificate(session: Session) -> EnergyCertificate:
    found: EnergyCertificate = session.one(EnergyCertificate, "/energy_guard/certificate")
    return found


def change(session: Session, energy: float) -> None:
    answer = session.call(ChangeBudget, "change_budget", of="energy_guard", energy=energy)
    assert answer.success


def tune(session: Session, node: str, values: dict[str, float | list[float]]) -> None:
    parameters = [Parameter(name, value=value).to_parameter_msg() for name, value in values.items()]
    answer = session.call(SetParameters, "set_parameters", of=node, parameters=parameters)
    assert all(result.successful for result in answer.results)


def lead(session: Session, controller: str, goal: list[float], seconds: float) -> bool:
    """Move the reference of an admittance controller straight to other joint positions."""
    start = positions(session)
    rate = [(b - a) / seconds for a, b in zip(start, goal, strict=True)]

    def at(passed: float) -> JointTrajectoryPoint:
        moving = passed < seconds
        way = [a + passed * r for a, r in zip(start, rate, strict=True)]
        return JointTrajectoryPoint(
            positions=way if moving else goal, velocities=rate if moving else [0.0] * 7
        )

    session.repeat(JointTrajectoryPoint, f"{controller}/joint_references", at, seconds + 0.2)
    return True


def push(session: Session, seconds: float) -> bool:
    message = WrenchStamped()
    message.header.frame_id = "world"
    message.wrench.force.y = FORCE
    topic = "simulated_panda/wrench_end_effector"
    session.repeat(WrenchStamped, topic, lambda _: message, seconds)
    return True


def begin(session: Session, chain: list[str], tank: float | None = None) -> str:
    """Let a chain hold the arm at home; the admittance controller at its end."""
    found = session.states().items()
    active = sorted(n for n, s in found if s == "active" and n != "robot_broadcaster")
    assert session.switch([], active)
    for controller in (GUARDED[-1], ALONE[-1]):
        tune(session, controller, {"admittance.mass": [5.0] * 3 + [0.5] * 3})
        tune(session, controller, {"admittance.stiffness": [100.0] * 3 + [10.0] * 3})
    tune(session, "energy_guard", {"refill_power": 0.5})
    # Home without the guard, whose tank would be empty after a long way along joint stops. What
    # pulls the admittance back is at the end effector: where the posture of the redundant arm has
    # gone astray, it begins anew from there.
    is_home = False
    for _ in range(4):
        assert session.switch(ALONE, [])
        lead(session, ALONE[-1], HOME, 3.0)
        session.collect(1.0)
        if is_home := positions(session) == pytest.approx(HOME, abs=0.03):
            break
        assert session.switch([], ALONE)
    assert is_home, f"not back at home: {positions(session)}"
    if chain is GUARDED:
        assert session.switch([], ALONE)
        assert session.switch(GUARDED, [])
        change(session, 100.0)
    lead(session, chain[-1], HOME, 1.0)
    session.collect(1.0)
    if tank is not None and chain is GUARDED:
        tune(session, "energy_guard", {"refill_power": 0.0})
        change(session, -1000.0)
        session.until_topic(
            EnergyCertificate, "/energy_guard/certificate", lambda m: m.level < 1e-3
        )
        change(session, tank)
    return chain[-1]


def taken(session: Session, action: Callable[[], bool], seconds: float) -> Taken:
    """Do something, and watch the simulated hardware until some time afterwards."""

    def after_a_while() -> bool:
        session.collect(0.5)
        return action()

    found = session.collect_during(
        seconds,
        after_a_while,
        ports=(PortEnergy, "/vms_ph/port_energy"),
        energies=(Energy, "/vms_ph/energy"),
    )
    both = pairs(found["ports"], found["energies"])
    assert len(both) > 10
    given = [port.torque - energy.potential for port, energy in both]
    return Taken(
        max(given) - given[0],
        max(energy.kinetic for _, energy in both),
        both[-1][0].wrench_end_effector - both[0][0].wrench_end_effector,
    )


def test_a_pushed_arm_yields_alike_with_the_guard_and_without(session: Session) -> None:
    found = []
    for chain in (GUARDED, ALONE):
        begin(session, chain)
        before = certificate(session) if chain is GUARDED else None
        found.append(taken(session, lambda: push(session, 1.0), 3.0))
        print(f"{chain[0]}: {found[-1]}")
        if before is not None:
            after = certificate(session)
            assert (after.scaled, after.braked) == (before.scaled, before.braked)
            assert after.verdict == "kept"
        # It yields by centimetres, and comes back.
        assert found[-1].pushed / FORCE > 0.02
        assert positions(session) == pytest.approx(HOME, abs=0.1)
    assert found[0].pushed == pytest.approx(found[1].pushed, rel=0.2)


def test_a_push_on_a_controller_without_a_spring_takes_no_more_than_the_tank_holds(
    session: Session,
) -> None:
    found = {}
    for chain in (GUARDED, ALONE):
        controller = begin(session, chain, TANK)
        # Nothing holds the virtual mass back: the push drives the arm away.
        tune(session, controller, {"admittance.stiffness": [0.0] * 3 + [10.0] * 3})
        tune(session, controller, {"admittance.mass": [0.5] * 6})
        found[chain[0]] = taken(session, lambda: push(session, 0.5), 3.0)
        print(f"{chain[0]}: {found[chain[0]]}")
        if chain is GUARDED:
            assert certificate(session).verdict in ("kept", "excess")
    assert found["energy_guard"].given < 1.1 * TANK
    assert found["pid_controller"].given > 2.0 * TANK


def test_a_collision_takes_no_more_than_the_tank_holds(session: Session) -> None:
    near, beyond = [2.2, *HOME[1:]], [3.6, *HOME[1:]]
    found = {}
    for chain in (GUARDED, ALONE):
        controller = begin(session, chain)
        lead(session, controller, near, 3.0)
        session.collect(2.0)
        if chain is GUARDED:
            tune(session, "energy_guard", {"refill_power": 0.0})
            change(session, -1000.0)
            change(session, TANK)
        go = partial(lead, session, controller, beyond, 0.7)
        found[chain[0]] = taken(session, go, 3.0)
        print(f"{chain[0]}: {found[chain[0]]}")
        assert positions(session)[0] > 2.85  # at the joint stop
    assert found["energy_guard"].given < 1.1 * TANK
    assert found["energy_guard"].kinetic < 1.2 * TANK
    assert found["pid_controller"].kinetic > 3.0 * TANK

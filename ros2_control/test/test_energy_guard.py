# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Controllers of others, unmodified, behind an energy guard under a real controller manager."""

from collections.abc import Iterator

import numpy as np
import pytest
from control_session import Session
from geometry_msgs.msg import Point, PointStamped
from rcl_interfaces.srv import SetParameters
from rclpy.parameter import Parameter
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from vms_ph.msg import ControllerState, Energy, EnergyCertificate, PortEnergy
from vms_ph.srv import ChangeBudget

from vms_ph_io import robots

JOINTS = [f"panda_joint{i}" for i in range(1, 8)]
HOME = [0.0, 0.0, 0.0, -1.5, 0.0, 1.5, 0.0]
GOAL = [0.3, -0.2, 0.2, -1.3, 0.1, 1.4, 0.2]
CHAIN = ["energy_guard", "guarded_trajectory_controller"]

# A constant torque about the first joint, on which no weight acts: a controller gone wrong.
WRONG = Float64MultiArray(data=[20.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0])
# Back from the joint stop that it may have reached.
WRONG_BACK = Float64MultiArray(data=[-20.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0])


@pytest.fixture(scope="module")
def session() -> Iterator[Session]:
    started = Session("panda_energy_guard_ros2_control.launch.xml")
    try:
        started.await_states(
            robot_broadcaster="active",
            energy_guard="active",
            guarded_trajectory_controller="active",
            guarded_effort_controller="inactive",
            guarded_impedance="inactive",
            effort_controller="inactive",
        )
        yield started
    finally:
        started.end()


@pytest.fixture
def guarded(session: Session) -> Session:
    """The session with a trajectory controller behind a full tank, at rest."""
    active = {n for n, s in session.states().items() if s == "active"} - {"robot_broadcaster"}
    if active:
        assert session.switch([], sorted(active))
    assert session.switch(CHAIN, [])
    session.follow("guarded_trajectory_controller", JOINTS, HOME, 2.0)
    session.until_topic(
        JointState, "/joint_states", lambda m: positions(m) == pytest.approx(HOME, abs=0.02)
    )
    change(session, 100.0)
    return session


def positions(message: JointState) -> list[float]:
    found = dict(zip(message.name, message.position, strict=True))
    return [found[name] for name in JOINTS]


def certificate(session: Session) -> EnergyCertificate:
    found: EnergyCertificate = session.one(EnergyCertificate, "/energy_guard/certificate")
    return found


def change(session: Session, energy: float, freezing: int = 0) -> ChangeBudget.Response:
    answer: ChangeBudget.Response = session.call(
        ChangeBudget, "change_budget", of="energy_guard", energy=energy, freezing=freezing
    )
    return answer


def moved(session: Session) -> float:
    """The kinetic energy now, J."""
    return float(session.one(Energy, "/vms_ph/energy").kinetic)


def test_a_trajectory_passes_the_guard_unchanged(guarded: Session) -> None:
    before = certificate(guarded)
    guarded.follow("guarded_trajectory_controller", JOINTS, GOAL, 3.0)
    guarded.until_topic(
        JointState, "/joint_states", lambda m: positions(m) == pytest.approx(GOAL, abs=0.03)
    )
    after = certificate(guarded)
    print(f"{after.samples - before.samples} samples, {after.scaled - before.scaled} scaled")
    assert after.verdict == "kept"
    assert after.reflexes == before.reflexes
    assert after.ports == JOINTS


def test_a_law_of_this_project_passes_the_guard_unchanged(guarded: Session) -> None:
    assert guarded.switch(["guarded_impedance"], ["guarded_trajectory_controller"])
    state = guarded.one(ControllerState, "/guarded_impedance/state")
    assert state.status == ControllerState.OK
    before = certificate(guarded)
    panda = robots.load("panda")
    home = panda.configuration(dict(zip(JOINTS, HOME, strict=True)))
    d = panda.evaluate(home, np.zeros(7))
    x, y, z = d.placement(panda.end_effector)[:3, 3].tolist()
    target = PointStamped(point=Point(x=x, y=y + 0.05, z=z))

    def send() -> bool:
        guarded.tell(PointStamped, "/guarded_impedance/reference_position", target)
        return True

    # At rest its efforts no longer change: they must not be taken for those of a dead controller.
    states = guarded.collect_during(4.0, send, it=(ControllerState, "/guarded_impedance/state"))[
        "it"
    ]
    assert max(m.reference_power for m in states) > 1e-3
    assert states[-1].task_error < 5e-3
    after = certificate(guarded)
    assert after.verdict == "kept"
    assert after.scaled == before.scaled
    assert after.reflexes == before.reflexes


def test_the_energy_given_is_that_of_the_simulated_hardware(guarded: Session) -> None:
    found = guarded.collect(
        2.0,
        booked=(EnergyCertificate, "/energy_guard/certificate"),
        ports=(PortEnergy, "/vms_ph/port_energy"),
        energies=(Energy, "/vms_ph/energy"),
    )
    by_stamp = [
        {(m.header.stamp.sec, m.header.stamp.nanosec): m for m in found[name]}
        for name in ("booked", "ports", "energies")
    ]
    common = sorted(set.intersection(*map(set, by_stamp)))
    assert len(common) > 10
    # Beyond the weight: the work of the torques less the increase of the potential energy.
    given = [
        (by_stamp[0][t].given, by_stamp[1][t].torque - by_stamp[2][t].potential) for t in common
    ]
    start = given[0]
    assert all(a - start[0] == pytest.approx(b - start[1], abs=1e-6) for a, b in given)


def test_a_controller_that_has_gone_wrong_takes_at_most_the_budget(guarded: Session) -> None:
    assert guarded.switch(["guarded_effort_controller"], ["guarded_trajectory_controller"])
    for _ in range(20):
        guarded.tell(Float64MultiArray, "/guarded_effort_controller/commands", WRONG)
    found = certificate(guarded)
    print(f"behind the guard: {found.largest_given:.3g} J of {found.budget:.3g} J")
    assert found.verdict in ("kept", "excess")
    assert found.braked + found.scaled > 0
    kept = found.largest_given

    # Without the guard, for as long.
    assert guarded.switch(["effort_controller"], ["guarded_effort_controller", "energy_guard"])
    start = guarded.one(PortEnergy, "/vms_ph/port_energy").torque
    for _ in range(20):
        guarded.tell(Float64MultiArray, "/effort_controller/commands", WRONG_BACK)
    taken = guarded.one(PortEnergy, "/vms_ph/port_energy").torque - start
    print(f"without it: {taken:.3g} J")
    assert taken > 2.0 * kept


def test_a_drained_tank_brakes_and_a_refilled_one_lets_go(guarded: Session) -> None:
    parameter = Parameter("refill_power", value=0.0).to_parameter_msg()
    guarded.call(SetParameters, "set_parameters", of="energy_guard", parameters=[parameter])
    assert change(guarded, -1000.0).success
    guarded.until_topic(EnergyCertificate, "/energy_guard/certificate", lambda m: m.level < 1e-3)
    guarded.follow("guarded_trajectory_controller", JOINTS, GOAL, 1.0)
    held = guarded.collect(2.0, it=(EnergyCertificate, "/energy_guard/certificate"))["it"]
    assert any("tank" in message.reason for message in held)
    assert change(guarded, 8.0).success
    guarded.until_topic(
        JointState, "/joint_states", lambda m: positions(m) == pytest.approx(GOAL, abs=0.05)
    )


def test_a_frozen_tank_grants_nothing(guarded: Session) -> None:
    assert change(guarded, 0.0, ChangeBudget.Request.FREEZE).success
    guarded.follow("guarded_trajectory_controller", JOINTS, GOAL, 1.0)
    guarded.collect(2.0, it=(JointState, "/joint_states"))
    assert positions(guarded.one(JointState, "/joint_states")) != pytest.approx(GOAL, abs=0.1)
    assert change(guarded, 100.0, ChangeBudget.Request.THAW).success
    guarded.until_topic(
        JointState, "/joint_states", lambda m: positions(m) == pytest.approx(GOAL, abs=0.05)
    )


def test_nothing_before_the_guard_is_a_reflex_that_holds_the_robot(guarded: Session) -> None:
    assert guarded.switch([], ["guarded_trajectory_controller"])
    guarded.until_topic(
        EnergyCertificate,
        "/energy_guard/certificate",
        lambda m: m.status == EnergyCertificate.HOLDING and "effort" in m.reason,
    )
    guarded.collect(1.0, it=(JointState, "/joint_states"))
    assert moved(guarded) < 0.05


def test_a_collision_takes_no_more_than_the_tank_holds(guarded: Session) -> None:
    near, beyond = [2.2, *HOME[1:]], [3.6, *HOME[1:]]
    parameter = Parameter("refill_power", value=0.0).to_parameter_msg()
    guarded.call(SetParameters, "set_parameters", of="energy_guard", parameters=[parameter])
    guarded.follow("guarded_trajectory_controller", JOINTS, near, 3.0)
    guarded.until_topic(
        JointState, "/joint_states", lambda m: positions(m) == pytest.approx(near, abs=0.03)
    )
    guarded.collect(2.0, it=(JointState, "/joint_states"))
    assert change(guarded, -1000.0).success
    guarded.until_topic(EnergyCertificate, "/energy_guard/certificate", lambda m: m.level < 1e-3)
    assert change(guarded, 0.5).success

    def send() -> bool:
        guarded.follow("guarded_trajectory_controller", JOINTS, beyond, 0.7)
        return True

    found = guarded.collect_during(4.0, send, it=(Energy, "/vms_ph/energy"))["it"]
    state = guarded.one(JointState, "/joint_states")
    # At the joint stop, where more than 6 J arrive without the guard.
    assert positions(state)[0] > 2.85
    assert max(m.kinetic for m in found) < 0.6
    assert certificate(guarded).verdict in ("kept", "excess")

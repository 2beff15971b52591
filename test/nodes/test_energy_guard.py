# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The energy guard as a node between the topics of a controller and of a robot."""

import time
from collections.abc import Callable, Iterator

import numpy as np
import pytest
import rclpy
from geometry_msgs.msg import WrenchStamped
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.parameter import Parameter
from sensor_msgs.msg import JointState
from vms_ph.msg import EnergyCertificate
from vms_ph.srv import ChangeBudget

from vms_ph_dynamics import OptionError
from vms_ph_io import robots
from vms_ph_nodes.energy_guard import EnergyGuardNode
from vms_ph_nodes.force_observer import ForceObserver
from vms_ph_nodes.messages.conversions import from_wrench_base
from vms_ph_nodes.messages.state_join import JoinedState

from .guard_session import GuardSession

pytestmark = pytest.mark.wire


class Between(GuardSession):
    """A driver of a Panda at rest on one side of the guard and a controller on the other."""

    def __init__(self) -> None:
        super().__init__(EnergyGuardNode, 79, "delay:=0")
        self.efforts: list[JointState] = []
        self._wanted = self.other.create_publisher(JointState, "wanted/torque", 10)
        self.other.create_subscription(JointState, "torque", self.efforts.append, 100)
        self.weight = self.model.evaluate(self.q, np.zeros(7)).g

    def drive(self, seconds: float, torque: np.ndarray | None, v: float = 0.0) -> JointState:
        """Publish states and, unless None, efforts at 100 Hz; return the last effort sent on."""
        names, end = list(self.model.joint_names), time.monotonic() + seconds
        while time.monotonic() < end:
            if torque is not None:
                self._wanted.publish(JointState(name=names, effort=torque.tolist()))
            self.spin(0.005)
            self.publish_state(v)
            self.spin(0.005)
        return self.efforts[-1] if self.efforts else JointState()


@pytest.fixture
def between() -> Iterator[Between]:
    made = Between()
    end = time.monotonic() + 20.0
    while not made.certificates and time.monotonic() < end:
        made.spin(0.05)
        if made.guard._guard is not None:
            made.drive(0.05, made.weight)
    yield made
    made.close()


def test_efforts_pass_and_the_certificate_says_so(between: Between) -> None:
    wanted = between.weight + 0.1
    sent, end = between.drive(0.3, wanted), time.monotonic() + 20.0
    while between.certificates[-1].status != EnergyCertificate.OK and time.monotonic() < end:
        sent = between.drive(0.2, wanted)
    assert list(sent.effort) == wanted.tolist()
    last = between.certificates[-1]
    assert (last.status, last.verdict) == (EnergyCertificate.OK, "kept")
    assert list(last.ports) == list(between.model.joint_names)


def test_a_drained_tank_and_a_silent_controller_are_told(between: Between) -> None:
    client = between.other.create_client(ChangeBudget, "energy_guard/change_budget")
    future = client.call_async(ChangeBudget.Request(energy=-1e3, freezing=0))
    end = time.monotonic() + 10.0
    while not future.done() and time.monotonic() < end:
        between.spin(0.02)
    assert future.result().success
    assert between.guard._guard.level == 0.0
    refused = client.call_async(ChangeBudget.Request(energy=float("nan"), freezing=0))
    between.spin(0.3)
    assert not refused.result().success
    end, sent = time.monotonic() + 20.0, JointState()
    while "tank" not in between.certificates[-1].reason and time.monotonic() < end:
        sent = between.drive(0.3, between.weight + 20.0)
    assert np.abs(np.array(sent.effort) - between.weight).max() < 1.0
    refilled = client.call_async(ChangeBudget.Request(energy=3.0, freezing=0))
    between.spin(0.2)
    assert refilled.result().success
    assert between.guard._guard.level == 3.0
    between.drive(0.4, None)  # no effort of the controller: a reflex
    assert between.certificates[-1].status == EnergyCertificate.HOLDING
    between.spin(0.5)  # no states either
    assert "no usable state" in between.certificates[-1].reason


def test_a_larger_tank_has_room_for_a_budget_without_a_state_between(between: Between) -> None:
    guard, level = between.guard, between.guard._guard.level
    guard.set_parameters([Parameter("tank_capacity", value=level + 10.0)])
    request = ChangeBudget.Request(energy=10.0, freezing=ChangeBudget.Request.KEEP)
    assert "changed by 10 J" in guard._on_change_budget(request, ChangeBudget.Response()).message
    assert guard._guard.level == pytest.approx(level + 10.0)


def test_a_guarded_base_is_sent_no_wrench_that_its_working_rotors_cannot_give() -> None:
    arguments = ["robot:=hextilt", "failed_actuators:=rotor_2", "delay:=0", "engagement_time:=0.0"]
    given = [word for each in arguments for word in ("-p", each)]
    rclpy.init(args=["--ros-args", *given], domain_id=80)
    guard, other = EnergyGuardNode(), Node("other")
    executor = SingleThreadedExecutor()
    for node in (guard, other):
        executor.add_node(node)
    try:
        known = robots.get("hextilt")
        model, b = known.load(), 6
        working = known.own_actuators().allocation_without(["rotor_2"])
        q, v = model.configuration(known.home), np.zeros(model.nv)
        torque = JointState(name=list(model.joint_names))
        torque.effort = model.evaluate(q, v).g[b:].tolist()
        wrench = WrenchStamped()
        wrench.wrench.force.z = 500.0
        sent: list[WrenchStamped] = []
        other.create_subscription(WrenchStamped, "wrench_base", sent.append, 10)
        wanted = other.create_publisher(WrenchStamped, "wanted/wrench_base", 10)
        efforts = other.create_publisher(JointState, "wanted/torque", 10)
        end = time.monotonic() + 20.0
        largest = 0.0
        while largest < 20.0 and time.monotonic() < end:
            wanted.publish(wrench)
            efforts.publish(torque)
            for _ in range(5):
                executor.spin_once(0.02)
            joints, no_effort = model.joint_positions(q), np.zeros(model.n)
            guard._on_state(JoinedState(time.time_ns(), q, v, joints, no_effort, 0.0))
            executor.spin_once(0.02)
            for each in sent:
                effort = from_wrench_base(model, each.wrench)
                assert np.abs(working.allocate(effort).missing_wrench).max() < 1e-6
                largest = max(largest, float(effort[2]))
        # It lifts as well as it can with five rotors.
        assert largest > 20.0
        assert guard._guard is not None
        assert guard._guard.level >= 0.0
    finally:
        executor.shutdown()
        guard.destroy_node()
        other.destroy_node()
        rclpy.shutdown()


def test_a_driver_gives_the_guard_its_delay_its_weight_and_its_limits() -> None:
    session = GuardSession(EnergyGuardNode, 81, "driver:=franka_fer")
    end = time.monotonic() + 20.0
    while session.guard._guard is None and time.monotonic() < end:
        session.spin(0.05)
    guard = session.guard._guard
    rate = session.guard.get_parameter("torque_rate").value
    session.close()
    assert (guard.delay, guard.carries_weight) == (1, False)
    assert (guard.settings.torque_rate, rate) == pytest.approx((900.0, 900.0))


@pytest.mark.parametrize("make", [EnergyGuardNode, ForceObserver])
def test_an_unknown_driver_ends_a_node_before_it_waits_for_a_description(
    make: Callable[[], Node],
) -> None:
    rclpy.init(args=["--ros-args", "-p", "driver:=franka_fr4"], domain_id=81)
    try:
        with pytest.raises(OptionError, match=r"franka_fr4.*franka_fr3"):
            make()
    finally:
        rclpy.shutdown()

# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""energy_monitor publishes what the motion tells of load and friction."""

import math
import time
from collections.abc import Iterator

import numpy as np
import pytest
import rclpy
from diagnostic_msgs.msg import DiagnosticArray
from dynamics.identification.known_truth import random_truth, recording
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_msgs.msg import Header
from vms_ph.msg import Identification

from vms_ph_dynamics.identification.live import LiveIdentification
from vms_ph_dynamics.identification.windows import Sample
from vms_ph_io import robots
from vms_ph_nodes.energy_monitor import EnergyMonitor
from vms_ph_nodes.messages.conversions import from_stamp, to_stamp
from vms_ph_nodes.messages.observations import to_identification

SECONDS = 8.0


class Monitored:
    """A robot whose joint states are published as fast as the monitor takes them."""

    def __init__(self, robot: str, *settings: str) -> None:
        arguments = ["--ros-args", "-p", f"robot:={robot}", "-p", "identify.period:=0.1"]
        for setting in settings:
            arguments += ["-p", setting]
        rclpy.init(args=arguments, domain_id=79)
        self.monitor, self.driver = EnergyMonitor(), Node("driver")
        self.executor = SingleThreadedExecutor()
        for node in (self.monitor, self.driver):
            self.executor.add_node(node)
        self.joints = self.driver.create_publisher(JointState, "joint_states", 100)
        self.found: list[Identification] = []
        self.told: list[dict[str, str]] = []
        take = self.found.append
        self.driver.create_subscription(Identification, "vms_ph/identification", take, 10)
        self.driver.create_subscription(DiagnosticArray, "/diagnostics", self._hear, 10)

    def _hear(self, message: DiagnosticArray) -> None:
        for status in message.status:
            if status.name.startswith("energy_monitor"):
                self.told.append({pair.key: pair.value for pair in status.values})

    def spin(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0.0:
            self.executor.spin_once(left)

    def close(self) -> None:
        self.executor.shutdown()
        self.monitor.destroy_node()
        self.driver.destroy_node()
        rclpy.shutdown()


@pytest.fixture
def monitored(request: pytest.FixtureRequest) -> Iterator[Monitored]:
    made = Monitored(*request.param.split())
    yield made
    made.close()


@pytest.mark.wire
@pytest.mark.parametrize("monitored", ["panda"], indirect=True)
def test_a_load_in_the_hand_is_published_with_its_interval(monitored: Monitored) -> None:
    model = robots.load("panda")
    truth = random_truth(model, np.random.default_rng(4), 1.5)
    samples = recording(model, truth, np.random.default_rng(4))
    begin = 1_700_000_000_000_000_000
    end = time.monotonic() + 20.0
    while monitored.driver.count_subscribers("joint_states") == 0 and time.monotonic() < end:
        monitored.spin(0.05)
    # A driver without efforts tells nothing: no effort is not zero effort.
    still, names = [0.0] * model.n, list(model.joint_names)
    mute = JointState(name=names, position=samples.q[0].tolist(), velocity=still)
    mute.header.stamp = to_stamp(begin - 1_000_000_000)
    monitored.joints.publish(mute)
    monitored.spin(0.6)
    assert "no efforts" in monitored.told[-1]["identification"]
    for k in range(0, int(SECONDS * 250), 3):
        message = JointState(
            name=list(model.joint_names),
            position=samples.q[k].tolist(),
            velocity=samples.v[k].tolist(),
            effort=samples.torque[k].tolist(),
        )
        message.header.stamp = to_stamp(begin + round(samples.t[k] * 1e9))
        monitored.joints.publish(message)
        monitored.spin(0.0005)
    last = message
    while time.monotonic() < end + 10.0:
        # The last state a microsecond later: what is known by then is published beside it.
        last.header.stamp.nanosec += 1000
        monitored.joints.publish(last)
        monitored.spin(0.1)
        if monitored.found and monitored.found[-1].motion > 0.8 * SECONDS:
            break
    found = monitored.found[-1]
    mass = truth.values["payload_mass"]
    assert found.payload_mass_low <= mass <= found.payload_mass_high
    assert found.payload_mass == pytest.approx(mass, rel=0.05)
    assert found.header.frame_id == model.end_effector
    used = (from_stamp(found.header.stamp) - begin) / 1e9
    assert 0.8 * SECONDS < used < SECONDS + 0.1
    assert list(found.joint_names) == list(model.joint_names)
    assert math.isnan(found.changed_at)
    assert found.changed == ""
    claimed = ~np.isnan(found.viscous)
    assert claimed.any()
    low, high = np.array(found.viscous_low)[claimed], np.array(found.viscous_high)[claimed]
    assert np.mean((low <= truth.viscous[claimed]) & (truth.viscous[claimed] <= high)) > 0.5
    monitored.spin(0.6)
    load = monitored.told[-1]["load (kg)"]
    assert float(load.split()[0]) == pytest.approx(mass, rel=0.05)


def test_what_is_not_excited_is_nan_and_named() -> None:
    model = robots.load("panda")
    truth = random_truth(model, np.random.default_rng(4), 1.5)
    samples = recording(model, truth, np.random.default_rng(4), still=(6,))
    live = LiveIdentification(model)
    for k in range(1500):
        live.add(Sample(samples.t[k], samples.q[k], samples.v[k], samples.torque[k]))
    result = live.update()
    assert result is not None
    message = to_identification(Header(), model.joint_names, result)
    assert np.isnan([message.viscous[6], message.coulomb_low[6], message.offset_high[6]]).all()
    assert "friction.panda_joint7.viscous" in message.not_excited
    assert not np.isnan(message.payload_mass)


@pytest.mark.wire
@pytest.mark.parametrize("monitored", ["panda identify.payload_frame:=panda_link0"], indirect=True)
def test_a_robot_that_cannot_be_identified_says_why(monitored: Monitored) -> None:
    monitored.monitor._report()
    monitored.spin(1.0)
    assert "does not move" in monitored.told[-1]["identification"]

# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""A controller in its own process, with joint states that are none of its robot."""

import time
from collections.abc import Callable, Iterator
from itertools import count

import pytest
import rclpy
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from sensor_msgs.msg import JointState
from vms_ph.msg import ControllerState

from vms_ph_io import robots
from vms_ph_nodes.controller import ControllerNode
from vms_ph_nodes.messages.conversions import NS_PER_SEC, to_stamp

pytestmark = pytest.mark.wire

HOLDING = 2


class Robot:
    """A driver of a Panda at rest, and what its controller publishes."""

    def __init__(self) -> None:
        rclpy.init(args=["--ros-args", "-p", "robot:=panda"], domain_id=78)
        self.controller = ControllerNode()
        self.driver = Node("driver")
        self.executor = SingleThreadedExecutor()
        for node in (self.controller, self.driver):
            self.executor.add_node(node)
        self.states: list[ControllerState] = []
        self.efforts: list[JointState] = []
        self._joints = self.driver.create_publisher(JointState, "joint_states", 10)
        self.driver.create_subscription(
            ControllerState, "controller/state", self.states.append, 100
        )
        self.driver.create_subscription(JointState, "torque", self.efforts.append, 100)
        self.home = dict(robots.get("panda").home)

    def message(self, **changed: float) -> JointState:
        positions = {**dict.fromkeys(self.controller._model.joint_names, 0.0), **self.home}
        positions |= changed
        stamp = to_stamp(time.time_ns())
        message = JointState(name=list(positions), position=list(positions.values()))
        message.velocity = [0.0] * len(positions)
        message.header.stamp = stamp
        return message

    def publish(
        self, seconds: float, change: Callable[[JointState], None] = lambda m: None
    ) -> list[ControllerState]:
        """Publish states at 100 Hz for a time; return what the controller has published."""
        before, end = len(self.states), time.monotonic() + seconds
        while time.monotonic() < end:
            message = self.message()
            change(message)
            self._joints.publish(message)
            until = time.monotonic() + 0.01
            while (left := until - time.monotonic()) > 0.0:
                self.executor.spin_once(left)
        return self.states[before:]

    def close(self) -> None:
        self.executor.shutdown()
        self.controller.destroy_node()
        self.driver.destroy_node()
        rclpy.shutdown()


@pytest.fixture
def robot() -> Iterator[Robot]:
    made = Robot()
    end = time.monotonic() + 20.0
    while not (made.states and made.states[-1].status != HOLDING) and time.monotonic() < end:
        made.publish(0.1)
    assert made.states[-1].status != HOLDING
    yield made
    made.close()


def _repeated() -> Callable[[JointState], None]:
    now = to_stamp(time.time_ns())

    def change(message: JointState) -> None:
        message.header.stamp = now

    return change


def _hour_old(message: JointState) -> None:
    message.header.stamp.sec -= 3600


def _twice_named(message: JointState) -> None:
    message.name = [*message.name, message.name[0]]
    message.position = [*message.position, 0.0]
    message.velocity = [*message.velocity, 0.0]


def _glitch(message: JointState) -> None:
    message.position[5] += 3.0


def _without_a_joint(message: JointState) -> None:
    del message.name[3], message.position[3], message.velocity[3]


def _without_velocities(message: JointState) -> None:
    message.velocity = []


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (None, "repeats the last stamp"),
        (_hour_old, "older than the last one"),
        (_twice_named, "is repeated"),
        (_without_a_joint, "panda_joint4 is 0.1"),
        (_without_velocities, "no velocity of panda_joint1, panda_joint2"),
        (_glitch, "panda_joint6 jumped by 3"),
    ],
)
def test_the_controller_holds_reports_and_goes_on(
    robot: Robot, change: Callable[[JointState], None] | None, reason: str
) -> None:
    published = robot.publish(0.4, _repeated() if change is None else change)
    held = [state for state in published if state.status == HOLDING]
    assert held
    assert any(reason in state.reason and "holding" in state.reason for state in held)
    limits = robot.controller._model.joints.effort
    for effort in robot.efforts:
        assert all(abs(t) <= most for t, most in zip(effort.effort, limits, strict=True))
    # Five messages, and five plausible states.
    end = time.monotonic() + 10.0
    while robot.states[-1].status == HOLDING and time.monotonic() < end:
        robot.publish(0.1)
    assert robot.states[-1].status != HOLDING


def _late(seconds: float, more: float = 0.0) -> Callable[[JointState], None]:
    """Return what makes a stamp older, and each one older than the one before."""
    ages = count(round(seconds * NS_PER_SEC), round(more * NS_PER_SEC))

    def change(message: JointState) -> None:
        message.header.stamp = to_stamp(time.time_ns() - next(ages))

    return change


def test_a_law_knows_the_age_of_its_states_and_too_old_ones_are_refused(robot: Robot) -> None:
    robot.publish(0.3, _late(0.03))
    assert robot.controller._age >= 0.03
    # No message is much later than the one before it.
    published = robot.publish(1.0, _late(0.03, 0.004))
    held = [state for state in published if state.status == HOLDING]
    assert any("s old, older than state_age allows" in state.reason for state in held)

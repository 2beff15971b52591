# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The guard of servos as a node between the topics of a policy and of a robot."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
import rclpy
from sensor_msgs.msg import JointState
from vms_ph.msg import EnergyCertificate

from vms_ph_controllers import Status
from vms_ph_controllers.guard import GuardedCommand
from vms_ph_dynamics import OptionError
from vms_ph_nodes.servo_guard import ServoGuardNode

from .guard_session import GuardSession

pytestmark = pytest.mark.wire

STIFFNESS, BUDGET = 100.0, 0.5  # N m/rad, J


class Robot(GuardSession):
    """A Panda whose joints stay, on one side of the guard, and a policy on the other."""

    def __init__(self, *parameters: str) -> None:
        servos = (f"stiffness:=[{STIFFNESS}]", "uncertainty:=0.0", "delay:=0")
        tank = (f"tank_capacity:={BUDGET}", f"tank_initial:={BUDGET}")
        super().__init__(ServoGuardNode, 82, *servos, *tank, *parameters)
        self.commands: list[JointState] = []
        self._wanted = self.other.create_publisher(JointState, "wanted/joint_command", 10)
        self.other.create_subscription(JointState, "joint_command", self.commands.append, 100)
        self.names = list(self.model.joint_names)

    def send_until(
        self, wanted: JointState | None, condition: Callable[[], bool], seconds: float = 20.0
    ) -> bool:
        """Publish states and a command at 100 Hz until a condition holds; return whether it did."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            if wanted is not None:
                self._wanted.publish(wanted)
            self.executor.spin_once(0.005)
            self.publish_state()
            for _ in range(4):
                self.executor.spin_once(0.002)
            if condition():
                return True
        return False

    def position_command(self, offset: float) -> JointState:
        return JointState(name=self.names, position=(self.q + offset).tolist())


@pytest.fixture
def start() -> Iterator[Callable[..., Robot]]:
    started: list[Robot] = []

    def begin(*parameters: str) -> Robot:
        started.append(Robot(*parameters))
        return started[-1]

    yield begin
    for robot in started:
        robot.close()


def test_a_command_passes_and_a_jump_is_sent_as_far_as_the_tank_reaches(start) -> None:
    robot = start()
    small = robot.position_command(0.01)
    assert robot.send_until(
        small, lambda: bool(robot.commands) and robot.commands[-1].position == small.position
    )
    assert robot.send_until(
        robot.position_command(1.0), lambda: "tank covers" in robot.certificates[-1].reason
    )
    assert robot.send_until(robot.position_command(1.0), lambda: len(robot.commands) > 50)
    stretch = np.array(robot.commands[-1].position) - robot.q
    held_energy = 0.5 * STIFFNESS * stretch @ stretch
    # 24 halvings of the share, each of seven equal springs.
    assert held_energy == pytest.approx(BUDGET, rel=1e-5)
    assert held_energy <= BUDGET + 1e-12
    assert robot.certificates[-1].verdict == "kept"


def test_a_silent_policy_and_one_of_another_robot_leave_the_last_command(start) -> None:
    robot = start()
    small = robot.position_command(0.01)
    assert robot.send_until(small, lambda: bool(robot.certificates))
    assert robot.send_until(small, lambda: robot.commands[-1].position == small.position)
    partial = JointState(name=robot.names[:3], position=[0.0] * 3)
    assert robot.send_until(
        partial, lambda: robot.certificates[-1].status == EnergyCertificate.HOLDING
    )
    assert robot.commands[-1].position == small.position


def test_velocities_become_zero_where_no_state_arrives(start) -> None:
    robot = start("command_interface:=velocity", "damping:=[10.0]")
    wanted = JointState(name=robot.names, velocity=[0.05] * 7)
    assert robot.send_until(
        wanted, lambda: bool(robot.commands) and robot.commands[-1].velocity[0] > 0
    )
    deadline = time.monotonic() + 20.0
    while robot.commands[-1].velocity[0] != 0.0 and time.monotonic() < deadline:
        robot.executor.spin_once(0.05)  # the policy and the robot are silent
    assert list(robot.commands[-1].velocity) == [0.0] * 7


def test_an_endless_joint_is_guarded_at_the_angle_that_its_driver_counts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    robot = Path(__file__).parents[1] / "golden/native/crane.urdf"
    given = (f"robot:={robot}", "stiffness:=[100.0]", "state_age:=0.0", "delay:=0")
    words = [word for each in given for word in ("-p", each)]
    rclpy.init(args=["--ros-args", *words], domain_id=82)
    try:
        node = ServoGuardNode()
        sent: list[GuardedCommand] = []
        monkeypatch.setattr(node, "_send", lambda command, stamp: sent.append(command))
        q = np.array([7.0, 0.2, 0.2, 0.2, -7.0])
        wanted = JointState(name=list(node._model.joint_names), position=(q + 0.01).tolist())
        node._on_command(wanted)
        measured = JointState(name=wanted.name, position=q.tolist(), velocity=[0.0] * 5)
        measured.header.stamp.sec = 1
        node._measured_states._on_joints(measured)
        assert sent[0].status is Status.OK
        np.testing.assert_array_equal(sent[0].command, wanted.position)
        node.destroy_node()
    finally:
        rclpy.shutdown()


def test_servos_without_a_stiffness_are_refused() -> None:
    rclpy.init(args=["--ros-args", "-p", "robot:=panda"], domain_id=82)
    try:
        with pytest.raises(OptionError, match="stiffness must be one number or 7"):
            ServoGuardNode()
    finally:
        rclpy.shutdown()

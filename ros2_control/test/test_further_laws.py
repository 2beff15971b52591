# Copyright 2026 The vms_ph authors
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
# http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.

"""Laws of the core under a real controller manager, each on a robot that it is for."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ament_index_python.packages import get_package_share_directory
from control_session import Session
from geometry_msgs.msg import PointStamped, PoseStamped, WrenchStamped
from nav_msgs.msg import Odometry
from rcl_interfaces.srv import SetParameters
from rclpy.parameter import Parameter
from sensor_msgs.msg import JointState
from vms_ph.msg import ControllerState, Power

from vms_ph_dynamics import VMSModel
from vms_ph_io import robots


class Robot:
    """A launched robot, and where its end effector is."""

    def __init__(self, launch: str, name: str, first: str) -> None:
        self.session = Session(*launch.split())
        self.first = first
        self.known = robots.get(name)
        self.model: VMSModel = self.known.model(self.known.description())
        self.file = Path(get_package_share_directory("vms_ph")) / f"config/{name}_controllers.yaml"

    def load(self, law: str, kind: str) -> None:
        """Load a law of the parameter file, unless the launch file has."""
        if law not in self.session.states():
            self.session.know(law, f"vms_ph/{kind}", self.file)
            self.session.load(law)

    def activate(self, law: str) -> None:
        states = self.session.states()
        active = [n for n, s in states.items() if s == "active" and "broad" not in n and n != law]
        if states[law] != "active" or active:
            assert self.session.switch([law] if states[law] != "active" else [], active)

    def end_effector(self) -> np.ndarray:
        """Its position, m, in odom or the root link of a fixed base."""
        joints = self.session.one(JointState, "/joint_states")
        positions = dict(zip(joints.name, joints.position, strict=True))
        q = self.model.configuration(positions)
        if self.model.b:
            pose = self.session.one(Odometry, "/odom").pose.pose
            p, o = pose.position, pose.orientation
            at = {6: [p.x, p.y, p.z, o.x, o.y, o.z, o.w]}
            yaw = 2.0 * np.arctan2(o.z, o.w)
            at[3] = [p.x, p.y, np.cos(yaw), np.sin(yaw)]
            q[: len(at[self.model.b])] = at[self.model.b]
        evaluation = self.model.evaluate(q, np.zeros(self.model.nv))
        return np.array(evaluation.placement(self.model.end_effector).translation)

    def unaccounted(self) -> float:
        message = self.session.one(Power, "/vms_ph/power")
        assert message.exact_energies
        return abs(float(message.unaccounted_energy))

    def set(self, law: str, **values: float) -> None:
        parameters = [Parameter(name, value=v).to_parameter_msg() for name, v in values.items()]
        answer = self.session.call(SetParameters, "set_parameters", of=law, parameters=parameters)
        assert all(result.successful for result in answer.results)

    def lead(self, law: str, position: np.ndarray) -> None:
        """Give the law a position of its end effector."""
        target = PointStamped()
        target.point.x, target.point.y, target.point.z = map(float, position)
        self.session.tell(PointStamped, f"/{law}/reference_position", target)

    def lead_base(self, law: str, position: tuple[float, float, float]) -> None:
        target = PoseStamped()
        target.header.frame_id = "odom"
        p = target.pose.position
        p.x, p.y, p.z = position
        self.session.tell(PoseStamped, f"/{law}/reference_pose", target)

    def base(self) -> tuple[float, float, float]:
        p = self.session.one(Odometry, "/odom").pose.pose.position
        return p.x, p.y, p.z

    def arrives(self, position: Any, within: float) -> None:
        self.session.until(
            lambda: np.abs(self.end_effector() - position).max() < within,
            f"the end effector at {position}",
        )


def launched(launch: str, name: str, first: str) -> Iterator[Robot]:
    robot = Robot(launch, name, first)
    try:
        robot.session.await_states(robot_broadcaster="active", **{first: "active"})
        yield robot
    finally:
        robot.session.end()


@pytest.fixture(scope="module")
def panda() -> Iterator[Robot]:
    yield from launched("panda_ros2_control.launch.xml", "panda", "python_controller")


@pytest.fixture(scope="module")
def cart() -> Iterator[Robot]:
    launch = "omnidirectional_panda_ros2_control.launch.xml"
    yield from launched(launch, "omnidirectional_panda", "decoupled_vms_controller")


@pytest.fixture(scope="module")
def flyer() -> Iterator[Robot]:
    launch = "borinot_ros2_control.launch.xml actuators:=own"
    yield from launched(launch, "borinot", "decoupled_vms_controller")


@pytest.fixture(scope="module")
def satellite() -> Iterator[Robot]:
    launch = "satellite_panda_ros2_control.launch.xml"
    yield from launched(launch, "satellite_panda", "attitude_control")


def test_an_impedance_brings_the_end_effector_to_a_point(panda: Robot) -> None:
    panda.load("end_effector_impedance", "EndEffectorImpedance")
    panda.activate("end_effector_impedance")
    goal = panda.end_effector() + np.array([0.05, -0.04, 0.03])
    panda.lead("end_effector_impedance", goal)
    panda.arrives(goal, 2e-3)
    state = panda.session.one(ControllerState, "/end_effector_impedance/state")
    assert state.status == ControllerState.OK, state.reason
    assert panda.unaccounted() < 1e-6


def test_a_payload_that_is_told_costs_no_more_than_its_transient(panda: Robot) -> None:
    law = "end_effector_impedance"
    panda.load(law, "EndEffectorImpedance")
    panda.activate(law)
    panda.session.until_topic(ControllerState, f"/{law}/state", lambda m: m.task_error < 1e-3)
    goal = panda.end_effector()

    def weight(_: float) -> WrenchStamped:
        message = WrenchStamped()
        message.header.frame_id = "world"
        message.wrench.force.z = -9.81
        return message

    # A mass of 1 kg hangs on the end effector; told, its weight moves it no more.
    topic = "/simulated_panda/wrench_end_effector"
    panda.session.repeat(WrenchStamped, topic, weight, 4.0)
    sagged = float(goal[2] - panda.end_effector()[2])
    panda.set(law, **{"payload.mass": 1.0})
    panda.session.repeat(WrenchStamped, topic, weight, 4.0)
    left = float(goal[2] - panda.end_effector()[2])
    panda.set(law, **{"payload.mass": 0.0})
    print(f"without {1e3 * sagged:.2f} mm, with the payload told {1e3 * left:.2f} mm")
    assert sagged > 5e-3
    assert abs(left) < 0.1 * sagged
    panda.arrives(goal, 2e-3)


def test_a_push_that_is_met_leaves_the_end_effector_in_place(panda: Robot) -> None:
    law, force = "pushing_impedance", 8.0
    panda.load(law, "PushingImpedance")
    panda.activate(law)
    panda.session.until_topic(ControllerState, f"/{law}/state", lambda m: m.task_error < 1e-3)
    goal = panda.end_effector()
    told = panda.session.node.create_publisher(WrenchStamped, f"/{law}/reference_wrench", 10)
    push = WrenchStamped()
    push.wrench.force.z = -force

    def resist(_: float) -> WrenchStamped:
        told.publish(push)
        message = WrenchStamped()
        message.header.frame_id = "world"
        message.wrench.force.z = force
        return message

    panda.session.repeat(WrenchStamped, "/simulated_panda/wrench_end_effector", resist, 6.0)
    moved = float(np.abs(panda.end_effector() - goal).max())
    panda.session.node.destroy_publisher(told)
    print(f"moved by {1e3 * moved:.2f} mm")
    # The spring alone would give way by 10 mm.
    assert moved < 2e-3
    assert panda.unaccounted() < 1e-6
    panda.arrives(goal, 2e-3)


def test_the_end_effector_of_a_cart_stays_while_its_base_drives(cart: Robot) -> None:
    law = "mobile_manipulation"
    cart.load(law, "MobileManipulation")
    cart.activate(law)
    held = cart.end_effector()
    cart.lead(law, held)
    cart.lead_base(law, (-0.05, 0.1, 0.0))
    cart.session.until_topic(
        Odometry,
        "/odom",
        lambda m: (
            (m.pose.pose.position.x, m.pose.pose.position.y)
            == pytest.approx((-0.05, 0.1), abs=5e-3)
        ),
    )
    assert np.abs(cart.end_effector() - held).max() < 1e-2
    assert cart.unaccounted() < 1e-6


def test_rotors_along_one_axis_carry_a_vehicle_to_a_place(flyer: Robot) -> None:
    law = "underactuated_flight"
    flyer.load(law, "UnderactuatedFlight")
    flyer.activate(law)
    goal = (0.3, -0.2, 0.3)
    flyer.lead_base(law, goal)
    flyer.session.until(
        lambda: flyer.base() == pytest.approx(goal, abs=3e-2), f"the base at {goal}"
    )
    assert flyer.unaccounted() < 1e-6


def test_a_satellite_turns_by_moments(satellite: Robot) -> None:
    satellite.activate("attitude_control")
    target = PoseStamped()
    target.header.frame_id = "odom"
    target.pose.orientation.z, target.pose.orientation.w = np.sin(0.1), np.cos(0.1)
    satellite.session.tell(PoseStamped, "/attitude_control/reference_pose", target)
    satellite.session.until_topic(
        Odometry,
        "/odom",
        lambda m: m.pose.pose.orientation.z == pytest.approx(np.sin(0.1), abs=2e-3),
    )
    assert satellite.unaccounted() < 1e-6


def test_the_arm_of_a_floating_satellite_reaches_a_point_by_itself(satellite: Robot) -> None:
    law = "resolved_motion"
    satellite.load(law, "ResolvedMotion")
    satellite.activate(law)
    before = satellite.session.one(Odometry, "/odom").pose.pose.orientation
    goal = satellite.end_effector() + np.array([0.0, 0.1, 0.05])
    satellite.lead(law, goal)
    satellite.arrives(goal, 3e-3)
    # Nothing held the base meanwhile: the arm has turned it.
    after = satellite.session.one(Odometry, "/odom").pose.pose.orientation
    turned = [abs(getattr(after, k) - getattr(before, k)) for k in ("x", "y", "z")]
    assert max(turned) > 1e-4
    assert satellite.unaccounted() < 1e-6

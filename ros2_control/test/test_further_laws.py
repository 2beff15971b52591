# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Laws of the core under a real controller manager, each on a robot that it is for."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ament_index_python.packages import get_package_share_directory
from control_msgs.msg import DynamicJointState
from control_session import Session, pairs
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

    def __init__(self, launch: str, name: str) -> None:
        self.session = Session(*launch.split())
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
        if self.model.b:
            # Both of one cycle: meanwhile the base goes on.
            topics = {"odom": (Odometry, "/odom"), "joints": (JointState, "/joint_states")}
            found = self.session.collect(0.5, **topics)
            motion, joints = pairs(found["odom"], found["joints"])[-1]
        else:
            joints = self.session.one(JointState, "/joint_states")
        positions = dict(zip(joints.name, joints.position, strict=True))
        q = self.model.configuration(positions)
        if self.model.b:
            p, o = motion.pose.pose.position, motion.pose.pose.orientation
            at = {6: [p.x, p.y, p.z, o.x, o.y, o.z, o.w]}
            yaw = 2.0 * np.arctan2(o.z, o.w)
            at[3] = [p.x, p.y, np.cos(yaw), np.sin(yaw)]
            q[: len(at[self.model.b])] = at[self.model.b]
        evaluation = self.model.evaluate(q, np.zeros(self.model.nv))
        return np.array(evaluation.placement(self.model.end_effector)[:3, 3])

    def unaccounted(self) -> float:
        message = self.session.one(Power, "/vms_ph/power")
        assert message.exact_energies
        return abs(float(message.unaccounted_energy))

    def actuator_energies(self) -> dict[str, float]:
        """Energies of the hardware of one cycle, J."""
        topic = "/joint_state_broadcaster/dynamic_joint_states"
        if not self.session.node.count_publishers(topic):
            pytest.skip("the joint_state_broadcaster of this distribution publishes no energies")
        message = self.session.one(DynamicJointState, topic)
        values = message.interface_values[message.joint_names.index("port_energy")]
        return dict(zip(values.interface_names, values.values, strict=True))

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


LAUNCHES = {
    "panda": ("panda_ros2_control.launch.xml", "python_controller"),
    "omnidirectional_panda": (
        "omnidirectional_panda_ros2_control.launch.xml",
        "decoupled_vms_controller",
    ),
    "borinot": ("borinot_ros2_control.launch.xml actuators:=own", "decoupled_vms_controller"),
    "satellite_panda": ("satellite_panda_ros2_control.launch.xml", "attitude_control"),
}


@pytest.fixture(scope="module")
def robot(request: pytest.FixtureRequest) -> Iterator[Robot]:
    launch, first = LAUNCHES[request.param]
    robot = Robot(launch, request.param)
    try:
        # When those that are inactive are loaded too, the spawners leave the rest to the tests.
        robot.session.await_states(
            robot_broadcaster="active", joint_trajectory_controller="inactive", **{first: "active"}
        )
        yield robot
    finally:
        robot.session.end()


def on(name: str) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("robot", [name], indirect=True)


@on("panda")
def test_an_impedance_brings_the_end_effector_to_a_point(robot: Robot) -> None:
    robot.load("cartesian_impedance", "CartesianImpedance")
    robot.activate("cartesian_impedance")
    goal = robot.end_effector() + np.array([0.05, -0.04, 0.03])
    robot.lead("cartesian_impedance", goal)
    robot.arrives(goal, 2e-3)
    state = robot.session.one(ControllerState, "/cartesian_impedance/state")
    assert state.status == ControllerState.OK, state.reason
    assert robot.unaccounted() < 1e-6


@on("panda")
def test_a_payload_that_is_told_costs_no_more_than_its_transient(robot: Robot) -> None:
    law = "cartesian_impedance"
    robot.load(law, "CartesianImpedance")
    robot.activate(law)
    robot.session.until_topic(ControllerState, f"/{law}/state", lambda m: m.task_error < 1e-3)
    goal = robot.end_effector()

    def weight(_: float) -> WrenchStamped:
        message = WrenchStamped()
        message.header.frame_id = "world"
        message.wrench.force.z = -9.81
        return message

    # A mass of 1 kg hangs on the end effector; told, its weight moves it no more.
    topic = "/simulated_panda/wrench_end_effector"
    robot.session.repeat(WrenchStamped, topic, weight, 4.0)
    sagged = float(goal[2] - robot.end_effector()[2])
    robot.set(law, **{"payload.mass": 1.0})
    robot.session.repeat(WrenchStamped, topic, weight, 4.0)
    left = float(goal[2] - robot.end_effector()[2])
    robot.set(law, **{"payload.mass": 0.0})
    print(f"without {1e3 * sagged:.2f} mm, with the payload told {1e3 * left:.2f} mm")
    assert sagged > 5e-3
    assert abs(left) < 0.1 * sagged
    robot.arrives(goal, 2e-3)


@on("panda")
def test_a_push_that_meets_nothing_moves_at_no_more_than_its_speed(robot: Robot) -> None:
    law, speed, seconds = "pushing_impedance", 0.05, 1.5
    robot.load(law, "PushingImpedance")
    robot.activate(law)
    robot.session.until_topic(ControllerState, f"/{law}/state", lambda m: m.task_error < 1e-3)
    start = robot.end_effector()

    def push(_: float) -> WrenchStamped:
        message = WrenchStamped()
        message.wrench.force.z = -8.0
        return message

    robot.session.repeat(WrenchStamped, f"/{law}/reference_wrench", push, seconds)
    robot.session.until_topic(ControllerState, f"/{law}/state", lambda m: m.task_error < 1e-3)
    moved = robot.end_effector() - start
    print(f"moved by {moved} m")
    # The push ends a quarter of a second after the last message.
    assert 0.5 * speed * seconds < -moved[2] < speed * (seconds + 0.5)
    assert np.abs(moved[:2]).max() < 5e-3
    assert robot.unaccounted() < 1e-6
    robot.arrives(start + moved, 2e-3)


@on("omnidirectional_panda")
def test_the_end_effector_of_a_cart_stays_while_its_base_drives(robot: Robot) -> None:
    law = "mobile_manipulation"
    robot.load(law, "MobileManipulation")
    robot.activate(law)
    held = robot.end_effector()
    robot.lead(law, held)
    robot.lead_base(law, (-0.05, 0.1, 0.0))
    robot.session.until_topic(
        Odometry,
        "/odom",
        lambda m: (
            (m.pose.pose.position.x, m.pose.pose.position.y)
            == pytest.approx((-0.05, 0.1), abs=5e-3)
        ),
    )
    assert np.abs(robot.end_effector() - held).max() < 1e-2
    assert robot.unaccounted() < 1e-6


@on("borinot")
def test_rotors_along_one_axis_carry_a_vehicle_to_a_place(robot: Robot) -> None:
    law = "underactuated_flight"
    robot.load(law, "UnderactuatedFlight")
    robot.activate(law)
    goal = (0.3, -0.2, 0.3)
    robot.lead_base(law, goal)
    robot.session.until(
        lambda: robot.base() == pytest.approx(goal, abs=3e-2), f"the base at {goal}"
    )
    assert robot.unaccounted() < 1e-6


@on("satellite_panda")
def test_a_satellite_turns_by_its_wheels(robot: Robot) -> None:
    robot.activate("attitude_control")
    target = PoseStamped()
    target.header.frame_id = "odom"
    turned = 2.5e-3  # half of an angle that its weak wheels reach in half a minute
    target.pose.orientation.z, target.pose.orientation.w = np.sin(turned), np.cos(turned)
    robot.session.tell(PoseStamped, "/attitude_control/reference_pose", target)
    robot.session.until_topic(
        Odometry,
        "/odom",
        lambda m: m.pose.pose.orientation.z == pytest.approx(turned, rel=0.1),
    )
    assert robot.unaccounted() < 1e-6
    # Its wheels spin by now, from a supply.
    energies = robot.actuator_energies()
    assert energies["spinning"] > 1e-3
    assert energies["electric"] > energies["spinning"]
    closed = energies["wrench_base"] + energies["spinning"] + energies["actuator_losses"]
    assert abs(energies["electric"] - closed) < 1e-9


@on("satellite_panda")
def test_the_arm_of_a_floating_satellite_reaches_a_point_by_itself(robot: Robot) -> None:
    law = "resolved_motion"
    robot.load(law, "ResolvedMotion")
    # Seven joints cannot hold the attitude of the base and lead the whole pose of a tool.
    robot.set(law, hold_attitude=False)
    robot.activate(law)
    before = robot.session.one(Odometry, "/odom").pose.pose.orientation
    goal = robot.end_effector() + np.array([0.0, 0.1, 0.05])
    robot.lead(law, goal)
    robot.arrives(goal, 3e-3)
    # Nothing held the base meanwhile: the arm has turned it.
    after = robot.session.one(Odometry, "/odom").pose.pose.orientation
    turned = [abs(getattr(after, k) - getattr(before, k)) for k in ("x", "y", "z")]
    assert max(turned) > 1e-4
    assert robot.unaccounted() < 1e-6

# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The topics of a robot: its measured states, the efforts on it, its motion, and nodes for that."""

import time
from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from itertools import compress
from types import MappingProxyType
from typing import Any

import numpy as np
from builtin_interfaces.msg import Time
from geometry_msgs.msg import WrenchStamped
from nav_msgs.msg import Odometry
from rclpy.node import Node
from rclpy.qos import QoSProfile, ReliabilityPolicy, qos_profile_sensor_data
from sensor_msgs.msg import JointState
from std_msgs.msg import Header
from vms_ph.msg import PortEnergy

from vms_ph_dynamics import Array, Evaluation, Friction, Ports, StateError, VMSModel
from vms_ph_dynamics.energy.audit import PortEnergies
from vms_ph_dynamics.simulation import WaterCurrent

from ..messages.conversions import (
    NS_PER_SEC,
    from_odometry,
    from_stamp,
    from_wrench,
    from_wrench_base,
    to_stamp,
    to_wrench_base,
    with_base,
)
from ..messages.energy_messages import from_port_energy
from ..messages.frames import Frames, tool_topic
from ..messages.stamps import StampPairing
from ..messages.state_join import JoinedState, StateJoin, age_text
from ..node.health import WARN
from ..node.parameters import declare
from ..node.process import ReportingNode
from ..node.robot_parameters import RobotParameters

# Period of the reports of what a first state lacks, s.
_REPORT_PERIOD = 0.5


class MeasuredStates:
    """Joint states, on a moving base with its odometry, as :class:`.StateJoin` joins them."""

    def __init__(
        self,
        node: Node,
        model: VMSModel,
        max_age: float,
        on_state: Callable[[JoinedState], None],
        on_refusal: Callable[[str], None],
        odometry: bool = True,
        qos: QoSProfile = qos_profile_sensor_data,
    ) -> None:
        """Subscribe to ``joint_states``, and on a moving base to ``odom``.

        Args:
            node: which receives them; its parameter ``state_spread`` is declared.
            model: the robot.
            max_age: largest difference between stamp and clock, s; 0 for no limit.
            on_state: called with every state.
            on_refusal: called with the reason why a message or a state is not used.
            odometry: whether the motion of a moving base is needed.
            qos: quality of service of the subscriptions.
        """
        self._node, self._model, self._on_refusal = node, model, on_refusal
        odometry, self._last_missing = odometry and model.b > 0, ""
        self._joiner = StateJoin(model, state_spread(node), on_state, on_refusal, max_age, odometry)
        node.create_subscription(JointState, "joint_states", self._on_joints, qos)
        if odometry:
            node.create_subscription(Odometry, "odom", self._on_odometry, qos)
        node.create_timer(_REPORT_PERIOD, self._report_missing)

    def _on_joints(self, message: JointState) -> None:
        self._joiner.add(message, self._node.get_clock().now().nanoseconds)

    def _on_odometry(self, message: Odometry) -> None:
        try:
            base = from_odometry(self._model, message)
        except StateError as error:
            self._on_refusal(str(error))
            return
        now = self._node.get_clock().now().nanoseconds
        self._joiner.add_base(from_stamp(message.header.stamp), base, now)

    def _report_missing(self) -> None:
        text = self._joiner.missing
        if text and text == self._last_missing:
            self._on_refusal(text)
        self._last_missing = text


def state_spread(node: Node) -> float:
    """Declare ``state_spread``: by how much the stamps of the parts of a state may differ, s."""
    if not node.has_parameter("state_spread"):
        declare(node, "state_spread", file="robot")
    spread: float = node.get_parameter("state_spread").value
    return spread


class EffortPublishers:
    """Publishes ``torque``, and on a moving base ``wrench_base``."""

    def __init__(self, node: Node, model: VMSModel, frames: Frames) -> None:
        """Create the topics."""
        self._names, self._frames = list(model.joint_names), frames
        self._publisher = node.create_publisher(JointState, "torque", 10)
        self._wrench_publisher = None
        if model.b:
            self._wrench_publisher = node.create_publisher(WrenchStamped, "wrench_base", 10)

    def publish(self, torque: Array, wrench_base: Array, stamp: Time) -> None:
        """Publish torques (n,), N m or N, and the base wrench (b,) in the axes of the base."""
        header = Header(stamp=stamp)
        self._publisher.publish(JointState(header=header, name=self._names, effort=torque.tolist()))
        if self._wrench_publisher is not None:
            base_header = self._frames.header(self._frames.root, stamp)
            self._wrench_publisher.publish(to_wrench_base(base_header, wrench_base))


# The QoS profile of sensor data, with a queue for what a robot publishes in a quarter of a second
# in which this process is not scheduled.
_SENSOR_QOS = QoSProfile(depth=50, reliability=ReliabilityPolicy.BEST_EFFORT)

# Before the name of a tool, which may be that of another companion.
_TOOL = "tool "


@dataclass(frozen=True)
class RobotMotion:
    """State and efforts of the robot at one stamp.

    Attributes:
        stamp: stamp of all the messages.
        d: the dynamics at the configuration and velocity; in a current relative to the water.
        torque: (n,) joint torques, N m or N; zero where they are not known.
        unknown_torques: names of joints whose torques the driver does not give.
        wrench: (6,) end-effector wrench in its own axes; None without a publisher.
        wrench_base: (b,) base wrench in base axes; None without a publisher.
        port_energies: port energies of the simulator; None without a publisher.
        wrench_tools: (6,) wrenches at tools in their own axes; of those with a publisher.
        extra_messages: further messages of the same stamp, by their topics.
    """

    stamp: Time
    d: Evaluation
    torque: Array
    wrench: Array | None
    wrench_base: Array | None
    port_energies: PortEnergies | None
    wrench_tools: Mapping[str, Array]
    unknown_torques: tuple[str, ...] = ()
    extra_messages: Mapping[str, Any] = field(default_factory=dict)

    @property
    def missing_efforts(self) -> str:
        """A sentence about torques that are not known, or empty."""
        names = ", ".join(self.unknown_torques[:10])
        return f"the joint states have no efforts of {names}" if names else ""

    def ports(self, friction: Friction | None) -> Ports:
        """Return the efforts at the ports."""
        return Ports(
            self.torque,
            self.wrench_base,
            self.wrench,
            friction=friction,
            wrench_tools=self.wrench_tools or None,
        )


class MotionListener:
    """Calls ``on_motion`` with every complete motion and ``on_refusal`` with every error."""

    def __init__(
        self,
        node: Node,
        model: VMSModel,
        on_motion: Callable[[RobotMotion], None],
        on_refusal: Callable[[str], None],
        current: WaterCurrent | None = None,
        extra_types: Mapping[str, Any] = MappingProxyType({}),
    ) -> None:
        """Subscribe to the states of the robot and the port efforts.

        Args:
            node: which receives them.
            model: the robot.
            on_motion: called with every motion.
            on_refusal: called with the reason why one is not used.
            current: of the water around the robot; velocities are then relative to it.
            extra_types: types of further messages of a motion, if they are published, by topic.
        """
        self._model, self._water_current, self._extra_topics = model, current, tuple(extra_types)
        self._on_motion, self._on_refusal = on_motion, on_refusal
        companions: dict[str, tuple[Any, str]] = {
            "wrench": (WrenchStamped, "vms_ph/wrench_end_effector"),
            "energies": (PortEnergy, "vms_ph/port_energy"),
        }
        for tool in model.tools:
            companions[f"{_TOOL}{tool}"] = (WrenchStamped, f"vms_ph/wrench/{tool_topic(tool)}")
        companions |= {topic: (kind, topic) for topic, kind in extra_types.items()}
        if model.b:
            companions["wrench_base"] = (WrenchStamped, "vms_ph/wrench_base")
            companions["odometry"] = (Odometry, "odom")
        self._pairing = StampPairing(tuple(companions), self._on_match, nearest="odometry")
        for name, (kind, topic) in companions.items():
            profile = _SENSOR_QOS if name == "odometry" else _SENSOR_QOS.depth
            node.create_subscription(kind, topic, partial(self._on_companion, name), profile)
        self._states = MeasuredStates(node, model, 0.0, self._pair, on_refusal, False, _SENSOR_QOS)
        self._state_spread = state_spread(node)

        def require_published() -> None:
            names = {n for n, (_, topic) in companions.items() if node.count_publishers(topic)}
            # The state of a robot on a moving base is incomplete without its odometry.
            self._pairing.require(names | ({"odometry"} if model.b else set()))

        require_published()
        node.create_timer(0.5, require_published)

    def _on_companion(self, name: str, message: Any) -> None:
        self._pairing.add_companion(name, from_stamp(message.header.stamp), message)

    def _pair(self, state: JoinedState) -> None:
        self._pairing.add_primary(state.stamp, state)

    def _on_match(
        self,
        state: JoinedState,
        wrench: WrenchStamped | None,
        energies: PortEnergy | None,
        wrench_base: WrenchStamped | None = None,
        odometry: Odometry | None = None,
        **companions: Any,
    ) -> None:
        model = self._model
        try:
            q, v = self._with_odometry(state, odometry) if model.b else (state.q, state.v)
            end_effector_wrench = None if wrench is None else from_wrench(wrench.wrench)
            base_wrench = None
            if wrench_base is not None:
                base_wrench = from_wrench_base(model, wrench_base.wrench)
            messages = {key: message for key, message in companions.items() if message is not None}
            extra_messages = {t: messages.pop(t) for t in self._extra_topics if t in messages}
            tools = {key.removeprefix(_TOOL): from_wrench(w.wrench) for key, w in messages.items()}
            port_energies = None if energies is None else from_port_energy(energies)
            if self._water_current is not None:
                v = self._water_current.relative_velocity(model, q, v)
            d = model.evaluate(q, v)
        except StateError as error:
            self._on_refusal(str(error))
            return
        is_nan, stamp = np.isnan(state.effort), to_stamp(state.stamp)
        torque, names = np.where(is_nan, 0.0, state.effort), compress(model.joint_names, is_nan)
        efforts = (torque, end_effector_wrench, base_wrench, port_energies, tools)
        self._on_motion(RobotMotion(stamp, d, *efforts, tuple(names), extra_messages))

    def _with_odometry(self, state: JoinedState, odometry: Odometry | None) -> tuple[Array, Array]:
        """Return configuration and velocity with the base, predicted to the stamp of the joints.

        Raises:
            StateError: its stamp is too far from theirs, or it is no motion of a base.
        """
        if odometry is None:
            raise StateError("there is no odometry of the base")
        age = (state.stamp - from_stamp(odometry.header.stamp)) / NS_PER_SEC
        if abs(age) > self._state_spread:
            raise StateError(f"the odometry is {age_text(age, self._state_spread)}")
        return with_base(self._model, state.q, state.v, from_odometry(self._model, odometry), age)


# Time after a motion in which the status is what the node says of it, whatever else is refused, s.
_FRESH_TIME = 0.5


class MotionNode(ReportingNode):
    """A node with the parameters of a robot, which receives every motion of it.

    A subclass calls :meth:`watch` at the end of its constructor.
    """

    INPUT = "joint states"

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self._robot_parameters, self._last_motion_time = RobotParameters(self), -_FRESH_TIME
        self._frame_prefix: str = declare(self, "frame_prefix")

    def watch(self) -> None:
        """Listen to the robot as soon as its description is known."""
        self._robot_parameters.when_known(self._listen)

    def _listen(self, model: VMSModel) -> None:
        self._model, self._frames = model, Frames.from_model(model, self._frame_prefix)
        self._health.declare_robot(model)
        self.begin(model)
        water_current = self._robot_parameters.settings.water_current(model)
        self._listener = MotionListener(self, model, self._receive, self._refuse, water_current)

    def _receive(self, motion: RobotMotion) -> None:
        self._last_motion_time = time.monotonic()
        self._health.tick()
        if not self._health.disagreement:
            self.on_motion(motion)

    def _refuse(self, reason: str) -> None:
        self._input_diagnostics.report(reason)
        if time.monotonic() - self._last_motion_time > _FRESH_TIME:
            self._health.report(WARN, f"ignored: {reason}")

    @abstractmethod
    def begin(self, model: VMSModel) -> None:
        """Set up for a robot; called once, before the first motion."""

    @abstractmethod
    def on_motion(self, motion: RobotMotion) -> None:
        """Take a motion of the robot, unless another node has another robot."""

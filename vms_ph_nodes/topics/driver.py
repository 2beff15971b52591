# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The topics of the driver of a robot: its measured states, and the efforts on it."""

from collections.abc import Callable

from builtin_interfaces.msg import Time
from geometry_msgs.msg import WrenchStamped
from nav_msgs.msg import Odometry
from rclpy.node import Node
from rclpy.qos import QoSProfile, qos_profile_sensor_data
from sensor_msgs.msg import JointState
from std_msgs.msg import Header

from vms_ph_dynamics import Array, StateError, VMSModel

from ..messages.conversions import from_odometry, from_stamp, to_wrench_base
from ..messages.frames import Frames
from ..messages.state_join import JoinedState, StateJoin
from ..node.parameters import declare

# Period of the reports of what a first state lacks, s.
_REPORTS = 0.5


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
        spread = state_spread(node)
        self._join = StateJoin(model, spread, on_state, on_refusal, max_age, odometry)
        node.create_subscription(JointState, "joint_states", self._on_joints, qos)
        if odometry:
            node.create_subscription(Odometry, "odom", self._on_odometry, qos)
        node.create_timer(_REPORTS, self._report_missing)

    def _on_joints(self, message: JointState) -> None:
        self._join.add(message, self._node.get_clock().now().nanoseconds)

    def _on_odometry(self, message: Odometry) -> None:
        try:
            base = from_odometry(self._model, message)
        except StateError as error:
            self._on_refusal(str(error))
            return
        now = self._node.get_clock().now().nanoseconds
        self._join.add_base(from_stamp(message.header.stamp), base, now)

    def _report_missing(self) -> None:
        missing = self._join.missing
        if missing and missing == self._last_missing:
            self._on_refusal(missing)
        self._last_missing = missing


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
        self._torques = node.create_publisher(JointState, "torque", 10)
        self._wrenches = (
            node.create_publisher(WrenchStamped, "wrench_base", 10) if model.b else None
        )

    def publish(self, torque: Array, wrench_base: Array, stamp: Time) -> None:
        """Publish torques (n,), N m or N, and the base wrench (b,) in the axes of the base."""
        header = Header(stamp=stamp)
        self._torques.publish(JointState(header=header, name=self._names, effort=torque.tolist()))
        if self._wrenches is not None:
            base_header = self._frames.header(self._frames.root, stamp)
            self._wrenches.publish(to_wrench_base(base_header, wrench_base))

# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The topics of the driver of a robot: its measured states, and the efforts on it."""

from collections.abc import Callable
from functools import partial
from typing import Any

from builtin_interfaces.msg import Time
from geometry_msgs.msg import WrenchStamped
from nav_msgs.msg import Odometry
from rclpy.node import Node
from rclpy.qos import qos_profile_sensor_data
from sensor_msgs.msg import JointState
from std_msgs.msg import Header

from vms_ph_dynamics import StateError, VMSModel
from vms_ph_dynamics.arrays import Array

from ..messages.base_motion import from_odometry
from ..messages.conversions import from_joint_state, from_stamp, to_wrench_base
from ..messages.stamps import StampGate, StampPairing

StateCallback = Callable[[Time, Array, Array], None]
"""Called with the stamp, the configuration (nq,) and the velocity (nv,) of a measured state."""


class MeasuredStates:
    """Joint states, on a moving base with the odometry of the same stamp.

    Messages whose stamps repeat, go back, are old or jump against the clock are refused, and so are
    states that are not of this robot.
    """

    def __init__(
        self,
        node: Node,
        model: VMSModel,
        max_age: float,
        on_state: StateCallback,
        on_refusal: Callable[[object], None],
    ) -> None:
        """Subscribe to ``joint_states``, and on a moving base to ``odom``.

        Args:
            node: which receives them.
            model: the robot.
            max_age: largest difference between stamp and clock, s; 0 for no limit.
            on_state: called with every state.
            on_refusal: called with the reason why a message was refused.
        """
        self._node, self._model, self._max_age = node, model, max_age
        self._on_state, self._on_refusal = on_state, on_refusal
        pairing = StampPairing(("odometry",), self._complete)
        if model.b:
            pairing.require({"odometry"})
            self._subscribe(
                Odometry, "odom", "odometry", partial(pairing.add_companion, "odometry")
            )
        self._subscribe(JointState, "joint_states", "joint state", pairing.add_primary)

    def _subscribe(
        self, message_type: Any, topic: str, label: str, take: Callable[[int, Any], None]
    ) -> None:
        gate = StampGate(self._max_age)

        def receive(message: Any) -> None:
            stamp = from_stamp(message.header.stamp)
            problem = gate.problem(stamp, self._node.get_clock().now().nanoseconds)
            if problem:
                self._on_refusal(f"the {label} {problem}")
            else:
                take(stamp, message)

        self._node.create_subscription(message_type, topic, receive, qos_profile_sensor_data)

    def _complete(self, message: JointState, odometry: Odometry | None) -> None:
        if self._model.b and odometry is None:
            return
        try:
            base = None if odometry is None else from_odometry(self._model, odometry)
            q, v, _ = from_joint_state(self._model, message, base=base)
        except StateError as error:
            self._on_refusal(error)
            return
        self._on_state(message.header.stamp, q, v)


class EffortPublishers:
    """Publishes ``torque``, and on a moving base ``wrench_base``."""

    def __init__(self, node: Node, model: VMSModel, base_frame: str) -> None:
        """Create the topics; ``base_frame`` is the root link, with its prefix."""
        self._names, self._base_frame = list(model.joint_names), base_frame
        self._torques = node.create_publisher(JointState, "torque", 10)
        self._wrenches = (
            node.create_publisher(WrenchStamped, "wrench_base", 10) if model.b else None
        )

    def publish(self, torque: Array, wrench_base: Array, stamp: Time) -> None:
        """Publish torques (n,), N m or N, and the base wrench (b,) in the axes of the base."""
        header = Header(stamp=stamp)
        self._torques.publish(JointState(header=header, name=self._names, effort=torque.tolist()))
        if self._wrenches is not None:
            base_header = Header(stamp=stamp, frame_id=self._base_frame)
            self._wrenches.publish(to_wrench_base(base_header, wrench_base))

# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The topics of the driver of a robot: its measured states, and the efforts on it."""

from collections.abc import Callable

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
from ..messages.conversions import from_stamp, to_stamp, to_wrench_base
from ..messages.state_join import JoinedState, StateJoin
from ..node.parameters import state_spread

StateCallback = Callable[[Time, Array, Array], None]
"""Called with the stamp, the configuration (nq,) and the velocity (nv,) of a measured state."""


class MeasuredStates:
    """Joint states, on a moving base with its odometry, as :class:`.StateJoin` joins them.

    Messages whose stamps repeat, go back, are old or jump against the clock are refused, joint by
    joint.

    Attributes:
        age: how much older than its stamp the oldest part of the last state was, s.
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
            node: which receives them; its parameter ``state_spread`` is declared.
            model: the robot.
            max_age: largest difference between stamp and clock, s; 0 for no limit.
            on_state: called with every state.
            on_refusal: called with the reason why a message or a state is not used.
        """
        self._model, self._clock = model, node.get_clock()
        self._on_state, self._on_refusal, self.age = on_state, on_refusal, 0.0
        self._join = join = StateJoin(
            model, state_spread(node), self._take, on_refusal, max_age, odometry=model.b > 0
        )
        node.create_subscription(
            JointState,
            "joint_states",
            lambda message: join.add(message, self._clock.now().nanoseconds),
            qos_profile_sensor_data,
        )
        if model.b:
            node.create_subscription(Odometry, "odom", self._on_odometry, qos_profile_sensor_data)

    @property
    def missing(self) -> str:
        """What a first state still needs beside what was received, or an empty string."""
        return self._join.missing

    def _on_odometry(self, message: Odometry) -> None:
        try:
            base = from_odometry(self._model, message)
        except StateError as error:
            self._on_refusal(error)
            return
        stamp = from_stamp(message.header.stamp)
        self._join.add_base(stamp, base, self._clock.now().nanoseconds)

    def _take(self, state: JoinedState) -> None:
        self.age = state.age
        self._on_state(to_stamp(state.stamp), state.q, state.v)


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

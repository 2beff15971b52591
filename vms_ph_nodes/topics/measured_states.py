# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The measured states of a robot on the topics of its driver, for nodes that answer each."""

from collections.abc import Callable
from functools import partial
from typing import Any

from builtin_interfaces.msg import Time
from nav_msgs.msg import Odometry
from rclpy.node import Node
from rclpy.qos import qos_profile_sensor_data
from sensor_msgs.msg import JointState

from vms_ph_dynamics import StateError, VMSModel
from vms_ph_dynamics.arrays import Array

from ..messages.base_motion import from_odometry
from ..messages.conversions import from_joint_state, from_stamp
from ..messages.stamps import StampGate, StampPairing

Use = Callable[[Time, Array, Array], None]
"""From a stamp, a configuration (nq,) and a velocity (nv,)."""


class MeasuredStates:
    """Joint states, on a moving base with the odometry of the same stamp.

    Messages whose stamps repeat, go back, are old or jump against the clock are refused, and so are
    states that are not of this robot.
    """

    def __init__(
        self,
        node: Node,
        model: VMSModel,
        age: float,
        use: Use,
        refuse: Callable[[object], None],
    ) -> None:
        """Subscribe to ``joint_states``, and on a moving base to ``odom``.

        Args:
            node: which receives them.
            model: the robot.
            age: largest difference between stamp and clock, s; 0: any.
            use: called with every state.
            refuse: called with the reason why a message was refused.
        """
        self._node, self._model, self._age = node, model, age
        self._use, self._refuse = use, refuse
        pairing = StampPairing(("odometry",), self._complete)
        if model.b:
            pairing.expect({"odometry"})
            self._subscribe(Odometry, "odom", "odometry", partial(pairing.accompany, "odometry"))
        self._subscribe(JointState, "joint_states", "joint state", pairing.lead)

    def _subscribe(
        self, kind: Any, topic: str, label: str, use: Callable[[int, Any], None]
    ) -> None:
        gate = StampGate(self._age)

        def receive(message: Any) -> None:
            stamp = from_stamp(message.header.stamp)
            problem = gate.problem(stamp, self._node.get_clock().now().nanoseconds)
            if problem:
                self._refuse(f"the {label} {problem}")
            else:
                use(stamp, message)

        self._node.create_subscription(kind, topic, receive, qos_profile_sensor_data)

    def _complete(self, message: JointState, odometry: Odometry | None) -> None:
        if self._model.b and odometry is None:
            return
        try:
            base = None if odometry is None else from_odometry(self._model, odometry)
            q, v, _ = from_joint_state(self._model, message, base=base)
        except StateError as error:
            self._refuse(error)
            return
        self._use(message.header.stamp, q, v)

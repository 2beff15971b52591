# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The efforts on a robot, as its driver takes them."""

from builtin_interfaces.msg import Time
from geometry_msgs.msg import WrenchStamped
from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_msgs.msg import Header

from vms_ph_dynamics import VMSModel
from vms_ph_dynamics.arrays import Array

from ..messages.conversions import to_wrench_base


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
            acting = Header(stamp=stamp, frame_id=self._base_frame)
            self._wrenches.publish(to_wrench_base(acting, wrench_base))

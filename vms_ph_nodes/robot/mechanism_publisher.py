# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The topics of a mechanism in the grip of a simulated robot."""

import numpy as np
from builtin_interfaces.msg import Time
from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_msgs.msg import Header

from vms_ph_dynamics import VMSModel
from vms_ph_dynamics.arrays import Array
from vms_ph_dynamics.simulation import HeldMechanism

from .held_scene import HeldScene
from .held_shapes import mechanism_pose, mechanism_shapes

MECHANISM_STATES = "vms_ph/mechanism_states"

_NAME = "mechanism"


class MechanismPublisher:
    """Publishes ``vms_ph/mechanism_states``: angle, its rate, and the moment of the grip.

    ``vms_ph/scene`` has its markers.
    """

    def __init__(
        self, node: Node, model: VMSModel, home: Array, held: HeldMechanism, frame: str
    ) -> None:
        """Create the topics.

        Args:
            node: of the publishers.
            model: the robot.
            home: (nq,) configuration in which it takes hold.
            held: the mechanism.
            frame: the inertial frame, with its prefix.
        """
        self._states = node.create_publisher(JointState, MECHANISM_STATES, 10)
        self._scene = HeldScene(node, frame, _NAME, mechanism_shapes(held.mechanism))
        d = model.evaluate(home, np.zeros(model.nv))
        self._handle = d.placement(model.end_effector)[:3, 3].copy()

    def publish(self, held: HeldMechanism, stamp: Time) -> None:
        """Publish the mechanism."""
        self._states.publish(
            JointState(
                header=Header(stamp=stamp),
                name=[_NAME],
                position=[held.angle],
                velocity=[held.rate],
                effort=[held.moment],
            )
        )
        self._scene.publish(mechanism_pose(held.mechanism, self._handle, held.angle), stamp)


def mechanism_angle(message: JointState) -> float | None:
    """Return the angle in a message, rad; None where it has none that is finite."""
    if list(message.name) != [_NAME] or len(message.position) != 1:
        return None
    angle = float(message.position[0])
    return angle if np.isfinite(angle) else None

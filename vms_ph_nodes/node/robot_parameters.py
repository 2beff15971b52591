# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The robot of a node, given by name, by file or by the topic robot_description."""

import warnings
from collections.abc import Callable

from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile
from std_msgs.msg import String

from vms_ph_dynamics import Allocation, VMSModel, VmsPhError
from vms_ph_dynamics.actuation import Actuators
from vms_ph_dynamics.errors import InertiaWarning
from vms_ph_io import robots
from vms_ph_io.robots.robot_settings import RobotSettings, from_arguments

from .parameters import declare

LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)

NO_DESCRIPTION = "no robot description yet: waiting for the topic robot_description"
"""Status of a node that waits for it."""

_PARAMETER_FILE = "robot"


class RobotParameters:
    """The parameters in config/parameters/robot.yaml, and the robot they define.

    Attributes:
        settings: the settings, those of the launch arguments first; without a ``robot`` it is that
            of the topic robot_description.
        arguments: all launch arguments by name, also those that are no settings of the robot.
    """

    def __init__(self, node: Node, default: str | None = None) -> None:
        """Declare the parameters; ``default`` is the robot where the parameter is not set.

        Raises:
            VmsPhError: a value is not accepted.
        """
        self._node, self._description = node, ""
        settings = {
            name: declare(node, name, default if name == "robot" else None, file=_PARAMETER_FILE)
            for name in RobotSettings.names()
        }
        self.arguments = from_arguments(declare(node, "launch_arguments", file=_PARAMETER_FILE))
        # The robot itself is a parameter of the launched node, which may have another default.
        launch_settings = {name: value for name, value in self.arguments.items() if name != "robot"}
        self.settings = RobotSettings(**settings).with_changes(launch_settings)

    def description(self) -> str:
        """Return the URDF text of the robot named by the parameter.

        Raises:
            VmsPhError: no such robot or file, or an invalid robot description.
        """
        if not self.settings.robot:
            raise VmsPhError(
                f"{self._node.get_name()} requires the parameter robot: one of "
                f"{', '.join(robots.names())}, or the path of a URDF, xacro or MJCF file"
            )
        self._description = self.settings.description(self._warn)
        return self._description

    def allocation(self) -> Allocation | None:
        """Return the allocation of the base's actuators, or None for an ideal base."""
        return self.settings.allocation(self._description)

    def known_actuators(self) -> Actuators | None:
        """Return the actuators whose limits laws and guards know, or None for an ideal base."""
        return self.settings.known_actuators(self._description)

    def actuators(self) -> Actuators | None:
        """Return the actuators with which the base is simulated, or None for an ideal base."""
        return self.settings.chosen_actuators(self._description)

    def model(self, description: str) -> VMSModel:
        """Return the model of a description, with the settings of the parameters."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", InertiaWarning)
            model = self.settings.model(description)
        for repair in model.repairs:
            self._warn(f"the inertia was repaired: {repair}")
        return model

    def _warn(self, text: str) -> None:
        # A launch warns once, before it starts the nodes.
        if not self.arguments:
            self._node.get_logger().warning(text)

    def when_known(self, use: Callable[[VMSModel], None], takes_others: bool = False) -> None:
        """Call ``use`` with the model, at once if the parameter defines it, else on its arrival.

        What has topics for a robot is made once: another one that arrives later is ignored, with a
        warning, unless ``takes_others``.
        """
        if self.settings.robot:
            use(self.model(self.description()))
            return

        used_description = ""

        def on_description(message: String) -> None:
            nonlocal used_description
            if message.data == used_description:  # its publisher was restarted
                return
            logger = self._node.get_logger()
            try:
                model = self.model(message.data)
                if used_description and not takes_others:
                    logger.warning("another robot_description is ignored; restart this node for it")
                    return
                self._description = message.data
                use(model)
            except VmsPhError as error:
                logger.error(f"the received robot_description is not valid: {error}")
            else:
                used_description = message.data

        self._node.create_subscription(String, "robot_description", on_description, LATCHED)
        self._node.get_logger().info("waiting for the topic robot_description")

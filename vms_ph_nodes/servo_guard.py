# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Guards the energy that commands give to a robot through its servos: a node between topics.

It subscribes to the positions or velocities of a policy on ``wanted/joint_command`` and publishes
those that the servos may have on ``joint_command``.
"""

import numpy as np
from builtin_interfaces.msg import Time
from sensor_msgs.msg import JointState
from std_msgs.msg import Header

from vms_ph_controllers.guard import GuardedCommand, PositionGuard, ServoGuard, VelocityGuard
from vms_ph_dynamics import Array, StateError, VMSModel

from .messages.conversions import joint_values
from .messages.stamps import LatestMessage
from .messages.state_join import JoinedState
from .node.parameters import declare
from .node.process import run
from .topics.guard_node import GuardNode


class ServoGuardNode(GuardNode):
    """Passes commands on while energy allows; docs/servo-guard.md describes it."""

    PARAMETER_FILE = "servo_guard"
    SETTINGS = ("tank_capacity", "tank_initial", "refill_power", "freeze")

    def __init__(self) -> None:
        super().__init__("servo_guard")
        self._interface: str = declare(self, "command_interface")
        self._stiffness: list[float] = declare(self, "stiffness")
        self._damping: list[float] = declare(self, "damping")
        self._uncertainty: float = declare(self, "uncertainty")
        self._latest_command = LatestMessage[Array](self._command_timeout)
        self._robot_parameters.when_known(lambda model: self._begin(model, odometry=False))

    def _make_guard(self, model: VMSModel) -> ServoGuard:
        self._command_publisher = self.create_publisher(JointState, "joint_command", 10)
        self.create_subscription(JointState, "wanted/joint_command", self._on_command, 10)
        options = {"uncertainty": self._uncertainty, "delay": self._delay}
        if self._interface == "velocity":
            return VelocityGuard(model, self._damping, **options)
        return PositionGuard(model, self._stiffness, self._damping, **options)

    def _on_command(self, message: JointState) -> None:
        with self._input_diagnostics.refusing():
            names, command = list(message.name), np.array(getattr(message, self._interface))
            missing = [name for name in self._model.joint_names if name not in names]
            if missing:
                raise StateError(f"the command has no {self._interface} of {', '.join(missing)}")
            self._latest_command.update(joint_values(self._model, names, command, self._interface))

    def _update_guard(self, state: JoinedState, dt: float) -> GuardedCommand:
        command = self._latest_command.value
        desired_command = np.full(self._model.n, np.nan) if command is None else command
        return self._guard.update(state.joints, desired_command, dt)

    def _hold(self, cause: str, dt: float) -> GuardedCommand:
        no_positions = np.full(self._model.n, np.nan)
        return self._guard.update(no_positions, no_positions, dt)

    def _publish_command(self, guarded_command: GuardedCommand, stamp: Time) -> None:
        message = JointState(header=Header(stamp=stamp), name=list(self._model.joint_names))
        setattr(message, self._interface, guarded_command.command.tolist())
        self._command_publisher.publish(message)


def main() -> None:
    """Run the node."""
    run(ServoGuardNode)

# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Guards the energy that any controller gives to a robot: a node between their topics.

It subscribes to the efforts of a controller on ``wanted/torque`` and ``wanted/wrench_base`` and
publishes those that the robot may have on ``torque`` and ``wrench_base``.
"""

import numpy as np
from builtin_interfaces.msg import Time
from geometry_msgs.msg import WrenchStamped
from sensor_msgs.msg import JointState

from vms_ph_controllers.guard import GuardedEffort, PortGuard
from vms_ph_dynamics import Allocation, Array, ModelError, VMSModel
from vms_ph_io import drivers

from .messages.conversions import from_wrench_base, joint_values
from .messages.stamps import LatestMessage
from .messages.state_join import JoinedState
from .node.parameters import declare
from .node.process import run
from .topics.guard_node import GuardNode
from .topics.robot_motion import EffortPublishers


class EnergyGuardNode(GuardNode):
    """Passes efforts on while energy allows; docs/energy-guard.md describes it."""

    PARAMETER_FILE = "energy_guard"

    def __init__(self) -> None:
        super().__init__("energy_guard")
        self._effort_carries_weight: bool = declare(self, "effort_carries_weight")
        self._base_actuated: bool = declare(self, "base_actuated")
        self._failed_actuators: str = declare(self, "failed_actuators")
        driver_name: str = declare(self, "driver")
        self._driver = drivers.get(driver_name) if driver_name else None
        self._latest_torque = LatestMessage[Array](self._command_timeout)
        self._latest_wrench = LatestMessage[Array](self._command_timeout)
        self._robot_parameters.when_known(self._begin)

    def _make_guard(self, model: VMSModel) -> PortGuard:
        guard = self._guard_for(model)
        self._effort_topics = EffortPublishers(self, model, self._frames)
        self.create_subscription(JointState, "wanted/torque", self._on_torque, 10)
        if model.b:
            self.create_subscription(WrenchStamped, "wanted/wrench_base", self._on_wrench, 10)
        return guard

    def _guard_for(self, model: VMSModel) -> PortGuard:
        """Return the guard of the driver, or of the parameters."""
        if self._driver is not None:
            return self._driver.guard(model)
        allocation, weights = self._allocation_and_weights()
        return PortGuard(
            model,
            delay=self._delay,
            effort_carries_weight=self._effort_carries_weight,
            base_actuated=self._base_actuated,
            allocation=allocation,
            weights=weights,
        )

    def _allocation_and_weights(self) -> tuple[Allocation | None, Array | None]:
        """Return the limits of the base's actuators, and which components are given up first.

        Raises:
            VmsPhError: an actuator that has failed does not exist.
        """
        failed_names = self._failed_actuators.replace(",", " ").split()
        actuators = self._robot_parameters.known_actuators() if self._base_actuated else None
        if actuators is None:
            if failed_names:
                raise ModelError(
                    f"failed_actuators: the base has no actuators that are known; set actuators; "
                    f"given: {self._failed_actuators!r}"
                )
            return None, None
        return actuators.allocation_without(failed_names), actuators.weights

    def _on_torque(self, message: JointState) -> None:
        with self._input_diagnostics.refusing():
            names, effort = list(message.name), np.array(message.effort)
            self._latest_torque.update(joint_values(self._model, names, effort, "torque"))

    def _on_wrench(self, message: WrenchStamped) -> None:
        with self._input_diagnostics.refusing():
            self._latest_wrench.update(from_wrench_base(self._model, message.wrench))

    def _update_guard(self, state: JoinedState, dt: float) -> GuardedEffort:
        if self._last_stamp is None:
            self._guard.engage(state.q, state.v)
        return self._guard.update(state.q, state.v, self._requested_effort(), dt)

    def _requested_effort(self) -> Array:
        """Return the last effort (nv,) of the controller; not a number if there is none in time."""
        b, torque, wrench = self._model.b, self._latest_torque.value, self._latest_wrench.value
        effort = np.full(self._model.nv, np.nan)
        if torque is not None:
            effort[b:] = torque
        if b and not self._base_actuated:
            effort[:b] = 0.0
        elif b and wrench is not None:
            effort[:b] = wrench
        return effort

    def _hold(self, cause: str, dt: float) -> GuardedEffort:
        return self._guard.hold(cause, dt)

    def _publish_command(self, guarded_effort: GuardedEffort, stamp: Time) -> None:
        b = self._model.b
        self._effort_topics.publish(guarded_effort.effort[b:], guarded_effort.effort[:b], stamp)


def main() -> None:
    """Run the node."""
    run(EnergyGuardNode)

# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Guards the energy that any controller gives to a robot: a node between their topics.

It subscribes to the efforts of a controller on ``wanted/torque`` and ``wanted/wrench_base`` and
publishes those that the robot may have on ``torque`` and ``wrench_base``.
"""

import numpy as np
from builtin_interfaces.msg import Time
from geometry_msgs.msg import WrenchStamped
from rclpy.parameter import Parameter
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64
from vms_ph.msg import EnergyCertificate
from vms_ph.srv import ChangeBudget

from vms_ph_controllers import Status
from vms_ph_controllers.guard import GuardedEffort, PortGuard
from vms_ph_dynamics import Allocation, Array, ModelError, VMSModel

from .messages.conversions import NS_PER_SEC, from_wrench_base, joint_values, to_stamp
from .messages.energy_messages import to_certificate
from .messages.frames import Frames
from .messages.stamps import LatestMessage
from .messages.state_join import JoinedState
from .node.health import OK, WARN
from .node.parameters import declare, declare_gains
from .node.process import ReportingNode, run
from .node.robot_parameters import LATCHED, RobotParameters
from .topics.robot_motion import EffortPublishers, MeasuredStates


class EnergyGuardNode(ReportingNode):
    """Passes efforts on while energy allows; docs/energy-guard.md describes it."""

    PARAMETERS = "energy_guard"
    INPUT = "joint states"

    def __init__(self) -> None:
        super().__init__("energy_guard")
        robot_parameters = self._robot_parameters = RobotParameters(self)
        self._delay: int = declare(self, "delay")
        self._effort_carries_weight: bool = declare(self, "effort_carries_weight")
        self._base_actuated: bool = declare(self, "base_actuated")
        self._failed_actuators: str = declare(self, "failed_actuators")
        command_timeout: float = declare(self, "command_timeout")
        self._state_timeout: float = declare(self, "state_timeout")
        self._max_age: float = declare(self, "state_age")
        self._publish_period = NS_PER_SEC / float(declare(self, "publish_rate"))
        self._frame_prefix: str = declare(self, "frame_prefix")
        self._guard: PortGuard | None = None
        self._latest_torque = LatestMessage[Array](command_timeout)
        self._latest_wrench = LatestMessage[Array](command_timeout)
        self._last_stamp: int | None = None  # of the states
        self._last_state_time, self._last_publish_time = 0, 0.0
        robot_parameters.when_known(self._begin)

    def destroy_node(self) -> None:
        """Log the certificate, announce the shutdown to the other nodes, then end."""
        if self._guard is not None and self._last_stamp is not None:
            for line in self._guard.certificate.lines():
                self.get_logger().info(line)
        super().destroy_node()

    def _begin(self, model: VMSModel) -> None:
        self._model = model
        self._health.declare_robot(model)
        self._frames = Frames.of(model, self._frame_prefix)
        allocation, weights = self._allocation_and_weights()
        self._guard = PortGuard(
            model,
            delay=self._delay,
            effort_carries_weight=self._effort_carries_weight,
            base_actuated=self._base_actuated,
            allocation=allocation,
            weights=weights,
        )
        declare_gains(self, lambda: self._guard, "settings")
        self._publisher = self.create_publisher(EnergyCertificate, "~/certificate", LATCHED)
        self._effort_topics = EffortPublishers(self, model, self._frames)
        self.create_subscription(JointState, "wanted/torque", self._on_torque, 10)
        if model.b:
            self.create_subscription(WrenchStamped, "wanted/wrench_base", self._on_wrench, 10)
        self._measured_states = MeasuredStates(
            self, model, self._max_age, self._on_state, self._input_diagnostics.report
        )
        self.create_subscription(Float64, "~/budget", self._on_budget, 10)
        self.create_service(ChangeBudget, "~/change_budget", self._on_change_budget)
        self.create_timer(0.25 * self._state_timeout, self._check_silence, clock=self._steady)

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

    def _on_state(self, state: JoinedState) -> None:
        guard, last_stamp, q, v = self._guard, self._last_stamp, state.q, state.v
        assert guard is not None
        if last_stamp is None:
            guard.engage(q, v)
        # After a gap or a reset of the clock the time is not known; the guard then holds.
        elapsed = 0.0 if last_stamp is None else (state.stamp - last_stamp) / NS_PER_SEC
        self._last_stamp, self._last_state_time = state.stamp, self._now()
        self._send(guard.update(q, v, self._requested_effort(), elapsed), to_stamp(state.stamp))
        self._health.tick()

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

    def _check_silence(self) -> None:
        """Send the safe output when no state arrives; the last effort must not keep acting."""
        silence = (self._now() - self._last_state_time) / NS_PER_SEC
        if self._guard is None or self._last_stamp is None or silence < 0.75 * self._state_timeout:
            return
        safe = self._guard.hold(f"no usable state for {silence:.1f} s", 0.25 * self._state_timeout)
        self._send(safe, self.get_clock().now().to_msg())

    def _send(self, guarded: GuardedEffort, stamp: Time) -> None:
        b = self._model.b
        self._effort_topics.publish(guarded.effort[b:], guarded.effort[:b], stamp)
        if self._now() - self._last_publish_time < self._publish_period:
            return
        self._last_publish_time = self._now()
        assert self._guard is not None
        certificate = self._guard.certificate
        header = self._frames.header(self._frames.inertial, stamp)
        self._publisher.publish(to_certificate(header, certificate, guarded))
        self._health.report(
            WARN if guarded.status is Status.HOLDING or certificate.verdict != "kept" else OK,
            guarded.reason or "efforts pass unchanged",
            {
                "tank level (J)": f"{guarded.level:.3e}",
                "budget (J)": f"{certificate.budget:.3e}",
                "largest energy given (J)": f"{certificate.largest_given:.3e}",
                "verdict": certificate.verdict,
            },
        )

    def _on_budget(self, message: Float64) -> None:
        if not np.isfinite(message.data):
            self._input_diagnostics.report("a change of the budget must be finite, J")
            return
        self._change_budget(float(message.data))

    def _on_change_budget(
        self, request: ChangeBudget.Request, response: ChangeBudget.Response
    ) -> ChangeBudget.Response:
        assert self._guard is not None
        response.level = self._guard.level
        if not np.isfinite(request.energy) or request.freezing > ChangeBudget.Request.THAW:
            response.message = "energy must be finite, J, and freezing KEEP, FREEZE or THAW"
            return response
        if request.freezing != ChangeBudget.Request.KEEP:
            is_frozen = request.freezing == ChangeBudget.Request.FREEZE
            self.set_parameters([Parameter("freeze", Parameter.Type.BOOL, is_frozen)])
        change = self._change_budget(float(request.energy))
        response.success = True
        response.message = f"changed by {change:.6g} J; the level is {self._guard.level:.6g} J"
        return response

    def _change_budget(self, energy: float) -> float:
        assert self._guard is not None
        return self._guard.refill(energy) if energy >= 0.0 else -self._guard.drain(-energy)

    def _now(self) -> int:
        return int(self._steady.now().nanoseconds)


def main() -> None:
    """Run the node."""
    run(EnergyGuardNode)

# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""A guard of energy as a node between the topics of a controller and of a robot."""

from abc import abstractmethod
from typing import Any

import numpy as np
from builtin_interfaces.msg import Time
from rclpy.parameter import Parameter
from vms_ph.msg import EnergyCertificate
from vms_ph.srv import ChangeBudget

from vms_ph_controllers import Status
from vms_ph_dynamics import VMSModel

from ..messages.conversions import NS_PER_SEC, to_stamp
from ..messages.energy_messages import to_certificate
from ..messages.frames import Frames
from ..messages.state_join import JoinedState
from ..node.health import OK, WARN
from ..node.parameters import declare, declare_gains
from ..node.process import ReportingNode
from ..node.robot_parameters import LATCHED, RobotParameters
from .robot_motion import MeasuredStates


class GuardNode(ReportingNode):
    """A guard between topics, with its tank, certificate and budget.

    A subclass calls ``self._robot_parameters.when_known(self._begin)`` at the end of its
    constructor.
    """

    INPUT = "joint states"
    SETTINGS: tuple[str, ...] = ()  # those that the guard has; all if empty

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self._robot_parameters = RobotParameters(self)
        self._delay: int = declare(self, "delay")
        self._command_timeout: float = declare(self, "command_timeout")
        self._state_timeout: float = declare(self, "state_timeout")
        self._max_age: float = declare(self, "state_age")
        self._publish_period = NS_PER_SEC / float(declare(self, "publish_rate"))
        self._frame_prefix: str = declare(self, "frame_prefix")
        self._guard: Any = None
        self._last_stamp: int | None = None  # of the states
        self._last_state_ns, self._last_publish_time = 0, 0.0

    def destroy_node(self) -> None:
        """Log the certificate, announce the shutdown to the other nodes, then end."""
        if self._guard is not None and self._last_stamp is not None:
            for line in self._guard.certificate.lines():
                self.get_logger().info(line)
        super().destroy_node()

    @abstractmethod
    def _make_guard(self, model: VMSModel) -> Any:
        """Return the guard; create the topics of commands."""

    @abstractmethod
    def _update_guard(self, state: JoinedState, dt: float) -> Any:
        """Return what the guard sends at a state."""

    @abstractmethod
    def _hold(self, cause: str, dt: float) -> Any:
        """Return what the guard sends without a state."""

    @abstractmethod
    def _publish_command(self, guard_output: Any, stamp: Time) -> None:
        """Publish what the guard sends."""

    def _begin(self, model: VMSModel, odometry: bool = True) -> None:
        self._model = model
        self._health.declare_robot(model)
        self._frames = Frames.from_model(model, self._frame_prefix)
        self._guard = self._make_guard(model)
        declare_gains(self, lambda: self._guard, "settings", self.SETTINGS)
        self._publisher = self.create_publisher(EnergyCertificate, "~/certificate", LATCHED)
        self._measured_states = MeasuredStates(
            self, model, self._max_age, self._on_state, self._input_diagnostics.report, odometry
        )
        self.create_service(ChangeBudget, "~/change_budget", self._on_change_budget)
        self.create_timer(0.25 * self._state_timeout, self._check_silence, clock=self._steady)

    def _on_state(self, state: JoinedState) -> None:
        # After a gap or a reset of the clock the time is not known; the guard then holds.
        last_stamp = state.stamp if self._last_stamp is None else self._last_stamp
        guard_output = self._update_guard(state, (state.stamp - last_stamp) / NS_PER_SEC)
        self._last_stamp, self._last_state_ns = state.stamp, self._time_now()
        self._send(guard_output, to_stamp(state.stamp))
        self._health.tick()

    def _check_silence(self) -> None:
        """Send the safe output when no state arrives; the last command must not keep acting."""
        silence = (self._time_now() - self._last_state_ns) / NS_PER_SEC
        if self._guard is None or self._last_stamp is None or silence < 0.75 * self._state_timeout:
            return
        safe_output = self._hold(f"no usable state for {silence:.1f} s", 0.25 * self._state_timeout)
        self._send(safe_output, self.get_clock().now().to_msg())

    def _send(self, guard_output: Any, stamp: Time) -> None:
        self._publish_command(guard_output, stamp)
        if self._time_now() - self._last_publish_time < self._publish_period:
            return
        self._last_publish_time = self._time_now()
        certificate = self._guard.certificate
        header = self._frames.header(self._frames.inertial, stamp)
        self._publisher.publish(to_certificate(header, certificate, guard_output))
        self._health.report(
            WARN if guard_output.status is Status.HOLDING or certificate.verdict != "kept" else OK,
            guard_output.reason or "commands pass unchanged",
            {
                "tank level (J)": f"{guard_output.level:.3e}",
                "budget (J)": f"{certificate.budget:.3e}",
                "largest energy given (J)": f"{certificate.largest_given:.3e}",
                "verdict": certificate.verdict,
            },
        )

    def _on_change_budget(
        self, request: ChangeBudget.Request, response: ChangeBudget.Response
    ) -> ChangeBudget.Response:
        tank, energy = self._guard.tank, float(request.energy)
        tank.capacity = self._guard.settings.tank_capacity  # may have changed since the last update
        response.level = tank.level
        if not np.isfinite(request.energy) or request.freezing > ChangeBudget.Request.THAW:
            response.message = "energy must be finite, J, and freezing KEEP, FREEZE or THAW"
            return response
        if request.freezing != ChangeBudget.Request.KEEP:
            is_frozen = request.freezing == ChangeBudget.Request.FREEZE
            self.set_parameters([Parameter("freeze", Parameter.Type.BOOL, is_frozen)])
        change = tank.refill(energy) if energy >= 0.0 else -tank.drain(-energy)
        response.success = True
        response.message = f"changed by {change:.6g} J; the level is {tank.level:.6g} J"
        return response

    def _time_now(self) -> int:
        return int(self._steady.now().nanoseconds)

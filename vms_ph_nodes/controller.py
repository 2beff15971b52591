# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Hosts a controller object: subscribes to references, publishes commands and energy records.

As a separate process it subscribes to joint_states and publishes efforts; within ``closed_loop``
the simulator calls it at every step.
"""

from contextlib import suppress
from dataclasses import replace

import numpy as np
from builtin_interfaces.msg import Time
from geometry_msgs.msg import Inertia, InertiaStamped
from rclpy.lifecycle import LifecycleState, TransitionCallbackReturn
from std_srvs.srv import Trigger
from vms_ph.msg import ControllerState, Payload

from vms_ph_controllers import Command, Controller, Reference, RobotState, Status
from vms_ph_controllers.hosting.loading import make_controller
from vms_ph_controllers.hosting.supervisor import Supervisor
from vms_ph_controllers.laws.payload_compensation import PayloadCompensation
from vms_ph_controllers.safety.plausibility import PlausibilityBounds
from vms_ph_dynamics import Array, VMSModel
from vms_ph_dynamics.capture import Body, with_body
from vms_ph_dynamics.simulation import Sample

from .messages.conversions import NS_PER_SEC, to_stamp
from .messages.energy_messages import to_controller_state
from .messages.frames import Frames
from .messages.observations import CARRIED_INERTIA, from_inertia, from_payload
from .messages.state_join import JoinedState
from .node.agreement import CONTROLLER
from .node.health import ERROR, OK, WARN
from .node.parameters import declare, declare_gains, declare_record
from .node.process import ManagedNode, run
from .node.robot_parameters import NO_DESCRIPTION, RobotParameters
from .topics.references import ReferenceTopics
from .topics.robot_motion import EffortPublishers, MeasuredStates
from .topics.trajectory_action import TrajectoryAction

# Rounding of the level of an empty energy tank, J.
_TANK_ROUNDING = 1e-9


class ControllerNode(ManagedNode):
    """Hosts the controller named by the parameter ``controller``."""

    PARAMETER_FILE = "controller"

    def __init__(self, model: VMSModel | None = None) -> None:
        """Host a controller for ``model``, or for the robot that the parameters name when None.

        Raises:
            VmsPhError: no such controller, or one that does not support this robot.
        """
        super().__init__("controller")
        parameters = RobotParameters(self, default="" if model is None else model.name)
        self._allocation, self._robot_parameters = parameters.allocation(), parameters
        self._law_name = parameters.arguments.get("controller") or declare(self, "controller")
        command_timeout: float = declare(self, "command_timeout")
        self._state_timeout: float = declare(self, "state_timeout")
        self._max_age: float = declare(self, "state_age")
        # A base with chosen actuators is actuated.
        self._base_actuated: bool = declare(self, "base_actuated") or bool(parameters.actuators())
        self._native: bool = declare(self, "native")
        self._compensates_payload: bool = declare(self, "compensate_payload")
        self._plausibility_bounds = declare_record(self, "plausibility", PlausibilityBounds)
        self._has_started, self._last_stamp = False, 0
        self._frames: Frames | None = None  # until the robot is known
        self._age = 0.0  # of states at the law, s
        self._command: Command | None = None  # of the law
        # The body in the model of the law, and the last inertia received, which may be refused.
        self._carried_body: Body | None = None
        self._last_inertia = Inertia()
        self._trajectory_action: TrajectoryAction | None = None
        self._state_publisher = self.create_publisher(ControllerState, "~/state", 10)
        self._frame_prefix: str = declare(self, "frame_prefix")
        self._reference_topics = ReferenceTopics(self, command_timeout)
        self.create_service(Trigger, "~/restart", self._on_restart)
        if model is not None:
            self._host(model)
        else:
            parameters.when_known(self._host_separately)

    def control(self, q: Array, v: Array, dt: float, age: float = 0.0) -> Command:
        """Return the command for a state of an age, s; never raises."""
        if not self.is_active:
            self._command = None
            return self._zero_command()
        state = RobotState(q, v, age)
        if self._trajectory_action is not None:
            self._follow_trajectory(q, dt)
        if not self._has_started:
            self._start_law(state)
        if not self._has_started:
            return self._zero_command()
        self._command = self._supervisor.update(state, self._reference_topics.take(q), dt)
        return self._command

    def _start_law(self, state: RobotState) -> None:
        """Let the law begin at a state."""
        try:
            self._supervisor.reset(state)
        except Exception as error:  # a law of a user may raise anything
            self._health.report(ERROR, f"the controller cannot start: {error}")
            return
        self._has_started = True

    def _follow_trajectory(self, q: Array, dt: float) -> None:
        """Take the joint references of the trajectory that is followed, if any."""
        try:
            reference = self._trajectory_action.reference(self._model.joint_positions(q), dt)
        except Exception as error:  # the middleware may raise anything; the law goes on
            self._health.report(ERROR, f"the trajectory ended: {error}")
            self._trajectory_action.reset()
            return
        if reference is not None:
            self._reference_topics.set_joints(reference)

    def _zero_command(self) -> Command:
        return Command(np.zeros(self._model.b), np.zeros(self._model.n), status=Status.HOLDING)

    def set_carried_body(self, body: Body | None, sample: Sample | None = None) -> None:
        """Go on with a law for the robot with a body at its end effector, or without one.

        The law begins where the robot is, at ``sample`` or else at the next state, with its gains
        and its last references. A law that compensates an observed payload goes on as it is.
        Never raises.
        """
        if self._compensates_payload or body is self._carried_body:
            return
        try:
            law = self._make_law(self._model if body is None else with_body(self._model, body))
            law.gains = self.controller.gains
            self._supervisor = self._make_supervisor(law)
        except Exception as error:  # a law of a user may raise anything
            self._input_diagnostics.report(f"{error}; the law goes on as it was")
            return
        self.controller = law
        self._carried_body, self._has_started = body, False
        if sample is not None and self.is_active:
            self._start_law(RobotState(sample.q, sample.v))
        self._reference_topics.repeat()

    def publish_record(self, stamp: Time) -> None:
        """Publish the last record of the controller with this stamp."""
        if self._command is not None:
            self._publish(self._command, stamp)

    def restart(self) -> None:
        """Reset the controller at the next state of the robot."""
        self._has_started = False
        self._reference_topics.forget()
        if self._trajectory_action is not None:
            self._trajectory_action.reset()

    def _on_restart(self, request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        if not self.is_active:
            response.message = "the controller is not active; activate it first"
            return response
        self.restart()
        response.success = True
        response.message = "the law holds the present pose; a tank is at its initial level"
        return response

    def on_configure(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Fail while there is no robot description."""
        if self._frames is None:
            self.get_logger().warning(NO_DESCRIPTION)
            return TransitionCallbackReturn.FAILURE
        return super().on_configure(state)

    def on_activate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Reset the controller at the current state of the robot."""
        self.restart()
        self._health.report(OK, "active; no state received yet")
        return super().on_activate(state)

    def on_deactivate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Stop commanding efforts; a robot under gravity falls."""
        self._health.report(OK, "inactive: no effort is commanded")
        return super().on_deactivate(state)

    def _host(self, model: VMSModel) -> None:
        self._model, self._frames = model, Frames.from_model(model, self._frame_prefix)
        self._health.declare_robot(model, CONTROLLER)
        # A base on wheels that do not slip is driven by their joints.
        if self._robot_parameters.settings.wheels:
            self._base_actuated = False
        self.controller = self._make_law(model)
        self._reference_topics.serve(model, self._frames, self.controller.LEADS_BASE_AND_TOOL)
        if self._compensates_payload:
            self.controller = compensation = PayloadCompensation(self.controller)

            def on_payload(message: Payload) -> None:
                if problem := compensation.carry(from_payload(message)):
                    self._input_diagnostics.report(problem)

            self.create_subscription(Payload, "vms_ph/payload", on_payload, 10)
        self._supervisor = self._make_supervisor(self.controller)
        declare_gains(self, lambda: self.controller)
        with suppress(ImportError):  # the runtime has no actions, or control_msgs is missing
            self._trajectory_action = TrajectoryAction(self, model, self.controller.FOLLOWS_JOINTS)

    def _make_law(self, model: VMSModel) -> Controller:
        """Return the law for a robot."""
        if not self._native:
            model = model.with_native(False)
        wheels = self._robot_parameters.settings.wheel_form(model)
        return make_controller(self._law_name, model, self._allocation, self._base_actuated, wheels)

    def _make_supervisor(self, law: Controller) -> Supervisor:
        return Supervisor(law, self._allocation, self._base_actuated, self._plausibility_bounds)

    def _host_separately(self, model: VMSModel) -> None:
        self._host(model)
        self._effort_topics = EffortPublishers(self, model, self._frames)
        self._last_state_ns: int | None = None
        self._last_refusal = ""
        self._check_period = 0.25 * self._state_timeout
        self.create_timer(self._check_period, self._check_silence, clock=self._steady)
        self.create_subscription(InertiaStamped, CARRIED_INERTIA, self._on_inertia, 10)
        self._states = MeasuredStates(self, model, self._max_age, self._on_state, self._refuse)
        self.begin()

    def _refuse(self, reason: object) -> None:
        self._last_refusal = f"; ignored: {reason}"
        self._input_diagnostics.report(reason)

    def _on_inertia(self, message: InertiaStamped) -> None:
        """Take what the robot carries; messages that repeat it change nothing."""
        with self._input_diagnostics.refusing():
            self._frames.checked_frame(message, (self._frames.end_effector,), "an inertia ")
            body = from_inertia(message)
            if message.inertia != self._last_inertia:
                self._last_inertia = message.inertia
                self.set_carried_body(body)

    def _on_state(self, state: JoinedState) -> None:
        if not self.is_active:
            return
        q, v, stamp = state.q, state.v, state.stamp
        now = self.get_clock().now().nanoseconds
        age = state.age + ((now - stamp) / NS_PER_SEC if self._max_age else 0.0)
        interval = (stamp - self._last_stamp) / NS_PER_SEC
        # Bursts and gaps come again: an age is forgotten four times as slowly as it has grown.
        self._age = max(0.0, age, min(self._age, self._max_age) - 0.25 * max(0.0, interval))
        if self._age > self._max_age:
            self._refuse(f"the joint state is {self._age:.3g} s old, older than state_age allows")
            return
        self._last_stamp = stamp
        self._last_state_ns, self._last_refusal = self._steady.now().nanoseconds, ""
        # The first message, and the first after a reset or a gap, has no time step.
        dt = interval if 0.0 < interval < 1.0 else 1e-3
        command = self.control(q, v, dt, self._age)
        # Without commands the drives brake, which measure without delay; see _check_silence() too.
        # A law that acts holds the weight.
        measured = RobotState(q, v, self._age)
        if command.status is not Status.HOLDING or self._supervisor.holds_weight(measured, dt):
            self._effort_topics.publish(command.torque, command.wrench_base, to_stamp(stamp))
        self.publish_record(to_stamp(stamp))

    def _check_silence(self) -> None:
        """Command the safe output when no state arrives; the last effort must not keep acting."""
        if not self.is_active:
            return
        if self._last_state_ns is None:
            self._health.report(WARN, f"active; no state received yet{self._last_refusal}")
            return
        silence = (self._steady.now().nanoseconds - self._last_state_ns) / NS_PER_SEC
        # The safe output acts when the timeout ends at the latest, not a period of the watch later.
        if silence + self._check_period < self._state_timeout or not self._has_started:
            return
        unknown_state = RobotState(np.full(self._model.nq, np.nan), np.full(self._model.nv, np.nan))
        safe_command = self._supervisor.update(unknown_state, Reference(), self._check_period)
        stamp = self.get_clock().now().to_msg()
        if self._age <= self._max_age:
            self._effort_topics.publish(safe_command.torque, safe_command.wrench_base, stamp)
        reason = f"no usable state for {silence:.1f} s; holding against gravity and damping"
        reason += self._last_refusal
        self._publish(replace(safe_command, reason=reason), stamp)

    def _publish(self, command: Command, stamp: Time) -> None:
        header = self._frames.header(self._frames.inertial, stamp)
        self._state_publisher.publish(to_controller_state(header, command))
        self._report_diagnostics(command)

    def _report_diagnostics(self, command: Command) -> None:
        """Publish the status, and the means that ensures passivity, on /diagnostics."""
        energy = command.energy
        passivity, level = "by the law, without an energy tank", OK
        values: dict[str, object] = {"status": command.status.name}
        if getattr(self.controller.gains, "tank_capacity", 0.0) > 0.0:
            passivity = "ensured by the energy tank"
            if energy.tank_level < -_TANK_ROUNDING:
                passivity, level = f"broken: the energy tank owes {-energy.tank_level:.3g} J", WARN
            values["tank level (J)"] = f"{energy.tank_level:.3e}"
            values["unaccounted energy (J)"] = f"{energy.unaccounted_energy:.3e}"
        values["passivity"] = passivity
        values["age of states (s)"] = f"{self._age:.3f}"
        values["closed-loop energy (J)"] = f"{energy.closed_loop_energy:.3e}"
        if command.status is not Status.OK:
            level = WARN
        self._health.report(level, command.reason or "running", values)
        self._health.tick()


def main() -> None:
    """Run the node in its own process."""
    run(ControllerNode)

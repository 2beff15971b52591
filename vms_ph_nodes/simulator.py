# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Simulates the robot: integrates its port-Hamiltonian form and publishes the topics of a robot."""

import time
from typing import TYPE_CHECKING, Any

from builtin_interfaces.msg import Time
from rcl_interfaces.msg import SetParametersResult
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.lifecycle import LifecycleState, TransitionCallbackReturn
from rclpy.parameter import Parameter
from rclpy.task import Future
from std_srvs.srv import SetBool, Trigger
from vms_ph.srv import StepSimulation

from vms_ph_dynamics import VMSModel
from vms_ph_dynamics.capture import Body
from vms_ph_dynamics.simulation import Control, Sample
from vms_ph_io.wings import hook

from .messages.conversions import NS_PER_SEC, to_stamp
from .messages.frames import Frames
from .node.agreement import SIMULATOR
from .node.health import ERROR, OK, PAUSED, SPEED_KEY, WARN
from .node.parameters import declare
from .node.process import ManagedNode, run
from .node.robot_parameters import RobotParameters
from .simulation.engine import Engine
from .simulation.external_efforts import Brake, ExternalEfforts
from .simulation.robot_publishers import ActuatorPublisher, ExergyPublisher, RobotPublishers
from .simulation.scene_publishers import GraspPublishers, ScenePublishers

if TYPE_CHECKING:
    from .controller import ControllerNode


# Largest number of late ticks that are caught up; the simulator drops the others. A controller
# elsewhere takes states that are at most 0.1 s late (its state_age).
_MAX_LATE_TICKS, _MAX_LATE_TICKS_WALL_TIME = 25, 5

# Share of dropped ticks above which the log says so.
_REPORTED_DROPS = 0.1

# Time for which a dropped tick is reported in the diagnostics, ns.
_GRACE = 2 * NS_PER_SEC

# Time after which a callback leaves the rest of its work to the next: services must answer, ns.
_MAX_CALLBACK_NS = NS_PER_SEC // 20

_MAX_STEPS = 1_000_000


class Simulator(ManagedNode):
    """Steps a simulation in real time; docs/nodes.md lists topics and services."""

    PARAMETER_FILE = "simulator"

    def __init__(self) -> None:
        super().__init__("simulator")
        robot_parameters = RobotParameters(self, default="panda")
        self.step: float = declare(self, "step")
        self.rate: float = declare(self, "rate")
        self._speed: float = declare(self, "real_time_factor")
        self._engine = Engine(self, robot_parameters)
        description = robot_parameters.description()
        self.model: VMSModel = robot_parameters.model(description)
        self._home = self._engine.initial_configuration(self.model, description)
        self._has_floor: bool = declare(self, "floor", robot_parameters.settings.on_floor())
        self._engine.check_floor(self._has_floor)
        # The legs are those of a wing.
        self._leg: Any = None
        if self._has_floor or robot_parameters.settings.on_floor():
            self._leg = hook("hopping", "nodes.leg_simulation", user="floor:=true").LegParameters(
                self, self._has_floor
            )
        if self._has_floor:
            self._home = self._leg.initial_configuration(self.model, self._home)
        self._steps_per_tick = max(1, round(1.0 / (max(self.rate, 100.0) * self.step)))
        self._ticks_per_sample = max(1, round(1.0 / (self.rate * self._steps_per_tick * self.step)))
        self._controller: ControllerNode | None = None
        self.simulation = self._make_simulation(None)

        self._paused, self._tick_count, self._dropped_ticks, self._drop_ns = False, 0, 0, -_GRACE
        self._failure, self._remaining_steps = "", 0
        self._step_outcome: Future | None = None
        frames = Frames.from_model(self.model, declare(self, "frame_prefix"))
        self._topics = RobotPublishers(self, self.model, frames, description)
        self._grasp_topics = GraspPublishers(
            self, self.model, self._home, self._engine, frames, self._announce_body
        )
        self._scene_topics = self._exergy = None
        if (scene := self._engine.scene) is not None:
            self._scene_topics = ScenePublishers(self, frames, scene.scene)
        if self._engine.is_ephs or self._engine.actuators is not None:
            self._exergy = ExergyPublisher(self)
        self._actuator_topic = ActuatorPublisher(self, self.simulation)
        self._efforts = ExternalEfforts(self, self.model, frames)
        self._brake = Brake(self.model, robot_parameters.allocation())
        self._has_brake: bool = declare(self, "brakes") and not self._has_floor
        self._on_wheels = bool(robot_parameters.settings.wheels)
        self.create_service(Trigger, "~/reset", self._on_reset)
        self.create_service(SetBool, "~/pause", self._on_pause)
        if self._engine.payload is not None:
            self.create_service(SetBool, "~/hold_payload", self._on_hold)
        self.add_on_set_parameters_callback(self._on_parameters)
        # A group of its own: a request that waits for its steps must not keep others waiting.
        callback_group = ReentrantCallbackGroup()
        self.create_service(StepSimulation, "~/step", self._on_step, callback_group=callback_group)
        self._health.declare_robot(self.model, SIMULATOR)
        self._set_time_origin()
        self._topics.publish_static(self._home, self.stamp())
        tick_period = self._steps_per_tick * self.step / self._speed
        self.create_timer(tick_period, self._tick, clock=self._steady)

    def close_loop(self, controller: "ControllerNode") -> None:
        """Set the controller of this process, whose ``control`` is called at every step."""
        self._controller, self._has_brake = controller, False
        self.simulation = self._make_simulation(controller.control)
        self._actuator_topic.set_failed(self.simulation, self._actuator_topic.failed_actuators)

    def stamp(self) -> Time:
        """Return the stamp of the current simulated time."""
        return to_stamp(self._stamp_origin + round(self.simulation.time * NS_PER_SEC))

    def on_activate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Resume simulated time."""
        self._resume_time()
        return super().on_activate(state)

    def on_deactivate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Stop simulated time."""
        self._finish_steps("the simulator was deactivated")
        self._health.report(OK, "inactive", self._diagnostics())
        return super().on_deactivate(state)

    def on_cleanup(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Reset the robot to its initial configuration, at rest."""
        self._restart()
        return super().on_cleanup(state)

    def _announce_body(self, body: Body | None, sample: Sample | None) -> None:
        if self._controller is not None:
            self._controller.set_carried_body(body, sample)

    def _make_simulation(self, control: Control | None) -> Any:
        if self._has_floor:
            return self._leg.simulation(
                self.model, self._home, self.step, control, self._controller
            )
        return self._engine.simulation(self._home, self.step, control)

    @property
    def _follows_wall_time(self) -> bool:
        """Whether stamps follow the clock, by which a controller elsewhere knows their age."""
        return self._controller is None and not self._topics.publishes_clock

    def _set_time_origin(self, last_stamp: int = 0) -> None:
        """Set the origin of simulated time to the current time, after the last stamp, ns."""
        # With /clock, stamps begin after one step, as zero means none. Otherwise they begin now, or
        # where those of before ended: ~/step may have taken them ahead.
        step = round(self.step * NS_PER_SEC)
        now = max(time.time_ns(), last_stamp + step)
        self._stamp_origin = step if self._topics.publishes_clock else now
        self._steady_start = self._steady.now().nanoseconds
        self._tick_count = self._dropped_ticks = 0

    def _tick(self) -> None:
        if self._remaining_steps:
            self._take_steps()
        if self._paused or self._failure or not self.is_active:
            return
        run_time = (self._steady.now().nanoseconds - self._steady_start) / NS_PER_SEC * self._speed
        due_ticks = int(run_time / (self._steps_per_tick * self.step)) - self._tick_count
        max_ticks = _MAX_LATE_TICKS_WALL_TIME if self._follows_wall_time else _MAX_LATE_TICKS
        if due_ticks > max_ticks:
            excess = due_ticks - max_ticks
            self._dropped_ticks += excess
            self._drop_ns = self._steady.now().nanoseconds
            share = self._dropped_ticks / (self._dropped_ticks + self._tick_count)
            if share > _REPORTED_DROPS and self._tick_count > 10 * max_ticks:
                text = f"too slow for real time: {share:.0%} of the ticks were dropped"
                self.get_logger().warning(text, throttle_duration_sec=10.0)
            lost_ns = round(excess * self._steps_per_tick * self.step * NS_PER_SEC / self._speed)
            self._steady_start += lost_ns
            self._stamp_origin += lost_ns if self._follows_wall_time else 0
            due_ticks = max_ticks
        deadline = self._steady.now().nanoseconds + _MAX_CALLBACK_NS
        for _ in range(due_ticks):
            self._advance(self._steps_per_tick)
            if self._failure:
                return
            self._tick_count += 1
            if self._tick_count % self._ticks_per_sample == 0:
                self._publish()
            if self._steady.now().nanoseconds > deadline:
                return

    def _advance(self, steps: int) -> None:
        """Take steps, and let the end effector take and set down its payload between them."""
        while steps and not self._failure:
            step_count = self._grasp_topics.steps_before_change(self.simulation, steps)
            if step_count:
                self._integrate(step_count)
            steps -= step_count
            self._grasp_topics.change_payload_when_due(self.simulation)

    def _integrate(self, steps: int) -> None:
        simulation = self.simulation
        external = self._efforts.efforts(simulation.time + steps * self.step)
        if self._has_brake and not self._efforts.is_commanded:
            sample, base = self._sample(), self._efforts.drives_base and not self._on_wheels
            external = self._brake.efforts(sample.q, sample.v, steps * self.step, external, base)
            if not simulation.steps:  # from the first step on
                simulation.apply(external)
        self._engine.advance(simulation, steps, external)
        self._topics.publish_clock(self.stamp())
        if simulation.is_finite():
            is_late = self._steady.now().nanoseconds - self._drop_ns < _GRACE and not self._paused
            message = "too slow for real time" if is_late else self._activity()
            self._health.report(WARN if is_late else OK, message, self._diagnostics())
            return
        self._failure = (
            f"the simulation stands at {simulation.time:.6g} s, in its last state: "
            f"{simulation.failure or 'the state is not finite'}; call ~/reset to begin anew"
        )
        self._finish_steps(self._failure)
        self.get_logger().error(self._failure)
        self._health.report(ERROR, self._failure, self._diagnostics())

    def _sample(self) -> Sample:
        return self._grasp_topics.with_payload(self.simulation, self.simulation.sample())

    def _activity(self) -> str:
        return PAUSED if self._paused else "running"

    def _diagnostics(self) -> dict[str, object]:
        return {
            "simulated time (s)": f"{self.simulation.time:.2f}",
            SPEED_KEY: f"{self._speed:g}",
            "ticks dropped": self._dropped_ticks,
            "steps halved": self.simulation.failures,
            **self._engine.values(self.simulation),
        }

    def _restart(self) -> None:
        """Begin anew: at the start, at rest, without the efforts received so far."""
        self._finish_steps("the simulation was reset")
        last_stamp = self._stamp_origin + round(self.simulation.time * NS_PER_SEC)
        self._efforts.forget()
        if self._controller is not None:
            self._controller.restart()
        self._grasp_topics.restart(self.simulation)
        if self._failure:
            self._failure = ""
            self.get_logger().info("the simulation goes on after a reset")
        self._set_time_origin(last_stamp)
        self._topics.publish_clock(self.stamp())  # before the first state, whose stamp goes back

    def _publish(self) -> None:
        stamp = self.stamp()
        if self._scene_topics is not None:
            self._scene_topics.publish(self.simulation, stamp)
        if self._exergy is not None:
            mechanism = self._engine.held_mechanism
            self._exergy.publish(self.simulation, stamp, mechanism, self._grasp_topics.payload_use)
        self._actuator_topic.publish(self.simulation, stamp)
        self._grasp_topics.publish(self.simulation, stamp)
        self._topics.publish(self._sample(), stamp, self.simulation.resets)
        self._health.tick()
        if self._controller is not None:
            self._controller.publish_record(stamp)

    def _resume_time(self) -> None:
        now, sim_time = self._steady.now().nanoseconds, round(self.simulation.time * NS_PER_SEC)
        self._steady_start = now - round(sim_time / self._speed)
        if self._follows_wall_time:
            self._stamp_origin = max(self._stamp_origin, time.time_ns() - sim_time)
        self._tick_count = self.simulation.steps // self._steps_per_tick

    def _on_parameters(self, parameters: list[Parameter]) -> SetParametersResult:
        for parameter in parameters:
            if parameter.name == "failed_actuators":
                refusal = self._actuator_topic.set_failed(self.simulation, parameter.value)
                if refusal:
                    return SetParametersResult(successful=False, reason=refusal)
            if parameter.name == "real_time_factor":
                self._speed = float(parameter.value)
                self._resume_time()
                self._report_activity()
        return SetParametersResult(successful=True)

    def _on_reset(self, request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        self._restart()
        if self._paused:  # nothing else follows that shows the robot and its new energy balance
            self._publish()
        response.success = True
        response.message = "reset to the initial configuration, at rest; a new energy audit begins"
        return response

    def _on_pause(self, request: SetBool.Request, response: SetBool.Response) -> SetBool.Response:
        self._finish_steps("the simulation was paused" if request.data else "it was resumed")
        if self._paused and not request.data:
            self._resume_time()
        self._paused = request.data
        self._report_activity()
        response.success, response.message = True, self._activity()
        return response

    def _on_hold(self, request: SetBool.Request, response: SetBool.Response) -> SetBool.Response:
        if self._failure or not self.is_active:
            response.message = self._failure or "the simulator is not active; activate it first"
            return response
        response = self._grasp_topics.set_hold(self.simulation, request, response)
        if response.success and self._paused:
            self._publish()
        return response

    def _report_activity(self) -> None:
        """Say how time goes on, which may stand: no step then says it."""
        if self.is_active and not self._failure:
            self._health.report(OK, self._activity(), self._diagnostics())

    async def _on_step(
        self, request: StepSimulation.Request, response: StepSimulation.Response
    ) -> StepSimulation.Response:
        refusal = ""
        if request.steps == 0:  # for those who join while time stands
            self._topics.publish_transforms(self._sample(), self.stamp())
        elif not (refusal := self._step_refusal(request.steps)):
            # The timer takes those beyond the first slice: ~/pause and ~/reset can end them.
            self._remaining_steps = request.steps
            self._step_outcome = future = Future()
            self._take_steps()
            refusal = str(await future)
            if not refusal:
                self._publish()
        response.success = not refusal
        response.message = refusal or f"at {self.simulation.time:.6g} s"
        response.stamp = self.stamp()
        return response

    def _step_refusal(self, steps: int) -> str:
        """Return why steps cannot be taken now, or an empty string."""
        if not self.is_active:
            return "the simulator is not active; activate it first"
        if not self._paused:
            return "the simulation is running; pause it before stepping"
        if not 1 <= steps <= _MAX_STEPS:
            return f"steps must be from 1 to {_MAX_STEPS}; given: {steps}"
        if self._remaining_steps:
            return f"{self._remaining_steps} steps of another request are left; ~/pause ends them"
        return self._failure

    def _take_steps(self) -> None:
        """Take steps that were asked for, as many as one callback may."""
        deadline = self._steady.now().nanoseconds + _MAX_CALLBACK_NS
        while self._remaining_steps and self._steady.now().nanoseconds < deadline:
            steps = min(self._remaining_steps, self._steps_per_tick)
            self._advance(steps)
            self._remaining_steps = max(0, self._remaining_steps - steps)
        if not self._remaining_steps:
            self._finish_steps("")

    def _finish_steps(self, reason: str) -> None:
        """Answer the request for steps; ``reason`` it ends early is empty if all were taken."""
        self._remaining_steps, future = 0, self._step_outcome
        self._step_outcome = None
        if future is not None:
            future.set_result(reason and f"ended at {self.simulation.time:.6g} s: {reason}")


def main() -> None:
    """Run the node."""

    def make() -> Simulator:
        simulator = Simulator()
        simulator.begin()
        return simulator

    run(make)

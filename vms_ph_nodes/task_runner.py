# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Gives a robot the references of a task at their times, and judges its goals."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from builtin_interfaces.msg import Time
from rclpy.executors import ExternalShutdownException
from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_msgs.msg import Header
from std_srvs.srv import SetBool, Trigger
from vms_ph.msg import Exergy, PayloadState, Power, TaskProgress

from vms_ph_controllers.hosting.loading import make_controller
from vms_ph_dynamics import Array, VMSModel
from vms_ph_dynamics.simulation.robot_task import RobotTask
from vms_ph_io.robots.robot_settings import RobotSettings
from vms_ph_io.tasks.robot_tasks import is_of_leg
from vms_ph_io.tasks.task_goals import ActuatorUse, Judge, PayloadJudge, WheelUse, goal_lines
from vms_ph_io.tasks.task_reference import TaskReference

from .messages.conversions import NS_PER_SEC, from_stamp, from_xyz, nonfinite_path
from .messages.frames import Frames
from .messages.observations import momentum_of
from .node.health import OK, WARN
from .node.parameters import declare
from .node.process import ReportingNode, run
from .node.robot_parameters import RobotParameters
from .simulation.scene_publishers import MECHANISM_STATES, PAYLOAD_STATE, mechanism_angle
from .task_settings import leg_tasks, load_for_nodes, node_settings
from .topics.references import ReferencePublishers
from .topics.robot_motion import MotionListener, RobotMotion

Goals = Mapping[str, Mapping[str, Any]]
"""Goals by name, with what, wanted, obtained (None before it was judged) and met."""

# Time without states after which a task that runs once is given up, s.
_STATE_TIMEOUT = 60.0

# Time for the last messages to reach others before the process ends, s.
_DELIVERY_TIME = 0.5

_POLL_PERIOD = 0.1

# The errors that each kind of reference is for.
_ERROR_NAMES = {"pose": ("base", "attitude"), "position": ("end_effector",), "joints": ("joints",)}


class TaskRunner(ReportingNode):
    """Runs the task of its parameters on the topics of the robot.

    It waits for simulator and controller, resets the simulation and then goes by the stamps of the
    states, so that a task takes its simulated time however fast that passes. A reset begins the
    task anew.
    """

    PARAMETER_FILE = "task_runner"  # config/parameters/task_runner.yaml
    INPUT = "joint states"  # without which the heartbeat warns

    def __init__(self) -> None:
        """Take the task.

        Raises:
            VmsPhError: there is no such task, or nodes cannot run it.
        """
        super().__init__("task_runner")
        self.failed = False
        name: str = declare(self, "task")
        self._task = task = load_for_nodes(name)
        self._duration: float = declare(self, "seconds") or task.min_duration
        self._once: bool = declare(self, "once")
        self._report_period: float = declare(self, "period")
        simulator: str = declare(self, "simulator")
        controller: str = declare(self, "controller")
        prefix: str = declare(self, "frame_prefix")
        arguments = RobotParameters(self, default=task.robot).arguments
        settings, model = node_settings(task)
        launch_settings = settings.with_changes(arguments)
        if launch_settings != settings:
            settings, model = launch_settings, launch_settings.model(launch_settings.description())
        law_name = arguments.get("controller") or task.controller
        wheels = settings.wheel_form(model)
        law = make_controller(law_name, model, settings.allocation(), task.base_actuated, wheels)
        self._takes_base_and_tool = law.LEADS_BASE_AND_TOOL
        self._model, self._is_simulated = model, bool(simulator)
        self._start_q = settings.initial_configuration(model)
        self._score: Any = (
            leg_tasks(name).LegScore(self, name, model, self._is_simulated)
            if is_of_leg(name)
            else TaskScore(self, task, settings, model, self._is_simulated)
        )
        frames = Frames.from_model(model, prefix)
        kinds = [k for k, names in _ERROR_NAMES.items() if any(map(self._has_reference_for, names))]
        self._reference_publishers = ReferencePublishers(self, controller, model, frames, kinds)
        self._progress_publisher = self.create_publisher(TaskProgress, "vms_ph/task", 10)
        self._health.declare_robot(model)
        self._last_state_ns = self._steady.now().nanoseconds
        self._stage, self._end_ns = "waiting", 0
        # Resets of the simulation: at the last state, before the task, and in it.
        self._reset_count, self._previous_reset_count, self._start_reset_count = -1, -1, None
        if self._is_simulated:
            self._pause_client = self.create_client(SetBool, f"{simulator}/pause")
            self._reset_client = self.create_client(Trigger, f"{simulator}/reset")
        self._listener = MotionListener(
            self,
            model,
            self._on_motion,
            lambda why: self._health.report(WARN, f"ignored: {why}"),
            extra_types=self._score.topics,
        )
        self._health.report(WARN, "waits for the states of the robot")
        self.create_timer(_POLL_PERIOD, self._poll, clock=self._steady)

    def _has_reference_for(self, error_name: str) -> bool:
        """Whether the task has references for one of the errors."""
        has_goal = any(goal.error == error_name for goal in self._task.goals.values())
        return has_goal or any(target.concerns(error_name) for target in self._task.targets)

    def _poll(self) -> None:
        now = self._steady.now().nanoseconds
        if self._end_ns and self._once and now - self._end_ns > _DELIVERY_TIME * NS_PER_SEC:
            raise ExternalShutdownException
        if self._stage == "running":
            self._reference_publishers.repeat_for_new_subscribers()
        elif self._stage == "ready":
            self._try_start()
        silence = (now - self._last_state_ns) / NS_PER_SEC
        if self._once and not self._end_ns and silence > _STATE_TIMEOUT:
            self.failed = True
            self.get_logger().error(
                f"task {self._task.name}: no state of the robot for {silence:.0f} s; given up"
            )
            raise ExternalShutdownException

    def _try_start(self) -> None:
        """Let the task begin: on a simulator from its start, while time stands."""
        if not self._reference_publishers.have_subscribers:
            self._health.report(WARN, "waits for the controller")
            return
        if not self._is_simulated:
            self._begin_run()
            return
        if not (self._pause_client.service_is_ready() and self._reset_client.service_is_ready()):
            self._health.report(WARN, "waits for the services of the simulator")
            return
        self._stage = "starting"
        self.executor.create_task(self._start_simulation)

    async def _start_simulation(self) -> None:
        await self._pause_client.call_async(SetBool.Request(data=True))
        # A state of the new run may arrive before the answer.
        self._previous_reset_count = self._reset_count
        await self._reset_client.call_async(Trigger.Request())
        self._begin_run()
        await self._pause_client.call_async(SetBool.Request(data=False))

    def _begin_run(self) -> None:
        """Begin at the start."""
        self._stage, self._start_reset_count = "running", None
        self._start_stamp: int | None = 0 if self.get_parameter("use_sim_time").value else None
        self._published_until = self._last_report_time = -1.0
        self._target_count = self._end_ns = 0
        task = self._task
        self._reference = TaskReference(task, self._model, self._start_q, self._takes_base_and_tool)
        self._score.reset(self._reference, self._start_q)
        self._reference_publishers.forget()
        self.get_logger().info(f"task {task.name}: {task.title}")
        self._publish_due(0.0)

    def _publish_due(self, time: float) -> None:
        """Publish what is due at a time of the task, s."""
        end_time = time + 0.5 * self._task.step
        due_targets = list(self._task.targets_between(max(self._published_until, 0.0), end_time))
        # A reference that moves is held until the next state: it is that of the middle.
        lead = 0.0
        if self._published_until > 0.0:
            lead = 0.5 * max(end_time - self._published_until, 0.0)
        reference = self._reference.reference_between(self._published_until, end_time, lead)
        self._reference_publishers.publish(reference)
        self._published_until = end_time
        self._target_count += len(due_targets)
        if due_targets and len(self._task.targets) <= 10:  # more draw a figure
            self.get_logger().info(
                f"at {time:.3f} s: target {self._target_count} of {len(self._task.targets)}"
            )

    def _on_motion(self, motion: RobotMotion) -> None:
        self._last_state_ns = self._steady.now().nanoseconds
        self._health.tick()
        energies = motion.port_energies
        reset_count = self._reset_count if energies is None else energies.resets
        if self._stage != "running":
            self._reset_count = reset_count
            if self._stage == "waiting":
                self._stage = "ready"
                if not self._is_simulated:
                    self._start_q = motion.d.q
            return
        if self._start_reset_count is None:
            if self._is_simulated and reset_count == self._previous_reset_count:
                return
            self._start_reset_count = reset_count
        elif reset_count != self._start_reset_count:
            self.get_logger().info("the simulation was reset; the task begins anew")
            self._begin_run()
            self._start_reset_count = reset_count
        stamp = from_stamp(motion.stamp)
        if self._start_stamp is None:
            self._start_stamp = stamp
        if not self._end_ns:
            self._judge_motion((stamp - self._start_stamp) / NS_PER_SEC, motion)

    def _judge_motion(self, time: float, motion: RobotMotion) -> None:
        self._publish_due(time)
        self._score.update(time, motion)
        if 0.0 < self._task.repeat <= time and self._is_simulated and not self._once:
            self._stage = "ready"  # it begins anew
            return
        if time - self._last_report_time < self._report_period and time < self._duration:
            return
        self._last_report_time = time
        goals = self._score.goals()
        message = self._progress_message(motion.stamp, time, goals)
        self._progress_publisher.publish(message)
        missed_goals = [
            name
            for name, is_judged in zip(message.goals, message.judged, strict=True)
            if not goals[name]["met"] and (is_judged or message.ended)
        ]
        duration = f"{time:.1f} of {self._duration:g} s"
        progress_text = f"ended at {time:.1f} s" if message.ended else duration
        progress_text += f"; not met: {', '.join(missed_goals)}" if missed_goals else ""
        values = {name: goal["obtained"] for name, goal in goals.items()}
        self._health.report(WARN if missed_goals else OK, progress_text, values)
        if message.ended:
            self._report_verdict(time, goals, message.met)

    def _progress_message(self, stamp: Time, time: float, goals: Goals) -> TaskProgress:
        """Return the message of a time of the task, s; until the end, goals may wait for theirs."""
        has_ended = time >= self._duration
        obtained_values = [goal["obtained"] for goal in goals.values()]
        is_judged = [value is not None for value in obtained_values]
        is_met = [bool(goal["met"]) for goal in goals.values()]
        return TaskProgress(
            header=Header(stamp=stamp),
            task=self._task.name,
            time=time,
            end=self._duration,
            given=self._target_count,
            targets=len(self._task.targets),
            ended=has_ended,
            met=all(m or not (j or has_ended) for m, j in zip(is_met, is_judged, strict=True)),
            goals=list(goals),
            what=[goal["what"] for goal in goals.values()],
            wanted=[float(goal["wanted"]) for goal in goals.values()],
            obtained=[math.nan if value is None else float(value) for value in obtained_values],
            judged=is_judged,
        )

    def _report_verdict(self, time: float, goals: Goals, met: bool) -> None:
        self._end_ns = self._steady.now().nanoseconds
        self.failed = self._once and not met
        if self._once and self._is_simulated:
            self._pause_client.call_async(SetBool.Request(data=True))
        log = self.get_logger().info if met else self.get_logger().warning
        is_missed = any(goal["obtained"] is not None and not goal["met"] for goal in goals.values())
        verdict = "met" if met else "NOT MET" if is_missed else "NOT ALL JUDGED"
        log(f"task {self._task.name} after {time:.2f} s: goals {verdict}")
        for line in goal_lines(goals, self._task.min_duration):
            log(line)


class TaskScore:
    """The errors of the robot, and what its actuators, joints, wheels and energies were.

    In a simulation also ``vms_ph/actuator_states`` and the unaccounted energy are judged: the
    residual of ``vms_ph/exergy`` where the base has actuators, else that of ``vms_ph/power``. A
    mechanism is judged by ``vms_ph/mechanism_states``, a payload by ``vms_ph/payload_state``.
    """

    def __init__(
        self, node: Node, task: RobotTask, settings: RobotSettings, model: VMSModel, simulated: bool
    ) -> None:
        """Subscribe to what is judged besides the motion.

        Raises:
            VmsPhError: the actuators or wheels of the settings are not valid.
        """
        self._task, self._model, self._is_simulated = task, model, simulated
        self._actuators = settings.chosen_actuators() if simulated else None
        self._wheel_form = settings.wheel_form(model)
        if self._actuators is not None:
            node.create_subscription(JointState, "vms_ph/actuator_states", self._on_actuators, 10)
            node.create_subscription(Exergy, "vms_ph/exergy", self._on_exergy, 10)
        elif simulated:
            node.create_subscription(Power, "vms_ph/power", self._on_power, 10)
        self._reset_uses()

    @property
    def topics(self) -> dict[str, Any]:
        """Types of the messages that a motion is to have with it, by topic."""
        types: dict[str, Any] = {}
        if self._task.mechanism is not None:
            types[MECHANISM_STATES] = JointState
        if self._task.payload is not None:
            types[PAYLOAD_STATE] = PayloadState
        return types

    def reset(self, reference: TaskReference, start_q: Array) -> None:
        """Begin anew.

        Args:
            reference: reference that the law is given.
            start_q: (nq,) configuration that the task begins in.
        """
        task, model = self._task, self._model
        self._judge = Judge(task, reference, self._mechanism_errors)
        self._reference = reference
        self._motion: RobotMotion | None = None
        self._handle_position = model.placement(model.end_effector, start_q)[:3, 3].copy()
        self._payload_score: PayloadScore | None = None
        if task.payload is not None:
            self._payload_score = PayloadScore(PayloadJudge(task.payload, model, start_q))
        self._reset_uses()

    def update(self, time: float, motion: RobotMotion) -> None:
        """Take a motion at a time of the task, s."""
        self._motion = motion
        if self._payload_score is not None:
            self._payload_score.update(motion.extra_messages.get(PAYLOAD_STATE))
        self._judge.update(time, lambda: (motion.d.q, motion.d.v))
        self._actuator_use.take_torque(motion.torque)
        if self._wheel_use is not None:
            self._wheel_use.update(motion.d.q, motion.d.v)

    def goals(self) -> dict[str, dict[str, Any]]:
        """Return what was wanted and obtained; None where nothing was received yet."""
        goals = {**self._judge.goals(), **self._actuator_use.goals()}
        if self._wheel_use is not None:
            goals |= self._wheel_use.goals()
        if self._payload_score is not None:
            goals |= self._payload_score.goals()
        if not self._is_simulated:
            return goals
        for name in ("actuators", "rates"):
            if self._actuators is not None and name in goals and not self._has_actuator_states:
                goals[name] |= {"obtained": None, "met": False}
        return goals | {"unaccounted": self._judge.balance_goal(self._unaccounted_energy)}

    def _mechanism_errors(self) -> dict[str, float]:
        """Return the errors of the mechanism, as far as its angle is known."""
        mechanism, motion = self._task.mechanism, self._motion
        if mechanism is None or motion is None or MECHANISM_STATES not in motion.extra_messages:
            return {}
        if (angle := mechanism_angle(motion.extra_messages[MECHANISM_STATES])) is None:
            return {}
        position = motion.d.placement(self._model.end_effector)[:3, 3]
        grip_offset = self._handle_position + mechanism.displacement(angle) - position
        angle_error = abs(angle - self._reference.angle)
        return {"mechanism": angle_error, "grip": float(np.linalg.norm(grip_offset))}

    def _reset_uses(self) -> None:
        self._actuator_use = ActuatorUse(self._model, self._actuators)
        self._wheel_use = None
        if self._wheel_form is not None:
            self._wheel_use = WheelUse(self._wheel_form, self._task.wheels)
        self._has_actuator_states, self._unaccounted_energy = False, None

    def _on_actuators(self, message: JointState) -> None:
        actuators = self._actuators
        if actuators is None or list(message.name) != list(actuators.names):
            return
        self._has_actuator_states = True
        self._actuator_use.take(np.array(message.effort), np.array(message.velocity))

    def _on_exergy(self, message: Exergy) -> None:
        self._unaccounted_energy = message.residual

    def _on_power(self, message: Power) -> None:
        self._unaccounted_energy = message.unaccounted_energy


class PayloadScore:
    """What is published of a payload, judged."""

    def __init__(self, judge: PayloadJudge) -> None:
        """Begin; ``judge`` has seen nothing yet."""
        self._judge = judge
        self._last_message: PayloadState | None = None
        self._initial_momentum: Array | None = None

    def update(self, message: PayloadState | None) -> None:
        """Take a message with finite numbers."""
        if message is None or nonfinite_path(message):
            return
        if self._last_message is None:
            self._initial_momentum = momentum_of(message)
        self._last_message = message
        if message.state == PayloadState.CARRIED:
            self._judge.update(from_xyz(message.pose.position))

    def goals(self) -> dict[str, dict[str, Any]]:
        """Return what was wanted and obtained; None where nothing was received yet."""
        message = self._last_message
        if message is None:
            return self._judge.goals(None, self._judge.handle, False, (None, None))
        momenta = self._initial_momentum, momentum_of(message)
        capture_distance = message.distance if message.tried else None
        is_set_down = message.state == PayloadState.SET_DOWN
        position = from_xyz(message.pose.position)
        return self._judge.goals(capture_distance, position, is_set_down, momenta)


def main() -> None:
    """Run the node."""
    run(TaskRunner)

# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The goals of a task, judged by what nodes measure and publish."""

from typing import Any

import numpy as np
from rclpy.node import Node
from sensor_msgs.msg import JointState
from vms_ph.msg import Exergy, PayloadState, Power

from vms_ph_dynamics import Array, VMSModel
from vms_ph_dynamics.simulation.robot_task import RobotTask
from vms_ph_io.robots.robot_settings import RobotSettings
from vms_ph_io.tasks.task_goals import ActuatorUse, Judge, PayloadJudge, WheelUse
from vms_ph_io.tasks.task_reference import TaskReference

from ..messages.conversions import from_xyz, is_finite
from ..messages.observations import momentum_of
from ..simulation.scene_publishers import MECHANISM_STATES, PAYLOAD_STATE, mechanism_angle
from ..topics.robot_motion import RobotMotion


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
        self._task, self._model, self._simulated = task, model, simulated
        self._actuators = settings.chosen_actuators() if simulated else None
        self._rolling = settings.wheel_form(model)
        if self._actuators is not None:
            node.create_subscription(JointState, "vms_ph/actuator_states", self._on_actuators, 10)
            node.create_subscription(Exergy, "vms_ph/exergy", self._on_exergy, 10)
        elif simulated:
            node.create_subscription(Power, "vms_ph/power", self._on_power, 10)
        self._restart_uses()

    @property
    def topics(self) -> dict[str, Any]:
        """Types of the messages that a motion is to have with it, by topic."""
        types: dict[str, Any] = {}
        if self._task.mechanism is not None:
            types[MECHANISM_STATES] = JointState
        if self._task.payload is not None:
            types[PAYLOAD_STATE] = PayloadState
        return types

    def reset(self, reference: TaskReference, home: Array) -> None:
        """Begin anew.

        Args:
            reference: what the law is given.
            home: (nq,) configuration that the task begins in.
        """
        task, model = self._task, self._model
        self._judge = Judge(task, reference, self._mechanism_errors)
        self._reference = reference
        self._motion: RobotMotion | None = None
        at_rest = model.evaluate(home, np.zeros(model.nv))
        self._handle = at_rest.placement(model.end_effector)[:3, 3].copy()
        self._payload: PayloadScore | None = None
        if task.payload is not None:
            self._payload = PayloadScore(PayloadJudge(task.payload, model, home))
        self._restart_uses()

    def update(self, time: float, motion: RobotMotion) -> None:
        """Take a motion at a time of the task, s."""
        self._motion = motion
        if self._payload is not None:
            self._payload.update(motion.beside.get(PAYLOAD_STATE))
        self._judge.update(time, lambda: (motion.d.q, motion.d.v))
        self._use.command(motion.torque)
        if self._wheels is not None:
            self._wheels.update(motion.d.q, motion.d.v)

    def goals(self) -> dict[str, dict[str, Any]]:
        """Return what was wanted and obtained; None where nothing was received yet."""
        goals = {**self._judge.goals(), **self._use.goals()}
        if self._wheels is not None:
            goals |= self._wheels.goals()
        if self._payload is not None:
            goals |= self._payload.goals()
        if not self._simulated:
            return goals
        for name in ("actuators", "rates"):
            if self._actuators is not None and name in goals and not self._has_actuator_states:
                goals[name] |= {"obtained": None, "met": False}
        residual, most = self._residual, self._task.unaccounted
        goals["unaccounted"] = {
            "what": "residual of the energy balance (J)",
            "wanted": most,
            "obtained": residual,
            "met": residual is not None and abs(residual) <= most,
        }
        return goals

    def _mechanism_errors(self) -> dict[str, float]:
        """Return the errors of the mechanism, as far as its angle is known."""
        mechanism, motion = self._task.mechanism, self._motion
        if mechanism is None or motion is None or MECHANISM_STATES not in motion.beside:
            return {}
        angle = mechanism_angle(motion.beside[MECHANISM_STATES])
        if angle is None:
            return {}
        position = motion.d.placement(self._model.end_effector)[:3, 3]
        stretch = self._handle + mechanism.displacement(angle) - position
        angle_error = abs(angle - self._reference.angle)
        return {"mechanism": angle_error, "grip": float(np.linalg.norm(stretch))}

    def _restart_uses(self) -> None:
        self._use = ActuatorUse(self._model, self._actuators)
        self._wheels = None
        if self._rolling is not None:
            self._wheels = WheelUse(self._rolling, self._task.wheels)
        self._has_actuator_states, self._residual = False, None

    def _on_actuators(self, message: JointState) -> None:
        actuators = self._actuators
        if actuators is None or list(message.name) != list(actuators.names):
            return
        self._has_actuator_states = True
        self._use.take(np.array(message.effort), np.array(message.velocity))

    def _on_exergy(self, message: Exergy) -> None:
        self._residual = message.residual

    def _on_power(self, message: Power) -> None:
        self._residual = message.unaccounted_energy


class PayloadScore:
    """What is published of a payload, judged."""

    def __init__(self, judge: PayloadJudge) -> None:
        """Begin; ``judge`` has seen nothing yet."""
        self._judge = judge
        self._last: PayloadState | None = None
        self._before: Array | None = None

    def update(self, message: PayloadState | None) -> None:
        """Take a message with finite numbers."""
        if message is None or not is_finite(message):
            return
        if self._last is None:
            self._before = momentum_of(message)
        self._last = message
        if message.state == PayloadState.CARRIED:
            self._judge.update(from_xyz(message.pose.position))

    def goals(self) -> dict[str, dict[str, Any]]:
        """Return what was wanted and obtained; None where nothing was received yet."""
        last = self._last
        if last is None:
            return self._judge.goals(None, self._judge.handle, False, None)
        after = momentum_of(last)
        momenta = None if self._before is None or after is None else (self._before, after)
        capture_distance = last.distance if last.tried else None
        is_set_down = last.state == PayloadState.SET_DOWN
        return self._judge.goals(
            capture_distance, from_xyz(last.pose.position), is_set_down, momenta
        )

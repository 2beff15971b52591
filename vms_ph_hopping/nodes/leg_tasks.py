# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Tasks of legs under nodes: their settings, and their goals judged by what nodes publish."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np
from rclpy.node import Node
from vms_ph.msg import Power

from vms_ph_dynamics import Array, OptionError, VMSModel, momenta
from vms_ph_dynamics.simulation.robot_task import RobotTask
from vms_ph_io.tasks.task_goals import ActuatorUse
from vms_ph_io.tasks.task_reference import TaskReference
from vms_ph_nodes.topics.robot_motion import RobotMotion

from .. import hopping_tasks
from ..flights import SHORTEST_FLIGHT
from ..hopping_tasks import HOP_ERRORS, HoppingTask

CONTROLLER = "vms_ph_hopping:HoppingController"

# The law of tasks of legs under nodes, and its control step, s: the integrator has its own.
_LAW, _STEP = "II", 1e-3


def load(name: str) -> HoppingTask:
    """Return a task of a leg that nodes can run, by its name or the path of its file.

    Raises:
        OptionError: there is no such task, or its law is not that of nodes.
        ModelError: its file is not valid.
    """
    task = hopping_tasks.load(name)
    if task.law != _LAW:
        raise OptionError(
            f"the task '{name}' has the law {task.law}; that of nodes is {_LAW}, and "
            f"'vms-ph demo {name}' runs it"
        )
    return task


def robot_task(name: str) -> RobotTask:
    """Return what all nodes know of a task of a leg, which has no references and no goals there.

    Raises:
        OptionError, ModelError: as :func:`load`.
    """
    task = load(name)
    return RobotTask(
        task.name,
        task.title,
        task.robot,
        controller=CONTROLLER,
        gains=task.gains,
        step=_STEP,
        max_residual=task.unaccounted,
        min_duration=task.shortest,
    )


def simulator_parameters(name: str) -> dict[str, Any]:
    """Return the parameters ``hop.*`` of the simulator for a task of a leg."""
    task = load(name)
    parameters: dict[str, Any] = {"hop.tolerance": float(task.tolerance)}
    if task.friction is not None:
        parameters["hop.friction"] = float(task.friction)
    for key in ("start", "velocity"):
        if getattr(task, key):
            parameters[f"hop.{key}"] = [float(number) for number in getattr(task, key)]
    return parameters


class LegScore:
    """The hops of a leg, seen from its states in flight, and the energies of ``vms_ph/power``.

    In flight, which is without a wrench at the foot, the centre of mass moves on a parabola: every
    state of a flight tells its height and its speed. The fall at the beginning is no hop.
    """

    topics: Mapping[str, Any] = MappingProxyType({})

    def __init__(self, node: Node, name: str, model: VMSModel, is_simulated: bool) -> None:
        """Take a task by its name; subscribe to the energy balance of a simulation."""
        task = load(name)
        self._task, self._model, self._is_simulated = task, model, is_simulated
        if is_simulated:
            node.create_subscription(Power, "vms_ph/power", self._on_power, 10)

    def reset(self, reference: TaskReference, home: Array) -> None:
        """Begin anew; a leg has no references."""
        self._actuator_use = ActuatorUse(self._model, None)
        self._max_errors: dict[str, float] = {}
        self._flight_start: float | None = None
        self._has_landed = False
        self._unaccounted_energy: float | None = None

    def update(self, time: float, motion: RobotMotion) -> None:
        """Take a motion at a time of the task, s."""
        self._actuator_use.take_torque(motion.torque)
        if motion.wrench is None or motion.wrench.any():
            self._flight_start, self._has_landed = None, True
            return
        if self._flight_start is None:
            self._flight_start = time
        if not self._has_landed or time - self._flight_start < SHORTEST_FLIGHT:
            return
        momentum = momenta(motion.d)
        gravity = float(np.linalg.norm(self._model.gravity))
        forward, upward, _ = momentum.spatial[:3] / self._model.total_mass
        height = float(momentum.centre_of_mass[1])
        apex = height + 0.5 * float(upward) ** 2 / gravity
        quantities = {"apex": apex, "speed": float(forward)}
        for name, goal in self._task.goals.items():
            if self._flight_start >= goal.after:
                error = abs(quantities[goal.of] - goal.at)
                self._max_errors[name] = max(self._max_errors.get(name, 0.0), error)

    def goals(self) -> dict[str, dict[str, Any]]:
        """Return what was wanted and obtained; None where nothing was received yet."""
        task = self._task
        goals: dict[str, dict[str, Any]] = {}
        for name, goal in task.goals.items():
            goals[name] = _verdict(HOP_ERRORS[goal.of], goal.within, self._max_errors.get(name))
        goals["efforts"] = self._actuator_use.goals()["torques"]
        if self._is_simulated:
            description = "residual of the energy balance (J)"
            goals["unaccounted"] = _verdict(description, task.unaccounted, self._unaccounted_energy)
        return goals

    def _on_power(self, message: Power) -> None:
        self._unaccounted_energy = message.unaccounted_energy


def _verdict(goal_text: str, largest_error: float, obtained: float | None) -> dict[str, Any]:
    is_met = obtained is not None and abs(obtained) <= largest_error
    return {"what": goal_text, "wanted": largest_error, "obtained": obtained, "met": is_met}

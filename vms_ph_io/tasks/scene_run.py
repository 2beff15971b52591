# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""A robot in a scene with contacts, from start to end, judged by the goals of its task."""

import time as clock
from dataclasses import replace
from typing import Any

import numpy as np

from vms_ph_controllers import Controller, Reference, RobotState
from vms_ph_controllers.hosting.loading import make_controller
from vms_ph_controllers.hosting.supervisor import Supervisor
from vms_ph_dynamics import Array, OptionError, StandardForm, VMSModel, VmsPhError
from vms_ph_dynamics.simulation import Simulation
from vms_ph_dynamics.simulation.contact.mujoco_engine import MujocoEngine
from vms_ph_dynamics.simulation.contact.scene import Scene
from vms_ph_dynamics.simulation.contact.task import ForceGoal, Goal, PlaceGoal, Task

from ..descriptions.robot_shapes import robot_shapes
from ..robots.robot_settings import RobotSettings
from ..settings import scenes
from ..settings.plugin_tags import numbers
from .task_goals import apply_gains, at_most

# What the gains of a task, those of CartesianImpedance, are called by laws that call a spring and
# a damper of the end effector otherwise.
_GAIN_SYNONYMS = {"stiffness": "task_stiffness", "damping": "damping_task"}

# Name of the link at the point that a law controls.
_POINT = "vms_ph_point"

# Steps between two samples of forces, and those for which the law's efforts are held.
_SAMPLE_STEPS, _HOLD_STEPS = 5, 2


def run_scene(
    name: str, *, seconds: float = 0.0, step: float = 1e-3, controller: str = ""
) -> dict[str, Any]:
    """Return how a scene ends.

    Args:
        name: of a bundled scene, or path of a file of one with a task.
        seconds: simulated time, s; the shortest of the task if zero.
        step: control and integrator step, s.
        controller: instead of the law of the task.

    Returns:
        The goals with what was wanted and obtained, the energies by port, what is unaccounted (J),
        and the ratio of simulated to computing time.

    Raises:
        VmsPhError: a value is not accepted, or the motion cannot be continued.
    """
    file = scenes.load(name)
    if file.task is None:
        raise OptionError(f"the scene '{name}' has no task; scenes with one: {scenes.names()}")
    task = file.task.with_controller(controller) if controller else file.task
    return _SceneRun(file.scene, task, step).simulate(seconds or task.min_duration)


class _SceneRun:
    def __init__(self, scene: Scene, task: Task, step: float) -> None:
        settings = RobotSettings(task.robot).for_task(task)
        description = settings.description()
        self._model: VMSModel = settings.model(description)
        q = settings.initial_configuration(self._model)
        self._task, self._scene = task, scene
        self._law: Controller | None = None
        if task.controller:
            allocation = settings.allocation()
            model = self._model_at_point(settings, description)
            self._law = make_controller(task.controller, model, allocation)
            synonyms = _GAIN_SYNONYMS if hasattr(self._law.gains, "task_stiffness") else {}
            renamed_gains = {synonyms.get(k, k): v for k, v in task.gains.items()}
            accepted_gains = apply_gains(self._law, renamed_gains)
            self._stiffness = accepted_gains.get(synonyms.get("stiffness", "stiffness"), np.inf)
            self._supervisor = Supervisor(self._law, allocation)
            self._supervisor.reset(RobotState(q, np.zeros(self._model.nv)))
        self._last_move: Any = None
        self._time, self._call_count = 0.0, 0
        self._command: Any = None
        self._forces: dict[str, list[Array]] = {
            goal.body: [] for goal in task.goals.values() if isinstance(goal, ForceGoal)
        }
        self._engine = MujocoEngine(scene, robot_shapes(self._model, description))
        self.simulation = Simulation(
            StandardForm(self._model),
            q,
            step,
            None if self._law is None else self._control,
            task.joint_friction,
            joint_stops=True,
            engine=self._engine,
        )

    def _model_at_point(self, settings: RobotSettings, description: str) -> VMSModel:
        """Return the robot with the point that the law controls as its end effector."""
        point = self._task.point
        if not point.any():
            return self._model
        xml = (
            f'<link name="{_POINT}"/><joint name="{_POINT}_joint" type="fixed">'
            f'<parent link="{self._model.end_effector}"/><child link="{_POINT}"/>'
            f'<origin xyz="{numbers(point)}"/></joint></robot>'
        )
        return replace(settings, end_effector=_POINT).model(description.replace("</robot>", xml))

    def simulate(self, seconds: float) -> dict[str, Any]:
        """Simulate, and return what is found at the end."""
        start_time, simulation = clock.process_time(), self.simulation
        for remaining_steps in range(round(seconds / simulation.dt), 0, -_SAMPLE_STEPS):
            simulation.advance(min(_SAMPLE_STEPS, remaining_steps))
            if not simulation.is_finite():
                raise VmsPhError(f"the motion cannot be continued: {simulation.failure}")
            if self._forces and self._task.judges_forces(simulation.time):
                contacts = self._engine.contacts()
                for name, forces in self._forces.items():
                    reactions = (contact.force for contact in contacts if contact.body == name)
                    forces.append(-sum(reactions, np.zeros(3)))
        cpu_time = clock.process_time() - start_time
        sample = simulation.sample()
        goals = {name: self._goal_state(goal) for name, goal in self._task.goals.items()}
        return {
            "scene": self._scene.name,
            "robot": self._task.robot,
            "controller": self._task.controller or "none",
            "seconds": simulation.time,
            "goals": goals,
            "met": all(goal["met"] for goal in goals.values()),
            "port_energy": dict(sample.port_energy),
            "dissipated": sample.dissipated,
            "unaccounted": simulation.unaccounted_energy(),
            "real_time_factor": simulation.time / cpu_time,
        }

    def _control(self, q: Array, v: Array, dt: float) -> Any:
        # The first call comes before the first step.
        self._call_count += 1
        if (self._call_count - 1) % _HOLD_STEPS:
            return self._command
        move = self._task.move(self._time)
        self._time += _HOLD_STEPS * dt
        reference = Reference()
        if move is not None and move is not self._last_move:
            self._last_move = move
            reference = Reference(position=move.position + move.push / self._stiffness)
        self._command = self._supervisor.update(RobotState(q, v), reference, _HOLD_STEPS * dt)
        return self._command

    def _goal_state(self, goal: Goal) -> dict[str, Any]:
        if isinstance(goal, ForceGoal):
            target_force = float(np.linalg.norm(goal.force))
            forces = np.array(self._forces[goal.body] or [np.zeros(3)])
            components = forces @ (goal.force / target_force)
            mean_force, force_deviation = float(components.mean()), float(components.std())
            return {
                "what": f"force on {goal.body} (N)",
                "wanted": target_force,
                "obtained": mean_force,
                "spread": force_deviation,
                "met": abs(mean_force - target_force) / target_force <= goal.share,
            }
        if isinstance(goal, PlaceGoal):
            position = self._position_of(goal.body)
            distance = float(np.linalg.norm((position - goal.position)[list(goal.axes)]))
            return at_most(goal.tolerance, f"distance of {goal.body} from its place (m)", distance)
        speed = float(np.abs(self.simulation.sample().v).max())
        return at_most(goal.speed, "largest speed (rad/s, m/s)", speed)

    def _position_of(self, name: str) -> Array:
        if name != "end_effector":
            return self._engine.pose_of(name)[:3, 3]
        return self._model.placement(self._model.end_effector, self.simulation.sample().q)[:3, 3]

# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""A robot at a task, from start to end, judged by the goals of the task."""

import time as clock
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from vms_ph_controllers import Controller, RobotState
from vms_ph_controllers.hosting.loading import make_controller
from vms_ph_controllers.hosting.loop_control import Sensor
from vms_ph_controllers.hosting.supervisor import Supervisor
from vms_ph_dynamics import Array, OptionError, Ports, StandardForm, VMSModel
from vms_ph_dynamics.energy.audit import ExergyMap
from vms_ph_dynamics.nonholonomic import NonholonomicForm, wheeled_form
from vms_ph_dynamics.simulation import Engine, FormEngine, Simulation, WaterCurrent, in_world_axes
from vms_ph_dynamics.simulation.robot_task import RobotTask

from ..descriptions.robot_shapes import robot_shapes
from ..settings import scenes
from . import robot_tasks
from .payload_use import PayloadUse, energies_between, with_grasp
from .task_goals import ActuatorUse, Judge, PayloadJudge, WheelUse, apply_gains
from .task_reference import TaskReference
from .uncertainty import Uncertainty

# Steps between two samples of the errors.
_SAMPLE_STEPS = 5


MakeLaw = Callable[..., Controller]
"""Makes a law from name, model, allocation and ``form``, with ``base_actuated=False`` where the
base has no actuators; see :func:`.make_controller`."""

_NO_UNCERTAINTY = Uncertainty()


def run_task(
    task: str | RobotTask,
    *,
    seconds: float = 0.0,
    controller: str = "",
    uncertainty: Uncertainty = _NO_UNCERTAINTY,
    make_law: MakeLaw = make_controller,
    native: bool | None = None,
) -> dict[str, Any]:
    """Return how a task ends.

    Args:
        task: a task, the name of a bundled one, or the path of its file.
        seconds: simulated time, s; the shortest of the task if zero.
        controller: instead of the law of the task, with those gains of the task that it has.
        uncertainty: what the law does not know of robot and start, and how it measures.
        make_law: makes the law; see :data:`MakeLaw`.
        native: whether law and integrator run in C++; where they can, if None.

    Returns:
        The goals with what was wanted and obtained, the energies, the residual of their balance
        (J), why the motion could not be continued (else empty), and the ratio of simulated to
        computing time.

    Raises:
        VmsPhError: a value is not accepted.
    """
    loaded = robot_tasks.load(task) if isinstance(task, str) else task
    loaded = replace(loaded, controller=controller or loaded.controller)
    if seconds < 0.0:
        raise OptionError(f"seconds={seconds:g}: a duration of at least zero is accepted")
    return TaskRun(loaded, uncertainty, make_law, native).simulate(seconds or loaded.min_duration)


def _engine(scene: str, model: VMSModel, description: str) -> Engine | None:
    """Return MuJoCo with a scene; None without one."""
    if not scene:
        return None
    from vms_ph_dynamics.simulation.contact.mujoco_engine import MujocoEngine

    return MujocoEngine(scenes.load(scene).scene, robot_shapes(model, description))


class TaskRun:
    """One run of a task.

    A current of water carries the frame in which the motion is integrated: the equations of a
    body in a steady uniform current are those in water at rest, seen from the water. The law
    gets the motion in the inertial frame; the energies are those seen from the water, and the power
    of a thruster is that of the water that flows through it.

    Attributes:
        simulation: of the robot.
        model: model that the law knows.
    """

    def __init__(
        self,
        task: RobotTask,
        uncertainty: Uncertainty = _NO_UNCERTAINTY,
        make_law: MakeLaw = make_controller,
        native: bool | None = None,
    ) -> None:
        """Put the robot where its task begins.

        Args:
            task: robot, law, disturbances and targets.
            uncertainty: what the law does not know of the robot and of its state.
            make_law: makes the law; see :data:`MakeLaw`.
            native: whether law and integrator run in C++; where they can, if None.

        Raises:
            VmsPhError: the law has no such gain, a current acts on a robot that is not in water,
                or a wind on one that does not float.
        """
        self._task, self._time, self._reference_end = task, 0.0, -1.0
        settings = robot_tasks.settings_of(task)
        description = settings.description()
        model = robot_tasks.model_of(settings, description)
        if native is False:
            model = model.with_native(False)
        self.model = model
        home = settings.initial_configuration(model)
        allocation, actuators = settings.allocation(), settings.chosen_actuators()
        water_current = WaterCurrent(task.current) if task.current.any() else None
        wheel_form = wheeled_form(model, task.wheels)
        self._make_law, self._allocation = make_law, allocation
        if not task.base_actuated:
            self._make_law = partial(make_law, base_actuated=False)
        self._wheel_use = None if wheel_form is None else WheelUse(wheel_form, task.wheels)
        self._payload: PayloadUse | None = None
        if task.payload is not None:
            if wheel_form is not None:
                raise OptionError("a payload is for robots without 'wheels' that do not slip")
            self._payload = PayloadUse(task.payload, model, home)
            self._payload_judge = PayloadJudge(task.payload, model, home)
        self._make_supervised_law(model, wheel_form)
        self._reference = TaskReference(task, model, home, self.law.LEADS_BASE_AND_TOOL)
        start_q = uncertainty.start_configuration(model, home)
        self._supervisor.reset(RobotState(start_q, np.zeros(model.nv)))
        self._sensor = Sensor(
            model, task.step, uncertainty.noise, uncertainty.delay, uncertainty.seed
        )
        plant = uncertainty.plant(model)
        if task.wind is not None:
            task.wind.check(model)
            plant = plant.with_tools((*plant.tools, model.link_names[0]))
        self._plant = self._unloaded_plant = plant
        self._actuator_use = ActuatorUse(model, actuators)
        self.simulation = Simulation(
            wheeled_form(plant, task.wheels) or StandardForm(plant),
            start_q,
            task.step,
            self._control,
            task.joint_friction,
            actuators=None if wheel_form is not None else actuators,
            mechanism=task.mechanism,
            current=water_current,
            engine=_engine(task.scene, model, description) or FormEngine(native=native),
        )
        self._mechanism = self.simulation.mechanism
        self._exergy_at_start = self._exergy()
        self._initial_momentum = self._total_momentum()
        self._error_judge = Judge(task, self._reference, self._mechanism_errors)

    def _make_supervised_law(self, model: VMSModel, wheels: NonholonomicForm | None = None) -> None:
        """Make the law of the task for a model, and its supervisor."""
        task = self._task
        law = self._make_law(task.controller, model, self._allocation, form=wheels)
        missing_gains = sorted(set(task.gains) - set(apply_gains(law, task.gains)))
        if missing_gains and task.controller == type(law).__name__:
            raise OptionError(f"{task.controller} has no gains {', '.join(missing_gains)}")
        self.law = law
        is_base_actuated = task.base_actuated and wheels is None
        self._supervisor = Supervisor(law, self._allocation, is_base_actuated)

    def _restart_law(self, model: VMSModel) -> None:
        """Go on with the law for a model with other inertias; it starts where the robot is."""
        if model is not self.law.model:
            self._make_supervised_law(model)
            self._supervisor.reset(RobotState(*self.state()))
            self._reference_end = -1.0

    def simulate(self, seconds: float) -> dict[str, Any]:
        """Simulate, and return what is found at the end."""
        start_time, simulation = clock.process_time(), self.simulation
        steps = round(seconds / simulation.dt)
        times = () if self._payload is None else self._payload.change_times
        payload_steps = {step for time in times if (step := round(time / simulation.dt)) <= steps}
        for stop in sorted({*range(_SAMPLE_STEPS, steps, _SAMPLE_STEPS), steps, *payload_steps}):
            self._integrate(stop - simulation.steps)
            if not simulation.is_finite():
                break
            if stop in payload_steps:
                assert self._payload is not None
                self._plant = self._payload.change(simulation, self._unloaded_plant)
                self._restart_law(self._payload.law_model(self.model))
            if self._payload is not None and self._payload.load is not None:
                self._payload_judge.update(self._payload.handle_position(simulation.sample().q))
            self._error_judge.update(simulation.time, self.state)
        cpu_time = clock.process_time() - start_time
        failure = "" if simulation.is_finite() else simulation.failure or "not finite"
        goals = {**self._error_judge.goals(), **self._actuator_use.goals()}
        goals |= {} if self._wheel_use is None else self._wheel_use.goals()
        if self._payload is not None:
            goals |= self._payload_judge.goals(
                self._payload.capture_distance,
                self._payload.handle_position(simulation.sample().q),
                self._payload.is_set_down,
                (self._initial_momentum, self._total_momentum()),
            )
        exergy = self._exergy()
        goals["unaccounted"] = self._error_judge.balance_goal(exergy.residual)
        return {
            "task": self._task.name,
            "robot": self._task.robot,
            "controller": type(self.law).__name__,
            "seconds": simulation.time,
            "goals": goals,
            "met": not failure and all(goal["met"] for goal in goals.values()),
            "failure": failure,
            "energy": energies_between(self._exergy_at_start, exergy),
            "unaccounted": exergy.residual,
            "real_time_factor": simulation.time / max(cpu_time, 1e-9),
        }

    def state(self) -> tuple[Array, Array]:
        """Return the motion in the inertial frame now, q (nq,) and v (nv,)."""
        sample = self.simulation.sample()
        return sample.q, sample.v

    def _integrate(self, steps: int) -> None:
        task, plant = self._task, self._plant
        if task.wind is None and task.push is None:
            self.simulation.advance(steps, Ports())
            return
        for _ in range(steps):
            sample, efforts = self.simulation.sample(), Ports()
            if task.wind is not None:
                efforts += task.wind.ports(plant, sample.q, sample.v, sample.time + task.step)
            if task.push is not None:
                efforts += Ports(wrench_end_effector=task.push.wrench(sample.time))
            self.simulation.advance(1, in_world_axes(plant, efforts, [plant.end_effector]))

    def _control(self, q: Array, v: Array, dt: float) -> Any:
        """Return the command of the law; the first call comes before the first step."""
        time, self._time = self._time, self._time + dt
        self._actuator_use.update(getattr(self, "simulation", None))
        if self._wheel_use is not None:
            self._wheel_use.update(q, v)
        reference = self._reference.reference_between(self._reference_end, time + 0.5 * dt)
        self._reference_end = time + 0.5 * dt
        command = self._supervisor.update(self._sensor.measure(q, v), reference, dt)
        self._actuator_use.take_torque(command.torque)
        return command

    def _exergy(self) -> ExergyMap:
        return with_grasp(self.simulation.exergy_map(), self._mechanism, self._payload)

    def _total_momentum(self) -> Array | None:
        if self._payload is None:
            return None
        return self._payload.momentum(self.simulation, self._plant)

    def _mechanism_errors(self) -> dict[str, float]:
        mechanism = self._mechanism
        if mechanism is None:
            return {}
        angle_error = abs(mechanism.angle - self._reference.angle)
        return {"mechanism": angle_error, "grip": mechanism.stretch}

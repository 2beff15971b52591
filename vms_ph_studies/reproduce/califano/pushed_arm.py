# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Simulation of an arm in closed loop that is pushed at its end effector, with its energies."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from vms_ph_controllers import Command, Reference, RobotState, TaskSpaceIDAPBC
from vms_ph_dynamics import VMSModel
from vms_ph_dynamics.arrays import Array
from vms_ph_dynamics.forms import CanonicalForm, PHState, Ports, TaskSpaceForm
from vms_ph_dynamics.integrators.runge_kutta import RK4
from vms_ph_dynamics.tasks import PositionTask

POSTURES = {
    "q0": np.array([0.0, -0.3, 0.0, -1.5, 0.0, 1.5, 0.0]),
    "q1": np.array([0.17, 1.69, -2.81, -1.47, 2.25, 3.67, -1.46]),
}
"""The minima of source D, rad."""

Law = Callable[[RobotState, float], Command]
"""A control law: (state, time since its last update, s) -> command."""


class Potential(Protocol):
    """The potential that a law shapes: a minimum, and an energy that is zero there."""

    @property
    def q_star(self) -> Array:
        """The minimum, (nq,)."""
        ...

    def energy(self, q: Array) -> float:
        """Return its value at a configuration (nq,), J."""
        ...


# Steps between two reports of the progress.
_REPORT_STEPS = 50

# Weights of the stages of the classical Runge-Kutta scheme.
_STAGE_WEIGHTS = (1 / 6, 1 / 3, 1 / 3, 1 / 6)


@dataclass(frozen=True)
class Push:
    """A force at the origin of the end effector, in inertial axes, from time zero on.

    Attributes:
        force: (3,) N.
        duration: s.
    """

    force: Array
    duration: float


@dataclass(frozen=True)
class PushRecord:
    """The response to a push, one sample for each step, computed outside the controller.

    Attributes:
        time: s. displacement: of the end effector from where it was, (steps+1,3) m.
        kinetic_task, kinetic_null, potential: of the closed loop, J.
        work: of the push so far, J. dissipated: by the injected damping so far, J.
    """

    time: Array
    displacement: Array
    kinetic_task: Array
    kinetic_null: Array
    potential: Array
    work: Array
    dissipated: Array

    @property
    def total(self) -> Array:
        """Energy of the closed loop, J."""
        return self.kinetic_task + self.kinetic_null + self.potential

    @property
    def distance(self) -> Array:
        """Norm of the displacement, m."""
        return np.asarray(np.linalg.norm(self.displacement, axis=1))


def push_arm(
    model: VMSModel,
    law: Law,
    potential: Potential,
    push: Push,
    seconds: float,
    step: float = 1e-3,
    is_sampled: bool = False,
    velocity: Array | None = None,
    progress: Callable[[float], None] | None = None,
) -> PushRecord:
    """Push an arm that is in the minimum of a potential.

    Args:
        model: on a fixed base; the push is at its end effector.
        law: control law.
        potential: potential shaped by the law, for the energies.
        push: push that begins with the record and ends on a step.
        seconds: simulated time, s.
        step: integrator step, s.
        is_sampled: whether the torque is held over each step instead of evaluated in every stage.
        velocity: initial velocity, (nv,); at rest if None.
        progress: receives the share of completed steps.
    """
    closed_loop = _ClosedLoop(model, law, push, step, is_sampled)
    form, task = CanonicalForm(model), PositionTask(model)
    task_form = TaskSpaceForm(model, task, reference=potential.q_star)
    x = form.state(potential.q_star, np.zeros(model.nv) if velocity is None else velocity)
    start_position = task.value(model.evaluate(x.q, np.zeros(model.nv)))
    rows = []
    work = dissipated = 0.0
    step_count = round(seconds / step)
    for k in range(step_count + 1):
        terms = task_form.evaluate(x.q, form.velocity(x))
        displacement = task.value(terms.d) - start_position
        potential_energy = potential.energy(x.q)
        energies = (terms.kinetic_task, terms.kinetic_null, potential_energy, work, dissipated)
        rows.append([k * step, *displacement, *energies])
        if k == step_count:
            break
        if progress is not None and k % _REPORT_STEPS == 0:
            progress(k / step_count)
        closed_loop.begin_step(k, x)
        step_result = RK4(form).step(x, closed_loop.ports, 0.0, step)
        work += step_result.supplied["wrench_end_effector"]
        for weight, command in zip(_STAGE_WEIGHTS, closed_loop.commands, strict=False):
            power = command.energy.damping_task + command.energy.damping_null
            dissipated += step * weight * power * (6.0 if is_sampled else 1.0)
        x = step_result.solver_state
    table = np.array(rows)
    return PushRecord(table[:, 0], table[:, 1:4], *table[:, 4:].T)


class _ClosedLoop:
    """The efforts during one step."""

    def __init__(self, model: VMSModel, law: Law, push: Push, step: float, sampled: bool) -> None:
        self._model, self._law, self._push = model, law, push
        self._step, self._is_sampled = step, sampled
        self._form = CanonicalForm(model)
        self._wrench = np.concatenate([push.force, np.zeros(3)])
        self.commands: list[Command] = []

    def begin_step(self, k: int, x: PHState) -> None:
        # The push acts over whole steps.
        self._is_pushed = (k + 0.5) * self._step < self._push.duration
        self.commands = []
        if self._is_sampled:
            self.commands.append(self._command(x))

    def ports(self, t: float, x: PHState) -> Ports:
        if not self._is_sampled:
            self.commands.append(self._command(x))
        wrench = None
        if self._is_pushed:
            d = self._model.evaluate(x.q, np.zeros(self._model.nv))
            rotation = d.placement(self._model.end_effector)[:3, :3]
            wrench = np.concatenate([self._push.force @ rotation, np.zeros(3)])
        return Ports(self.commands[-1].torque, None, wrench)

    def _command(self, x: PHState) -> Command:
        # Evaluated in every stage, the law is that in continuous time.
        dt = self._step if self._is_sampled else 0.0
        return self._law(RobotState(x.q, self._form.velocity(x)), dt)


def law_at(
    model: VMSModel, q_star: Array, gains: TaskSpaceIDAPBC.Gains, *, native: bool | None = None
) -> Law:
    """Return task-space IDA-PBC that holds a configuration, reset there.

    Args:
        model: of the arm.
        q_star: (nq,) the minimum.
        gains: of the law.
        native: whether the law runs in C++; None as the model does.
    """
    if native is not None:
        model = model.with_native(native)
    law, reference = TaskSpaceIDAPBC(model, gains), Reference()
    law.reset(RobotState(q_star, np.zeros(model.nv)))
    return lambda state, dt: law.update(state, reference, dt)

"""An arm in closed loop that is pushed at its end effector, and what its energies do."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from vms_ph_controllers import Command, RobotState
from vms_ph_dynamics import VMSModel
from vms_ph_dynamics.arrays import Array
from vms_ph_dynamics.integrators import rk4_step
from vms_ph_dynamics.structure import CanonicalForm, PHState, Ports, TaskSpaceForm
from vms_ph_dynamics.tasks import PositionTask

Law = Callable[[RobotState, float], Command]
"""A control law: (state, time since it was asked last, s) -> command."""


class Potential(Protocol):
    """What a law pulls to: a minimum, and an energy that is zero there."""

    @property
    def q_star(self) -> Array:
        """The minimum, (nq,)."""
        ...

    def energy(self, q: Array) -> float:
        """Return its value at a configuration (nq,), J."""
        ...


# Weights of the stages of the classical Runge-Kutta scheme.
_STAGES = (1 / 6, 1 / 3, 1 / 3, 1 / 6)


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
    """What a push did, a sample a step; computed from the motion, outside the controller.

    Attributes:
        time: s. displacement: of the end effector from where it was, (steps+1,3) m.
        kinetic_task, kinetic_null, potential: of the closed loop, J.
        work: of the push so far, J. dissipated: by the injected damping so far, J.
        joint_work: of the torques beyond holding the robot's weight, so far, J.
        commands: of the law, one a sample; the last one is that of the last step.
    """

    time: Array
    displacement: Array
    kinetic_task: Array
    kinetic_null: Array
    potential: Array
    work: Array
    dissipated: Array
    joint_work: Array
    commands: list[Command]

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
    held: bool = False,
    velocity: Array | None = None,
) -> PushRecord:
    """Push an arm that is in the minimum of a potential.

    Args:
        model: on a fixed base; the push is at its end effector.
        law: gives the torques.
        potential: that the law shapes, for the energies.
        push: begins with the record, and must end on a step.
        seconds: to be simulated.
        step: of the integrator, s.
        held: whether the law is asked once a step, its torque held, or in every stage.
        velocity: that it begins with, (nv,); at rest when None.
    """
    loop = _Loop(model, law, push, step, held)
    form, task = CanonicalForm(model), PositionTask(model)
    split = TaskSpaceForm(model, task, reference=potential.q_star)
    x = form.state(potential.q_star, np.zeros(model.nv) if velocity is None else velocity)
    rest = task.value(model.evaluate(x.q, np.zeros(model.nv)))
    rows, commands = [], []
    work = lost = joints = 0.0
    weight = model.evaluate(x.q, np.zeros(model.nv)).potential_energy
    steps = round(seconds / step)
    for k in range(steps + 1):
        t = split.evaluate(x.q, form.velocity(x))
        away = task.value(t.d) - rest
        shaped = potential.energy(x.q)
        lifted = t.d.potential_energy - weight
        energies = (t.kinetic_task, t.kinetic_null, shaped, work, lost, joints - lifted)
        rows.append([k * step, *away, *energies])
        if k == steps:
            break
        loop.begin(k, x)
        done = rk4_step(form, x, loop.ports, 0.0, step)
        commands.append(loop.commands[0])
        work += done.supplied["wrench_end_effector"]
        joints += done.supplied["torque"]
        for share, command in zip(_STAGES, loop.commands, strict=False):
            power = command.energy.damping_task + command.energy.damping_null
            lost += step * share * power * (6.0 if held else 1.0)
        x = done.state
    table = np.array(rows)
    return PushRecord(table[:, 0], table[:, 1:4], *table[:, 4:].T, commands=commands)


class _Loop:
    """The efforts during one step."""

    def __init__(self, model: VMSModel, law: Law, push: Push, step: float, held: bool) -> None:
        self._model, self._law, self._push = model, law, push
        self._step, self._held = step, held
        self._form = CanonicalForm(model)
        self._wrench = np.concatenate([push.force, np.zeros(3)])
        self.commands: list[Command] = []

    def begin(self, k: int, x: PHState) -> None:
        # A step is pushed as a whole or not at all.
        self._pushed = (k + 0.5) * self._step < self._push.duration
        self.commands = []
        if self._held:
            self.commands.append(self._ask(x))

    def ports(self, t: float, x: PHState) -> Ports:
        if not self._held:
            self.commands.append(self._ask(x))
        wrench = None
        if self._pushed:
            at = self._model.evaluate(x.q, np.zeros(self._model.nv))
            rotation = at.placement(self._model.end_effector)[:3, :3]
            wrench = np.concatenate([self._push.force @ rotation, np.zeros(3)])
        return Ports(self.commands[-1].torque, None, wrench)

    def _ask(self, x: PHState) -> Command:
        return self._law(RobotState(x.q, self._form.velocity(x)), self._step)

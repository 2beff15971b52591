# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Comparison of task-space IDA-PBC and operational-space impedance control under pushes.

This comparison is not in the sources: source D compares with no other controller.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import numpy as np

from vms_ph_controllers import Command, ControlEnergy, RobotState, TaskSpaceIDAPBC
from vms_ph_controllers.potentials.shaped_potential import ShapedPotential, weight_of_task_stiffness
from vms_ph_dynamics import Array, PositionTask, TaskEvaluation, TaskSpaceForm, VMSModel
from vms_ph_io import robots
from vms_ph_io.progress import Progress

from ..check import Check, verdict_of
from ..figures import Panel, draw
from ..reproduce.califano.pushed_arm import (
    POSTURES,
    Law,
    Potential,
    Push,
    PushRecord,
    law_at,
    push_arm,
)
from ..study import Outcome, Parameter, Settings, Stages, Study


class OperationalSpaceLaw:
    """``tau = g - J^T (K_t dx + D_t dx') - (I - J^+ J) (K_n (q - q*) + D_n q')``.

    The posture is held by a spring and a damper that are projected into the null space with the
    Moore-Penrose inverse. A projected spring has no potential: around a closed path it
    supplies or absorbs energy. Its torque accelerates the task, as the projector ignores inertia.
    """

    def __init__(
        self,
        model: VMSModel,
        q_star: Array,
        stiffness: tuple[float, float],
        damping: tuple[float, float],
    ) -> None:
        """Set stiffness (N/m, N m/rad) and damping (N s/m, N m s/rad) of task and posture."""
        self.q_star = q_star
        self._model, self._task = model, PositionTask(model)
        self._stiffness, self._damping = stiffness, damping
        self._x_star = np.array(self._task.value(model.evaluate(q_star, np.zeros(model.nv))))

    def update(self, state: RobotState, dt: float) -> Command:
        """Return the torques for a state."""
        d = self._model.evaluate(state.q, state.v)
        jacobian = self._task.jacobian(d)
        projector = np.eye(self._model.n) - np.linalg.pinv(jacobian) @ jacobian
        eta, nu = jacobian @ d.v, projector @ d.v
        task_damping, null_damping = self._damping[0] * eta, self._damping[1] * nu
        torque = d.g - self.spring_torque(state.q) - jacobian.T @ task_damping - null_damping
        energy = ControlEnergy(
            damping_task=float(eta @ task_damping), damping_null=float(nu @ null_damping)
        )
        return Command(np.zeros(0), torque, energy)

    def spring_torque(self, q: Array) -> Array:
        """Return the torques of the springs, (n,)."""
        d = self._model.evaluate(q, np.zeros(self._model.nv))
        jacobian = self._task.jacobian(d)
        projector = np.eye(self._model.n) - np.linalg.pinv(jacobian) @ jacobian
        force = self._stiffness[0] * (self._task.value(d) - self._x_star)
        return jacobian.T @ force + self._stiffness[1] * projector @ (q - self.q_star)

    def energy(self, q: Array) -> float:
        """Return the energy of the two springs without the projector, J."""
        d = self._model.evaluate(q, np.zeros(self._model.nv))
        position_error, posture_error = self._task.value(d) - self._x_star, q - self.q_star
        task_energy = 0.5 * self._stiffness[0] * float(position_error @ position_error)
        return task_energy + 0.5 * self._stiffness[1] * float(posture_error @ posture_error)


_Record = TypeVar("_Record")

# Points on a closed path of the joints; quadrature is exact to rounding for smooth periodic paths.
_PATH_POINTS = 400


@dataclass(frozen=True)
class _Contender:
    """A law, the potential of its springs, and their torques."""

    name: str
    law: Law
    potential: Potential
    spring_torque: Callable[[Array], Array]


def _compute(settings: Settings, out: Path | None, progress: Progress) -> Outcome:
    model = robots.load("panda")
    q_star = POSTURES[str(settings["posture"])]
    task = PositionTask(model)
    terms = TaskSpaceForm(model, task, reference=q_star).evaluate(q_star, np.zeros(model.nv))
    stiffness = float(settings["task_stiffness"]), float(settings["null_stiffness"])
    damping = float(settings["damping_task"]), float(settings["damping_null"])

    gains = TaskSpaceIDAPBC.Gains(
        task_stiffness=stiffness[0],
        null_stiffness=stiffness[1],
        damping_task=damping[0],
        damping_null=damping[1],
        limit_stiffness=0.0,
    )
    weight = weight_of_task_stiffness(task, terms.d, stiffness[0] * np.eye(3), stiffness[1])
    potential = ShapedPotential(model, q_star, weight)
    baseline_law = OperationalSpaceLaw(model, q_star, stiffness, damping)
    contenders = (
        _Contender("Moore-Penrose", baseline_law.update, baseline_law, baseline_law.spring_torque),
        _Contender("IDA-PBC", law_at(model, q_star, gains), potential, potential.gradient),
    )
    push = Push(np.array([float(settings["force"]), 0.0, 0.0]), 0.15)
    null_velocity = _null_velocity(terms, float(settings["null_energy"]))
    stages = Stages(progress, 4)

    def simulate_push(name: str, push: Push, velocity: Array | None) -> list[PushRecord]:
        duration = float(settings["seconds"])
        return [
            push_arm(
                model,
                contender.law,
                contender.potential,
                push,
                duration,
                velocity=velocity,
                progress=stages.begin(f"{name}, {contender.name}"),
            )
            for contender in contenders
        ]

    push_records = simulate_push("push", push, None)
    null_records = simulate_push("null-space motion", Push(np.zeros(3), 0.0), null_velocity)
    path_works = [_closed_path_work(c, q_star, terms) for c in contenders]
    prefix = "unaccounted energy of the"
    elbow_name = "displacement by a null-space motion of the elbow, largest"
    rise_name = "rise of the stored energy in a step of the null-space motion, largest"
    checks = [
        _displacement_check(push_records),
        _baseline_check(
            "null-space energy by the push, largest",
            "J",
            push_records,
            lambda r: float(np.max(r.kinetic_null)),
        ),
        _baseline_check(f"{prefix} push, largest", "J", push_records, _open_energy),
        _baseline_check(elbow_name, "m", null_records, lambda r: float(np.max(r.distance))),
        _baseline_check(f"{prefix} null-space motion, largest", "J", null_records, _open_energy),
        _baseline_check(rise_name, "J", null_records, _largest_rise),
        _baseline_check("work of the springs around a closed path", "J", path_works, abs),
    ]
    files = [] if out is None else [_plot(contenders, push_records, null_records, out)]
    return Outcome(checks, files)


def _null_velocity(terms: TaskEvaluation, kinetic_energy: float) -> Array:
    """Return a null-space velocity with a given kinetic energy: a motion of the elbow."""
    eigenvalues, eigenvectors = np.linalg.eigh(terms.Lambda_nu)
    direction = terms.Z.T @ eigenvectors[:, -1]
    return np.asarray(np.sqrt(2.0 * kinetic_energy / eigenvalues[-1]) * direction)


def _closed_path_work(contender: _Contender, q_star: Array, terms: TaskEvaluation) -> float:
    """Return the work of the springs around a closed path of task and null-space motion, J."""
    task_axis, null_axis = terms.J_sharp[:, 0], terms.Z[0]
    task_axis, null_axis = 0.3 * task_axis / np.linalg.norm(task_axis), 0.3 * null_axis
    work = 0.0
    for angle in 2.0 * np.pi * np.arange(_PATH_POINTS) / _PATH_POINTS:
        q = q_star + (1.0 + np.cos(angle)) * task_axis + np.sin(angle) * null_axis
        tangent = -np.sin(angle) * task_axis + np.cos(angle) * null_axis
        work -= float(contender.spring_torque(q) @ tangent) * 2.0 * np.pi / _PATH_POINTS
    return work


def _open_energy(record: PushRecord) -> float:
    start_energy = record.total[0]
    return float(np.abs(record.total - start_energy + record.dissipated - record.work).max())


def _largest_rise(record: PushRecord) -> float:
    return max(0.0, float(np.max(np.diff(record.total))))


def _displacement_check(push_records: Sequence[PushRecord]) -> Check:
    baseline, obtained = (float(np.max(record.distance)) for record in push_records)
    return Check(
        "displacement by the push, largest; of the same size",
        "m",
        baseline,
        "baseline",
        obtained,
        None,
        verdict_of(0.5 * baseline <= obtained <= 1.5 * baseline),
        "The baseline is operational-space control with the Moore-Penrose inverse. With the same "
        "K_t it yields less: its posture spring, not decoupled from the task by the inertia, "
        "stiffens the task too.",
    )


def _baseline_check(
    name: str, unit: str, records: Sequence[_Record], quantity: Callable[[_Record], float]
) -> Check:
    baseline, obtained = (float(quantity(record)) for record in records)
    verdict = verdict_of(obtained <= baseline * (1 + 1e-9))
    return Check(name, unit, baseline, "baseline", obtained, None, verdict)


def _plot(
    contenders: Sequence[_Contender],
    push_records: Sequence[PushRecord],
    null_records: Sequence[PushRecord],
    out: Path,
) -> Path:
    panels = []
    names = [contender.name for contender in contenders]
    quantities: dict[str, Callable[[PushRecord], Array]] = {
        "||dx|| (mm)": lambda r: r.distance,
        "unaccounted energy (mJ)": lambda r: r.total - r.total[0] + r.dissipated - r.work,
    }
    for label, quantity in quantities.items():
        for title, records in (("pushed", push_records), ("null-space motion", null_records)):
            curves = {
                name: (r.time, 1e3 * quantity(r)) for name, r in zip(names, records, strict=True)
            }
            panels.append(Panel(title, "time (s)", label, curves))
    return draw(panels, out / "operational-space-comparison.png", 2)


STUDY = Study(
    id="operational-space-comparison",
    source="a comparison of this project",
    title="Task-space IDA-PBC beside operational-space control with the Moore-Penrose inverse",
    parameters={
        "posture": Parameter("q0", "to be held", ("q0", "q1")),
        "task_stiffness": Parameter(300.0, "of both laws, N/m"),
        "null_stiffness": Parameter(10.0, "of both laws, N m/rad"),
        "damping_task": Parameter(20.0, "of both laws, N s/m"),
        "damping_null": Parameter(2.0, "of both laws, N m s/rad"),
        "force": Parameter(10.0, "of the push along x, for 0.15 s, N"),
        "null_energy": Parameter(0.2, "energy of the elbow's motion in the null space, J"),
        "seconds": Parameter(2.0, "simulated after push or flick, s", above=0.0),
    },
    compute=_compute,
)

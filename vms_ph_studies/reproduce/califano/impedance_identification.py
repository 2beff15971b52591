# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The impedance of the closed loop, identified from pushes, beside what source D predicts."""

from pathlib import Path

import numpy as np
import numpy.typing as npt

from vms_ph_controllers import TaskSpaceIDAPBC
from vms_ph_controllers.laws.linear_impedance import LinearImpedance
from vms_ph_controllers.potentials.shaped_potential import ShapedPotential, weight_of_task_stiffness
from vms_ph_dynamics import VMSModel
from vms_ph_dynamics.arrays import Array
from vms_ph_dynamics.forms import TaskSpaceForm
from vms_ph_dynamics.tasks import PositionTask
from vms_ph_io import robots
from vms_ph_io.progress import Progress, Stages

from ...check import Check, bounded, compared, refuted_unless
from ...study import Outcome, Parameter, Settings, Study
from .figure_2 import POSTURES
from .held_minimum import law_at
from .pushed_arm import Push, push_arm

ComplexArray = npt.NDArray[np.complexfloating]

# Where the impedance is compared, 1/s: decaying from slow to fast, and swinging.
_RATES: tuple[complex, ...] = (1.0, 2.0, 5.0, 10.0, 20.0, 2 + 5j, 3 + 10j, 4 + 20j)

_PULSE = 0.15
_AXES = "xyz"

_WHY = (
    "[D (40)] neglects the compliance of the null space: (J W^-1 J^T)^-1 is what a constant force "
    "meets, and (40) only what a sudden one does"
)


class _PushedPanda:
    """The Panda at a posture, with a potential, at rest before a push."""

    def __init__(self, settings: Settings, stages: Stages) -> None:
        self.stages = stages
        self.model: VMSModel = robots.load("panda")
        self.q_star = POSTURES[str(settings["posture"])]
        self._force, self._step = float(settings["force"]), float(settings["step"])
        task = PositionTask(self.model)
        rest = np.zeros(self.model.nv)
        self.terms = TaskSpaceForm(self.model, task, reference=self.q_star).evaluate(
            self.q_star, rest
        )
        self.weight: Array = float(settings["stiffness"]) * np.eye(self.model.n)
        if float(settings["task_stiffness"]) > 0.0:
            stiffness = float(settings["task_stiffness"]) * np.eye(3)
            null = float(settings["stiffness"])
            self.weight = weight_of_task_stiffness(task, self.terms.d, stiffness, null)

    def predicted(self, damping_task: float, damping_null: float) -> LinearImpedance:
        null = len(self.terms.Z)
        return LinearImpedance(
            self.terms, self.weight, damping_task * np.eye(3), damping_null * np.eye(null)
        )

    def quickest_damping(self) -> tuple[float, float]:
        """Return D_t and D_nu with which the slowest motion dies out the fastest."""
        t, n = self.terms, self.model.nv
        grid = [(task, null) for task in (4, 8, 16, 32, 64) for null in (0.2, 0.4, 0.8, 1.6, 3.2)]

        def slowest(damping: tuple[float, float]) -> float:
            d = damping[0] * t.J.T @ t.J + damping[1] * t.N.T @ t.N
            forces = -np.linalg.solve(t.d.M, np.hstack([self.weight, d]))
            matrix = np.block([[np.zeros((n, n)), np.eye(n)], [forces]])
            return float(np.linalg.eigvals(matrix).real.max())

        return min(grid, key=slowest)

    def response(
        self, axis: int, damping_task: float, damping_null: float, pulse: float, seconds: float
    ) -> tuple[Array, Array]:
        """Return times and displacements (steps+1,3) per newton of a push along an axis."""
        gains = TaskSpaceIDAPBC.Gains(
            damping_task=damping_task, damping_null=damping_null, limit_stiffness=0.0
        )
        record = push_arm(
            self.model,
            law_at(self.model, self.q_star, gains, weight=self.weight),
            ShapedPotential(self.model, self.q_star, self.weight),
            Push(self._force * np.eye(3)[axis], pulse),
            seconds,
            self._step,
            progress=self.stages.begin(f"push along {_AXES[axis]}"),
        )
        return record.time, record.displacement / self._force


def _identified(time: Array, responses: list[Array], s: complex) -> ComplexArray:
    """Return ``Z(s)`` from the Laplace transforms of displacements and pulse."""
    step = time[1] - time[0]
    simpson = np.full(len(time), 2.0)
    simpson[1::2] = 4.0
    simpson[[0, -1]] = 1.0
    kernel = simpson * step / 3.0 * np.exp(-s * time)
    compliance = np.stack([kernel @ response for response in responses], axis=1)
    pulse = (1.0 - np.exp(-s * _PULSE)) / s
    return np.asarray(pulse * np.linalg.inv(compliance))


def _relative_difference(one: ComplexArray, other: ComplexArray) -> float:
    return float(np.linalg.norm(one - other, 2) / np.linalg.norm(other, 2))


def _compute(settings: Settings, out: Path | None, progress: Progress) -> Outcome:
    arm = _PushedPanda(settings, Stages(progress, 6))
    dampings = float(settings["damping_task"]), float(settings["damping_null"])
    predicted = arm.predicted(*dampings)
    seconds = float(settings["seconds"])
    pairs = [arm.response(axis, *dampings, _PULSE, seconds) for axis in range(3)]
    time, responses = pairs[0][0], [x for _, x in pairs]
    checks = []
    identified = {s: _identified(time, responses, s) for s in _RATES}
    for s, impedance in identified.items():
        name = f"s = {s:g}/s"
        wrong = _relative_difference(predicted.decoupled_at(s), impedance)
        checks += [
            bounded(
                f"impedance at {name}: prediction off by",
                _relative_difference(predicted.at(s), impedance),
                0.02,
            ),
            refuted_unless(
                wrong <= 0.02,
                f"impedance at {name}: (40) off by",
                "(40)",
                wrong,
                _WHY if s == _RATES[0] else "",
                tolerance=0.02,
            ),
        ]
    checks += _static(arm, settings)
    files = [] if out is None else [_plot(arm, predicted, identified, out)]
    return Outcome(checks, files)


def _static(arm: _PushedPanda, settings: Settings) -> list[Check]:
    # What a constant force meets does not depend on the damping, which is chosen to come to rest.
    damping_task, damping_null = arm.quickest_damping()
    predicted = arm.predicted(damping_task, damping_null)
    seconds = float(settings["static_seconds"])
    ends = [
        arm.response(axis, damping_task, damping_null, 2 * seconds, seconds)[1][-1]
        for axis in range(3)
    ]
    stiffness = np.linalg.inv(np.stack(ends, axis=1))
    expected, by_40 = predicted.static, np.real(predicted.decoupled_at(0.0))
    checks = []
    for i, axis in enumerate(_AXES):
        checks.append(
            compared(
                f"static stiffness along {axis}, against (J W^-1 J^T)^-1",
                expected[i, i],
                stiffness[i, i],
                0.02 * abs(expected[i, i]),
                "N/m",
                origin="independent",
            )
        )
        same = abs(by_40[i, i] - stiffness[i, i]) <= 0.02 * abs(stiffness[i, i])
        checks.append(
            refuted_unless(
                bool(same),
                f"static stiffness along {axis}, against K_t of (40)",
                f"K_t of (40), here {by_40[i, i]:.4g}",
                float(stiffness[i, i]),
                "" if i else _WHY,
                "N/m",
                0.02 * abs(float(by_40[i, i])),
            )
        )
    return checks


def _plot(
    arm: _PushedPanda,
    predicted: LinearImpedance,
    identified: dict[complex, ComplexArray],
    out: Path,
) -> Path:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 3.6), layout="constrained", dpi=110)
    rates = np.geomspace(0.01, 100.0, 200)
    measured = [s for s in identified if complex(s).imag == 0.0]
    for i, axes in enumerate(figure.subplots(1, 3)):
        for name, of, style in (
            ("corrected", predicted.at, "-"),
            ("(40)", predicted.decoupled_at, "--"),
        ):
            axes.loglog(rates, [abs(of(s)[i, i]) for s in rates], style, label=name)
        points = [abs(identified[s][i, i]) for s in measured]
        axes.loglog([abs(s) for s in measured], points, "ko", label="identified")
        axes.set(title=f"along {_AXES[i]}", xlabel="s (1/s)", ylabel="impedance (N/m)")
        axes.grid(alpha=0.3)
        axes.legend()
    file = out / "impedance-identification.png"
    figure.savefig(file)
    return file


STUDY = Study(
    id="impedance-identification",
    source="D, (38)-(40)",
    title="The impedance of the closed loop, identified from pushes in three directions",
    parameters={
        "posture": Parameter("q0", "of the minimum", ("q0", "q1")),
        "stiffness": Parameter(30.0, "W = stiffness * I, N m/rad; K_nu where K_t is given"),
        "task_stiffness": Parameter(0.0, "K_t, N/m, of a W that meets it exactly; 0: W as above"),
        "damping_task": Parameter(9.0, "D_t, N s/m"),
        "damping_null": Parameter(6.0, "D_nu, N m s/rad"),
        "force": Parameter(0.02, "of a push, small enough for a linear answer, N"),
        "seconds": Parameter(8.0, "of a push and its answer, s", above=0.0),
        "static_seconds": Parameter(6.0, "that a constant force acts, s", above=0.0),
        "step": Parameter(2e-3, "of the integrator, s", above=0.0),
    },
    compute=_compute,
)

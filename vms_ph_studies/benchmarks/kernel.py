# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The C++ core against Pinocchio: terms and rates in C++ and from Python, batches, closed loops.

The calls in C++ are timed by ``native/benchmark``, a program without Python, in the same run.
"""

import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pinocchio as pin

from vms_ph_controllers import (
    Command,
    Controller,
    DecoupledVMSController,
    Reference,
    RobotState,
    TaskSpaceIDAPBC,
)
from vms_ph_controllers.hosting.supervisor import ConstantReference, Supervisor
from vms_ph_dynamics import DecoupledForm, Ports, StandardForm, VMSModel, rate_derivatives
from vms_ph_dynamics.evaluation_batch import threads_of
from vms_ph_dynamics.native import native_module
from vms_ph_dynamics.simulation import FormEngine, Simulation
from vms_ph_io import robots
from vms_ph_io.build import native_build

from . import Benchmark
from .native import output
from .timing import Case, Timing, measure

_ABA = "C++: Pinocchio aba"
_TERMS = "C++: Pinocchio crba + computeCoriolisMatrix"
_SLOPES = "C++: Pinocchio computeABADerivatives"
_PYTHON_SLOPES = "Python: pin.computeABADerivatives"
_ENERGIES = "C++: Pinocchio both energies"
_PYTHON_ABA = "Python: pin.aba"
_POOLED = "batch: pin.abaInParallel"
_UPDATES = 2_000  # of 64 states each
_STATES = 100_000
_PERIOD, _STEPS = 1e-3, 200  # of closed loops: period, s, and steps of one measurement

# Names of the program, with the case that each is compared with and the largest ratio accepted.
_LIMITS = {
    "StandardForm rate": (_ABA, 0.75),
    "DecoupledForm rate": (_ABA, 1.0),
    "StandardForm rate_derivatives": (_SLOPES, 1.5),
    "DecoupledForm rate_derivatives": (_SLOPES, 2.0),
    "DecoupledForm rate_derivatives, by parameters too": (_SLOPES, None),
    "all terms of evaluate": (_TERMS, 1.3),
    "both energies": (_ENERGIES, None),
    "a step of projected_rk4": (_ABA, None),
}


def _run(robot: str, base: str, seconds: float) -> list[Timing]:
    bundled = robots.get(robot)
    model = bundled.model(bundled.description(), base)
    timings = _in_cpp(model, bundled.description(), base)
    timings += measure(_in_python(model), seconds / 3)
    timings += measure(_batches(model), seconds / 3)
    models = [bundled.model(bundled.description(), m) for m in ("fixed", "floating")]
    cases = [case for m in models for case in _closed_loops(m, bundled.home)]
    return timings + measure(cases, seconds / 3)


def _in_cpp(model: VMSModel, description: str, base: str) -> list[Timing]:
    program = native_build.build(tests=True, targets=("vms_ph_benchmark",))
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "robot.urdf"
        file.write_text(description)
        lines = output(
            program / "benchmark/vms_ph_benchmark",
            *(file, base, model.end_effector, _UPDATES, "terms"),
        )
    timings = []
    for line in lines:
        name, *numbers = line.split("\t")
        median, lower, upper = (1e-9 * float(x) for x in numbers[:3])
        reference, limit = _LIMITS.get(name, (None, None))
        case = Case(f"C++: {name}", lambda: None, reference=reference, limit=limit)
        timings.append(Timing(case, median, lower, upper))
    return timings


def _in_python(model: VMSModel) -> list[Case]:
    rng = np.random.default_rng(0)
    m = model.pinocchio
    data = m.createData()
    q, v = model.random_configuration(rng), rng.uniform(-1, 1, model.nv)
    force = rng.uniform(-10, 10, model.nv)
    ports = Ports(torque=force[model.b :], wrench_base=force[: model.b])
    cases = [
        Case(_PYTHON_ABA, lambda: pin.aba(m, data, q, v, force)),
        Case(_PYTHON_SLOPES, lambda: pin.computeABADerivatives(m, data, q, v, force)),
    ]
    for where, native in _languages():
        robot = model.with_native(native)
        for form in (StandardForm(robot), DecoupledForm(robot)):
            x = form.state(q, v)
            cases += [
                Case(
                    f"Python: {type(form).__name__}.rate, {where}",
                    lambda form=form, x=x: form.rate(x, ports),  # type: ignore[misc]
                    limit=2.5 if native else None,
                    reference=_PYTHON_ABA,
                ),
                Case(
                    f"Python: {type(form).__name__}, rate_derivatives, {where}",
                    lambda form=form, x=x: rate_derivatives(form, x, ports, parameters=False),  # type: ignore[misc]
                    limit=3.0 if native else None,
                    reference=_PYTHON_SLOPES,
                ),
            ]
        cases.append(
            Case(
                f"Python: evaluate, M, C and g, {where}",
                lambda robot=robot: _terms(robot, q, v),  # type: ignore[misc]
                reference=_PYTHON_ABA,
            )
        )
    return cases


def _terms(robot: VMSModel, q: npt.ArrayLike, v: npt.ArrayLike) -> object:
    d = robot.evaluate(q, v)
    return d.M, d.C, d.g


def _batches(model: VMSModel) -> list[Case]:
    rng, threads = np.random.default_rng(0), threads_of(None)
    samples = np.array([model.random_configuration(rng) for _ in range(1000)])
    configurations = np.tile(samples, (_STATES // 1000, 1))
    velocities = rng.uniform(-1, 1, (_STATES, model.nv))
    force = rng.uniform(-10, 10, (_STATES, model.nv))
    pool = pin.ModelPool(model.pinocchio, threads)
    columns = [np.asfortranarray(x.T) for x in (configurations, velocities, force)]
    ports = Ports(torque=force[:, model.b :], wrench_base=force[:, : model.b])
    cases = []
    if hasattr(pin, "abaInParallel"):
        cases.append(Case(_POOLED, lambda: pin.abaInParallel(threads, pool, *columns), per=_STATES))
    reference = _POOLED if cases else None
    if native_module() is None:
        return cases
    robot = model.with_native(True)
    energies = ("kinetic_energy", "potential_energy")
    for form in (StandardForm(robot), DecoupledForm(robot)):
        cases.append(
            Case(
                f"batch: {type(form).__name__}.rate_batch",
                lambda form=form: form.rate_batch(configurations, velocities, ports),  # type: ignore[misc]
                per=_STATES,
                limit=1.0 if reference else None,
                reference=reference,
            )
        )
    cases.append(
        Case(
            "batch: evaluate_batch, energies",
            lambda: robot.evaluate_batch(configurations, velocities, terms=energies),
            per=_STATES,
            limit=1 / 3 if reference else None,
            reference=reference,
        )
    )
    return cases


def _closed_loops(model: VMSModel, home: Mapping[str, float]) -> list[Case]:
    """Return closed loops at 1 kHz; times are those of a step of 1 ms with its control."""
    kind = TaskSpaceIDAPBC if model.base == "fixed" else DecoupledVMSController
    cases = []
    for where, native in _languages():
        robot = model.with_native(native)
        start = robot.configuration(home)
        laws: list[tuple[str, str, str, Callable[[VMSModel], Controller]]] = [
            (kind.__name__, "Python", "projected_rk4", kind),
            ("springs", "Python", "projected_rk4", _Springs),
        ]
        if native:
            laws = [
                (kind.__name__, "C++", "projected_rk4", kind),
                (kind.__name__, "C++", "projected_midpoint", kind),
                *laws,
            ]
        for law, language, scheme, make in laws:
            supervisor = Supervisor(make(robot.with_native(language == "C++")))
            supervisor.reset(RobotState(start, np.zeros(robot.nv)))
            control = ConstantReference(supervisor, Reference())
            simulation = Simulation(
                StandardForm(robot), start, _PERIOD, control, engine=FormEngine(scheme, native)
            )
            cases.append(
                Case(
                    f"1 ms of loop: {law} in {language} by {scheme}, {where}",
                    lambda simulation=simulation: simulation.advance(_STEPS),  # type: ignore[misc]
                    per=_STEPS,
                    seconds=_PERIOD / (200 if language == "C++" else 20) if native else None,
                )
            )
    return cases


class _Springs(Controller):
    """Springs at the joints and the compensation of gravity, as a user would write them."""

    def reset(self, state: RobotState) -> None:
        self._home = self.model.joint_positions(state.q)

    def update(self, state: RobotState, reference: Reference, dt: float) -> Command:
        d, b = self.model.evaluate(state.q, state.v), self.model.b
        spring = 20.0 * (self.model.joint_positions(state.q) - self._home)
        return Command(d.g[:b] - 5.0 * d.p, d.g[b:] - spring - 5.0 * state.v[b:])


def _languages() -> list[tuple[str, bool]]:
    languages = [("core", True), ("no core", False)]
    return languages if native_module() is not None else languages[1:]


def _note() -> str:
    if native_module() is None:
        return "not installed: the C++ core (./vms native); its cases from Python are left out"
    return ""


BENCHMARKS = [
    Benchmark(
        id="kernel",
        title="the C++ core against Pinocchio: terms, rates, batches, closed loops",
        reference=_ABA,
        cases=lambda robot, base: [],
        run=_run,
        note=_note,
    )
]

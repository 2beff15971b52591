# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The C++ core against Pinocchio: terms and rates in C++ and from Python, batches, closed loops.

The calls in C++ are timed by ``native/benchmark``, a program without Python, in the same run.
"""

import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
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
from .calls import terms_call
from .native import program_output
from .timing import Case, Timing, measure

_ABA = "C++: Pinocchio aba"
_TERMS = "C++: Pinocchio crba + computeCoriolisMatrix"
_DERIVATIVES = "C++: Pinocchio computeABADerivatives"
_PYTHON_DERIVATIVES = "Python: pin.computeABADerivatives"
_ENERGIES = "C++: Pinocchio both energies"
_PYTHON_ABA = "Python: pin.aba"
_PIN_BATCH = "batch: pin.abaInParallel"
_UPDATES = 2_000  # of 64 states each
_BATCH_SIZE = 100_000
_PERIOD, _STEPS = 1e-3, 200  # of closed loops: period, s, and steps of one measurement

# Names of the program, with the case that each is compared with and the largest ratio accepted.
_LIMITS = {
    "StandardForm rate": (_ABA, 0.75),
    "DecoupledForm rate": (_ABA, 1.0),
    "StandardForm rate_derivatives": (_DERIVATIVES, 1.5),
    "DecoupledForm rate_derivatives": (_DERIVATIVES, 2.0),
    "DecoupledForm rate_derivatives, by parameters too": (_DERIVATIVES, None),
    "TaskSpaceForm rate_derivatives": (_DERIVATIVES, 4.5),
    "all terms of evaluate": (_TERMS, 1.3),
    "both energies": (_ENERGIES, None),
    "a step of projected_rk4": (_ABA, None),
}


def _run(robot: str, base: str, seconds: float) -> list[Timing]:
    model = robots.load(robot, base=base)
    timings = _cpp_timings(model, model.urdf, base)
    timings += measure(_python_cases(model), seconds / 3)
    timings += measure(_batch_cases(model), seconds / 3)
    models = (robots.load(robot, base=base) for base in ("fixed", "floating"))
    cases = [case for model in models for case in _closed_loop_cases(model)]
    return timings + measure(cases, seconds / 3)


def _cpp_timings(model: VMSModel, description: str, base: str) -> list[Timing]:
    build_folder = native_build.build(tests=True, targets=("vms_ph_benchmark",))
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "robot.urdf"
        file.write_text(description)
        lines = program_output(
            build_folder / "benchmark/vms_ph_benchmark",
            *(file, base, model.end_effector, _UPDATES, "terms"),
        )
    timings = []
    for line in lines:
        name, *nanoseconds = line.split("\t")
        median, lower, upper = (1e-9 * float(number) for number in nanoseconds[:3])
        reference, max_ratio = _LIMITS.get(name, (None, None))
        case = Case(f"C++: {name}", lambda: None, reference=reference, max_ratio=max_ratio)
        timings.append(Timing(case, median, lower, upper))
    return timings


def _python_cases(model: VMSModel) -> list[Case]:
    rng = np.random.default_rng(0)
    m = model.pinocchio
    data = m.createData()
    q, v = model.random_configuration(rng), rng.uniform(-1, 1, model.nv)
    force = rng.uniform(-10, 10, model.nv)
    ports = Ports(torque=force[model.b :], wrench_base=force[: model.b])
    cases = [
        Case(_PYTHON_ABA, lambda: pin.aba(m, data, q, v, force)),
        Case(_PYTHON_DERIVATIVES, lambda: pin.computeABADerivatives(m, data, q, v, force)),
    ]
    for core_label, native in _core_options():
        robot = model.with_native(native)
        for form in (StandardForm(robot), DecoupledForm(robot)):
            x = form.state(q, v)
            cases += [
                Case(
                    f"Python: {type(form).__name__}.rate, {core_label}",
                    lambda form=form, x=x: form.rate(x, ports),  # type: ignore[misc]
                    max_ratio=2.5 if native else None,
                    reference=_PYTHON_ABA,
                ),
                Case(
                    f"Python: {type(form).__name__}, rate_derivatives, {core_label}",
                    lambda form=form, x=x: rate_derivatives(form, x, ports, parameters=False),  # type: ignore[misc]
                    max_ratio=3.0 if native else None,
                    reference=_PYTHON_DERIVATIVES,
                ),
            ]
        terms = terms_call(partial(robot.evaluate, q, v), ("M", "C", "g"))
        name = f"Python: evaluate, M, C and g, {core_label}"
        cases.append(Case(name, terms, reference=_PYTHON_ABA))
    return cases


def _batch_cases(model: VMSModel) -> list[Case]:
    rng, threads = np.random.default_rng(0), threads_of(None)
    sample_configurations = np.array([model.random_configuration(rng) for _ in range(1000)])
    configurations = np.tile(sample_configurations, (_BATCH_SIZE // 1000, 1))
    velocities = rng.uniform(-1, 1, (_BATCH_SIZE, model.nv))
    force = rng.uniform(-10, 10, (_BATCH_SIZE, model.nv))
    pool = pin.ModelPool(model.pinocchio, threads)
    columns = [np.asfortranarray(array.T) for array in (configurations, velocities, force)]
    ports = Ports(torque=force[:, model.b :], wrench_base=force[:, : model.b])
    aba = Case(_PIN_BATCH, lambda: pin.abaInParallel(threads, pool, *columns), units=_BATCH_SIZE)
    cases = [aba]
    if native_module() is None:
        return cases
    robot = model.with_native(True)
    energies = ("kinetic_energy", "potential_energy")
    for form in (StandardForm(robot), DecoupledForm(robot)):
        cases.append(
            Case(
                f"batch: {type(form).__name__}.rate_batch",
                lambda form=form: form.rate_batch(configurations, velocities, ports),  # type: ignore[misc]
                units=_BATCH_SIZE,
                max_ratio=1.0,
                reference=_PIN_BATCH,
            )
        )
    cases.append(
        Case(
            "batch: evaluate_batch, energies",
            lambda: robot.evaluate_batch(configurations, velocities, terms=energies),
            units=_BATCH_SIZE,
            max_ratio=1 / 3,
            reference=_PIN_BATCH,
        )
    )
    return cases


def _closed_loop_cases(model: VMSModel) -> list[Case]:
    """Return closed loops at 1 kHz; times are those of a step of 1 ms with its control."""
    law_class = TaskSpaceIDAPBC if model.base == "fixed" else DecoupledVMSController
    cases = []
    for core_label, native in _core_options():
        robot = model.with_native(native)
        cpp_schemes = ("projected_rk4", "projected_midpoint") if native else ()
        laws: list[tuple[str, str, str, Callable[[VMSModel], Controller]]] = [
            *((law_class.__name__, "C++", scheme, law_class) for scheme in cpp_schemes),
            (law_class.__name__, "Python", "projected_rk4", law_class),
            ("springs", "Python", "projected_rk4", _JointSprings),
        ]
        for law_name, language, scheme, make_law in laws:
            supervisor = Supervisor(make_law(robot.with_native(language == "C++")))
            supervisor.reset(RobotState(model.home, np.zeros(robot.nv)))
            control = ConstantReference(supervisor, Reference())
            simulation = Simulation(
                StandardForm(robot), model.home, _PERIOD, control, engine=FormEngine(scheme, native)
            )
            cases.append(
                Case(
                    f"1 ms of loop: {law_name} in {language} by {scheme}, {core_label}",
                    lambda simulation=simulation: simulation.advance(_STEPS),  # type: ignore[misc]
                    units=_STEPS,
                    max_median=_PERIOD / (200 if language == "C++" else 20) if native else None,
                )
            )
    return cases


class _JointSprings(Controller):
    """Springs at the joints and the compensation of gravity, as a user would write them."""

    def reset(self, state: RobotState) -> None:
        self._home = self.model.joint_positions(state.q)

    def update(self, state: RobotState, reference: Reference, dt: float) -> Command:
        d, b = self.model.evaluate(state.q, state.v), self.model.b
        spring = 20.0 * (self.model.joint_positions(state.q) - self._home)
        return Command(d.g[:b] - 5.0 * d.p, d.g[b:] - spring - 5.0 * state.v[b:])


def _core_options() -> list[tuple[str, bool]]:
    options = [("core", True), ("no core", False)]
    return options if native_module() is not None else options[1:]


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

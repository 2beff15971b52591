# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Integrators of the free motion of a robot: cost of a step, and errors against cost.

Energy and momentum of every contender are computed by Pinocchio from configuration and velocity.
The reference is a fourth-order scheme with steps so short that halving them has no visible effect.
"""

import json
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pinocchio as pin

from vms_ph_dynamics import VMSModel
from vms_ph_dynamics.arrays import Array
from vms_ph_dynamics.errors import MissingExtraError, VmsPhError
from vms_ph_dynamics.forms import Ports, StandardForm
from vms_ph_dynamics.integrators import (
    COMPILED,
    SCHEMES,
    IntegrationError,
    has_compiled,
    make_stepper,
    native_module,
)
from vms_ph_dynamics.integrators.retry import multi_step_with_retry
from vms_ph_io import robots

from ..figures import Panel, draw
from . import Benchmark
from .mujoco_robot import FreeRobot
from .timing import Case

PINOCCHIO_RK4 = "Pinocchio aba + RK4"

# Largest cost of a step relative to the plain scheme in the same language.
_MAX_RATIOS = {"projected_rk4": 1.5, "discrete_gradient": 4.0}

# The reference schemes: rk4 in Python on momenta, in C++ a loop over Pinocchio's aba.
_BASELINE = "rk4"
_STEP = 1e-3
# Steps per call of contenders that do not return to Python in between.
_STEPS = 100

DURATION_S = 2.0
STEPS = (50, 100, 200, 400, 1000, 2000)
COMPARED_STEPS = 200  # steps at which contenders are compared at equal dt: 10 ms
_REFERENCE_STEPS = 8000
_REFERENCE_SCHEME = "projected_rk4"
_CPP_SUFFIX = " (C++)"
_SAMPLE_COUNT = 50
_REPEATS = 3

Motion = tuple[Array, Array]
"""Configuration (nq,) and velocity (nv,)."""


@dataclass(frozen=True)
class Run:
    """A motion in progress.

    Attributes:
        advance: performs a number of steps.
        motion: returns the current configuration and velocity.
        kinetic_energy: returns that of the engine, J; None where it does not compute it.
    """

    advance: Callable[[int], object]
    motion: Callable[[], Motion]
    kinetic_energy: Callable[[], float] | None = None


@dataclass(frozen=True)
class Contender:
    """A method of integration.

    Attributes:
        name: name in tables.
        start: returns a run from configuration, velocity and step, s.
        in_bulk: whether one call performs many steps without returning to Python.
    """

    name: str
    start: Callable[[Array, Array, float], Run]
    in_bulk: bool = False


def project_scheme(model: VMSModel, scheme: str, native: bool = False) -> Contender:
    """Return a scheme of this project in the standard form; failing steps are halved."""
    form = StandardForm(model)
    stepper = make_stepper(scheme, form, native=native)

    def start(q: Array, v: Array, dt: float) -> Run:
        state: dict[str, Any] = {"x": stepper.begin(form.state(q, v), 0.0), "k": 0}
        no_ports = Ports()

        def advance(count: int) -> None:
            end = state["k"] + count
            while state["k"] < end:
                k = state["k"]
                outcome = multi_step_with_retry(stepper, state["x"], no_ports, 0.0, dt, k, end - k)
                state["x"], state["k"] = outcome.result.solver_state, k + outcome.result.steps

        return Run(advance, lambda: stepper.motion(state["x"]))

    return Contender(cpp_name(scheme) if native else scheme, start, native)


def cpp_name(name: str) -> str:
    """Return the name of a contender where it runs in C++."""
    return f"{name}{_CPP_SUFFIX}"


def pinocchio_rk4_in_cpp(model: VMSModel) -> Iterator[Contender]:
    """Yield RK4 on Pinocchio's aba in C++, if it is built."""
    module = native_module()
    if module is None or not model.is_plain:
        return
    robot = module.Model(model.pinocchio, model.end_effector)

    def start(q: Array, v: Array, dt: float) -> Run:
        state = {"motion": (q, v)}

        def advance(count: int) -> None:
            state["motion"] = module.pinocchio_rk4(robot, *state["motion"], dt, count)

        return Run(advance, lambda: state["motion"])

    yield Contender(cpp_name(PINOCCHIO_RK4), start, in_bulk=True)


def pinocchio_rk4(model: VMSModel) -> Contender:
    """Return RK4 with Pinocchio's aba and integrate."""
    m = model.pinocchio
    data, zero_torque = m.createData(), np.zeros(model.nv)

    def start(q: Array, v: Array, dt: float) -> Run:
        state = {"q": q, "v": v}
        half_dt = 0.5 * dt

        def step(q: Array, v: Array) -> Motion:
            a1 = pin.aba(m, data, q, v, zero_torque)
            v2 = v + half_dt * a1
            a2 = pin.aba(m, data, pin.integrate(m, q, half_dt * v), v2, zero_torque)
            v3 = v + half_dt * a2
            a3 = pin.aba(m, data, pin.integrate(m, q, half_dt * v2), v3, zero_torque)
            v4 = v + dt * a3
            a4 = pin.aba(m, data, pin.integrate(m, q, dt * v3), v4, zero_torque)
            q = pin.integrate(m, q, (dt / 6.0) * (v + 2.0 * (v2 + v3) + v4))
            return q, v + (dt / 6.0) * (a1 + 2.0 * (a2 + a3) + a4)

        def advance(count: int) -> None:
            q, v = state["q"], state["v"]
            for _ in range(count):
                q, v = step(q, v)
            state["q"], state["v"] = q, v

        return Run(advance, lambda: (state["q"], state["v"]))

    return Contender(PINOCCHIO_RK4, start)


def from_mujoco(model: VMSModel) -> Iterator[Contender]:
    """Yield MuJoCo's RK4 and implicitfast, if MuJoCo is installed."""
    for integrator in ("RK4", "implicitfast"):
        try:
            robot = FreeRobot(model, integrator)
        except MissingExtraError:
            return

        def start(q: Array, v: Array, dt: float, robot: FreeRobot = robot) -> Run:
            robot.begin(q, v, dt)
            return Run(robot.advance, robot.motion)

        yield Contender(f"MuJoCo {integrator}", start, in_bulk=True)


def initial_motion(model: VMSModel) -> Motion:
    """Return a motion with joint rates of about 1 rad/s and the centre of mass at rest.

    On a fixed base the arm starts at rest and falls.
    """
    rates = np.resize([0.76, -0.33, -0.68, 0.51, 0.55, -0.65, -0.38], model.n)
    q = model.integrate(model.neutral_configuration(), np.r_[np.zeros(model.b), 0.5 * rates])
    v = np.zeros(model.nv)
    if model.base == "fixed":
        return q, v
    v[model.b :] = rates
    k = {"planar": 2, "floating": 3}[model.base]
    v[k : model.b] = [0.3, -0.25, 0.4][k - model.b :]
    v[:k] -= model.evaluate(q, v).p[:k] / model.total_mass
    return q, v


@dataclass(frozen=True)
class Result:
    """The errors and the cost of one contender at one step.

    Attributes:
        name: name of the contender.
        dt: step, s.
        cost: processor time per simulated second, s.
        trajectory: largest component of the difference in configuration at the end, m or rad.
        energy: largest error, as a share of the largest kinetic energy.
        gain: of energy at the end, as the same share.
        momentum: largest error of the spatial momentum, kg m/s or kg m^2/s; 0 on a fixed base.
    """

    name: str
    dt: float
    cost: float
    trajectory: float
    energy: float
    gain: float
    momentum: float


def compare(model: VMSModel, contenders: Sequence[Contender], folder: Path) -> list[Path]:
    """Run all contenders at all steps; write two plots, a table and the numbers.

    Args:
        model: the robot.
        contenders: one of them is the reference: ``projected_rk4`` at a very short step.
        folder: folder for the files.
    """
    reference_scheme = next(c for c in contenders if c.name == _REFERENCE_SCHEME)
    q, v = initial_motion(model)
    reference = motions(reference_scheme, q, v, _REFERENCE_STEPS)[-1]
    results = []
    for contender in contenders:
        for step_count in STEPS:
            # A scheme that fails because the step is too long has no result at that step.
            with suppress(IntegrationError):
                results.append(measure(model, contender, q, v, step_count, reference[0]))
    numbers_file = folder / "integrators.json"
    numbers_file.write_text(json.dumps([asdict(result) for result in results], indent=1))
    table_file = folder / "integrators.md"
    table_file.write_text(_table(results))
    plot_file = folder / "integrators.png"
    _plot(results, plot_file)
    return [plot_file, table_file, numbers_file]


def motions(
    contender: Contender, q: Array, v: Array, step_count: int, seconds: float = DURATION_S
) -> list[Motion]:
    """Return the motion at equal intervals, with its beginning and its end."""
    run = contender.start(q, v, seconds / step_count)
    samples = [run.motion()]
    stride = max(1, step_count // _SAMPLE_COUNT)
    for _ in range(step_count // stride):
        run.advance(stride)
        samples.append(run.motion())
    return samples


def measure(
    model: VMSModel,
    contender: Contender,
    q: Array,
    v: Array,
    steps: int,
    reference: Array,
    seconds: float = DURATION_S,
    repeats: int = _REPEATS,
) -> Result:
    """Return the result of a contender over a time, beside a reference at the end of it (nq,).

    Raises:
        IntegrationError: the motion diverges.
    """
    dt = seconds / steps
    samples = [
        (model.normalise_configuration(q), v) for q, v in motions(contender, q, v, steps, seconds)
    ]
    if not all(np.isfinite(q).all() and np.isfinite(v).all() for q, v in samples):
        raise IntegrationError(f"{contender.name} diverges at dt={dt:g} s")
    costs = []
    for _ in range(repeats):
        run = contender.start(q, v, dt)
        start = time.process_time()
        run.advance(steps)
        costs.append((time.process_time() - start) / seconds)
    terms = (_energies_and_momentum(model, *motion) for motion in samples)
    kinetic_energies, potential_energies, momenta = map(np.array, zip(*terms, strict=True))
    total_energies = kinetic_energies + potential_energies
    max_kinetic_energy = kinetic_energies.max()
    return Result(
        contender.name,
        dt,
        min(costs),
        float(np.abs(model.difference(reference, samples[-1][0])).max()),
        float(np.abs(total_energies - total_energies[0]).max() / max_kinetic_energy),
        float((total_energies[-1] - total_energies[0]) / max_kinetic_energy),
        float(np.abs(momenta - momenta[0]).max()),
    )


def _energies_and_momentum(model: VMSModel, q: Array, v: Array) -> tuple[float, float, Array]:
    """Return kinetic and potential energy, and the spatial momentum."""
    m, data = model.tree.pinocchio, model.tree.data()
    kinetic_energy = float(pin.computeKineticEnergy(m, data, q, v))
    potential = float(pin.computePotentialEnergy(m, data, q))
    if model.base == "fixed":
        return kinetic_energy, potential, np.zeros(6)
    pin.computeCentroidalMomentum(m, data, q, v)
    linear = np.array(data.hg.linear)
    momentum = np.concatenate([linear, data.hg.angular + np.cross(data.com[0], linear)])
    return kinetic_energy, potential, momentum if model.base == "floating" else momentum[[0, 1, 5]]


def _errors_at_cost(results: list[Result], cost: float) -> tuple[float, float]:
    """Return trajectory and energy error at a cost, by linear regression of the logarithms.

    The regression is over the steps, which are exact, and the cost of one step is a mean: measured
    costs that lie close together, as on a loaded machine, would make the slope arbitrary.
    """
    dt = np.log([result.dt for result in results])
    log_step_cost = float(np.mean([np.log(r.cost) for r in results] + dt))

    def fitted_error(errors: list[float]) -> float:
        slope, intercept = np.polyfit(dt, np.log(np.maximum(errors, 1e-16)), 1)
        return float(np.exp(intercept + slope * (log_step_cost - np.log(cost))))

    return fitted_error([r.trajectory for r in results]), fitted_error([r.energy for r in results])


def _table(results: Sequence[Result]) -> str:
    """Return the comparison at equal step and at equal cost, in Markdown."""
    dt = DURATION_S / COMPARED_STEPS
    reference = next(r for r in results if r.name == "projected_rk4" and r.dt == dt)
    rows = [
        f"| scheme | us a step | trajectory, {dt * 1e3:g} ms | energy | momentum "
        f"| trajectory at the cost of projected_rk4 | energy at that cost |",
        "|---|---|---|---|---|---|---|",
    ]
    for name in dict.fromkeys(r.name for r in results):
        scheme_results = [r for r in results if r.name == name]
        result = next((r for r in scheme_results if r.dt == dt), None)
        if result is None or len(scheme_results) < 2:
            rows.append(f"| {name} | fails at this step | | | | | |")
            continue
        trajectory, energy = _errors_at_cost(scheme_results, reference.cost)
        rows.append(
            f"| {name} | {result.cost * result.dt * 1e6:.3g} | {result.trajectory:.1e} "
            f"| {result.energy:.1e} | {result.momentum:.1e} | {trajectory:.1e} | {energy:.1e} |"
        )
    return "\n".join(rows) + "\n"


def _plot(results: Sequence[Result], file: Path) -> None:
    panels = []
    for quantity, label in (
        ("trajectory", f"error of the configuration after {DURATION_S:g} s (m, rad)"),
        ("energy", "largest error of the energy, as a share"),
    ):
        curves = {}
        # Those in C++ stand last in the same order: a scheme has one colour in both languages.
        for name in sorted(dict.fromkeys(r.name for r in results), key=_plot_order):
            scheme_results = sorted((r for r in results if r.name == name), key=lambda r: r.cost)
            errors = [max(getattr(result, quantity), 1e-16) for result in scheme_results]
            curves[name] = ([scheme_result.cost for scheme_result in scheme_results], errors)
        cost_label = "processor time for a simulated second (s)"
        panels.append(Panel(quantity, cost_label, label, curves, log="xy"))
    draw(panels, file, 2)


def _plot_order(name: str) -> tuple[bool, bool]:
    return _CPP_SUFFIX in name or "MuJoCo" in name, "Pinocchio" in name


def contenders(robot: str, base: str) -> tuple[VMSModel, list[Contender]]:
    """Return the model of a robot on a base, and all installed contenders.

    Raises:
        VmsPhError: the robot is in a fluid, which the other libraries do not model.
    """
    model = robots.load(robot, base=base)
    if model.fluid is not None:
        raise VmsPhError(f"integrators are compared in a vacuum; {robot} is in a fluid")
    python_schemes = [project_scheme(model, scheme) for scheme in SCHEMES]
    form = StandardForm(model)
    cpp_schemes = [project_scheme(model, s, native=True) for s in COMPILED if has_compiled(s, form)]
    baselines = [pinocchio_rk4(model), *pinocchio_rk4_in_cpp(model)]
    return model, [*python_schemes, *cpp_schemes, *baselines, *from_mujoco(model)]


def _cases(robot: str, base: str) -> list[Case]:
    model, methods = contenders(robot, base)
    q, v = initial_motion(model)
    names = {method.name for method in methods}
    cases = []
    for method in methods:
        scheme = next((s for s in COMPILED if method.name == cpp_name(s)), None)
        reference = cpp_name(PINOCCHIO_RK4) if scheme and cpp_name(PINOCCHIO_RK4) in names else None
        max_ratio, count = _MAX_RATIOS.get(scheme or method.name), _STEPS if method.in_bulk else 1
        call = partial(method.start(q, v, _STEP).advance, count)
        cases.append(Case(method.name, call, max_ratio, units=count, reference=reference))
    return cases


def _files(robot: str, base: str, folder: Path) -> list[Path]:
    return compare(*contenders(robot, base), folder)


def _note() -> str:
    if native_module() is not None:
        return ""
    return "without the compiled schemes: the C++ core is not installed; ./vms native builds it"


BENCHMARKS = [
    Benchmark(
        id="integrators",
        title=f"a step of {_STEP * 1e3:g} ms of free motion",
        reference=_BASELINE,
        cases=_cases,
        robot="satellite_panda",
        files=_files,
        note=_note,
    )
]

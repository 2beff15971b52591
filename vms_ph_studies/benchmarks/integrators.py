# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Computation time of a step of integration schemes."""

from functools import partial
from pathlib import Path

from vms_ph_dynamics import VMSModel
from vms_ph_dynamics.errors import VmsPhError
from vms_ph_dynamics.forms import StandardForm
from vms_ph_dynamics.integrators import COMPILED, SCHEMES, has_compiled, native_module
from vms_ph_io import robots

from . import Benchmark
from .contenders import (
    PINOCCHIO_RK4,
    Contender,
    from_mujoco,
    in_cpp,
    initial_motion,
    ours,
    pinocchio_rk4,
    pinocchio_rk4_in_cpp,
)
from .timing import Case

# Largest cost of a step relative to the plain scheme in the same language.
_LIMITS = {"projected_rk4": 1.5, "discrete_gradient": 4.0}

# The reference schemes: rk4 in Python on momenta, in C++ a loop over Pinocchio's aba.
_REFERENCE = "rk4"
_STEP = 1e-3
# Steps per call of contenders that do not return to Python in between.
_STEPS = 100


def contenders(robot: str, base: str) -> tuple[VMSModel, list[Contender]]:
    """Return the model of a robot on a base, and all installed contenders.

    Raises:
        VmsPhError: the robot is in a fluid, which the other libraries do not model.
    """
    bundled = robots.get(robot)
    xml = bundled.description()
    model = bundled.model(xml, base)
    if model.fluid is not None:
        raise VmsPhError(f"integrators are compared in a vacuum; {robot} is in a fluid")
    in_python = [ours(model, scheme) for scheme in SCHEMES]
    form = StandardForm(model)
    compiled = [ours(model, name, native=True) for name in COMPILED if has_compiled(name, form)]
    baselines = [pinocchio_rk4(model), *pinocchio_rk4_in_cpp(model)]
    return model, [*in_python, *compiled, *baselines, *from_mujoco(model, xml)]


def _cases(robot: str, base: str) -> list[Case]:
    model, all_of_them = contenders(robot, base)
    q, v = initial_motion(model)
    names = {c.name for c in all_of_them}
    cases = []
    for c in all_of_them:
        run = c.start(q, v, _STEP)
        scheme = next((s for s in COMPILED if c.name == in_cpp(s)), None)
        reference = in_cpp(PINOCCHIO_RK4) if scheme and in_cpp(PINOCCHIO_RK4) in names else None
        limit, count = _LIMITS.get(scheme or c.name), _STEPS if c.in_bulk else 1
        cases.append(Case(c.name, partial(run.steps, count), limit, per=count, reference=reference))
    return cases


def _files(robot: str, base: str, folder: Path) -> list[Path]:
    from .error_and_cost import compare

    return compare(*contenders(robot, base), folder)


def _note() -> str:
    if native_module() is not None:
        return ""
    return "without the compiled schemes: the C++ core is not installed; ./vms native builds it"


BENCHMARK = Benchmark(
    id="integrators",
    title=f"a step of {_STEP * 1e3:g} ms of free motion",
    reference=_REFERENCE,
    cases=_cases,
    robot="satellite_panda",
    files=_files,
    note=_note,
)

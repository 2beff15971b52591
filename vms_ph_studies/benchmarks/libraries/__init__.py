# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Libraries side by side: the same robot in the same state, and the results compared."""

from collections.abc import Callable

import numpy as np

from vms_ph_dynamics import VmsPhError
from vms_ph_io import robots

from .. import Benchmark
from ..timing import Case
from .contender import QUANTITIES, Contender, Problem, UnavailableError, bare_urdf
from .of_adam import adam
from .of_drake import drake
from .of_frax import frax
from .of_mujoco import mujoco
from .of_pinocchio import pinocchio
from .of_this_project import exported_to_casadi, this_project

LIBRARIES: tuple[Callable[[Problem], Contender], ...] = (
    pinocchio,
    this_project,
    exported_to_casadi,
    mujoco,
    drake,
    adam,
    frax,
)

# Accelerations of libraries in double precision differ by rounding through the inverse of the mass
# matrix; more means another robot.
_AGREE = 1e-6

_versions: dict[str, str] = {}
_skipped: list[str] = []


def gather(problem: Problem) -> tuple[list[Contender], list[str]]:
    """Return the libraries that compute the problem, and why the others do not.

    A library whose accelerations are not those of Pinocchio is left out: it times another robot.
    """
    contenders: list[Contender] = []
    absent: list[str] = []
    expected = None
    for make in LIBRARIES:
        try:
            contender = make(problem)
        except UnavailableError as reason:
            absent.append(str(reason))
            continue
        if contender.joint_accelerations is not None:
            accelerations = contender.joint_accelerations()
            if expected is None:
                expected = accelerations
            off = np.abs(accelerations - expected).max() / np.abs(expected).max()
            if not off < _AGREE:
                absent.append(
                    f"{contender.name} computes other accelerations (off by {off:.1e}), and is "
                    "not compared"
                )
                continue
        contenders.append(contender)
    return contenders, absent


def problem_of(robot: str, base: str) -> Problem:
    """Return a bundled robot on a base in a random state.

    Raises:
        VmsPhError: the robot is in a fluid, which other libraries do not cover.
    """
    bundled = robots.get(robot)
    if bundled.fluid:
        raise VmsPhError(f"other libraries compute robots in a vacuum; {robot} is in a fluid")
    xml = bundled.description()
    model, rng = bundled.model(xml, base), np.random.default_rng(0)
    return Problem(
        model,
        bare_urdf(xml),
        model.random_configuration(rng),
        rng.uniform(-1, 1, model.nv),
        rng.uniform(-10, 10, model.n),
    )


def _cases(robot: str, base: str) -> list[Case]:
    contenders, absent = gather(problem_of(robot, base))
    _skipped[:] = absent
    _versions.clear()
    _versions.update(
        {c.name.removeprefix("vms_ph in "): c.version for c in contenders if c.version}
    )
    cases = []
    for quantity in QUANTITIES:
        reference = None
        for contender in contenders:
            for name, call in contender.calls.get(quantity, {}).items():
                title = f"{quantity}: {contender.name} {name}"
                reference = reference or title
                per = contender.per.get(quantity, 1)
                cases.append(Case(title, call, per=per, reference=reference))
    return cases


def _note() -> str:
    return "skipped: " + "; ".join(_skipped) if _skipped else ""


BENCHMARK = Benchmark(
    id="libraries",
    title="libraries side by side",
    reference="acceleration: Pinocchio aba",
    cases=_cases,
    note=_note,
    versions=lambda: dict(_versions),
    ratios="the first call of each quantity",
)

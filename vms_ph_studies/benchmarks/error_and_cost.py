# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Trajectory and energy errors of integration schemes against their cost.

Energy and momentum of every contender are computed by Pinocchio from configuration and velocity.
The reference is a fourth-order scheme with steps so short that halving them has no visible effect.
"""

import json
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pinocchio as pin

from vms_ph_dynamics import VMSModel
from vms_ph_dynamics.arrays import Array
from vms_ph_dynamics.integrators import IntegrationError

from .contenders import Contender, Motion, in_cpp, initial_motion

SECONDS = 2.0
STEPS = (50, 100, 200, 400, 1000, 2000)
EQUAL = 200  # steps at which contenders are compared at equal dt: 10 ms
_REFERENCE = 8000
_BEST = "projected_rk4"
_CPP = in_cpp("")
_SAMPLES = 50
_REPEATS = 3


@dataclass(frozen=True)
class Result:
    """The errors and the cost of one contender at one step.

    Attributes:
        name: name of the contender.
        dt: step, s.
        cost: processor time per simulated second, s.
        trajectory: largest component of the difference in configuration at the end, m or rad.
        energy: largest error, as a share of the kinetic energy at the start or, from rest, of the
            largest.
        momentum: largest error of the spatial momentum, kg m/s or kg m^2/s; 0 on a fixed base.
    """

    name: str
    dt: float
    cost: float
    trajectory: float
    energy: float
    momentum: float


def compare(model: VMSModel, contenders: Sequence[Contender], folder: Path) -> list[Path]:
    """Run all contenders at all steps; write two plots, a table and the numbers.

    Args:
        model: the robot.
        contenders: one of them is the reference: ``projected_rk4`` at a very short step.
        folder: folder for the files.
    """
    best = next(c for c in contenders if c.name == _BEST)
    q, v = initial_motion(model)
    reference = _ends(best, q, v, _REFERENCE)[-1]
    results = []
    for contender in contenders:
        for steps in STEPS:
            # A scheme that fails because the step is too long has no result at that step.
            with suppress(IntegrationError):
                results.append(_measure(model, contender, q, v, steps, reference[0]))
    numbers = folder / "integrators.json"
    numbers.write_text(json.dumps([asdict(result) for result in results], indent=1))
    table = folder / "integrators.md"
    table.write_text(_table(results))
    plot = folder / "integrators.png"
    _plot(results, {c.name for c in contenders if c.ours}, plot)
    return [plot, table, numbers]


def _ends(contender: Contender, q: Array, v: Array, steps: int) -> list[Motion]:
    run = contender.start(q, v, SECONDS / steps)
    motions = [run.motion()]
    every = max(1, steps // _SAMPLES)
    for _ in range(steps // every):
        run.steps(every)
        motions.append(run.motion())
    return motions


def _measure(
    model: VMSModel, contender: Contender, q: Array, v: Array, steps: int, reference: Array
) -> Result:
    dt = SECONDS / steps
    motions = _ends(contender, q, v, steps)
    if not all(np.isfinite(at).all() and np.isfinite(speed).all() for at, speed in motions):
        raise IntegrationError(f"{contender.name} diverges at dt={dt:g} s")
    costs = []
    for _ in range(_REPEATS):
        run = contender.start(q, v, dt)
        start = time.process_time()
        run.steps(steps)
        costs.append((time.process_time() - start) / SECONDS)
    invariants = [_invariants(model, *motion) for motion in motions]
    kinetic = np.array([s[0] for s in invariants])
    energy = kinetic + np.array([s[1] for s in invariants])
    momentum = np.stack([s[2] for s in invariants])
    scale = kinetic[0] if kinetic[0] > 0 else np.nanmax(kinetic)
    end = motions[-1][0]
    return Result(
        contender.name,
        dt,
        min(costs),
        float(np.abs(model.difference(reference, model.normalise_configuration(end))).max()),
        float(np.abs(energy - energy[0]).max() / scale),
        float(np.abs(momentum - momentum[0]).max()),
    )


def _invariants(model: VMSModel, q: Array, v: Array) -> tuple[float, float, Array]:
    """Return kinetic and potential energy, and the spatial momentum."""
    m, data = model.tree.pinocchio, model.tree.data()
    kinetic = float(pin.computeKineticEnergy(m, data, q, v))
    potential = float(pin.computePotentialEnergy(m, data, q))
    if model.base == "fixed":
        return kinetic, potential, np.zeros(6)
    pin.computeCentroidalMomentum(m, data, q, v)
    linear = np.array(data.hg.linear)
    momentum = np.concatenate([linear, data.hg.angular + np.cross(data.com[0], linear)])
    return kinetic, potential, momentum if model.base == "floating" else momentum[[0, 1, 5]]


def _at_cost(results: list[Result], cost: float) -> tuple[float, float]:
    """Return trajectory and energy error at a cost, by linear regression of the logarithms.

    The regression is over the steps, which are exact, and the cost of one step is a mean: measured
    costs that lie close together, as on a loaded machine, would make the slope arbitrary.
    """
    dt = np.log([r.dt for r in results])
    a_step = float(np.mean([np.log(r.cost) for r in results] + dt))

    def at(values: list[float]) -> float:
        slope, height = np.polyfit(dt, np.log(np.maximum(values, 1e-16)), 1)
        return float(np.exp(height + slope * (a_step - np.log(cost))))

    return at([r.trajectory for r in results]), at([r.energy for r in results])


def _table(results: Sequence[Result]) -> str:
    """Return the comparison at equal step and at equal cost, in Markdown."""
    dt = SECONDS / EQUAL
    one = next(r for r in results if r.name == "projected_rk4" and r.dt == dt)
    rows = [
        f"| scheme | us a step | trajectory, {dt * 1e3:g} ms | energy | momentum "
        f"| trajectory at the cost of projected_rk4 | energy at that cost |",
        "|---|---|---|---|---|---|---|",
    ]
    for name in dict.fromkeys(r.name for r in results):
        mine = [r for r in results if r.name == name]
        here = next((r for r in mine if r.dt == dt), None)
        if here is None or len(mine) < 2:
            rows.append(f"| {name} | fails at this step | | | | | |")
            continue
        trajectory, energy = _at_cost(mine, one.cost)
        rows.append(
            f"| {name} | {here.cost * here.dt * 1e6:.3g} | {here.trajectory:.1e} "
            f"| {here.energy:.1e} | {here.momentum:.1e} | {trajectory:.1e} | {energy:.1e} |"
        )
    return "\n".join(rows) + "\n"


def _plot(results: Sequence[Result], our_names: set[str], file: Path) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(14, 5.5), layout="constrained", dpi=110)
    left, right = figure.subplots(1, 2)
    names = list(dict.fromkeys(r.name for r in results))
    # A scheme has the same colour in both languages; C++ has the thicker line.
    schemes = list(dict.fromkeys(name.removesuffix(_CPP) for name in names))
    for name in names:
        mine = sorted((r for r in results if r.name == name), key=lambda r: r.cost)
        ours, fast = name in our_names, name.endswith(_CPP) or name.startswith("MuJoCo")
        style: dict[str, Any] = {
            "label": name,
            "color": f"C{schemes.index(name.removesuffix(_CPP))}",
            "marker": "o" if ours else "x",
            "linestyle": "-" if ours else "--",
            "linewidth": 2.0 if fast else 0.8,
            "markersize": 6.0 if fast else 3.5,
        }
        if schemes.index(name.removesuffix(_CPP)) > 9:
            style["color"] = "black"
        cost = [r.cost for r in mine]
        left.loglog(cost, [max(r.trajectory, 1e-16) for r in mine], **style)
        right.loglog(cost, [max(r.energy, 1e-16) for r in mine], **style)
    left.set_ylabel(f"error of the configuration after {SECONDS:g} s (m, rad)")
    right.set_ylabel("largest error of the energy, as a share")
    for axes in (left, right):
        axes.set_xlabel("processor time for a simulated second (s)")
        axes.grid(True, which="major", alpha=0.3)
    figure.legend(*left.get_legend_handles_labels(), loc="outside right center", fontsize=8)
    figure.savefig(file)

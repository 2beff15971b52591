# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Comparison of the energy that engines invent or lose in the free motion of passive robots.

Pinocchio computes the energies of all of them, from the configurations and velocities they report.
"""

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict
from functools import partial
from importlib import metadata
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pinocchio as pin

from vms_ph_dynamics import Array, VMSModel, VmsPhError
from vms_ph_dynamics.robot.joints import motion_subspace
from vms_ph_io import load_urdf, robots
from vms_ph_io.descriptions.mjcf.description import origin
from vms_ph_io.descriptions.packages import resolve
from vms_ph_io.progress import Progress
from vms_ph_io.settings.plugin_tags import numbers

from ..benchmarks.integrators import Contender, Result, measure, motions
from ..check import Check, bounded, compared
from ..figures import Panel, draw
from ..study import Outcome, Parameter, Settings, Stages, Study
from .simulators import ENGINES, Engine, PassiveRobot

STEPS = (4e-3, 2e-3, 1e-3, 0.5e-3)
"""Steps at which all engines are compared, s."""

_ONE_MS = 2  # index of the step for which one number is given
_REFERENCE_STEP = 0.0625e-3  # step of the reference motion, s


def passive_robot(model: VMSModel) -> PassiveRobot:
    """Return the bodies and joints of a robot in a random state, in the gravity of the Earth.

    The inertia of rotors is left out, since not every engine has it.
    """
    m, rng = model.pinocchio, np.random.default_rng(0)
    first_body = 1 if model.base == "floating" else 0
    links = [_link(i, m.inertias[i] if i else pin.Inertia.Identity()) for i in range(m.njoints)]
    joints = [_joint(m, i) for i in range(first_body + 1, m.njoints)]
    urdf = f'<robot name="robot">{"".join(links[first_body:] + joints)}</robot>'
    passive = VMSModel.from_urdf(urdf, model.base, inertia="as_given")
    q = passive.integrate(passive.neutral_configuration(), rng.uniform(-1.0, 1.0, passive.nv))
    return PassiveRobot(passive, urdf, q, rng.uniform(-1.0, 1.0, passive.nv))


def _link(i: int, body: pin.Inertia) -> str:
    # In principal axes, which an engine would otherwise compute with less accuracy.
    moments, axes = np.linalg.eigh(body.inertia)
    axes[:, 2] *= np.linalg.det(axes)
    diagonal = " ".join(f'i{k}{k}="{x!r}"' for k, x in zip("xyz", moments.tolist(), strict=True))
    return (
        f'<link name="body_{i}"><inertial>{_origin(pin.SE3(axes, body.lever))}<mass value="'
        f'{body.mass!r}"/><inertia {diagonal} ixy="0" ixz="0" iyz="0"/></inertial></link>'
    )


def _joint(m: pin.Model, i: int) -> str:
    linear, angular = np.split(motion_subspace(m, i)[:, 0], 2)
    return (
        f'<joint name="{m.names[i]}" type="{"revolute" if angular.any() else "prismatic"}">'
        f'<parent link="body_{m.parents[i]}"/><child link="body_{i}"/>'
        f'{_origin(m.jointPlacements[i])}<axis xyz="{numbers(linear + angular)}"/>'
        '<limit effort="1e6" velocity="1e6"/></joint>'
    )


def _origin(pose: pin.SE3) -> str:
    return ElementTree.tostring(origin(pose), encoding="unicode")


def _tiago() -> VMSModel:
    folder = "package://example-robot-data/robots/tiago_description/robots"
    return load_urdf(resolve(f"{folder}/tiago_no_hand.urdf") or "tiago_no_hand.urdf", base="fixed")


def _random_tree(joint_count: int, is_free: bool) -> VMSModel:
    """Return a random tree; every fourth joint is prismatic, the others are revolute."""
    rng, model, branch = np.random.default_rng(joint_count), pin.Model(), [0]
    for k in range(-int(is_free), joint_count):
        kind = pin.JointModelPrismaticUnaligned if k % 4 == 3 else pin.JointModelRevoluteUnaligned
        axis = rng.normal(size=3)
        joint = pin.JointModelFreeFlyer() if k < 0 else kind(axis / np.linalg.norm(axis))
        placement = pin.SE3.Identity() if k < 0 else pin.exp6(rng.uniform(-0.5, 0.5, 6))
        # Depth first: a new joint may leave the present branch by up to two joints.
        lowest_parent = max(int(is_free and k >= 0), len(branch) - 3)
        branch = branch[: int(rng.integers(lowest_parent, len(branch))) + 1]
        branch.append(model.addJoint(branch[-1], joint, placement, f"joint_{model.njoints}"))
        body = pin.Inertia.FromEllipsoid(rng.uniform(0.5, 2.0), *rng.uniform(0.05, 0.3, 3))
        model.appendBodyToJoint(branch[-1], body, pin.exp6(rng.uniform(-0.3, 0.3, 6)))
    return VMSModel.from_pinocchio(model)


ROBOTS: Mapping[str, Callable[[], VMSModel]] = {
    **{name: partial(robots.load, name) for name in ("panda", "fr3", "baxter")},
    "tiago": _tiago,
    **{name: partial(robots.load, name) for name in ("satellite_panda", "hextilt")},
    **{f"tree_{n}": partial(_random_tree, n, False) for n in (6, 12)},
    **{f"free_tree_{n}": partial(_random_tree, n, True) for n in (6, 12)},
}
"""The robots by name: arms and TIAGo on fixed bases, free robots, random trees."""


def _start_error(engine: Engine, robot: PassiveRobot) -> float:
    """Return the relative difference from Pinocchio in the first state.

    It is that of the kinetic energy or, where the engine has none, of the joint accelerations in
    the first step.
    """
    m, data, run = robot.model.pinocchio, robot.model.tree.data(), engine.start(robot, 1e-3)
    if run.kinetic_energy is not None:
        return abs(run.kinetic_energy() / pin.computeKineticEnergy(m, data, robot.q, robot.v) - 1.0)
    expected_rate = pin.aba(m, data, robot.q, robot.v, np.zeros(m.nv))
    run.advance(1)
    acceleration_error = (run.motion()[1] - robot.v) / 1e-3 - expected_rate
    return float(np.abs(acceleration_error[robot.model.b :]).max() / np.abs(expected_rate).max())


def compare(engine: Engine, robot: PassiveRobot, seconds: float) -> list[Result]:
    """Return the results of an engine at all steps."""
    reference, contender = (
        Contender(e.name, lambda q, v, dt, e=e: e.start(robot, dt))  # type: ignore[misc]
        for e in (ENGINES[0], engine)
    )
    model, state, repeats = robot.model, (robot.q, robot.v), 3 if engine.rounding < 1e-9 else 1
    final_q = motions(reference, *state, round(seconds / _REFERENCE_STEP), seconds)[-1][0]
    step_counts = [round(seconds / dt) for dt in STEPS]
    return [measure(model, contender, *state, n, final_q, seconds, repeats) for n in step_counts]


def _compute(settings: Settings, out: Path | None, progress: Progress) -> Outcome:
    reasons, checks, engine_results = {}, [], {}
    names = [name for name in ROBOTS if settings["robot"] in ("all", name)]
    passive_robots = {name: passive_robot(ROBOTS[name]()) for name in names}
    family = settings["engine"]
    engines = [engine for engine in ENGINES if family in ("all", engine.family)]
    stages = Stages(progress, len(engines))
    for engine in engines:
        stages.begin(engine.name)
        runs, start_error = {}, 0.0
        try:
            version = metadata.version(engine.package)
        except metadata.PackageNotFoundError:
            reasons[engine.name] = f"not installed: pip install {engine.package}"
            continue
        for name, robot in passive_robots.items():
            try:
                runs[name] = compare(engine, robot, float(settings["seconds"]))
                start_error = max(start_error, _start_error(engine, robot))
            except (VmsPhError, RuntimeError, ValueError) as reason:
                reasons[f"{engine.name}, {name}"] = str(reason).splitlines()[0]
        if runs:
            engine_results[f"{engine.name} ({engine.package} {version})"] = runs
        checks += _checks(engine, start_error, list(runs.values()))
    missing = [f"{name}: {reason}" for name, reason in reasons.items()]
    if not engine_results:
        raise VmsPhError(f"no engine could run. {'; '.join(missing)}")
    notes = [_summary(name, list(runs.values())) for name, runs in engine_results.items()]
    return Outcome(checks, _write(engine_results, reasons, out) if out else [], [*notes, *missing])


def _summary(name: str, results: list[list[Result]]) -> str:
    energy, step_cost = (np.median(_table(results, k)[:, _ONE_MS]) for k in ("energy", "cost"))
    step = STEPS[_ONE_MS]
    return (
        f"{name}: energy error {energy:.1e} of the kinetic energy in steps of {step * 1e3:g} ms, "
        f"{step_cost * step * 1e6:.3g} us each"
    )


def _checks(engine: Engine, start_error: float, results: list[list[Result]]) -> list[Check]:
    """Return the checks of the first state and of the energy error."""
    if not engine.order or not results:
        return []
    limit, energy_errors = max(1e-9, 100.0 * engine.rounding), _table(results, "energy")
    name, title = f"{engine.name}: first state, relative difference", f"{engine.name}: energy error"
    if np.isinf(engine.order):
        energy = bounded(f"{title}, largest as a share", float(energy_errors.max()), 1e-11)
    else:
        tolerance = engine.order / 5
        order = float(np.median(np.log2(energy_errors[:, 0] / energy_errors[:, 1])))
        energy = compared(f"{title}, order", engine.order, order, tolerance, origin="independent")
    return [bounded(name, start_error, limit), energy]


def _table(results: Iterable[list[Result]], quantity: str) -> Array:
    """Return a quantity for all robots (rows) and steps (columns)."""
    return np.array([[getattr(result, quantity) for result in row] for row in results])


def _write(
    engines: Mapping[str, Mapping[str, list[Result]]], reasons: Mapping[str, str], out: Path
) -> list[Path]:
    """Write table, numbers and picture, and return the files."""
    md_file, json_file, png_file = (out / f"simulator-energy.{k}" for k in ("md", "json", "png"))
    step_headings = " | ".join(f"{dt * 1e3:g} ms" for dt in STEPS)
    rows = [f"| engine | robots, gain | {step_headings} | configuration | us |", "|---" * 8 + "|"]
    curves = {}
    for name, results in engines.items():
        tables = {k: _table(results.values(), k) for k in ("energy", "gain", "trajectory", "cost")}
        energy, trajectory, cost = (
            np.median(tables[k], axis=0) for k in ("energy", "trajectory", "cost")
        )
        errors = " | ".join(f"{x:.1e}" for x in [*energy, trajectory[_ONE_MS]])
        gains = f"{len(results)}, {np.sum(tables['gain'][:, _ONE_MS] > 0)}"
        rows.append(f"| {name} | {gains} | {errors} | {cost[_ONE_MS] * STEPS[_ONE_MS] * 1e6:.3g} |")
        curves[name] = cost, np.maximum(energy, 1e-17)
    rows += [f"| {name} | {reason} |" for name, reason in reasons.items()]
    md_file.write_text("\n".join(rows) + "\n")
    json_file.write_text(json.dumps(engines, default=asdict, indent=1))
    x, y = "processor time for a simulated second (s)", "energy error, share of the kinetic energy"
    panels = [Panel("median of the robots", x, y, curves, log="xy")] if curves else []
    return [*(draw([panel], png_file) for panel in panels), md_file, json_file]


STUDY = Study(
    id="simulator-energy",
    source="a comparison of this project",
    title="Energy that simulators invent or lose in the motion of passive robots",
    parameters={
        "robot": Parameter("all", "which one", ("all", *ROBOTS)),
        "engine": Parameter(
            "all", "which one", ("all", *dict.fromkeys(engine.family for engine in ENGINES))
        ),
        "seconds": Parameter(1.0, "simulated, s", above=0.0),
    },
    compute=_compute,
)

# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""A satellite turns by closed loops of its arm alone: planned by the connection, then simulated."""

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np

from vms_ph_dynamics import VMSModel
from vms_ph_dynamics.arrays import Array
from vms_ph_dynamics.errors import VmsPhError
from vms_ph_dynamics.forms import DecoupledForm
from vms_ph_dynamics.free_floating import (
    EllipticLoop,
    Reorientation,
    base_motion,
    holonomy,
    plan_reorientation,
    turn_by_curvature,
)
from vms_ph_dynamics.groups import SO3
from vms_ph_dynamics.simulation import Simulation
from vms_ph_io.progress import Progress, Stages

from ..check import bounded, compared, required
from ..study import Outcome, Parameter, Settings, Study
from .satellite import BUS, ComputedTorque, satellite, simulate

_SO3 = SO3()

_SETTLING = 2.0  # time after the last loop in which the joints come to rest, s


def _compute(settings: Settings, out: Path | None, progress: Progress) -> Outcome:
    model, home = satellite(settings)
    axis = np.array([float(settings[f"axis_{name}"]) for name in "xyz"])
    if not axis.any():
        raise VmsPhError("the axis (axis_x, axis_y, axis_z) is zero; give a direction")
    turn = np.radians(float(settings["angle"])) * axis / np.linalg.norm(axis)
    stages = Stages(progress, 10)
    stages.begin("plan")
    plan = plan_reorientation(
        model,
        home,
        _SO3.exp(turn),
        amplitude=float(settings["amplitude"]),
        rate=float(settings["rate"]),
    )
    stages.begin("small loops")
    orders = _orders(model, home, plan.path)
    report = stages.begin("simulation with sampled torques", 8)
    reached = _simulate(model, home, plan, float(settings["step"]), report)
    planned = plan.displacement
    missed = planned[:3, :3].T @ reached.pose[:3, :3]
    shift = float(np.abs(reached.pose[:3, 3] - planned[:3, 3]).max())
    loops = f"{plan.loops} in {plan.path.duration:.1f} s"
    checks = [
        required("loops of the arm", "found", loops, True),
        bounded(
            "plan, by path integration, against the wanted turn",
            _norm(_SO3.log(planned[:3, :3]) - turn),
            1e-8,
            "rad",
        ),
        bounded("simulated attitude against the plan", _norm(_SO3.log(missed)), 1e-4, "rad"),
        bounded("simulated position of the base against the plan", shift, 1e-4, "m"),
        bounded("momentum at the end", reached.momentum, 1e-9, "N s, N m s"),
        bounded("joints at the end against their start", reached.joints, 1e-4, "rad"),
        bounded(
            "curvature alone, for loops of the joints of 2 deg: relative error",
            orders.at_two_degrees,
            1e-2,
        ),
        compared(
            "order of this error in the size of the loop",
            2.0,
            orders.order,
            0.1,
            "",
            "the curvature at the centre of the loop misses second derivatives",
            "independent",
        ),
    ]
    return Outcome(checks, [] if out is None else [_plot(model, plan, out)])


def _norm(x: Array) -> float:
    return float(np.linalg.norm(x))


def _orders(model: VMSModel, home: Array, loop: EllipticLoop) -> "_Orders":
    """Compare the curvature with the path integral for loops of the plan's shape, but small."""
    errors = {}
    widest = np.degrees(max(np.abs(loop.cosine).max(), np.abs(loop.sine).max()))
    for degrees in (4.0, 2.0, 1.0):
        size = degrees / widest
        smaller = EllipticLoop(size * loop.cosine, size * loop.sine, 1, 1.0)
        turn = _SO3.log(holonomy(model, home, smaller)[:3, :3])
        errors[degrees] = _norm(turn_by_curvature(model, home, smaller) - turn) / _norm(turn)
    return _Orders(float(np.log2(errors[2.0] / errors[1.0])), errors[2.0])


class _Orders(NamedTuple):
    """Order of the relative error of the curvature, and this error at loops of 2 deg."""

    order: float
    at_two_degrees: float


class _Simulated(NamedTuple):
    """Pose of the base (4,4), largest entry of momentum and of the joints' errors at the end."""

    pose: Array
    momentum: float
    joints: float


def _simulate(
    model: VMSModel, home: Array, plan: Reorientation, dt: float, report: Callable[[float], None]
) -> _Simulated:
    control = ComputedTorque(model, home, plan.path, 10.0)
    simulation = Simulation(DecoupledForm(model), home, dt, control)
    steps = int(np.ceil(plan.path.duration / dt)) + round(_SETTLING / dt)
    simulate(simulation, steps, report)
    sample = simulation.sample()
    d = model.evaluate(sample.q, sample.v)
    off = model.difference(home, sample.q)[model.b :]
    start = model.base_pose(home)
    pose = np.linalg.inv(start) @ model.base_pose(sample.q)
    return _Simulated(pose, float(np.abs(d.p).max()), float(np.abs(off).max()))


def _plot(model: VMSModel, plan: Reorientation, out: Path) -> Path:
    from matplotlib.figure import Figure

    poses = base_motion(model, plan.q, plan.path, 60 * plan.loops)
    times = np.linspace(0.0, plan.path.duration, len(poses))
    angles = np.degrees([_SO3.log(pose[:3, :3]) for pose in poses])
    offsets = np.degrees([plan.path(t).offset for t in times])
    figure = Figure(figsize=(10, 4.2), layout="constrained", dpi=110)
    left, right = figure.subplots(1, 2)
    for name, series in zip(model.joint_names, offsets.T, strict=True):
        left.plot(times, series, label=name)
    left.set(xlabel="time (s)", ylabel="joints from their start (deg)", title="loops of the arm")
    for axis, colour, series in zip(
        "xyz", ("#c0392b", "#1e8449", "#1f4e79"), angles.T, strict=True
    ):
        right.plot(times, series, label=axis, color=colour)
    right.set(xlabel="time (s)", ylabel="rotation vector (deg)", title="attitude of the base")
    for axes in (left, right):
        axes.legend(fontsize="small")
        axes.grid(alpha=0.3)
    file = out / "space-reorientation.png"
    figure.savefig(file)
    return file


STUDY = Study(
    id="space-reorientation",
    source="Space robotics: nonholonomy of free-floating robots; connection and curvature of [B]",
    title="A satellite turns by closed loops of its arm alone",
    parameters={
        "angle": Parameter(30.0, "that the satellite is to turn by, deg", above=0.0),
        "axis_x": Parameter(0.0, "x of the axis in the axes of the satellite"),
        "axis_y": Parameter(0.0, "y of the axis"),
        "axis_z": Parameter(1.0, "z of the axis"),
        "amplitude": Parameter(1.0, "largest excursion of a joint, rad", above=0.0),
        "rate": Parameter(1.0, "largest rate of a joint, rad/s", above=0.0),
        "step": Parameter(0.001, "sampling time of the torques, s", above=0.0),
        **BUS,
    },
    compute=_compute,
)

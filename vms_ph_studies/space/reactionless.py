# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The arm of a satellite moves without turning it: integrated rates, and sampled torques."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from vms_ph_controllers import Reference, RobotState
from vms_ph_controllers.controller import Command
from vms_ph_controllers.laws.resolved_motion import ResolvedMotion
from vms_ph_dynamics import VMSModel
from vms_ph_dynamics.arrays import Array
from vms_ph_dynamics.forms import DecoupledForm
from vms_ph_dynamics.groups import SO3
from vms_ph_dynamics.simulation import Simulation
from vms_ph_dynamics.tasks import ReactionTask
from vms_ph_io.progress import Progress, Stages

from ..check import bounded, required
from ..study import Outcome, Parameter, Settings, Study
from .satellite import BUS, satellite, simulate

_SO3 = SO3()


def _compute(settings: Settings, out: Path | None, progress: Progress) -> Outcome:
    model, home = satellite(settings)
    duration, dt = float(settings["duration"]), float(settings["step"])
    offset = np.array([float(settings[f"offset_{name}"]) for name in "xyz"])
    stages = Stages(progress, 21)
    stages.begin("integrated rates")
    rates = _by_rates(model, home, float(settings["rate"]), duration)
    with_attitude = _by_torques(
        model, home, offset, duration, dt, True, stages.begin("base held", 10)
    )
    free = _by_torques(model, home, offset, duration, dt, False, stages.begin("base free", 10))
    checks = [
        bounded("rates in the reaction null space: attitude of the base", rates.turn, 1e-9, "rad"),
        required(
            "way of the joints meanwhile",
            "at least 0.5 rad",
            f"{rates.way:.3g} rad",
            rates.way >= 0.5,
        ),
        bounded("sampled torques: attitude of the base", with_attitude.turn, 1e-4, "rad"),
        bounded(
            "sampled torques: tool from its target at the end", with_attitude.missed, 2e-3, "m"
        ),
        bounded("base free: tool from its target at the end", free.missed, 2e-3, "m"),
        required(
            "attitude of a base that is not held",
            "turns",
            f"by {np.degrees(free.turn):.3g} deg",
            free.turn > 100.0 * with_attitude.turn,
        ),
    ]
    return Outcome(checks)


class _ByRates(NamedTuple):
    """Largest rotation of the base, rad, and the way of the joint that moved most, rad."""

    turn: float
    way: float


def _by_rates(model: VMSModel, home: Array, rate: float, duration: float) -> _ByRates:
    """Integrate joint rates in the reaction null space, and the base with them.

    The rates are the projection of a rotating direction, so that the motion is no line.
    """
    task, steps = ReactionTask(model), 400
    h, q, b = duration / steps, home, model.b
    start, turn = model.base_pose(home)[:3, :3], 0.0
    directions = np.linalg.qr(np.random.default_rng(3).normal(size=(model.n, model.n)))[0]

    def velocity(t: float, q: Array) -> Array:
        d = model.evaluate(q, np.zeros(model.nv))
        jacobian = task.jacobian(d)[:, b:]
        angle = 2.0 * np.pi * t / duration
        desired = rate * (np.cos(angle) * directions[0] + np.sin(angle) * directions[1])
        free = desired - np.linalg.pinv(jacobian) @ (jacobian @ desired)
        return np.concatenate([-d.A @ free, free])

    way = np.zeros(model.n)
    for k in range(steps):
        half = model.integrate(q, 0.5 * h * velocity(k * h, q))
        v = velocity((k + 0.5) * h, half)
        q, way = model.integrate(q, h * v), way + h * np.abs(v[b:])
        turn = max(turn, _turn(start, model, q))
    return _ByRates(turn, float(way.max()))


def _turn(start: Array, model: VMSModel, q: Array) -> float:
    return float(np.linalg.norm(_SO3.log(start.T @ model.base_pose(q)[:3, :3])))


class _ByTorques(NamedTuple):
    """Largest rotation of the base, rad, and distance of the tool from its target, m."""

    turn: float
    missed: float


def _by_torques(
    model: VMSModel,
    home: Array,
    offset: Array,
    duration: float,
    dt: float,
    hold: bool,
    report: Callable[[float], None],
) -> _ByTorques:
    law = ResolvedMotion(model, replace(ResolvedMotion.Gains(), hold_attitude=hold))
    law.reset(RobotState(home, np.zeros(model.nv)))
    rest = model.evaluate(home, np.zeros(model.nv))
    pose = np.array(rest.placement(model.end_effector))
    pose[:3, 3] += offset
    reference = Reference(position=pose[:3, 3]) if hold else Reference(pose=pose)
    start, largest = model.base_pose(home)[:3, :3], 0.0

    def control(q: Array, v: Array, step: float) -> Command:
        nonlocal largest
        largest = max(largest, _turn(start, model, q))
        return law.update(RobotState(q, v), reference, step)

    simulation = Simulation(DecoupledForm(model), home, dt, control)
    simulate(simulation, round(duration / dt), report)
    tool = model.evaluate(simulation.sample().q, np.zeros(model.nv)).placement(model.end_effector)
    return _ByTorques(largest, float(np.linalg.norm(tool[:3, 3] - pose[:3, 3])))


STUDY = Study(
    id="space-reactionless",
    source="Space robotics: generalised Jacobian and reaction null space of [E]",
    title="The arm of a satellite moves without turning it",
    parameters={
        "offset_x": Parameter(0.0, "way of the tool along x, m"),
        "offset_y": Parameter(0.0, "way of the tool along y, m"),
        "offset_z": Parameter(-0.05, "way of the tool along z, m"),
        "rate": Parameter(0.2, "joint rates of the integrated motion, rad/s", above=0.0),
        "duration": Parameter(20.0, "of each motion, s", above=0.0),
        "step": Parameter(0.001, "sampling time of the torques, s", above=0.0),
        **BUS,
    },
    compute=_compute,
)

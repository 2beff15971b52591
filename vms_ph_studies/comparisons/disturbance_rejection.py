# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Comparison of decoupled and decentralised PD control of vehicle-manipulators under disturbances.

This comparison is not in the sources: source A proposes the coordinates, but no controller.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pinocchio as pin

from vms_ph_controllers import DecoupledVMSController, Reference, RobotState
from vms_ph_dynamics import VMSModel
from vms_ph_dynamics.arrays import Array
from vms_ph_dynamics.groups import SE3, SO3
from vms_ph_io import robots
from vms_ph_io.progress import Progress, Stages

from ..check import Check, verdict_of
from ..study import Outcome, Parameter, Settings, Study

_SE3, _SO3 = SE3(), SO3()
# Scale of the push for each robot: smaller for a hexarotor of 2 kg.
_PUSHES = {"satellite_panda": 1.0, "omnidirectional_panda": 1.0, "hextilt": 0.1}
_ROBOTS = tuple(_PUSHES)
_STEP = 1e-3

Law = Callable[[Array, Array, float], Array]
"""(q, v, time) -> generalised force (nv,)."""


class _Decentralised:
    """The baseline: PD control of the base with gravity compensation, and of every joint.

    Stiffness and damping are those of the decoupled law; the coupling of base and arm is ignored.
    """

    def __init__(self, model: VMSModel, start: Array, gains: DecoupledVMSController.Gains) -> None:
        self._model, self._home = model, model.base_pose(start)
        self._rows = np.array([0, 1, 5]) if model.base == "planar" else np.arange(6)
        d = model.evaluate(start, np.zeros(model.nv))
        linear = model.b - 3 if model.base == "floating" else 2
        inertia = np.concatenate(
            [
                np.full(linear, np.diag(d.M_b)[:linear].mean()),
                np.full(model.b - linear, np.diag(d.M_b)[linear:].mean()),
                np.diag(d.M_hat_m),
            ]
        )
        frequency = np.repeat([gains.frequency_base, gains.frequency_shape], [model.b, model.n])
        self._stiffness = frequency**2 * inertia
        self._damping = 2.0 * gains.damping_ratio * frequency * inertia
        # Weight and centre of mass in the initial posture of the arm.
        self._mass, self._centre = model.total_mass, _centre_of_mass(model, start)
        self.joints = model.joint_positions(start)

    def __call__(self, q: Array, v: Array, time: float) -> Array:
        model, b = self._model, self._model.b
        error = _SE3.inverse(self._home) @ model.base_pose(q)
        turn = _SO3.log(error[:3, :3])
        shift = error[:3, 3] @ error[:3, :3]
        error_vector = np.concatenate(
            [np.concatenate([shift, turn])[self._rows], model.joint_positions(q) - self.joints]
        )
        d = model.evaluate(q, v)
        force = -self._stiffness * error_vector - self._damping * v
        up = -self._mass * (model.gravity @ model.base_pose(q)[:3, :3])
        force[:b] += np.concatenate([up, np.cross(self._centre, up)])[self._rows]
        force[b:] += d.g[b:]
        return force


@dataclass(frozen=True)
class _Case:
    """A disturbance: a push at the tool, or a commanded motion of the arm."""

    name: str
    push: float = 0.0
    swing: float = 0.0


@dataclass(frozen=True)
class _Excursion:
    """Largest displacement (m) and rotation (deg) of a base, and its last displacement (m)."""

    position: float
    degrees: float
    left: float


def _centre_of_mass(model: VMSModel, q: Array) -> Array:
    """Return the centre of mass of the robot in the base frame, (3,)."""
    m = model.pinocchio
    centre = pin.centerOfMass(m, m.createData(), q)
    pose = model.base_pose(q)
    return np.array((centre - pose[:3, 3]) @ pose[:3, :3])


def _decoupled(
    model: VMSModel, start: Array, joints: Array, settings: Settings
) -> Callable[[Array, Array, float], Array]:
    law = DecoupledVMSController(model)
    law.gains = _gains(settings)
    law.reset(RobotState(start, np.zeros(model.nv)))

    def force(q: Array, v: Array, time: float) -> Array:
        reference = Reference(joints=joints if time == 0.0 else None)
        command = law.update(RobotState(q, v), reference, _STEP)
        return np.concatenate([command.wrench_base, command.torque])

    return force


def _decentralised(model: VMSModel, start: Array, joints: Array, settings: Settings) -> Law:
    law = _Decentralised(model, start, _gains(settings))
    begin = law.joints.copy()
    speed = _gains(settings).joint_speed

    def force(q: Array, v: Array, time: float) -> Array:
        # The same motion at the same speed, as a ramp.
        way = joints - begin
        law.joints = begin + np.clip(way, -speed * time, speed * time)
        return law(q, v, time)

    return force


def _gains(settings: Settings) -> DecoupledVMSController.Gains:
    return DecoupledVMSController.Gains(
        frequency_base=float(settings["frequency_base"]),
        frequency_shape=float(settings["frequency_shape"]),
    )


def _simulate(
    model: VMSModel, start: Array, law: Law, case: _Case, seconds: float
) -> tuple[_Excursion, Array]:
    m = model.pinocchio
    data, q, v = m.createData(), start.copy(), np.zeros(model.nv)
    home = _SE3.inverse(model.base_pose(start))
    displacements = []
    for k in range(round(seconds / _STEP)):
        time = k * _STEP
        force = law(q, v, time)
        if case.push and time < 0.5:
            d = model.evaluate(q, v)
            tool = d.placement(model.end_effector)[:3, :3]
            along = np.concatenate([tool.T @ [case.push, 0.0, 0.0], np.zeros(3)])
            force = force + d.J_end_effector.T @ along
        a = pin.aba(m, data, q, v, force)
        half_q, half_v = model.integrate(q, 0.5 * _STEP * v), v + 0.5 * _STEP * a
        a = pin.aba(m, data, half_q, half_v, force)
        q, v = model.integrate(q, _STEP * half_v), v + _STEP * a
        error = home @ model.base_pose(q)
        turn = np.degrees(np.linalg.norm(_SO3.log(error[:3, :3])))
        displacements.append([np.linalg.norm(error[:3, 3]), turn])
    path = np.array(displacements)
    return _Excursion(float(path[:, 0].max()), float(path[:, 1].max()), float(path[-1, 0])), path


def _compute(settings: Settings, out: Path | None, progress: Progress) -> Outcome:
    chosen = str(settings["robot"])
    names = _ROBOTS if chosen == "all" else (chosen,)
    checks, paths = [], {}
    stages = Stages(progress, 4 * len(names))
    for name in names:
        robot = robots.get(name)
        cases = (
            _Case("pushed at the tool", push=float(settings["push"]) * _PUSHES[name]),
            _Case("while the arm moves", swing=float(settings["swing"])),
        )
        model = robots.load(name)
        start = model.configuration(robot.home)
        for case in cases:
            joints = model.joint_positions(start)
            joints[: min(2, model.n)] += case.swing
            excursions = {}
            for title, make in (("decentralised", _decentralised), ("decoupled", _decoupled)):
                stages.begin(f"{name} {case.name}, {title}")
                law = make(model, start, joints, settings)
                excursions[title], paths[name, case.name, title] = _simulate(
                    model, start, law, case, float(settings["seconds"])
                )
            checks += _compared(
                name, case.name, excursions["decentralised"], excursions["decoupled"]
            )
    files = [] if out is None else [_plot(paths, out / "disturbance-rejection.png")]
    return Outcome(checks, files)


def _compared(robot: str, case: str, baseline: _Excursion, obtained: _Excursion) -> list[Check]:
    rows = (
        (
            "largest displacement of the base",
            "mm",
            1e3 * baseline.position,
            1e3 * obtained.position,
        ),
        ("largest rotation of the base", "deg", baseline.degrees, obtained.degrees),
    )
    return [
        Check(
            f"{robot} {case}: {quantity}",
            unit,
            before,
            "baseline",
            after,
            None,
            verdict_of(after <= before),
            "" if k else "The baseline is decentralised PD control; less is better.",
        )
        for k, (quantity, unit, before, after) in enumerate(rows)
    ]


def _plot(paths: dict[tuple[str, str, str], Array], file: Path) -> Path:
    from matplotlib.figure import Figure

    cases = sorted({(robot, case) for robot, case, _ in paths})
    figure = Figure(figsize=(10, 2.6 * len(cases)), layout="constrained", dpi=100)
    for axes, (robot, case) in zip(
        figure.subplots(len(cases), 1, squeeze=False)[:, 0], cases, strict=True
    ):
        for title, colour in (("decentralised", "#c0392b"), ("decoupled", "#1f4e79")):
            path = paths[robot, case, title]
            axes.plot(_STEP * np.arange(len(path)), 1e3 * path[:, 0], label=title, color=colour)
        axes.set(
            title=f"{robot}, {case}", xlabel="time (s)", ylabel="displacement of the base (mm)"
        )
        axes.legend()
        axes.grid(alpha=0.3)
    figure.savefig(file)
    return file


STUDY = Study(
    id="disturbance-rejection",
    source="a comparison of this project",
    title="Decoupled control beside decentralised PD control of the same stiffness and damping",
    parameters={
        "robot": Parameter("all", "which robot", ("all", *_ROBOTS)),
        "push": Parameter(
            5.0, "along x at the tool for half a second, N; a tenth of it on hextilt"
        ),
        "swing": Parameter(0.6, "by which the first two joints move, rad"),
        "seconds": Parameter(8.0, "simulated, s", above=0.0),
        "frequency_base": Parameter(5.0, "of both laws, rad/s"),
        "frequency_shape": Parameter(8.0, "of both laws, rad/s"),
    },
    compute=_compute,
)

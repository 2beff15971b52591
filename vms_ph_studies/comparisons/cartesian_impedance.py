# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""CartesianImpedance on a Franka Research 3, against the equations of Franka's example controller.

The example is cartesian_impedance_example_controller of franka_ros, of which franka_ros2 has none;
its equations were written anew from what it publishes. Both send torques without weight, which the
driver carries, and both are late by one sample. The rotors of the arm are in its description.

The stiffnesses are equal. The other gains of CartesianImpedance were chosen after earlier runs of
these phases, those of the example are its published ones. The example errs less after a push and
with a tenfold stiffness, holds the posture closer and presses less on the wall. Guiding by hand is
no equal comparison: CartesianImpedance keeps a least damping of the end effector, the example
has none.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pinocchio as pin

from vms_ph_controllers import CartesianImpedance, EnergyGuard, Reference, RobotState
from vms_ph_dynamics import Array, Ports, StandardForm, VMSModel
from vms_ph_dynamics.simulation import Simulation
from vms_ph_io import drivers, robots
from vms_ph_io.progress import Progress, Stages

from ..check import Check, required
from ..study import Outcome, Parameter, Settings, Study

_DT = 1e-3
_DRIVER = "franka_fr3"

# Gains of both: N/m, N m/rad, N m/rad of the posture; dampings are 2 sqrt(K) as in the example.
_STIFFNESS, _ROTATION, _POSTURE = 400.0, 20.0, 10.0
_SOFT = 100.0

# Least damping of CartesianImpedance: N s/m and N m s/rad; rate of its null space, 1/s.
_MIN_DAMPING, _NULL_RATE = (10.0, 1.0), 14.0

# Of the wall, N/m and N s/m.
_WALL = (5000.0, 50.0)


class ExampleLaw:
    """``J^T (-K e - D J qdot) + (1 - J^T J^T+) (K_n (q_n - q) - 2 sqrt(K_n) qdot) + C qdot``.

    Position error and vector part of the quaternion in base axes; stiffness and reference follow
    with the factor 0.005 in each sample, the torque with at most 1 N m; the pseudo-inverse is
    damped by 0.2.
    """

    def __init__(self, model: VMSModel, stiffness: float) -> None:
        """Hold the home posture of a robot without weight."""
        self._model, self.stiffness, self.rotation = model, stiffness, _ROTATION
        d = model.evaluate(model.home, np.zeros(model.nv))
        self._pose = d.placement(model.end_effector)
        self._k = np.array([stiffness, _ROTATION])
        self._position, self._last_torque = self._pose[:3, 3].copy(), np.zeros(model.n)

    def torque(self, state: RobotState, target: Array) -> Array:
        """Return the torques (n,) for a position (3,) of the reference."""
        model, factor = self._model, 0.005
        d = model.evaluate(state.q, state.v)
        self._position = self._position + factor * (target - self._position)
        self._k = self._k + factor * (np.array([self.stiffness, self.rotation]) - self._k)
        pose = d.placement(model.end_effector)
        rotation = pose[:3, :3]
        j = d.J_end_effector.reshape(2, 3, -1)
        jacobian = np.concatenate([rotation @ j[0], rotation @ j[1]])
        quaternion = pin.Quaternion(rotation.T @ self._pose[:3, :3])
        vector = np.sign(quaternion.w or 1.0) * np.array([quaternion.x, quaternion.y, quaternion.z])
        error = np.concatenate([pose[:3, 3] - self._position, -rotation @ vector])
        k = np.repeat(self._k, 3)
        force = -k * error - 2.0 * np.sqrt(k) * (jacobian @ state.v)
        left, values, right = np.linalg.svd(jacobian.T, full_matrices=False)
        inverse = right.T @ (values / (values**2 + 0.2**2) * left).T
        null = np.eye(model.n) - jacobian.T @ inverse
        posture = _POSTURE * (model.home - state.q) - 2.0 * np.sqrt(_POSTURE) * state.v
        desired = jacobian.T @ force + null @ posture + d.C @ state.v
        self._last_torque = self._last_torque + np.clip(desired - self._last_torque, -1.0, 1.0)
        return self._last_torque


class GuardedImpedance:
    """CartesianImpedance behind a guard, for the driver."""

    def __init__(self, model: VMSModel, stiffness: float) -> None:
        """Hold the home posture of a robot with its weight."""
        self.law: Any = drivers.get(_DRIVER).law(CartesianImpedance, model)
        self.rotation, self.stiffness = _ROTATION, stiffness
        self._home = RobotState(model.home, np.zeros(model.nv))
        self._set_gains()
        self.guard = EnergyGuard(self.law, budget=40.0)
        self.guard.reset(self._home)

    def _set_gains(self) -> None:
        key = (self.stiffness, self.rotation)
        if getattr(self, "_key", None) == key:
            return
        self._key = key
        self.law.gains = replace(
            self.law.gains,
            stiffness=self.stiffness,
            stiffness_rotation=self.rotation,
            damping=max(2.0 * np.sqrt(self.stiffness), _MIN_DAMPING[0]),
            damping_rotation=max(2.0 * np.sqrt(self.rotation), _MIN_DAMPING[1]),
            damping_null=_NULL_RATE,
            null_stiffness=_POSTURE,
            speed=1.0,
        )

    def torque(self, state: RobotState, target: Array) -> Array:
        """Return the torques (n,) for a position (3,) of the reference."""
        self._set_gains()
        return self.guard.update(state, Reference(position=target), _DT).torque


@dataclass(frozen=True)
class Phase:
    """What happens to the arm.

    Attributes:
        seconds: s.
        target: position (3,) of the reference at a time, from that at home.
        force: (3,) on the end effector at a time and displacement from home, N.
        stiffness: of a law at a time, N/m; zero for guiding by hand.
    """

    seconds: float
    target: Callable[[float], Array]
    force: Callable[[float, Array, Array], Array]
    stiffness: Callable[[float], float]


@dataclass(frozen=True)
class Measured:
    """What was measured in a phase.

    Attributes:
        error: largest distance to the reference of the last third, m.
        force: largest force on the end effector, N.
        posture: largest offset of the posture in the null space, rad.
        torque: largest torque, as a share of its limit.
        rate: largest rate of a torque, N m/s.
        work: largest energy that the law has given, J.
        verdict: of the certificate; empty without one.
    """

    error: float
    force: float
    posture: float
    torque: float
    rate: float
    work: float
    verdict: str


def _phases(figure: float) -> dict[str, Phase]:
    def still(t: float) -> Array:
        return np.zeros(3)

    def free(t: float, x: Array, v: Array) -> Array:
        return np.zeros(3)

    def eight(t: float) -> Array:
        angle, ramp = 2.0 * np.pi * t / 6.0, min(1.0, t / 2.0)
        return ramp * np.array([0.0, 0.12 * np.sin(angle), 0.06 * np.sin(2.0 * angle)])

    def wall(t: float, x: Array, v: Array) -> Array:
        depth = max(0.0, x[0] - 0.02)
        return np.array([-max(0.0, _WALL[0] * depth + (depth > 0.0) * _WALL[1] * v[0]), 0.0, 0.0])

    def pushed(size: float, start: float, end: float) -> Callable[[float, Array, Array], Array]:
        return lambda t, x, v: np.array([0.0, size * float(start <= t < end), 0.0])

    def stiff(t: float) -> float:
        return _STIFFNESS

    return {
        "figure of eight": Phase(figure, eight, free, stiff),
        "push of 30 N": Phase(3.0, still, pushed(30.0, 0.5, 0.8), stiff),
        "wall": Phase(3.0, lambda t: np.array([0.06 * min(1.0, t), 0.0, 0.0]), wall, stiff),
        "stretched arm": Phase(5.0, lambda t: np.array([0.2 * min(t, 3.0), 0, 0]), free, stiff),
        "stiffness times ten": Phase(
            3.0, still, pushed(8.0, 0.0, 9.0), lambda t: _SOFT if t < 1.5 else 10.0 * _SOFT
        ),
        "hand guiding": Phase(3.0, still, pushed(4.0, 0.5, 1.5), lambda t: 0.0),
    }


def run_phase(phase: Phase, kind: type[GuardedImpedance] | type[ExampleLaw]) -> Measured:
    """Return what a law does in a phase."""
    model = robots.load("fr3")
    arm = drivers.get(_DRIVER).model(model)
    law = kind(model if kind is GuardedImpedance else arm, phase.stiffness(0.0))
    held = [np.zeros(model.n)]
    # The driver carries the weight: the arm moves like one without.
    simulation = Simulation(StandardForm(arm), model.home, _DT, lambda q, v, dt: Ports(held[0]))
    d = arm.evaluate(model.home, np.zeros(7))
    home = d.placement(model.end_effector)[:3, 3]
    errors: list[float] = []
    delayed: Array = np.zeros(7)
    force = posture = torque_share = rate = work = max_work = 0.0
    steps = round(phase.seconds / _DT)
    for k in range(steps):
        t, q, v = k * _DT, simulation.q, simulation.v
        d = arm.evaluate(q, v)
        pose, j = d.placement(model.end_effector), d.J_end_effector
        offset = pose[:3, 3] - home
        law.stiffness = phase.stiffness(t)
        law.rotation = _ROTATION if law.stiffness else 0.0
        target = phase.target(t)
        torque = law.torque(RobotState(q, v), home + target)
        on_tool = phase.force(t, offset, pose[:3, :3] @ (j[:3] @ v))
        wrench = np.concatenate([on_tool @ pose[:3, :3], np.zeros(3)])
        held[0] = delayed
        simulation.apply(Ports(wrench_end_effector=wrench))
        simulation.advance(1)
        work += float(delayed @ (simulation.q - q))
        max_work = max(max_work, work)
        if k > 1:
            rate = max(rate, float(np.abs(torque - delayed).max()) / _DT)
        delayed = torque
        torque_share = max(torque_share, float(np.abs(torque / model.joints.effort).max()))
        force = max(force, float(np.linalg.norm(on_tool)))
        null = np.eye(7) - np.linalg.pinv(j, rcond=1e-2) @ j
        posture = max(posture, float(np.linalg.norm(null @ (q - model.home))))
        if 3 * k > 2 * steps:
            errors.append(float(np.linalg.norm(offset - target)))
    verdict = law.guard.certificate.verdict if isinstance(law, GuardedImpedance) else ""
    return Measured(max(errors), force, posture, torque_share, rate, max_work, verdict)


def _compute(settings: Settings, out: Path | None, progress: Progress) -> Outcome:
    phases, checks = _phases(float(settings["figure"])), []
    chosen = str(settings["phase"])
    stages = Stages(progress, 2 * len(phases))
    for name, phase in phases.items():
        if chosen not in ("all", name):
            continue
        stages.begin(f"{name}, CartesianImpedance")
        ours = run_phase(phase, GuardedImpedance)
        stages.begin(f"{name}, example")
        theirs = run_phase(phase, ExampleLaw)
        checks.append(_check(name, ours, theirs))
    return Outcome(checks)


def _check(name: str, ours: Measured, theirs: Measured) -> Check:
    undamped = " (whose end effector is not damped)" if name == "hand guiding" else ""
    limits = ours.torque <= 1.0 and ours.rate <= 1000.0 and ours.verdict == "kept"
    return required(
        name,
        f"torques within limits, certificate kept; the example{undamped}: {_text(theirs)}",
        _text(ours),
        limits,
        "" if limits else "a limit was exceeded, or the certificate was not kept",
    )


def _text(m: Measured) -> str:
    text = (
        f"error {1e3 * m.error:.1f} mm, force {m.force:.0f} N, posture {m.posture:.3f} rad, torque "
        f"{100.0 * m.torque:.0f} %, rate {m.rate:.0f} N m/s, given {m.work:.2f} J"
    )
    return text + (f", certificate {m.verdict}" if m.verdict else "")


STUDY = Study(
    id="cartesian-impedance",
    source="a study of this project",
    title="CartesianImpedance and Franka's example controller on a Franka Research 3",
    parameters={
        "figure": Parameter(60.0, "seconds of the figure of eight", above=0.0),
        "phase": Parameter("all", "which one", ("all", *_phases(1.0))),
    },
    compute=_compute,
)

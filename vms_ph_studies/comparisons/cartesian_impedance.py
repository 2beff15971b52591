# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""CartesianImpedance on an arm, against the equations of two controllers that others publish.

The laws, and the one rule of gains for all of them and every arm, are in :mod:`.impedance_laws`;
``gains=published`` gives the others their own. Every arm is driven as an FR3 by franka_ros2: the
driver carries the weight, torques are late by a sample and limited by those of the description, and
the measured motion is noisy. Rotors and friction are those of the description. Lengths and forces
are in proportion to the reach of the arm and to its torque limits. Laws know delay and rate, and
nothing of payload and noise.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from vms_ph_controllers import RobotState
from vms_ph_dynamics import Array, Ports, StandardForm, VMSModel
from vms_ph_dynamics.actuation.friction import Friction
from vms_ph_dynamics.capture import Body, carrying
from vms_ph_dynamics.simulation import Simulation
from vms_ph_io import drivers, load, robots
from vms_ph_io.progress import Progress, Stages

from ..benchmarks.mujoco_robot import FreeRobot
from ..check import Check, required
from ..study import Outcome, Parameter, Settings, Study
from .impedance_laws import CrispLaw, ExampleLaw, GuardedImpedance

# Step of the plant, s.
_STEP = 1e-3

# Standard deviations of what is measured, rad and rad/s.
_NOISE = (1e-5, 1e-3)

# Of the wall, N/m and N s/m; the largest push, N.
_WALL, _PUSH = (5000.0, 50.0), 30.0

# Of gyration of a payload, m.
_PAYLOAD_RADIUS = 0.04

_OURS = "CartesianImpedance"
_LAWS = {"Franka's example": ExampleLaw, "crisp": CrispLaw}


@dataclass(frozen=True)
class Phase:
    """What happens to the arm, in the axes radial, tangential, up of its end effector at home.

    Attributes:
        seconds: s.
        target: position (3,) of the reference at a time, from that at home, m.
        force: (3,) on the end effector at a time, displacement from home and velocity, N.
        scale: of the stiffness of the position at a time; zero for guiding by hand.
    """

    seconds: float
    target: Callable[[float], Array]
    force: Callable[[float, Array, Array], Array]
    scale: Callable[[float], float]


@dataclass(frozen=True)
class Arm:
    """An arm and its surroundings.

    Attributes:
        model: of the arm with its weight.
        plant: vms_ph or mujoco.
        friction: share of the friction of the description that acts.
        payload: mass at the end effector that neither law nor driver knows, kg.
        delay: from a measurement to the torque that is computed from it, samples.
        rate: of the law, Hz.
        noise: of the measured motion, as a multiple of the usual one.
        torque_noise: standard deviation of the torques that act, N m.
    """

    model: VMSModel
    plant: str = "vms_ph"
    friction: float = 1.0
    payload: float = 0.0
    delay: int = 1
    rate: float = 1000.0
    noise: float = 1.0
    torque_noise: float = 0.0

    @property
    def driver(self) -> drivers.Driver:
        """That of an FR3, with the delay and rate of this arm."""
        franka = drivers.get("franka_fr3")
        return replace(franka, torque=(), delay=float(self.delay), rate=self.rate)

    @property
    def reach(self) -> float:
        """Sum of the distances between its joints from the second one on, m."""
        tree = self.model.tree.pinocchio
        tool = tree.frames[self.model.end_effector_id].placement
        return sum(float(np.linalg.norm(p.translation)) for p in [*tree.jointPlacements[2:], tool])

    @property
    def push(self) -> float:
        """A third of what its largest torque limit holds at its reach, N."""
        return min(_PUSH, float(self.model.joints.effort.max()) / (3.0 * self.reach))

    def axes(self, home: Array) -> Array:
        """Return the directions radial, tangential, up (3,3) of a position of the end effector."""
        radial = (home - self.model.tree.pinocchio.jointPlacements[1].translation) * [1.0, 1.0, 0.0]
        radial /= np.linalg.norm(radial)
        return np.column_stack([radial, np.cross([0.0, 0.0, 1.0], radial), [0.0, 0.0, 1.0]])

    def start(self) -> Callable[[Array], tuple[Array, Array]]:
        """Return what moves the arm from home by a sample, without the weight that is carried.

        It takes the torques (n,) that act; what it returns is not finite where it fails.
        """
        model, joints = self.driver.model(self.model), self.model.joints
        if self.payload > 0.0:
            inertia = self.payload * _PAYLOAD_RADIUS**2 * np.eye(3)
            model = carrying(model, Body(self.payload, np.zeros(3), inertia))
        friction = Friction(self.friction * joints.damping, self.friction * joints.friction)
        if self.plant == "mujoco":
            robot = FreeRobot(model, "Euler", friction)
            robot.begin(self.model.home, np.zeros(model.nv), _STEP)

            def step(torque: Array) -> tuple[Array, Array]:
                robot.set_torque(torque)
                robot.steps(1)
                return robot.motion()

            return step
        form = StandardForm(model)
        simulation = Simulation(form, self.model.home, _STEP, friction=friction, joint_stops=True)

        def advance(torque: Array) -> tuple[Array, Array]:
            simulation.apply(Ports(torque))
            simulation.advance(1)
            return simulation.q, simulation.v if not simulation.failure else simulation.v * np.nan

        return advance


@dataclass(frozen=True)
class Measured:
    """What was measured in a phase.

    Attributes:
        error: largest distance to the reference of the last third, m.
        force: largest force on the end effector, N.
        posture: largest offset of the posture in the null space, rad.
        torque: largest torque, as a share of its limit.
        rate: largest rate of a torque, N m/s.
        jitter: root mean square of the second difference of the torques, N m.
        work: largest energy that the law has given, J.
        verdict: of the certificate; empty without one.
        ended: whether the simulation failed before its end.
    """

    error: float
    force: float
    posture: float
    torque: float
    rate: float
    jitter: float
    work: float
    verdict: str
    ended: bool


def _phases(figure: float, reach: float, push: float) -> dict[str, Phase]:
    def still(t: float) -> Array:
        return np.zeros(3)

    def free(t: float, x: Array, v: Array) -> Array:
        return np.zeros(3)

    def eight(t: float) -> Array:
        angle, size = 2.0 * np.pi * t / 6.0, 0.12 * reach * min(1.0, t / 2.0)
        return size * np.array([0.0, np.sin(angle), 0.5 * np.sin(2.0 * angle)])

    def outwards(distance: float, seconds: float) -> Callable[[float], Array]:
        return lambda t: np.array([distance * reach * min(1.0, t / seconds), 0.0, 0.0])

    def wall(t: float, x: Array, v: Array) -> Array:
        depth = max(0.0, x[0] - 0.02 * reach)
        return np.array([-max(0.0, _WALL[0] * depth + (depth > 0.0) * _WALL[1] * v[0]), 0.0, 0.0])

    def pushed(share: float, start: float, end: float) -> Callable[[float, Array, Array], Array]:
        return lambda t, x, v: np.array([0.0, share * push * float(start <= t < end), 0.0])

    def stiff(t: float) -> float:
        return 1.0

    return {
        "figure of eight": Phase(figure, eight, free, stiff),
        "push": Phase(3.0, still, pushed(1.0, 0.5, 0.8), stiff),
        "wall": Phase(3.0, outwards(0.06, 1.0), wall, stiff),
        "stretched arm": Phase(5.0, outwards(0.6, 3.0), free, stiff),
        "stiffness times ten": Phase(
            3.0, still, pushed(0.25, 0.0, 9.0), lambda t: 0.25 if t < 1.5 else 2.5
        ),
        "hand guiding": Phase(3.0, still, pushed(0.15, 0.5, 1.5), lambda t: 0.0),
    }


_TITLES = tuple(_phases(1.0, 1.0, 1.0))


def run_phase(phase: Phase, arm: Arm, name: str = _OURS, published: bool = False) -> Measured:
    """Return what a law does in a phase."""
    model, noise = arm.model, np.random.default_rng(1)
    driver, limits = arm.driver, model.joints.effort
    moving, dt, late = driver.model(model), 1.0 / arm.rate, arm.delay
    law: Any = GuardedImpedance(model, driver)
    if name != _OURS:
        law = _LAWS[name](moving, published, dt)
    step, q = arm.start(), model.home
    v: Array = np.zeros(model.nv)
    home = moving.evaluate(model.home, np.zeros(model.nv)).placement(model.end_effector)[:3, 3]
    axes, posture, force = arm.axes(home), 0.0, 0.0
    weight = np.array([0.0, 0.0, -9.81 * arm.payload])
    errors, torques, work = [], [np.zeros(model.n)] * (late + 1), [0.0]
    for k in range(round(phase.seconds / _STEP)):
        t, d = k * _STEP, moving.evaluate(q, v)
        pose, j = d.placement(model.end_effector), d.J_end_effector
        target = axes @ phase.target(t)
        if k % round(dt / _STEP) == 0:
            law.set_scale(phase.scale(t))
            error, rates = (arm.noise * x * noise.standard_normal(model.nv) for x in _NOISE)
            state = RobotState(model.integrate(q, error), v + rates)
            torques.append(law.torque(state, home + target))
        offset, velocity = axes.T @ (pose[:3, 3] - home), axes.T @ (pose[:3, :3] @ (j[:3] @ v))
        on_tool = phase.force(t, offset, velocity)
        acting = np.clip(torques[-1 - late], -limits, limits)
        disturbed = acting
        if arm.torque_noise > 0.0:
            disturbed = acting + arm.torque_noise * noise.standard_normal(model.n)
        last, wrench = q, pose[:3, :3].T @ (axes @ (on_tool + weight))
        q, v = step(disturbed + j[:3].T @ wrench)
        if not np.isfinite(v).all():
            break
        work.append(work[-1] + float(acting @ model.difference(last, q)))
        force = max(force, float(np.linalg.norm(on_tool)))
        if k % 10 == 0:
            null = np.eye(model.nv) - np.linalg.pinv(j, rcond=1e-2) @ j
            posture = max(posture, float(np.linalg.norm(null @ model.difference(model.home, last))))
        errors.append(float(np.linalg.norm(pose[:3, 3] - home - target)))
    changes = np.diff(torques[late + 1 :], axis=0)
    return Measured(
        max(errors[2 * len(errors) // 3 :]),
        force,
        posture,
        float(np.abs(torques / limits).max()),
        float(np.abs(changes).max()) / dt,
        float(np.sqrt(np.mean(np.diff(changes, axis=0) ** 2))),
        max(work),
        law.guard.certificate.verdict if name == _OURS else "",
        len(errors) < round(phase.seconds / _STEP),
    )


def _compute(settings: Settings, out: Path | None, progress: Progress) -> Outcome:
    chosen, published = str(settings["phase"]), settings["gains"] == "published"
    names, checks = str(settings["arm"]).split(","), []
    titles = [title for title in _TITLES if chosen in ("all", title)]
    stages = Stages(progress, len(names) * len(titles) * (1 + len(_LAWS)))
    for name in names:
        model = robots.load(name) if name in robots.names() else load(name)
        arm = Arm(
            model,
            str(settings["plant"]),
            float(settings["friction"]),
            float(settings["payload"]),
            int(settings["delay"]),
            1000.0 / int(settings["hold"]),
            float(settings["noise"]),
            float(settings["torque_noise"]),
        )
        phases = _phases(float(settings["figure"]), arm.reach, arm.push)
        for title in titles:
            measured = {}
            for law in (_OURS, *_LAWS):
                stages.begin(f"{model.name}, {title}, {law}")
                measured[law] = run_phase(phases[title], arm, law, published)
            checks.append(_check(f"{model.name}, {title}", measured))
    return Outcome(checks)


def _check(title: str, measured: dict[str, Measured]) -> Check:
    ours = measured.pop(_OURS)
    limits = (
        ours.torque <= 1.0 and ours.rate <= 1000.0 and ours.verdict == "kept" and not ours.ended
    )
    return required(
        title,
        "torques within limits, certificate kept; "
        + "; ".join(f"{name}: {_text(other)}" for name, other in measured.items()),
        _text(ours),
        limits,
        "" if limits else "a limit was exceeded, or the certificate was not kept",
    )


def _text(m: Measured) -> str:
    text = (
        f"error {1e3 * m.error:.1f} mm, force {m.force:.0f} N, posture {m.posture:.3f} rad, torque "
        f"{100.0 * m.torque:.0f} %, rate {m.rate:.0f} N m/s, jitter {m.jitter:.3f} N m, given "
        f"{m.work:.2f} J"
    )
    text += f", certificate {m.verdict}" if m.verdict else ""
    return text + (", diverged" if m.ended else "")


STUDY = Study(
    id="cartesian-impedance",
    source="a study of this project",
    title="CartesianImpedance and two controllers of others on an arm",
    parameters={
        "arm": Parameter("fr3", "bundled robots or files of arms, with commas in between"),
        "plant": Parameter("vms_ph", "simulates the arm", ("vms_ph", "mujoco")),
        "gains": Parameter("equal", "of the others", ("equal", "published")),
        "friction": Parameter(1.0, "share of the friction of the description", least=0.0),
        "payload": Parameter(0.0, "mass in the hand that nobody knows, kg", least=0.0),
        "delay": Parameter(1, "of the torques, samples", least=0),
        "hold": Parameter(1, "of a torque, ms: 4 for 250 Hz", least=1),
        "noise": Parameter(1.0, "of the measured motion, multiple", least=0.0),
        "torque_noise": Parameter(0.0, "standard deviation of the torques, N m", least=0.0),
        "figure": Parameter(60.0, "seconds of the figure of eight", above=0.0),
        "phase": Parameter("all", "which one", ("all", *_TITLES)),
    },
    compute=_compute,
)

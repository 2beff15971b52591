# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""CartesianImpedance on an arm, against the equations of controllers that others publish.

The laws, and the one rule of gains for all of them and every arm, are in :mod:`.impedance_laws`;
``gains=published`` gives every law its own. Every arm is driven as an FR3 by franka_ros2: the
driver carries the weight, torques are late by a sample and limited by those of the description, and
the measured motion is noisy. Rotors and friction are those of the description. Lengths and forces
are in proportion to the reach of the arm and to its torque limits. Laws know delay and rate, and
nothing of payload and noise. cartesian_controllers commands servos that carry weight and friction,
and is given the wrench, as of a force-torque sensor.

With ``servo_stiffness`` K the joints are position servos, springs of torque ``K (q_c - q)`` up to
the limits. A torque tau is then the position command ``q_c = q + tau / K``, with the measured q. It
carries the weight too, and this project's law stands before a PositionGuard.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from vms_ph_controllers import RobotState
from vms_ph_dynamics import Array, Ports, StandardForm, VMSModel
from vms_ph_dynamics.actuation.friction import Friction
from vms_ph_dynamics.capture import Body, with_body
from vms_ph_dynamics.simulation import Simulation
from vms_ph_io import drivers, load, robots
from vms_ph_io.progress import Progress

from ..benchmarks.mujoco_robot import FreeRobot
from ..check import Check, required
from ..study import Outcome, Parameter, Settings, Stages, Study
from .impedance_laws import ComplianceLaw, CrispLaw, ExampleLaw, GuardedImpedance, ServoImpedance

# Step of the plant, s.
_STEP = 1e-3

# Standard deviations of what is measured, rad and rad/s.
_MOTION_NOISE = (1e-5, 1e-3)

# Of a measured wrench, N and N m.
_WRENCH_NOISE = np.repeat([0.2, 0.01], 3)

# Of the wall, N/m and N s/m; the largest push, N.
_WALL_STIFFNESS, _WALL_DAMPING, _MAX_PUSH = 5000.0, 50.0, 30.0

# Of gyration of a payload, m.
_PAYLOAD_RADIUS = 0.04

_OWN_LAW = "CartesianImpedance"
_TORQUE_LAWS = {"crisp": CrispLaw, "Franka's example": ExampleLaw}
_POSITION_LAW = "cartesian_controllers"
LAWS = (_OWN_LAW, *_TORQUE_LAWS, _POSITION_LAW)


@dataclass(frozen=True)
class Phase:
    """What happens to the arm, in the axes radial, tangential, up of its end effector at home.

    Attributes:
        seconds: s.
        target: position (3,) of the reference at a time, from that at home, m.
        force: (3,) on the end effector at a time, displacement from home and velocity, N.
        stiffness_scale: of the stiffness of the position at a time; zero for guiding by hand.
    """

    seconds: float
    target: Callable[[float], Array]
    force: Callable[[float, Array, Array], Array] = lambda t, x, v: np.zeros(3)
    stiffness_scale: Callable[[float], float] = lambda t: 1.0


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
        servo_stiffness: of position servos that realise the torques, N m/rad; 0 for motors.
    """

    model: VMSModel
    plant: str = "vms_ph"
    friction: float = 1.0
    payload: float = 0.0
    delay: int = 1
    rate: float = 1000.0
    noise: float = 1.0
    torque_noise: float = 0.0
    servo_stiffness: float = 0.0

    @property
    def driver(self) -> drivers.Driver:
        """That of an FR3, with delay and rate of this arm; with servos it carries no weight."""
        return replace(
            drivers.get("franka_fr3"),
            torque=(),
            delay=float(self.delay),
            rate=self.rate,
            compensates_weight=self.servo_stiffness == 0.0,
        )

    @property
    def reach(self) -> float:
        """Sum of the distances between its joints from the second one on, m."""
        pinocchio_model = self.model.tree.pinocchio
        tool = pinocchio_model.frames[self.model.end_effector_id].placement
        placements = [*pinocchio_model.jointPlacements[2:], tool]
        return sum(float(np.linalg.norm(p.translation)) for p in placements)

    @property
    def max_push(self) -> float:
        """A third of what its largest torque limit holds at its reach, N."""
        return min(_MAX_PUSH, float(self.model.joints.effort.max()) / (3.0 * self.reach))

    def axes(self, home: Array) -> Array:
        """Return the directions radial, tangential, up (3,3) of a position of the end effector."""
        radial = (home - self.model.tree.pinocchio.jointPlacements[1].translation) * [1.0, 1.0, 0.0]
        radial /= np.linalg.norm(radial)
        return np.column_stack([radial, np.cross([0.0, 0.0, 1.0], radial), [0.0, 0.0, 1.0]])

    def make_step(self) -> Callable[[Array], tuple[Array, Array]]:
        """Return a function that moves the arm from home by a sample, without the carried weight.

        It takes the torques (n,) that act; what it returns is not finite where it fails.
        """
        model, joints = self.driver.model(self.model), self.model.joints
        if self.payload > 0.0:
            inertia = self.payload * _PAYLOAD_RADIUS**2 * np.eye(3)
            model = with_body(model, Body(self.payload, np.zeros(3), inertia))
        friction = Friction(self.friction * joints.damping, self.friction * joints.friction)
        if self.plant == "mujoco":
            robot = FreeRobot(model, "Euler", friction)
            robot.begin(self.model.home, np.zeros(model.nv), _STEP)

            def step(torque: Array) -> tuple[Array, Array]:
                robot.set_torque(torque)
                robot.advance(1)
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
class PhaseResult:
    """What was measured in a phase.

    Attributes:
        position_error: largest distance to the reference of the last third, m.
        force: largest force on the end effector, N.
        posture_error: largest offset of the posture in the null space, rad.
        torque: largest torque, as a share of its limit.
        rate: largest rate of a torque, N m/s.
        jitter: root mean square of the second difference of the torques, N m.
        work: largest energy that the law has given, J.
        verdict: of the certificate; empty without one.
        scaled: number of commands that the guard scaled.
        failed: whether the simulation failed before its end.
    """

    position_error: float
    force: float
    posture_error: float
    torque: float
    rate: float
    jitter: float
    work: float
    verdict: str
    scaled: int
    failed: bool


def make_phases(figure_seconds: float, reach: float, push: float) -> dict[str, Phase]:
    """Return all phases for a length of the figure, s, a reach, m, and a largest push, N."""

    def at_home(t: float) -> Array:
        return np.zeros(3)

    def figure_eight(t: float) -> Array:
        angle, half_width = 2.0 * np.pi * t / 6.0, 0.12 * reach * min(1.0, t / 2.0)
        return half_width * np.array([0.0, np.sin(angle), 0.5 * np.sin(2.0 * angle)])

    def move_outwards(distance: float, seconds: float) -> Callable[[float], Array]:
        return lambda t: np.array([distance * reach * min(1.0, t / seconds), 0.0, 0.0])

    def wall_force(t: float, x: Array, v: Array) -> Array:
        depth = max(0.0, x[0] - 0.02 * reach)
        damping = (depth > 0.0) * _WALL_DAMPING
        return np.array([-max(0.0, _WALL_STIFFNESS * depth + damping * v[0]), 0.0, 0.0])

    def pulse(ratio: float, start: float, end: float) -> Callable[[float, Array, Array], Array]:
        return lambda t, x, v: np.array([0.0, ratio * push * float(start <= t < end), 0.0])

    def hand_force(t: float, x: Array, v: Array) -> Array:
        # The hand has 1000 N/m and 50 N s/m, and gains its speed in the first second.
        place = 0.1 * (0.5 * t * t if t < 1.0 else t - 0.5)
        return np.array([0.0, 1e3 * (place - x[1]) + 50.0 * (0.1 * min(t, 1.0) - v[1]), 0.0])

    return {
        "figure of eight": Phase(figure_seconds, figure_eight),
        "push": Phase(3.0, at_home, pulse(1.0, 0.5, 0.8)),
        "wall": Phase(3.0, move_outwards(0.06, 1.0), wall_force),
        "stretched arm": Phase(5.0, move_outwards(0.6, 3.0)),
        "stiffness times ten": Phase(
            3.0, at_home, pulse(0.25, 0.0, 9.0), lambda t: 0.25 if t < 1.5 else 2.5
        ),
        "jump": Phase(3.0, lambda t: 0.1 * reach * (t >= 0.5) * np.eye(3)[1]),
        "hand guiding": Phase(3.0, at_home, pulse(0.15, 0.5, 1.5), lambda t: 0.0),
        "hand at 0.1 m/s": Phase(2.5, at_home, hand_force, lambda t: 0.0),
    }


_TITLES = tuple(make_phases(1.0, 1.0, 1.0))


def run_phase(phase: Phase, arm: Arm, name: str = _OWN_LAW, published: bool = False) -> PhaseResult:
    """Return what a law does in a phase."""
    model, rng = arm.model, np.random.default_rng(1)
    driver, torque_limits = arm.driver, model.joints.effort
    driven_model, dt, delay = driver.model(model), 1.0 / arm.rate, arm.delay
    law: Any = GuardedImpedance(model, driver, published)
    if commands_positions := name == _POSITION_LAW:
        law, arm = ComplianceLaw(driven_model, published), replace(arm, friction=0.0)
    elif name != _OWN_LAW:
        law = _TORQUE_LAWS[name](driven_model, published, dt)
    elif arm.servo_stiffness > 0.0:
        law = ServoImpedance(model, driver, arm.servo_stiffness)
    advance, q = arm.make_step(), model.home
    v: Array = np.zeros(model.nv)
    d = driven_model.evaluate(q, v)
    home_position = d.placement(model.end_effector)[:3, 3]
    axes, max_posture_error, max_force = arm.axes(home_position), 0.0, 0.0
    payload_weight = np.array([0.0, 0.0, -9.81 * arm.payload])
    errors, work, wrench, torques = [], [0.0], np.zeros(6), []
    commands, measured_q = [d.g * (not commands_positions)] * (delay + 1), [q] * (delay + 1)
    for k in range(round(phase.seconds / _STEP)):
        t, d = k * _STEP, driven_model.evaluate(q, v)
        pose, J = d.placement(model.end_effector), d.J_end_effector
        target = axes @ phase.target(t)
        if k % round(dt / _STEP) == 0:
            law.set_scale(phase.stiffness_scale(t))
            q_noise, v_noise = (arm.noise * x * rng.standard_normal(len(v)) for x in _MOTION_NOISE)
            state = RobotState(model.integrate(q, q_noise), v + v_noise)
            if commands_positions:
                wrench_noise = arm.noise * _WRENCH_NOISE * rng.standard_normal(6)
                state = replace(state, wrench=wrench + wrench_noise)
            commands.append(law.command(state, home_position + target))
            measured_q.append(state.q)
        offset, velocity = (
            axes.T @ (pose[:3, 3] - home_position),
            axes.T @ (pose[:3, :3] @ (J[:3] @ v)),
        )
        tool_force = phase.force(t, offset, velocity)
        position_lag = model.difference(q, measured_q[-1 - delay])
        torque = commands[-1 - delay] + arm.servo_stiffness * position_lag
        if commands_positions:
            torque = law.servo_torque(d, commands[-1 - delay] + position_lag)
        if k % round(dt / _STEP) == 0:
            torques.append(torque)
        applied_torque = np.clip(torque, -torque_limits, torque_limits)
        noisy_torque = applied_torque
        if arm.torque_noise > 0.0:
            noisy_torque = applied_torque + arm.torque_noise * rng.standard_normal(model.n)
        previous_q, wrench[:3] = q, pose[:3, :3].T @ (axes @ tool_force + payload_weight)
        q, v = advance(noisy_torque + J.T @ wrench)
        if not np.isfinite(v).all():
            break
        work.append(work[-1] + float(applied_torque @ model.difference(previous_q, q)))
        max_force = max(max_force, float(np.linalg.norm(tool_force)))
        if k % 10 == 0:
            null_projector = np.eye(model.nv) - np.linalg.pinv(J, rcond=1e-2) @ J
            posture_error = null_projector @ model.difference(model.home, previous_q)
            max_posture_error = max(max_posture_error, float(np.linalg.norm(posture_error)))
        errors.append(float(np.linalg.norm(pose[:3, 3] - home_position - target)))
    torque_steps = np.diff(torques[delay:], axis=0)
    return PhaseResult(
        max(errors[2 * len(errors) // 3 :]),
        max_force,
        max_posture_error,
        float(np.abs(torques / torque_limits).max()),
        float(np.abs(torque_steps).max()) / dt,
        float(np.sqrt(np.mean(np.diff(torque_steps, axis=0) ** 2))),
        max(work),
        law.guard.certificate.verdict if name == _OWN_LAW else "",
        law.guard.certificate.scaled if name == _OWN_LAW else 0,
        len(errors) < round(phase.seconds / _STEP),
    )


def _compute(settings: Settings, out: Path | None, progress: Progress) -> Outcome:
    given: dict[str, Any] = dict(settings)
    arm_names, checks = given["arm"].split(","), []
    titles = [title for title in _TITLES if given["phase"] in ("all", title)]
    options = ("plant", "friction", "payload", "delay", "noise", "torque_noise", "servo_stiffness")
    laws = LAWS[:-1] if given["servo_stiffness"] > 0.0 else LAWS
    stages = Stages(progress, len(arm_names) * len(titles) * len(laws))
    for name in arm_names:
        model = robots.load(name) if name in robots.names() else load(name)
        arm = Arm(
            model, rate=1000.0 / given["hold"], **{option: given[option] for option in options}
        )
        phases = make_phases(given["figure"], arm.reach, arm.max_push)
        for title in titles:
            phase_results = {}
            for law in laws:
                stages.begin(f"{model.name}, {title}, {law}")
                phase_results[law] = run_phase(
                    phases[title], arm, law, given["gains"] == "published"
                )
            checks.append(_check(f"{model.name}, {title}", phase_results))
    return Outcome(checks)


def _check(title: str, phase_results: dict[str, PhaseResult]) -> Check:
    ours = phase_results.pop(_OWN_LAW)
    is_within_limits = (
        ours.torque <= 1.0 and ours.rate <= 1000.0 and ours.verdict == "kept" and not ours.failed
    )
    return required(
        title,
        "torques within limits, certificate kept; "
        + "; ".join(f"{name}: {_result_text(outcome)}" for name, outcome in phase_results.items()),
        _result_text(ours),
        is_within_limits,
        "" if is_within_limits else "a limit was exceeded, or the certificate was not kept",
    )


def _result_text(r: PhaseResult) -> str:
    text = (
        f"error {1e3 * r.position_error:.1f} mm, force {r.force:.0f} N, "
        f"posture {r.posture_error:.3f} rad, torque {100.0 * r.torque:.0f} %, "
        f"rate {r.rate:.0f} N m/s, jitter {r.jitter:.3f} N m, given {r.work:.2f} J"
    )
    text += f", certificate {r.verdict}, {r.scaled} scaled" if r.verdict else ""
    return text + (", diverged" if r.failed else "")


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
        "servo_stiffness": Parameter(0.0, "of position servos, N m/rad; 0: torques", least=0.0),
        "phase": Parameter("all", "which one", ("all", *_TITLES)),
    },
    compute=_compute,
)

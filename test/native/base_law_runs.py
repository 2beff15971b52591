# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""What laws of moving bases are put through where they are compared between languages."""

from dataclasses import fields, replace
from typing import Any

import numpy as np
import pinocchio as pin

from vms_ph_controllers import Command, ControlEnergy, Reference, RobotState
from vms_ph_controllers.observers import Payload
from vms_ph_dynamics import StateError, VMSModel

from .base_law_cases import OF_END_EFFECTOR, Case

Rng = np.random.Generator
HOLD = Reference()
ENERGIES = tuple(field.name for field in fields(ControlEnergy))

# Of gains that change, where a law has them.
RANGES = {
    "frequency_base": (0.0, 4.0),
    "frequency_shape": (0.0, 8.0),
    "damping_ratio": (0.0, 2.0),
    "base_speed": (0.1, 1.0),
    "base_turn": (0.1, 1.0),
    "joint_speed": (0.1, 1.0),
    "limit_frequency": (0.0, 20.0),
    "limit_margin": (0.0, 0.5),
    "frequency_attitude": (0.0, 8.0),
    "frequency_position": (0.0, 3.0),
    "largest_tilt": (0.0, 1.2),
    "stiffness": (0.0, 400.0),
    "stiffness_rotation": (0.0, 20.0),
    "damping": (0.0, 80.0),
    "damping_rotation": (0.0, 5.0),
    "damping_null": (0.0, 5.0),
    "frequency_posture": (0.0, 4.0),
    **{
        f"{part}_share_{axis}": (0.0, 1.0)
        for part in ("stiffness", "damping")
        for axis in ("x", "y", "z", "rx", "ry", "rz")
    },
    "tool_axes": (0.0, 1.0),
    "force_limit": (0.0, 60.0),
    "moment_limit": (0.0, 5.0),
    "null_stiffness": (0.0, 30.0),
    "null_energy": (0.0, 0.5),
    "posture_speed": (0.1, 1.0),
    "friction_compensation": (0.0, 0.1),  # of a friction that the robot of this test has not
    "base_share": (0.0, 1.0),
    "rate": (0.0, 40.0),
    "rate_base": (0.0, 5.0),
    "rate_joints": (0.0, 8.0),
    "lateral": (0.0, 20.0),
    "friction": (0.0, 1.0),
    "acceleration": (0.1, 2.0),
    "turn_acceleration": (0.1, 2.0),
    "integral": (0.0, 1.0),
    "bandwidth": (0.0, 4.0),
    "bandwidth_attitude": (0.0, 4.0),
    "bandwidth_rates": (0.0, 40.0),
    "least_singular_value": (1e-3, 0.3),
    "push_force": (1.0, 20.0),
    "push_speed": (0.01, 0.5),
    "push_energy": (0.0, 2.0),
    "push_routing": (0.0, 1.0),
    "push_rate": (1.0, 500.0),
    "push_feedback": (0.0, 1.0),
}


def in_python(law: Any) -> Any:
    """Return the law as one of a user that derives from it, which runs in Python."""
    kind = type(law)
    law.__class__ = type(f"{kind.__name__}OfAUser", (kind,), {})
    return law


class Drive:
    """A robot in closed loop with the Python law; whoever compares takes part in every call."""

    def __init__(self, case: Case, dt: float) -> None:
        self.case, self.dt, self.model = case, dt, self.robot(case)
        self.allocation, self.pushes = case.allocation(), case.law == "PushingImpedance"
        self.law: Any = self.make_law(case)
        self._plant = self.model.pinocchio
        self._data = self._plant.createData()
        self.home = case.home(self.model)
        self.q, self.v = self.home, np.zeros(self.model.nv)
        self.outside = np.zeros(self.model.nv)  # generalised force besides the efforts of the law
        self.measured: np.ndarray | None = None  # wrench at the end effector

    def robot(self, case: Case) -> VMSModel:
        """The robot that the law in Python computes with."""
        return case.model()

    def make_law(self, case: Case) -> Any:
        """The law."""
        return case.make_law(self.model, self.allocation)

    def reset(self, q: np.ndarray) -> bool:
        """Whether the law took the configuration."""
        try:
            self.law.reset(RobotState(q, np.zeros(self.model.nv)))
        except StateError:
            return False
        return True

    def set(self, **gains: float) -> None:
        self.law.gains = type(self.law.gains)(**{**vars(self.law.gains), **gains})

    def set_known(self, **gains: float) -> None:
        """Set the gains that the law has."""
        known = vars(self.law.gains)
        self.set(**{name: value for name, value in gains.items() if name in known})

    def carry(self, mass: float, moment: np.ndarray, deviation: float) -> None:
        """Tell the law of a payload."""
        covariance = np.diag([deviation**2, 0.0, 0.0, 0.0])
        assert not self.law.carry(Payload(mass, moment, covariance, False))

    def update(self, q: np.ndarray, v: np.ndarray, reference: Reference, dt: float) -> Command:
        return self.law.update(RobotState(q, v, wrench=self.measured), reference, dt)

    def step(self, reference: Reference = HOLD) -> Command:
        told = self.update(self.q, self.v, reference, self.dt)
        force = np.concatenate([told.wrench_base, told.torque])
        if self.case.wheels():
            form = self.law.form
            t = form.terms(self.q, self.v[form.independent_ids])
            self.v = t.basis @ (t.nu + self.dt * t.acceleration(force - t.d.g))
        else:
            a = np.array(pin.aba(self._plant, self._data, self.q, self.v, force + self.outside))
            self.v = self.v + self.dt * a
        self.q = self.model.integrate(self.q, self.dt * self.v)
        return told

    def begin(self, away: float, speed: float, rng: Rng) -> None:
        """Rest the reference at home, and start from somewhere near it."""
        self.set(**vars(type(self.law.gains)()))
        self.reset(self.home)
        self.v = speed * rng.uniform(-1, 1, self.model.nv)
        self.q = self.model.integrate(self.home, away * rng.uniform(-1, 1, self.model.nv))

    def elsewhere(self, far: float, rng: Rng) -> Reference:
        q = self.model.integrate(self.home, far * rng.uniform(-1, 1, self.model.nv))
        pose = self.model.base_pose(q)
        if self.case.law in OF_END_EFFECTOR:
            pose = self.model.evaluate(q, 0 * self.v).placement(self.model.end_effector)
        return Reference(pose=pose, joints=self.model.joint_positions(q))


def moving_references(drive: Drive, rng: Rng, steps: int) -> None:
    drive.begin(0.1, 0.2, rng)
    drive.set_known(integral=0.5)
    for k in range(steps):
        reference = HOLD
        if k % (steps // 2) == 0:
            reference = drive.elsewhere(0.8, rng)
        if steps // 4 <= k < steps // 2 or k >= steps - 6:
            reference = Reference(twist=rng.uniform(-0.5, 0.5, 6))
        if k == steps - 6:  # a target that moves on
            reference = replace(drive.elsewhere(0.8, rng), twist=reference.twist)
        drive.step(reference)


def coupling(drive: Drive, rng: Rng, steps: int) -> None:
    """Positions and velocities of a reference, with the coupling of task and null space changed."""
    drive.begin(0.2, 0.5, rng)
    place = drive.model.evaluate(drive.home, 0 * drive.v).placement(drive.model.end_effector)[:3, 3]
    for k in range(steps):
        if k % 20 == 5:
            drive.set_known(cancel_coupling=k % 40 == 5, hold_base=k % 60 != 5)
        position, velocity = place + rng.uniform(-0.2, 0.2, 3), rng.uniform(-0.2, 0.2, 3)
        with_position = Reference(position=position, velocity=velocity if k % 2 else None)
        drive.step((with_position, Reference(velocity=velocity), HOLD)[k // 10 % 3])


def switches(drive: Drive, rng: Rng, steps: int) -> None:
    """What is held, and in which frame, for laws that can change it."""
    drive.begin(0.1, 0.3, rng)
    dt, q = 4.0 / steps, drive.q
    for k in range(steps):
        if k % (steps // 4) == 1:
            drive.set_known(relative_to_base=k < steps // 2, hold_base=k > steps // 4)
            drive.set_known(hold_attitude=k < steps // 2)
        v = 0.3 * rng.uniform(-1, 1, drive.model.nv)
        reference = drive.elsewhere(0.5, rng) if k % 3 == 0 else HOLD
        drive.update(drive.model.integrate(q, 0.1 * v), v, reference, dt)


def half_turns(drive: Drive, rng: Rng, steps: int) -> None:
    """Attitudes on both sides of half a turn, where the sense of the turn is kept or changed."""
    drive.begin(0.0, 0.0, rng)
    axis = rng.normal(size=3)
    axis = axis / np.linalg.norm(axis) if drive.model.b == 6 else np.array([0.0, 0.0, 1.0])
    angle = 2.9
    for _ in range(steps):
        turn = np.zeros(drive.model.nv)
        turn[: drive.model.b] = np.concatenate([np.zeros(3), angle * axis])[-drive.model.b :]
        if drive.model.b == 3:
            turn[:3] = [0.1, 0.2, angle]
        q = drive.model.integrate(drive.home, turn)
        drive.update(q, 0.1 * rng.uniform(-1, 1, drive.model.nv), HOLD, drive.dt)
        angle += rng.uniform(-0.3, 0.5)


def pushes(drive: Drive, rng: Rng, steps: int) -> None:
    """Pushes in several directions against a force, until they end or their energy is used up."""
    drive.begin(0.05, 0.1, rng)
    drive.set_known(push_energy=2e-3, push_routing=0.1, push_rate=1000.0)
    wrench, phase = np.zeros(6), -1
    for k in range(steps):
        asked, before, phase = HOLD, phase, 6 * k // steps
        if phase != before:
            wrench = rng.uniform(-8, 8, 6)
            asked = Reference(wrench=np.zeros(6) if phase == 4 else wrench)
            drive.set_known(push_feedback=float(phase < 2), relative_to_base=phase > 1)
            if phase == 3:
                drive.update(drive.q, np.full(drive.model.nv, np.nan), HOLD, drive.dt)
        d = drive.model.evaluate(drive.q, drive.v)
        turned = d.placement(drive.model.end_effector)[:3, :3].T @ wrench[:3]
        drive.outside = -float(phase in (1, 2, 3)) * d.J_end_effector[:3].T @ turned
        drive.step(asked)
    drive.outside = 0.0 * drive.outside


def wrenches(drive: Drive, rng: Rng, steps: int) -> None:
    """Measured wrenches, small ones and such as of a stiff wall, and none in between."""
    drive.begin(0.05, 0.1, rng)
    drive.set_known(inertia_share=0.6, force_limit=5.0, push_rate=1000.0)
    dt, q = 3.0 / steps, drive.q
    for k in range(steps):
        v = 0.1 * rng.uniform(-1, 1, drive.model.nv)
        drive.measured = (20.0 if k > steps // 2 else 1.0) * rng.uniform(-1, 1, 6)
        if k % 8 == 5:
            drive.measured = (None, np.full(6, np.nan), np.full(6, 1e200))[k // 8 % 3]
        if k % (steps // 4) == 1:
            drive.set_known(inertia_share=rng.uniform(0.55, 0.8), relative_to_base=k < steps // 2)
            drive.set_known(stiffness=0.0 if k > 3 * steps // 4 else 100.0)  # by hand at the end
        pushed = np.zeros(6) if k % 4 else rng.uniform(-8, 8, 6)
        reference = Reference(wrench=pushed if drive.pushes else None)
        drive.update(drive.model.integrate(q, 0.1 * v), v, reference, dt)
    drive.measured = None


def payloads(drive: Drive, rng: Rng, steps: int) -> None:
    """Payloads that are known, hardly known and none, and a robot that hits its limits."""
    drive.begin(0.2, 0.3, rng)
    for k in range(steps):
        if k % (steps // 8) == 0:
            mass = float(rng.choice([-1.0, 0.0, 0.3, 1.0, 0.6, 1.5]))
            moment = 0.05 * rng.uniform(-1, 1, 3)
            drive.carry(mass, moment, float(rng.choice([0.0, 0.05, 0.5])) * abs(mass))
        drive.step(drive.elsewhere(0.3, rng) if k == steps // 2 else HOLD)
    drive.carry(0.0, np.zeros(3), 0.0)
    for _ in range(steps // 2):
        drive.step()


def gain_changes(drive: Drive, rng: Rng, steps: int) -> None:
    drive.begin(0.3, 0.3, rng)
    drive.set_known(force_limit=20.0, moment_limit=2.0)
    reference = drive.elsewhere(0.5, rng)
    drive.step(replace(reference, wrench=np.arange(6.0)) if drive.pushes else reference)
    for k in range(steps):
        if k % 3 == 0:
            ranges = {name: RANGES[name] for name in RANGES if name in vars(drive.law.gains)}
            drive.set(**{name: rng.uniform(*between) for name, between in ranges.items()})
        drive.step()


def empty_tank(drive: Drive, rng: Rng, steps: int) -> None:
    drive.begin(0.0, 0.2, rng)
    drive.set_known(tank_capacity=0.02, tank_initial=0.002, frequency_shape=6.0)
    for k in range(steps):
        if k == steps - 3:
            drive.set(tank_capacity=0.0)
        drive.step(drive.elsewhere(1.0, rng) if k == 2 else HOLD)


def limits(drive: Drive, rng: Rng, steps: int) -> None:
    """Rates and power of the torques, and joints at their limits."""
    drive.begin(0.5, 1.0, rng)
    for k in range(steps):
        if k % 5 == 0:
            torque_rate, power = rng.choice([0.0, 50.0]), rng.choice([0.0, 0.2])
            drive.set(torque_rate=torque_rate if k else 50.0, power=power if k else 0.2)
        if k % 7 == 0:
            joints, b = drive.model.joints, drive.model.b
            away = np.zeros(drive.model.nv)
            far = np.where(rng.uniform(size=drive.model.n) < 0.5, joints.lower, joints.upper)
            away[b:] = np.where(np.isfinite(far), far, 4.0) + rng.uniform(-0.1, 0.1, drive.model.n)
            away[b:] -= drive.model.joint_positions(drive.home)
            drive.q = drive.model.integrate(drive.home, away)
            drive.v = rng.uniform(-1, 1, drive.model.nv)
        drive.step()


def anywhere(drive: Drive, rng: Rng, steps: int) -> None:
    """Random states far away: actuators saturate."""
    drive.begin(0.0, 0.0, rng)
    for k in range(steps):
        if k % 10 == 5:
            drive.reset(drive.model.random_configuration(rng))
        q, v = drive.model.random_configuration(rng), rng.uniform(-2, 2, drive.model.nv)
        reference = drive.elsewhere(0.5, rng) if k % 4 == 0 else HOLD
        drive.update(q, v, reference, drive.dt)


def faults(drive: Drive, rng: Rng, steps: int) -> None:
    """States, references and resets that are not what they should be."""
    model = drive.model
    drive.begin(0.1, 0.1, rng)
    drive.set_known(tank_capacity=5.0)
    wrong = (np.nan, np.inf, -np.inf)
    for k in range(steps):
        bad, i = wrong[k % 3], int(rng.integers(3))
        q, v = drive.q.copy(), drive.v.copy()
        if k % 4 == 0:
            q[int(rng.integers(model.nq))] = bad
            drive.update(q, v, HOLD, drive.dt)
        if k % 4 == 1:
            v[int(rng.integers(model.nv))] = bad
            drive.update(q, v, drive.elsewhere(0.5, rng), drive.dt)
        if k % 4 == 2:
            drive.update(q[:-1], v, HOLD, drive.dt)
            q[model.nq_base - 1] += 0.01
            drive.reset(q)
        there = drive.elsewhere(0.5, rng)
        assert there.pose is not None
        assert there.joints is not None
        pose, joints, twist = there.pose.copy(), there.joints.copy(), rng.uniform(-1, 1, 6)
        pose[i, 3], joints[-1], twist[i] = (bad if i == j else 0.1 for j in range(3))
        wrong_too = 5.0 * np.roll(twist, k) if drive.pushes else None
        led = twist if k % 2 else None
        drive.step(Reference(pose=pose, joints=joints, twist=led, wrench=wrong_too))


SCRIPTS = (
    moving_references,
    half_turns,
    gain_changes,
    empty_tank,
    limits,
    anywhere,
    faults,
    coupling,
    switches,
    pushes,
    payloads,
    wrenches,
)


def is_for(script: object, case: Case) -> bool:
    """Whether a law can be put through a script."""
    if script is wrenches:
        return case.law in ("CartesianImpedance", "PushingImpedance", "MobileManipulation")
    if case.payload_rate or case.law == "PushingImpedance":  # the rest is that of another law
        own = payloads if case.payload_rate else pushes
        shared = () if case.rotors else (moving_references, gain_changes, limits, anywhere, faults)
        return script in (own, *shared)
    if script in (pushes, payloads):
        return False
    if script is empty_tank:
        return not case.wheels()
    if script is switches:
        return case.law in ("CartesianImpedance", "MobileManipulation", "ResolvedMotion")
    return script is not half_turns or case.robot != "panda"

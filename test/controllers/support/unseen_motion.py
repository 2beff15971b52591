# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Robots behind an energy guard whose contacts move them where no state is seen.

The motion is in closed form, so that the energy given is exact: a cart on an undamped spring, and a
weightless robot that contacts carry. These give no energy on the whole: at any time the kinetic
energy is at most that at the start and what efforts have given, and what of it no state shows they
hold.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from vms_ph_controllers.guard import EnergyGuardSettings, PortGuard
from vms_ph_dynamics import VMSModel

Rng = np.random.Generator

# Largest excess without the loan, relative to the energy that the motion may have when the tank is
# empty; docs/energy-guard.md derives it.
LARGEST_SHARE = 0.8


def cart(gravity: float = 0.0, limit: float = 50.0) -> VMSModel:
    """Return a cart of 1 kg on a rail, with gravity along it, m/s^2."""
    return VMSModel.from_urdf(
        '<robot name="cart"><link name="ground"/><link name="cart"><inertial><mass value="1"/>'
        '<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>'
        '<joint name="slide" type="prismatic"><parent link="ground"/><child link="cart"/>'
        f'<axis xyz="1 0 0"/><limit effort="{limit}" velocity="1000" lower="-1e5" upper="1e5"/>'
        "</joint></robot>",
        end_effector="cart",
        gravity=(-gravity, 0.0, 0.0),
    )


@dataclass(frozen=True)
class Adversary:
    """A controller and the contacts of a robot.

    Attributes:
        dt: sample, s.
        delay: from a state to the effort, samples.
        budget: in the tank at the start, J.
        speed: root of twice the kinetic energy at the start.
        effort: of the controller, as the rate of change of that root, 1/s.
        law: what it wants: ``along`` the motion, ``against`` it, a ``constant`` effort, one that
            ``alternates``, or ``random`` ones.
        lost: pattern of samples whose states are lost, again and again.
        period: of the spring, in samples; 0 for contacts that carry the robot.
        share: of the energy that these hold, with which they move the robot along the effort.
        left: speed against the effort with which they leave it, relative to what the effort takes
            out in a sample.
        samples: number of samples.
        seed: of random efforts and directions.
    """

    dt: float = 1e-3
    delay: int = 0
    budget: float = 2.0
    speed: float = 0.05
    effort: float = 10.0
    law: str = "along"
    lost: tuple[bool, ...] = (False,)
    period: float = 0.0
    share: float = 1.0
    left: float = 0.75
    samples: int = 100
    seed: int = 0


LAWS = ("along", "against", "constant", "alternates", "random")


@dataclass(frozen=True)
class Outcome:
    """What a run showed; energies in J.

    Attributes:
        excess: largest energy given beyond the budget at the end of a sample, seen or not.
        kinetic: at the start.
        certificate: of the guard.
    """

    excess: float
    kinetic: float
    certificate: Any

    @property
    def is_wrong(self) -> bool:
        """Whether the certificate says less than what was given."""
        found, rounding = self.certificate, 1e-9 * (1.0 + abs(self.certificate.budget))
        if found.verdict == "kept":
            return self.excess > rounding
        bound = found.largest_unseen + found.lent
        return bool(found.verdict == "excess" and self.excess > bound + rounding)


Make = Callable[..., Any]


def python(model: VMSModel, settings: EnergyGuardSettings, delay: int, period: float) -> Any:
    return PortGuard(model, settings, delay=delay, period=period)


def random_adversary(rng: Rng, is_lossy: bool) -> Adversary:
    """Return a random adversary, with every pattern of lost samples up to length 6 if any."""
    length = int(rng.integers(1, 7)) if is_lossy else 1
    lost = tuple(bool(rng.random() < 0.5) for _ in range(length)) if is_lossy else (False,)
    dt = float(np.exp(rng.uniform(np.log(1e-3), np.log(2e-2))))
    return Adversary(
        dt,
        int(rng.integers(0, 6)),
        float(10.0 ** rng.uniform(-3, 1) * rng.choice([0.0, 1.0, 1.0])),
        float(rng.choice([0.05, 0.5, 2.0])),
        float(10.0 ** rng.uniform(-1.0, 1.0) / dt * rng.choice([0.01, 0.1, 1.0])),
        str(rng.choice(LAWS)),
        lost,
        float(10.0 ** rng.uniform(0.1, 1.7)) if rng.random() < 0.5 else 0.0,
        float(rng.uniform(0.2, 1.0)),
        float(rng.uniform(-1.0, 1.5)),
        int(rng.integers(40, 120)),
        int(rng.integers(1 << 30)),
    )


def mutated(adversary: Adversary, rng: Rng, step: float) -> Adversary:
    """Return an adversary like another one, for a search."""
    a = adversary
    turns = rng.random() < 0.2
    return replace(
        a,
        speed=_grown(a.speed, 1e4, step, rng),  # far beyond what is believed of a state
        effort=_grown(a.effort, 10.0 / a.dt, step, rng),
        law=str(rng.choice(LAWS)) if turns else a.law,
        period=max(1.2, a.period * float(np.exp(0.3 * step * rng.standard_normal())))
        if a.period
        else 0.0,
        share=float(np.clip(a.share + 0.2 * step * rng.standard_normal(), 0.0, 1.0)),
        left=float(a.left + 0.3 * step * rng.standard_normal()),
    )


def _grown(number: float, most: float, step: float, rng: Rng) -> float:
    return min(most, number * float(np.exp(min(5.0, step * rng.standard_normal()))))


class _Robot:
    """A weightless robot with contacts that carry it."""

    def __init__(self, model: VMSModel, q: np.ndarray, a: Adversary, rng: Rng) -> None:
        self.model, self.q, self.given, self._a = model, q, 0.0, a
        self.M = np.array(model.evaluate(q, np.zeros(model.nv)).M)
        self.v = a.speed * self.direction(rng.standard_normal(model.nv))
        self.kinetic = 0.5 * a.speed * a.speed

    def direction(self, force: np.ndarray) -> np.ndarray:
        """Return the velocity along which a force has the most power, with the norm 1 by M."""
        step = np.linalg.solve(self.M, force)
        size = float(np.sqrt(max(0.0, force @ step)))
        return step / size if size > 1e-12 else np.zeros_like(force)

    def move(self, force: np.ndarray, coming: np.ndarray) -> None:
        """Move for a sample under an effort; ``coming`` is the one that acts after it."""
        a = self._a
        energy = max(0.0, self.kinetic + self.given)
        displacement = a.dt * np.sqrt(2.0 * a.share * energy) * self.direction(force)
        self.q = self.model.integrate(self.q, displacement)
        self.given += float(force @ displacement)
        energy = max(0.0, self.kinetic + self.given)
        self.M = np.array(self.model.evaluate(self.q, np.zeros(self.model.nv)).M)
        against = np.linalg.solve(self.M, coming)
        self.v = -a.left * a.dt * against
        size = float(np.sqrt(self.v @ self.M @ self.v))
        if size > np.sqrt(2.0 * energy):
            self.v *= np.sqrt(2.0 * energy) / size


class _Spring(_Robot):
    """A cart on a spring."""

    def move(self, force: np.ndarray, coming: np.ndarray) -> None:
        """Move for a sample; see :meth:`_Robot.move`."""
        w, dt = 2.0 * np.pi / (self._a.period * self._a.dt), self._a.dt
        middle, before = force / (w * w), self.q
        x, v = self.q - middle, self.v
        self.q = middle + x * np.cos(w * dt) + v / w * np.sin(w * dt)
        self.v = v * np.cos(w * dt) - w * x * np.sin(w * dt)
        self.given += float(force @ (self.q - before))


def run(model: VMSModel, q: np.ndarray, a: Adversary, make: Make = python) -> Outcome:
    """Run an adversary on a weightless robot; with a spring it must be the :func:`cart`."""
    rng = np.random.default_rng(a.seed)
    robot = (_Spring if a.period else _Robot)(model, q, a, rng)
    settings = EnergyGuardSettings(1e3, a.budget, engagement_time=0.0)
    guard = make(model, settings, a.delay, a.dt)
    guard.engage(robot.q, robot.v)
    rest, lost = np.zeros(model.nv), np.full(model.nq, np.nan)
    queue, excess, sign = [rest] * a.delay, -a.budget, 1.0
    constant = rng.standard_normal(model.nv)
    for k in range(a.samples + 1):
        speed = float(np.sqrt(robot.v @ robot.M @ robot.v))
        if a.law == "random" or a.law == "alternates":
            sign = float(rng.choice([-1.0, 1.0])) if a.law == "random" else -sign
        along = a.law in ("along", "against") and speed > 1e-12
        wanted = robot.M @ robot.v if along else sign * constant
        wanted = (-1.0 if a.law == "against" else 1.0) * wanted
        wanted = a.effort * robot.M @ robot.direction(wanted)
        wanted = np.clip(wanted, -model.joints.effort, model.joints.effort)
        is_lost = k > 0 and a.lost[k % len(a.lost)]
        sent = guard.update(lost if is_lost else robot.q, robot.v, wanted, a.dt if k else 0.0)
        if k == a.samples:
            break
        queue.append(np.array(sent.effort))
        force = queue.pop(0)
        robot.move(force, queue[0] if queue else force)
        excess = max(excess, robot.given - a.budget)
    return Outcome(excess, robot.kinetic, guard.certificate)

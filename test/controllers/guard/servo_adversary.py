# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""What moves joints and chooses commands so that servos behind a guard give energy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from vms_ph_controllers.guard import PositionGuard, VelocityGuard
from vms_ph_dynamics import VMSModel

FINE = 12  # points of a motion within a sample


def sliders(n: int, effort: float = 1e3, velocity: float = 2.0) -> VMSModel:
    """Some joints along axes, with limits."""
    parts = ['<robot name="r"><link name="l0"/>']
    for i in range(n):
        parts.append(
            f'<link name="l{i + 1}"><inertial><mass value="1"/>'
            '<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>'
            f'<joint name="j{i}" type="prismatic"><parent link="l{i}"/><child link="l{i + 1}"/>'
            f'<axis xyz="1 0 0"/><limit lower="-5" upper="5" effort="{effort}" '
            f'velocity="{velocity}"/></joint>'
        )
    return VMSModel.from_urdf("".join([*parts, "</robot>"]), base="fixed")


@dataclass
class Servos:
    """True servos, whose work is integrated along a motion.

    The limit is that of the springs, or, if ``is_total``, that of springs and dampers together.
    """

    stiffness: np.ndarray
    damping: np.ndarray
    limit: float
    is_total: bool = False
    work: float = 0.0
    largest: float = 0.0

    def follow(self, command: np.ndarray, q: np.ndarray, dt: float, *, velocity: bool) -> None:
        """Move along straight lines between positions (points, n) with a command that is held."""
        way = np.diff(q, axis=0)
        rate = way / (dt / len(way))
        if velocity:
            bound = self.limit if self.is_total else np.inf
            work = np.clip(self.damping * (command - rate), -bound, bound) * way
        else:
            damper = self.damping * rate
            lead = damper / self.stiffness if self.is_total else 0.0
            work = self.energy(command - q[:-1] - lead) - self.energy(command - q[1:] - lead)
            work -= 0.0 if self.is_total else damper * way
        for given in work.sum(1):
            self.work += given
            self.largest = max(self.largest, self.work)

    def energy(self, stretch: np.ndarray) -> np.ndarray:
        """The integral of the force of the springs over their stretch."""
        knee, length = self.limit / self.stiffness, np.abs(stretch)
        inner = np.minimum(length, knee)
        return 0.5 * self.stiffness * inner**2 + self.limit * (length - inner)


def random_motion(rng: np.random.Generator, n: int, speed: float, dt: float, samples: int):
    """Positions of joints that others move: swings, pushes and stops, below a speed."""
    points = samples * FINE
    kind = rng.integers(3)
    if kind == 0:  # swings
        time = np.linspace(0.0, samples * dt, points + 1)[:, None]
        rate = sum(
            rng.normal(size=n) * np.sin(rng.uniform(0.5, 2.0 / dt) * time + rng.uniform(0, 6, n))
            for _ in range(4)
        )
    else:  # at one speed for a while, then at another, as between walls
        steps = rng.normal(size=(points + 1, n))
        every = int(rng.integers(1, 6 * FINE))
        rate = np.repeat(steps[::every], every, axis=0)[: points + 1]
    peak = np.abs(rate).max()
    rate = rate / peak * speed * rng.uniform(0.1, 1.0)
    return np.concatenate([np.zeros((1, n)), np.cumsum(rate[1:] * dt / FINE, axis=0)])


class FreeJoints:
    """Joints with masses, which their servos move, and contacts that push, pull and stop them."""

    def __init__(self, rng: np.random.Generator, n: int, speed: float, dt: float) -> None:
        self.rng, self.speed, self.step = rng, speed, dt / FINE
        self.q, self.v, self.mass = np.zeros(n), np.zeros(n), 10.0 ** rng.uniform(-0.5, 1, n)
        self.wall, self.kind = rng.uniform(0.02, 0.3), rng.integers(3)

    def move(self, command: np.ndarray, servos: Servos, *, velocity: bool) -> np.ndarray:
        """Move over a sample; return positions (points, n)."""
        points, push = [self.q], self.rng.normal(scale=20.0, size=self.q.size)
        for _ in range(FINE):
            if velocity:
                force = servos.damping * (command - self.v)
            else:
                stretch = servos.stiffness * (command - self.q)
                force = np.clip(stretch, -servos.limit, servos.limit) - servos.damping * self.v
                if servos.is_total:
                    force = stretch - servos.damping * self.v
            if servos.is_total:
                force = np.clip(force, -servos.limit, servos.limit)
            if self.kind == 1:  # with the command, so that all of it is released
                force = force + np.abs(push) * np.sign(command - self.q)
            elif self.kind == 2:
                force = force + push - 1e3 * np.maximum(np.abs(self.q) - self.wall, 0) * self.q
            self.v = np.clip(self.v + self.step / self.mass * force, -self.speed, self.speed)
            self.q = self.q + self.step * self.v
            points.append(self.q)
        return np.array(points)


def random_commands(rng: np.random.Generator, q: np.ndarray, samples: int, scale: float):
    """Commands of a policy: chunks that jump, stall, repeat, follow, or are no numbers."""
    here, commands = q[0], []
    chunk = int(rng.integers(1, 12))
    for k in range(samples):
        if k % chunk == 0:
            kind = rng.integers(5)
            if kind == 0:
                here = rng.normal(scale=scale, size=q.shape[1])
            elif kind == 1:
                here = q[k * FINE] + rng.normal(scale=0.1 * scale, size=q.shape[1])
            elif kind == 2:  # against the motion
                here = q[k * FINE] - 3.0 * (q[(k + 1) * FINE] - q[k * FINE])
            elif kind == 3:  # where it will be
                here = q[(k + 1) * FINE] + scale * np.sign(rng.normal(size=q.shape[1]))
        commands.append(np.full(q.shape[1], np.nan) if rng.random() < 0.02 else np.array(here))
    return commands


def excess(
    seed: int, *, velocity: bool = False, position_guard: Any = PositionGuard
) -> tuple[float, float, float]:
    """The largest energy given less the budget, J; the budget; the share of it that was given."""
    rng = np.random.default_rng(seed)
    n, samples = int(rng.integers(1, 5)), 60
    dt, delay = float(rng.choice([1e-3, 1e-2, 0.1])), int(rng.integers(0, 4))
    speed, limit = 2.0, float(rng.choice([5.0, 50.0, 1e3]))
    model = sliders(n, limit, speed)
    stiffness, damping = 10.0 ** rng.uniform(0, 4, n), 10.0 ** rng.uniform(-1, 2, n)
    wrong = rng.choice([0.8, 1.2], n) if rng.random() < 0.5 else rng.uniform(0.8, 1.2, n)
    less = rng.uniform(0.8, 1.2, n)
    budget = float(10.0 ** rng.uniform(-2, 1))
    servos = Servos(wrong * stiffness, less * damping, limit, bool(rng.integers(2)))
    if velocity:
        guard = VelocityGuard(model, damping, budget=budget, delay=delay)
    else:
        guard = position_guard(model, stiffness, damping, budget=budget, delay=delay)
    q = random_motion(rng, n, speed, dt, samples)
    commands = random_commands(rng, q, samples, 1.0 if velocity else 0.3)
    free = FreeJoints(rng, n, speed, dt) if rng.random() < 0.7 else None
    if free is not None:
        servos.damping *= rng.choice([1.0, 1e-3])
    is_damped = servos.damping[0] >= 0.8 * damping[0]
    if not velocity and not is_damped:
        guard = position_guard(model, stiffness, budget=budget, delay=delay)
    elif velocity:
        servos.damping = less * damping
    guard.engage(q[0])
    acting = [np.zeros(n) if velocity else q[0].copy()] * delay
    for k in range(samples):
        measured = q[k * FINE] if free is None else free.q
        if rng.random() < 0.05:
            measured = np.full(n, np.nan)  # a sample that is lost
        sent = guard.update(measured, commands[k], dt)
        assert np.isfinite(sent.command).all()
        acting.append(sent.command)
        now = acting.pop(0)
        points = q[k * FINE : (k + 1) * FINE + 1]
        if free is not None:
            points = free.move(now, servos, velocity=velocity)
        servos.follow(now, points, dt, velocity=velocity)
    certificate = guard.certificate
    assert certificate.verdict == "kept"
    assert certificate.margin >= -1e-9
    return servos.largest - budget, budget, servos.largest / budget

# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""What arms go through with the task-space law, whatever language it is written in."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import pinocchio as pin

from vms_ph_dynamics import Array, PositionTask, VMSModel


class Law(Protocol):
    """The law, or two of them at once."""

    def reset(self, q: Array) -> None: ...

    def set_gains(self, **gains: float) -> None: ...

    def update(
        self, q: Array, v: Array, position: Array | None, velocity: Array | None, dt: float
    ) -> Array: ...


@dataclass
class Loop:
    """An arm in closed loop with a law; torques are held over steps of a millisecond."""

    model: VMSModel
    law: Law
    q: Array
    v: Array = field(init=False)
    rng: np.random.Generator = field(default_factory=lambda: np.random.default_rng(7))

    def __post_init__(self) -> None:
        self.v = np.zeros(self.model.nv)
        self._pin = self.model.pinocchio
        self._data = self._pin.createData()
        self.law.reset(self.q)

    @property
    def position(self) -> Array:
        """Where the end effector is, (3,)."""
        d = self.model.evaluate(self.q, self.v)
        return np.array(d.placement(self.model.end_effector)[:3, 3])

    def run(
        self,
        samples: int,
        dt: float = 1e-3,
        position: Any = None,
        velocity: Any = None,
        push: float = 0.0,
    ) -> None:
        """Go on; a push is the size of random torques on the joints, N m."""
        for _ in range(samples):
            torque = self.law.update(self.q, self.v, position, velocity, dt)
            disturbed = torque + push * self.rng.uniform(-1.0, 1.0, self.model.n)
            for _ in range(max(1, round(dt / 1e-3))):
                a = pin.aba(self._pin, self._data, self.q, self.v, disturbed)
                self.v = self.v + 1e-3 * a
                self.q = self.model.integrate(self.q, 1e-3 * self.v)

    def ask(self, q: Array, v: Array, **given: Any) -> None:
        """Ask for a torque at some state, whatever state the arm is in."""
        self.law.update(q, v, given.get("position"), given.get("velocity"), given.get("dt", 1e-3))


Scenario = Callable[[Loop, int], None]
"""Plays with a loop; the number scales how long."""


def moving_references(loop: Loop, size: int) -> None:
    start = loop.position
    loop.run(2 * size)
    loop.run(4 * size, position=np.add(start, [0.05, -0.03, 0.02]))
    loop.run(4 * size, velocity=np.array([0.0, 0.1, -0.05]))
    loop.run(2 * size)
    loop.run(2 * size, position=start, velocity=np.array([0.05, 0.0, 0.0]))
    loop.run(2 * size, push=5.0)


def changing_gains(loop: Loop, size: int) -> None:
    start = loop.position
    loop.run(size)
    loop.law.set_gains(stiffness=80.0, damping_task=20.0)
    loop.run(size)
    loop.law.set_gains(task_stiffness=300.0)
    loop.run(size, position=np.add(start, [0.0, 0.02, 0.0]))
    loop.law.set_gains(null_stiffness=25.0, damping_null=3.0)
    loop.run(size)
    loop.law.set_gains(task_stiffness=0.0)
    loop.run(size, position=start)
    loop.law.set_gains(limit_stiffness=0.0, limit_margin=0.0, reference_speed=1.0)
    loop.run(size, velocity=np.array([0.3, 0.0, 0.0]))


def cancelled_coupling(loop: Loop, size: int) -> None:
    start = loop.position
    loop.law.set_gains(cancel_coupling=1.0, stiffness=5.0, damping_null=0.5, damping_task=0.5)
    loop.run(2 * size, position=np.add(start, [-0.05, 0.1, 0.0]), push=5.0)
    loop.v = loop.rng.uniform(-1.0, 1.0, loop.model.nv)
    loop.run(2 * size)
    # As far from the anchor as it takes for the null-space basis to be anchored anew.
    far = [loop.model.random_configuration(loop.rng) for _ in range(size)]
    for q in far:
        loop.ask(q, loop.rng.uniform(-1.0, 1.0, loop.model.nv))


def a_tank_that_runs_empty(loop: Loop, size: int) -> None:
    start = loop.position
    loop.law.set_gains(tank_capacity=0.1, tank_initial=0.005, reference_speed=2.0)
    loop.run(4 * size, position=np.add(start, [-0.2, 0.2, -0.1]))
    loop.law.set_gains(stiffness=400.0)
    loop.run(2 * size, velocity=np.array([0.0, -0.4, 0.0]))
    loop.law.set_gains(task_stiffness=900.0, null_stiffness=60.0)
    loop.run(2 * size, position=start)
    loop.law.set_gains(tank_capacity=0.0)
    loop.run(size)
    loop.law.set_gains(tank_capacity=2.0, tank_initial=5.0)
    loop.run(size, position=np.add(start, [0.0, 0.0, 0.05]))


def a_tank_in_debt_at_a_low_rate(loop: Loop, size: int) -> None:
    loop.law.set_gains(tank_capacity=0.5, tank_initial=0.01, damping_null=20.0, damping_task=60.0)
    loop.v = 0.3 * loop.rng.uniform(-1.0, 1.0, loop.model.nv)
    loop.run(2 * size, dt=0.02, push=1.0)


def gains_beyond_the_rate(loop: Loop, size: int) -> None:
    start = loop.position
    loop.law.set_gains(damping_null=40.0, damping_task=200.0, stiffness=600.0, delay=2.0)
    loop.v = 0.5 * loop.rng.uniform(-1.0, 1.0, loop.model.nv)
    loop.run(2 * size, dt=0.005, position=np.add(start, [0.02, 0.0, 0.03]))


def limited_torques(loop: Loop, size: int) -> None:
    start = loop.position
    loop.law.set_gains(torque_rate=50.0, power=0.3, stiffness=300.0, reference_speed=2.0)
    loop.run(2 * size, position=np.add(start, [0.1, 0.1, 0.0]), push=2.0)
    loop.law.set_gains(torque_rate=0.0)
    loop.run(2 * size, position=start)
    loop.law.set_gains(power=0.0, stiffness=1000.0)
    loop.law.reset(loop.q)
    q = loop.model.integrate(loop.q, 0.6 * loop.rng.uniform(-1.0, 1.0, loop.model.nv))
    for _ in range(size):
        loop.ask(q, 3.0 * loop.rng.uniform(-1.0, 1.0, loop.model.nv))


def joint_limits(loop: Loop, size: int) -> None:
    lower, upper = loop.model.joints.lower, loop.model.joints.upper
    v = np.zeros(loop.model.nv)
    for k in np.flatnonzero(np.isfinite(lower))[:4]:
        # The configuration is that of revolute joints only where all have limits.
        dq = v.copy()
        near = upper[k] - 0.06 if k % 2 else lower[k] + 0.06
        dq[k] = near - loop.model.joint_positions(loop.q)[k]
        loop.q, loop.v = loop.model.integrate(loop.q, dq), v.copy()
        loop.v[k] = 1.0 if k % 2 else -1.0
        loop.law.reset(loop.q)
        loop.run(size, velocity=0.3 * loop.rng.uniform(-1.0, 1.0, 3))


def out_of_reach(loop: Loop, size: int) -> None:
    start = loop.position
    loop.law.set_gains(reference_speed=2.0, stiffness=60.0)
    loop.run(2 * size, dt=0.01, position=3.0 * start / np.linalg.norm(start))
    loop.run(size, dt=0.01, velocity=np.array([1.0, 0.0, 1.0]))
    loop.run(2 * size, dt=0.01, position=start)


def near_singular(loop: Loop, size: int) -> None:
    """Through postures in which the Jacobian loses rank, and at them."""
    singular = least_regular(loop.model, loop.q, loop.rng)
    loop.law.set_gains(cancel_coupling=1.0, delay=0.0, stiffness=2.0)
    for k in range(size):
        away = 10.0 ** -(5 * k % 14) * loop.rng.uniform(-1.0, 1.0, loop.model.nv)
        q = loop.model.integrate(singular, away)
        if k % 5 == 0:
            loop.law.reset(q)
            loop.law.set_gains(delay=float(k % 2), task_stiffness=50.0 * (k % 3))
        v = 0.3 * loop.rng.uniform(-1.0, 1.0, loop.model.nv)
        loop.ask(q, v, velocity=np.full(3, 0.1))


def least_regular(model: VMSModel, q: Array, rng: np.random.Generator) -> Array:
    """Return a configuration (nq,) at which the Jacobian of the position has lost rank, nearly."""
    task, rest = PositionTask(model), np.zeros(model.nv)

    def smallest(at: Array) -> float:
        return float(np.linalg.svd(task.jacobian(model.evaluate(at, rest)))[1][-1])

    best, step = smallest(q), 1.0
    for _ in range(600):
        tried = model.integrate(q, step * rng.normal(size=model.nv))
        positions = model.joint_positions(tried)
        within = (model.joints.lower < positions) & (positions < model.joints.upper)
        found = smallest(tried)
        if found < best and within.all():
            q, best, step = tried, found, 1.5 * step
        else:
            step = max(0.95 * step, 1e-9)
    return q


def unusable_input(loop: Loop, size: int) -> None:
    start, q, v = loop.position, loop.q, np.zeros(loop.model.nv)
    loop.law.set_gains(tank_capacity=1.0, torque_rate=100.0)
    for bad in (np.nan, np.inf, -np.inf):
        wrong = q.copy()
        wrong[2] = bad
        loop.ask(wrong, v)
        loop.ask(q, np.full(loop.model.nv, bad))
        loop.ask(q, v, position=np.array([bad, 0.0, 0.0]))
        loop.ask(q, v, velocity=np.array([0.0, bad, 0.0]), position=start)
        loop.run(size, position=np.full(3, bad))
    loop.ask(q[:-1], v)
    loop.ask(q, np.append(v, 0.0))
    loop.ask(q, v, position=start[:2])
    for dt in (0.0, -1e-3, np.nan, 1e-9, 1.0):
        loop.ask(q, v, dt=dt, velocity=np.array([0.1, 0.0, 0.0]))
        loop.run(2)
    loop.ask(q, v, position=np.full(3, 1e150))
    loop.run(size, position=start)


SCENARIOS: tuple[Scenario, ...] = (
    moving_references,
    changing_gains,
    cancelled_coupling,
    a_tank_that_runs_empty,
    a_tank_in_debt_at_a_low_rate,
    gains_beyond_the_rate,
    limited_torques,
    joint_limits,
    out_of_reach,
    near_singular,
    unusable_input,
)

# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Robots with held efforts and outside forces, for the tests of observers; by Pinocchio's ABA."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import pinocchio as pin

from vms_ph_controllers import RobotState
from vms_ph_controllers.observers import NoiseModel
from vms_ph_dynamics import VMSModel

Outside = Callable[[float, np.ndarray, np.ndarray], np.ndarray]
Effort = Callable[[float, np.ndarray, np.ndarray], np.ndarray]


@dataclass(frozen=True)
class Moment:
    """One sample: the state at its end and the efforts that were held over it."""

    time: float
    q: np.ndarray
    v: np.ndarray
    effort: np.ndarray


def holding(model: VMSModel, at: np.ndarray | None, pushed: np.ndarray | float = 0.0) -> Effort:
    """Compensate gravity and a push, and hold the robot at a configuration, if one is given."""

    def effort(t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        d = model.evaluate(q, v)
        if at is None:
            return d.g - pushed
        return d.g - pushed - d.M @ (8.0 * v + 40.0 * model.difference(at, q))

    return effort


def moving_arm(model: VMSModel, home: np.ndarray) -> Effort:
    """Move all joints about a configuration, at up to about 1 rad/s."""
    hold = holding(model, home)
    phase = np.arange(model.nv)

    def effort(t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        moved = 8.0 * np.sin(4.4 * t + phase)
        moved[: model.b] = 0.0
        return hold(t, q, v) + model.evaluate(q, v).M @ moved

    return effort


class Wall:
    """A plane with a spring and a damper in front of the end effector.

    Attributes:
        work: that the wall has done on the robot, J, once :func:`samples` has run.
        touched: time at which it was first touched, s; infinite before.
    """

    def __init__(
        self, model: VMSModel, point: np.ndarray, normal: np.ndarray, damping: float
    ) -> None:
        self._model, self._point, self._normal = model, point, normal
        self._damping, self.work, self.touched = damping, 0.0, np.inf

    @classmethod
    def hit_by(
        cls,
        model: VMSModel,
        q: np.ndarray,
        direction: np.ndarray,
        energy: float,
        after: float,
        damping: float = 5.0,
    ) -> tuple["Wall", np.ndarray]:
        """Return a wall and the velocity with which the robot hits it.

        The kinetic energy is that of the effective mass of the end effector alone.
        """
        d = model.evaluate(q, np.zeros(model.nv))
        at = d.placement(model.end_effector)
        normal = direction / np.linalg.norm(direction)
        row = normal @ at[:3, :3] @ d.J_end_effector[:3]
        mobility = np.linalg.solve(d.M, row)
        speed = float(np.sqrt(2.0 * energy * (row @ mobility)))
        wall = cls(model, at[:3, 3] + normal * speed * after, normal, damping)
        return wall, mobility / (row @ mobility) * speed

    def __call__(self, t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        d = self._model.evaluate(q, v)
        at = d.placement(self._model.end_effector)
        depth = float(self._normal @ (at[:3, 3] - self._point))
        if depth <= 0.0:
            return np.zeros(self._model.nv)
        self.touched = min(self.touched, t)
        row = self._normal @ at[:3, :3] @ d.J_end_effector[:3]
        return -row * max(0.0, 2e4 * depth + self._damping * float(row @ v))


def samples(
    model: VMSModel,
    q: np.ndarray,
    effort: Effort,
    outside: Outside,
    dt: float,
    steps: int,
    fine: int = 4,
    v: np.ndarray | None = None,
) -> Iterator[Moment]:
    """Yield samples of a robot; ``outside`` is the force (nv,) of its surroundings at any time.

    Integrated by the Runge-Kutta method of order four with ``fine`` steps to a sample; it begins
    at rest without a velocity ``v``.
    """
    robot, data = model.pinocchio, model.pinocchio.createData()
    h, time = dt / fine, 0.0
    v = np.zeros(model.nv) if v is None else v
    for _ in range(steps):
        held = effort(time, q, v)

        def rate(t: float, x: np.ndarray, u: np.ndarray, held: np.ndarray = held) -> np.ndarray:
            return np.array(pin.aba(robot, data, x, u, held + outside(t, x, u)))

        for i in range(fine):
            t = time + i * h
            k1 = rate(t, q, v)
            v2 = v + 0.5 * h * k1
            k2 = rate(t + 0.5 * h, model.integrate(q, 0.5 * h * v), v2)
            v3 = v + 0.5 * h * k2
            k3 = rate(t + 0.5 * h, model.integrate(q, 0.5 * h * v2), v3)
            v4 = v + h * k3
            k4 = rate(t + h, model.integrate(q, h * v3), v4)
            mean = (v + 2 * v2 + 2 * v3 + v4) / 6.0
            if isinstance(outside, Wall):
                middle = model.integrate(q, 0.5 * h * mean)
                outside.work += h * float(outside(t + 0.5 * h, middle, mean) @ mean)
            # The commutator of a base that turns is of second order in h, and the steps are small.
            q, v = model.integrate(q, h * mean), v + h * (k1 + 2 * k2 + 2 * k3 + k4) / 6.0
        time += dt
        yield Moment(time, q, v, held)


def measured(
    model: VMSModel, noise: NoiseModel, moment: Moment, rng: np.random.Generator
) -> tuple[RobotState, np.ndarray]:
    """Return state and efforts with the stated noise."""
    q = model.integrate(moment.q, noise.position_deviations(model) * rng.normal(size=model.nv))
    v = moment.v + noise.velocity_deviations(model) * rng.normal(size=model.nv)
    effort = moment.effort + noise.effort_deviations(model) * rng.normal(size=model.nv)
    return RobotState(q, v), effort

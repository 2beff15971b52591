# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Robots under the decoupled law, for the tests."""

import re
from functools import cached_property

import numpy as np
import pinocchio as pin

from vms_ph_controllers import Command, DecoupledVMSController, Reference, RobotState
from vms_ph_dynamics import VMSModel
from vms_ph_dynamics.groups import SO3
from vms_ph_io import robots

ROBOTS = ("satellite_panda", "omnidirectional_panda", "hextilt")
STEP = 4e-3
HOLD = Reference()


def without_limits(name: str) -> VMSModel:
    robot = robots.get(name)
    return robot.model(re.sub(r'effort="[^"]*"', 'effort="1e9"', robot.description()))


def goal(model: VMSModel, name: str) -> np.ndarray:
    return model.configuration(robots.get(name).home)


class Plant:
    """A robot under the law, by Pinocchio's ABA and the midpoint rule."""

    def __init__(self, law: DecoupledVMSController, q: np.ndarray, v: np.ndarray) -> None:
        self.law, self.q, self.v = law, q, v
        self.pinocchio = law.model.pinocchio
        self.data = self.pinocchio.createData()
        self.reasons: set[str] = set()

    def acceleration(
        self, q: np.ndarray, v: np.ndarray, command: Command, push: np.ndarray | float = 0.0
    ) -> np.ndarray:
        force = np.concatenate([command.wrench_base, command.torque]) + push
        return np.array(pin.aba(self.pinocchio, self.data, q, v, force))

    def step(self, reference: Reference = HOLD, push: np.ndarray | float = 0.0) -> Command:
        """Advance with the law in both stages; return the first command."""
        model, half = self.law.model, 0.5 * self.dt
        command = self.law.update(RobotState(self.q, self.v), reference, half)
        a = self.acceleration(self.q, self.v, command, push)
        q, v = model.integrate(self.q, half * self.v), self.v + half * a
        going_on = Reference(twist=reference.twist)
        middle = self.law.update(RobotState(q, v), going_on, half)
        self.reasons |= {command.reason, middle.reason}
        self.q = model.integrate(self.q, self.dt * v)
        self.v = self.v + self.dt * self.acceleration(q, v, middle, push)
        return command

    def energy(self) -> float:
        """The shaped energy of a resting reference, from Pinocchio and the formulas."""
        law, model = self.law, self.law.model
        total = float(pin.computeKineticEnergy(self.pinocchio, self.data, self.q, self.v))
        frequency, b = law.gains.frequency_base, model.b
        linear = 2 if model.base == "planar" else 3
        diagonal, shape = self._inertias
        m, inertia = diagonal[:linear].mean(), diagonal[linear:b].mean()
        error = self._from_goal @ model.base_pose(self.q)
        turn = SO3().log(error[:3, :3])
        angle = float(np.linalg.norm(turn))
        total += 0.5 * frequency**2 * m * float(error[:3, 3] @ error[:3, 3])
        # 4 k (1 - eta), eta = cos(angle / 2); past half a turn the law may keep its sense of turn.
        if self.sense(turn) < 0.0:
            angle = 2.0 * np.pi - angle
        total += 8.0 * frequency**2 * inertia * float(np.sin(0.25 * angle)) ** 2
        stiffness = law.gains.frequency_shape**2 * shape
        away = model.difference(self.goal, self.q)[b:]
        limits, margin = model.joints, law.gains.limit_margin
        positions = model.joint_positions(self.q)
        depth = np.maximum(positions - limits.upper + margin, 0.0)
        depth += np.maximum(limits.lower + margin - positions, 0.0)
        total += 0.5 * float(stiffness @ away**2)
        wall = law.gains.limit_frequency**2 * shape
        return total + 0.5 * float(wall @ depth**2)

    @cached_property
    def _inertias(self) -> tuple[np.ndarray, np.ndarray]:
        """Diagonals of the mass matrix and of the shape inertia at the goal."""
        rest = self.law.model.evaluate(self.goal, np.zeros(self.law.model.nv))
        return np.diag(rest.M), np.diag(rest.M_hat_m)

    @cached_property
    def _from_goal(self) -> np.ndarray:
        return np.array(np.linalg.inv(self.law.model.base_pose(self.goal)))

    goal: np.ndarray
    dt = STEP
    _turn: np.ndarray | None = None
    _sense = 1.0

    def sense(self, turn: np.ndarray) -> float:
        """1 on the shorter way round, -1 while the law still goes on the longer one."""
        if self._turn is not None and self._turn @ turn < -1.0:
            self._sense = -self._sense  # the rotation vector went through half a turn
        self._turn = turn
        if self._sense * np.cos(0.5 * np.linalg.norm(turn)) < -0.1:
            self._sense = 1.0
        return self._sense


def plant(name: str, rng: np.random.Generator, speed: float = 0.3) -> Plant:
    model = without_limits(name)
    law = DecoupledVMSController(model)
    made = Plant(law, model.random_configuration(rng), speed * rng.uniform(-1, 1, model.nv))
    made.goal = goal(model, name)
    law.set_minimum(made.goal)
    return made

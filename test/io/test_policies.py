# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Policies behind a guard: robots with the interface of LeRobot, environments of Gymnasium."""

from __future__ import annotations

import math
from typing import Any

import gymnasium
import numpy as np
import pytest

from vms_ph_controllers.guard import PositionGuard
from vms_ph_dynamics import ModelError, VMSModel
from vms_ph_io import GuardedRobot, guarded_environment, robots

STIFFNESS = np.array([600.0, 600.0, 600.0, 600.0, 250.0, 150.0, 50.0])
DAMPING = 0.1 * STIFFNESS
WALL, WALL_STIFFNESS = 0.3, 2e4  # at the first joint: rad, N m/rad


class ServoArm:
    """A Panda with servos of position and a wall, with the interface of LeRobot, in degrees."""

    def __init__(self, model: VMSModel, *, wall: bool) -> None:
        self.model, self.wall = model, wall
        self.keys = [f"{name}.pos" for name in model.joint_names]
        self.action_features = dict.fromkeys(self.keys, float)
        self.observation_features = self.action_features
        self.time = self.energy = 0.0  # s; largest in the wall, J

    def connect(self) -> None:
        self.q = self.model.configuration(robots.get("panda").home)
        self.v = np.zeros(self.model.nv)
        self.command = self.q.copy()

    def get_observation(self) -> dict[str, float]:
        return dict(zip(self.keys, np.degrees(self.q).tolist(), strict=True))

    def send_action(self, action: dict[str, float]) -> dict[str, float]:
        command = np.radians([action[key] for key in self.keys])
        if np.isfinite(command).all():
            self.command = command
        for _ in range(20):  # of 1 ms
            d = self.model.evaluate(self.q, self.v)
            torque = STIFFNESS * (self.command - self.q) - DAMPING * self.v
            torque = np.clip(torque, -self.model.joints.effort, self.model.joints.effort)
            if self.wall and self.q[0] > WALL:
                depth = self.q[0] - WALL
                torque[0] -= WALL_STIFFNESS * depth
                self.energy = max(self.energy, 0.5 * WALL_STIFFNESS * depth**2)
            # The servos carry the weight; damping at the end of the step.
            inertia = d.M + 1e-3 * np.diag(DAMPING)
            self.v = self.v + 1e-3 * np.linalg.solve(inertia, torque - d.C @ self.v)
            self.q = self.model.integrate(self.q, 1e-3 * self.v)
            self.time += 1e-3
        return action


def policy(arm: ServoArm, seconds: float, *, fault: bool) -> np.ndarray:
    """Actions in degrees, at 50 Hz: a smooth motion, of which a chunk may jump."""
    home = np.degrees(arm.model.configuration(robots.get("panda").home))
    way = np.zeros(7)
    way[0], way[3] = 12.0, 8.0
    share = 0.5 - 0.5 * math.cos(math.pi * min(1.0, seconds / 1.0))
    if fault and 1.0 <= seconds < 1.5:
        way[0] = 100.0
    return np.array(home + share * way)


def run(robot: Any, arm: ServoArm, *, fault: bool) -> list[dict[str, float]]:
    robot.connect()
    sent = []
    for _ in range(100):
        robot.get_observation()
        wanted = policy(arm, arm.time, fault=fault)
        sent.append(robot.send_action(dict(zip(arm.keys, wanted.tolist(), strict=True))))
    return sent


def guarded(arm: ServoArm, budget: float) -> GuardedRobot:
    guard = PositionGuard(arm.model, STIFFNESS, DAMPING, budget=budget)
    return GuardedRobot(arm, guard, arm.model, unit=math.radians(1.0), clock=lambda: arm.time)


def test_a_free_run_is_the_same_with_and_without_guard() -> None:
    model = robots.load("panda")
    free, behind = ServoArm(model, wall=False), ServoArm(model, wall=False)
    assert run(free, free, fault=False) == run(guarded(behind, 8.0), behind, fault=False)
    np.testing.assert_array_equal(free.q, behind.q)


def test_a_chunk_that_jumps_into_a_wall_gives_a_fifth_of_the_energy_at_most() -> None:
    model = robots.load("panda")
    free, behind = ServoArm(model, wall=True), ServoArm(model, wall=True)
    run(free, free, fault=True)
    robot = guarded(behind, 3.0)
    run(robot, behind, fault=True)
    assert behind.energy < 3.0
    assert free.energy > 5.0 * behind.energy
    assert robot.certificate.verdict == "kept"
    assert robot.certificate.document()["scaled"] > 0


def test_actions_that_stall_or_are_no_numbers_hold_the_arm() -> None:
    arm = ServoArm(robots.load("panda"), wall=False)
    robot = guarded(arm, 1.0)
    robot.connect()
    for _ in range(5):
        robot.send_action(dict.fromkeys(arm.keys, float("nan")))
    assert robot.last is not None
    assert robot.last.reason == "the command is not finite or not of this robot"
    np.testing.assert_allclose(arm.q, arm.model.configuration(robots.get("panda").home), atol=1e-3)


def test_a_key_without_a_joint_is_named() -> None:
    arm = ServoArm(robots.load("panda"), wall=False)
    arm.action_features = {**arm.action_features, "gripper.pos": float}
    guard = PositionGuard(arm.model, STIFFNESS, budget=1.0)
    with pytest.raises(ModelError, match=r"gripper\.pos.*unguarded="):
        GuardedRobot(arm, guard, arm.model)
    GuardedRobot(arm, guard, arm.model, unguarded=["gripper.pos"])


class Reach(gymnasium.Env[np.ndarray, np.ndarray]):
    """The arm as an environment: actions and observations are positions, rad."""

    def __init__(self) -> None:
        self.arm = ServoArm(robots.load("panda"), wall=False)
        self.action_space = gymnasium.spaces.Box(-3.0, 3.0, (7,), np.float64)
        self.observation_space = gymnasium.spaces.Box(-100.0, 100.0, (7,), np.float64)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        super().reset(seed=seed)
        self.arm.connect()
        self.steps = 0
        return self.arm.q.copy(), {}

    def step(self, action: np.ndarray) -> Any:
        keys = self.arm.keys
        self.arm.send_action(dict(zip(keys, np.degrees(action).tolist(), strict=True)))
        self.steps += 1
        return self.arm.q.copy(), 0.0, False, self.steps >= 5, {}


def test_an_environment_stays_one_and_ends_with_a_certificate() -> None:
    inner = Reach()
    guard = PositionGuard(inner.arm.model, STIFFNESS, DAMPING, budget=0.5)
    env = guarded_environment(inner, guard, lambda observation: observation, 0.02)
    observation, _ = env.reset(seed=1)
    for _ in range(5):
        observation, _, _, truncated, info = env.step(observation + 0.3)
        assert info["guard"]["status"] in ("OK", "SATURATED")
    assert truncated
    assert info["certificate"]["verdict"] == "kept"
    assert info["certificate"]["largest_given"] <= 0.5
    assert isinstance(env, gymnasium.Env)

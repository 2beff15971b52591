# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Recorded actions with faults, replayed on an arm of MuJoCo with and without a guard.

A scripted expert brings the tool close to a wall. Its actions are written in the layout of
LeRobot v3, and read back; then faults are put into them. The energies are those of MuJoCo's
contact forces and velocities.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from vms_ph_controllers.guard import PositionGuard
from vms_ph_io import GuardedRobot

pytest.importorskip("mujoco", reason="the package mujoco is not installed")
pytest.importorskip("pyarrow", reason="the package pyarrow is not installed")

from lerobot_files import read_actions, write_dataset
from mujoco_arm import FPS, TOOL, Kind, MujocoArm, panda, reach, so101

MOVING, FRAMES = 45, 60
GAP = 0.005  # m, between tool and wall at the end
NEAR = 0.005  # m: a success


@dataclass(frozen=True)
class Episode:
    """Where the tool is to go, a place behind the wall, and the wall, (3,) m; errors of servos."""

    target: np.ndarray
    behind: np.ndarray
    wall: np.ndarray
    errors: np.ndarray

    @classmethod
    def of(cls, kind: Kind, seed: int) -> Episode:
        rng = np.random.default_rng(seed)
        start = kind.model.placement(kind.model.end_effector, kind.home)[:3, 3]
        target = start + rng.uniform([-0.03, 0.06, -0.03], [0.0, 0.12, 0.03])
        wall = target + np.array([0.0, TOOL + GAP, 0.0])
        errors = rng.uniform(-0.2, 0.2, kind.model.n)  # of the stiffness
        return cls(target, target + np.array([0.0, 0.25, 0.0]), wall, errors)


def expert(kind: Kind, episode: Episode) -> np.ndarray:
    """Actions (frames, n) of a smooth motion to the target, degrees."""
    time = np.minimum(np.arange(FRAMES) / MOVING, 1.0)
    share = time**3 * (10.0 - 15.0 * time + 6.0 * time**2)
    way = reach(kind, episode.target) - kind.home
    return np.degrees(kind.home + share[:, None] * way)


Fault = Callable[[np.ndarray, np.ndarray], None]


def jump(actions: np.ndarray, behind: np.ndarray) -> None:
    actions[45:55] = behind


def offset(actions: np.ndarray, behind: np.ndarray) -> None:
    actions[30:] += behind - actions[-1]


def stall(actions: np.ndarray, behind: np.ndarray) -> None:
    actions[15:35] = actions[15]


def repeated_chunk(actions: np.ndarray, behind: np.ndarray) -> None:
    actions[40:50] = actions[5:15]


def no_numbers(actions: np.ndarray, behind: np.ndarray) -> None:
    actions[20:25] = np.nan


COLLIDE, OTHERS = (jump, offset), (stall, repeated_chunk, no_numbers)


@dataclass
class Outcome:
    is_success: bool
    energy: float  # that the wall took, J
    given: float  # that the guard counts at most, J
    states: np.ndarray
    sent: np.ndarray


def replay(kind: Kind, episode: Episode, actions: np.ndarray, budget: float | None) -> Outcome:
    arm = MujocoArm(kind, episode.errors, episode.wall)
    robot: MujocoArm | GuardedRobot = arm
    if budget is not None:
        guard = PositionGuard(kind.model, kind.stiffness, kind.damping, budget=budget)
        unit = math.radians(1.0)
        robot = GuardedRobot(arm, guard, kind.model, unit=unit, clock=lambda: arm.time)
    robot.connect()
    states, sent = [], []
    for action in actions:
        states.append(list(robot.get_observation().values()))
        wanted = dict(zip(arm.keys, action.tolist(), strict=True))
        sent.append(list(robot.send_action(wanted).values()))
    distance = np.linalg.norm(arm.tool() - episode.target)
    given = 0.0
    if isinstance(robot, GuardedRobot):
        assert robot.certificate.verdict == "kept"
        given = float(robot.certificate.document()["largest_given"])
    return Outcome(bool(distance < NEAR), arm.largest, given, np.array(states), np.array(sent))


@pytest.mark.parametrize("make", [so101, panda], ids=["so101", "panda"])
@pytest.mark.parametrize(
    "count", [2, pytest.param(10, marks=[pytest.mark.slow, pytest.mark.timeout(3600)])]
)
def test_faults_in_a_dataset_give_a_wall_a_fifth_of_the_energy_at_most_behind_a_guard(
    make: Callable[[], Kind], count: int, tmp_path: Path
) -> None:
    kind = make()
    # The budget is thrice the bound of free runs, on other episodes.
    before = [Episode.of(kind, 100 + seed) for seed in range(count)]
    budget = 3.0 * max(replay(kind, e, expert(kind, e), 1e3).given for e in before)

    episodes = [Episode.of(kind, seed) for seed in range(count)]
    recorded = []
    for episode in episodes:
        actions = expert(kind, episode)
        recorded.append((replay(kind, episode, actions, None).states, actions))
    keys = MujocoArm(kind, episodes[0].errors, episodes[0].wall).keys
    write_dataset(tmp_path, FPS, keys, recorded, "touch nothing")
    names, series = read_actions(tmp_path)
    assert names == keys

    worst: dict[str, list[tuple[float, float]]] = {}
    for episode, actions in zip(episodes, series, strict=True):
        free, guarded = (replay(kind, episode, actions, b) for b in (None, budget))
        assert free.is_success
        assert guarded.is_success
        np.testing.assert_array_equal(guarded.sent, free.sent)  # bit for bit
        assert free.energy == guarded.energy == 0.0
        behind = np.degrees(reach(kind, episode.behind))
        for fault in (*COLLIDE, *OTHERS):
            faulty = actions.copy()
            fault(faulty, behind)
            free, guarded = (replay(kind, episode, faulty, b) for b in (None, budget))
            worst.setdefault(fault.__name__, []).append((free.energy, guarded.energy))
    for name, energies in worst.items():
        most, ratio = np.max(energies, axis=0), min(a / max(b, 1e-12) for a, b in energies)
        print(
            f"{name}: at most {most[0]:.3g} J, behind the guard {most[1]:.3g} J, "
            f"ratios from {ratio:.3g}"
        )
    print(f"budget {budget:.3g} J")
    for fault in COLLIDE:
        for without, behind_guard in worst[fault.__name__]:
            assert without > 0.5
            assert behind_guard < without / 5.0
            assert behind_guard < budget
        assert max(guarded for _, guarded in worst[fault.__name__]) > 0.0  # it does touch the wall
    for fault in OTHERS:
        assert max(guarded for _, guarded in worst[fault.__name__]) < budget

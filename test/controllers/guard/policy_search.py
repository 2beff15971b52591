# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Searches for the policy that gives the most energy to walls, through servos behind a guard.

The arm, its servos and the walls are integrated by a program of their own, in C++
(``ros2_control/test/worst_policy_program.cpp``), which runs a policy in milliseconds.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pinocchio as pin

from vms_ph_controllers.guard import PositionGuard
from vms_ph_dynamics import VMSModel
from vms_ph_io import load_urdf, robots

ROOT = Path(__file__).parents[3]
ARMS = ("panda", "so101", "ur5")
SOFTNESS = (0.25, 1.0, 4.0)  # of the servos, as multiples of the stated stiffness
URDF = "package://example-robot-data/robots"
# kg m^2: the rotors behind their gears, without which light links would need tiny steps.
ARMATURE = {"panda": 0.1, "so101": 0.028, "ur5": 0.1}

Call = Callable[..., list[str]]


@cache
def arm(name: str) -> tuple[VMSModel, np.ndarray, np.ndarray]:
    """An arm whose weight its servos carry; stiffness of the servos, N m/rad; where it begins."""
    if name == "panda":
        model = robots.load("panda").without_gravity()
        return model, np.array([600.0, 600, 600, 600, 250, 150, 50]), np.array(model.home)
    if name == "so101":
        file = f"{URDF}/so_arm_description/urdf/so101.urdf"
        model = load_urdf(file, base="fixed", locked_joints=["gripper"])
        return model.without_gravity(), np.full(5, 17.8), np.array([0.0, -0.6, 0.8, 0.5, 0.0])
    model = load_urdf(f"{URDF}/ur_description/urdf/ur5_joint_limited_robot.urdf", base="fixed")
    home = np.array([0.3, -1.2, 1.5, -0.9, -1.4, 0.2])
    return model.without_gravity(), np.array([2000.0, 2000, 2000, 500, 500, 500]), home


@dataclass
class Scene:
    """An arm between two walls, and the servos that it is said to have.

    Attributes:
        damping: of the servos, N m s/rad; stated to the guard only if ``is_damping_stated``.
        dt: of a sample, s.
        walls: their direction (3,), the gaps to both, m, stiffness, N/m, loss and rubbing, s/m.
    """

    name: str
    stiffness: np.ndarray
    damping: np.ndarray
    is_damping_stated: bool
    dt: float
    delay: int
    budget: float
    is_total: bool
    walls: np.ndarray
    start: np.ndarray
    uncertainty: float = 0.2  # that the guard is told

    @property
    def stated_damping(self) -> np.ndarray:
        return self.damping * self.is_damping_stated

    def words(self) -> list[Any]:
        """What the program is told."""
        m = arm(self.name)[0]
        tree, tool = m.pinocchio, m.pinocchio.frames[m.end_effector_id]
        links: list[Any] = []
        for i in range(1, tree.njoints):
            pose, body = tree.jointPlacements[i], tree.inertias[i]
            joint = tree.joints[i].createData()
            tree.joints[i].calc(joint, np.zeros(1))
            links += [pose.rotation, pose.translation, np.asarray(joint.S).ravel()[3:]]
            links += [body.mass, body.lever, body.inertia, ARMATURE[self.name]]
        servos = [self.stiffness, self.damping, self.stated_damping]
        limits = [m.joints.effort, m.joints.velocity]
        where = [tool.placement.translation, self.start]
        # Steps and time, s: finer than what swings fastest, servos and walls, of 200 rad/s.
        times = [self.dt, 1e-3, 1.0]
        tail = [self.walls, *times, self.budget, self.delay, self.is_total, self.uncertainty]
        return [m.n, *links, *where, *servos, *limits, *tail]

    def guard(self) -> PositionGuard:
        """The guard before these servos, in Python."""
        return PositionGuard(
            arm(self.name)[0],
            self.stiffness,
            self.stated_damping,
            budget=self.budget,
            delay=self.delay,
        )


def scene(seed: int) -> Scene:
    """A random scene; arms and stiffness take turns."""
    rng = np.random.default_rng(seed)
    name, factor = ARMS[seed % 3], SOFTNESS[seed // 3 % 3]
    model, nominal, home = arm(name)
    stiffness = factor * nominal
    # A damping ratio of 0.01 to 1 of the rotors alone.
    damping = 2.0 * 10.0 ** rng.uniform(-2.0, 0.0) * np.sqrt(stiffness * ARMATURE[name])
    side = rng.normal(size=3)
    gaps = rng.choice([0.0, 1.0]) * rng.uniform(0.0, 0.01, 2)
    walls = [*side / np.linalg.norm(side), *gaps, 10.0 ** rng.uniform(3, 4.5)]
    walls += [rng.choice([0.0, 1.0, 5.0]), rng.choice([0.0, 1.0, 10.0])]
    return Scene(
        name,
        stiffness,
        damping,
        bool(rng.integers(2)),
        1.0 / 10.0 ** rng.uniform(1, 3),
        int(rng.choice([0, 0, 1, 2, 3])),
        10.0 ** rng.uniform(-1.3, 0.7),
        bool(rng.integers(2)),
        np.array(walls),
        home + rng.uniform(-0.2, 0.2, model.n),
    )


@contextmanager
def program(folder: Path) -> Iterator[Call | None]:
    """Calls of the program: a word and numbers to words; None without a compiler."""
    compiler = shutil.which(os.environ.get("CXX", "c++"))
    if compiler is None:
        yield None
        return
    sources = [
        ROOT / "ros2_control/test/worst_policy_program.cpp",
        ROOT / "native/src/energy_guard/servo_guard.cpp",
    ]
    file = folder / "worst_policy"
    # Without fused operations, which numpy has not: the guard agrees with its twin to the last bit.
    options = ["-std=c++17", "-O2", "-ffp-contract=off", f"-I{ROOT / 'native/include'}"]
    subprocess.run([compiler, *options, *sources, "-o", file], check=True)
    with subprocess.Popen(
        [file], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None

        def answer(word: str, *values: Any) -> list[str]:
            numbers = [repr(float(x)) for value in values for x in np.ravel(value)]
            process.stdin.write(" ".join([word, *numbers]) + "\n")
            return process.stdout.readline().split()

        yield answer


@dataclass(frozen=True)
class Outcome:
    """Largest energies, J: given to the walls, by the servos; error of the balance; verdict."""

    to_walls: float
    by_servos: float
    defect: float
    is_kept: bool
    log: np.ndarray  # (samples, 3, n): positions, wanted and sent commands


def evaluate(
    call: Call, policy: np.ndarray, *, guarded: bool = True, finer: int = 1, log: bool = False
) -> Outcome:
    """Run a policy in the scene that the program was told last."""
    words = call("p", guarded, finer, log, policy)
    n = (len(policy) - 12) // 3
    told = np.array(words[:-4], float).reshape(-1, 3, n)
    return Outcome(*map(float, words[-4:-1]), words[-1] == "1", told)


def random_policy(rng: np.random.Generator, given: Scene) -> np.ndarray:
    """A policy; half of them press towards a wall."""
    n = len(given.start)
    x = rng.normal(size=3 * n + 12)
    x[2 * n : 3 * n] = rng.uniform(-1.5, 1.5, n)
    if rng.random() < 0.5:
        model = arm(given.name)[0]
        pin_model, data = model.pinocchio, model.pinocchio.createData()
        frame = model.end_effector_id
        jacobian = pin.computeFrameJacobian(
            pin_model, data, given.start, frame, pin.LOCAL_WORLD_ALIGNED
        )[:3]
        way = rng.choice([-1.0, 1.0]) * np.linalg.pinv(jacobian, rcond=0.1) @ given.walls[:3]
        x[:n] = rng.uniform(0.3, 3.0) * way / np.linalg.norm(way)
    return x


@dataclass
class Found:
    """What a search found.

    Attributes:
        policy: the worst one, and its share of the budget.
        excess: the largest energy given, to the walls or by the servos, beyond the budget and the
            error of the energy balance of that run, J.
        defect: the largest of these errors as a share of the budget.
        is_kept: whether no certificate said otherwise.
        evaluations: policies that were run.
    """

    policy: np.ndarray
    share: float = -1.0
    excess: float = -np.inf
    defect: float = 0.0
    is_kept: bool = True
    evaluations: int = 0


def search(call: Call, given: Scene, rng: np.random.Generator, evaluations: int) -> Found:
    """Search for the policy that gives the most energy to the walls.

    By evolution with adapted covariance (CMA-ES) from the best of some random policies, and anew
    where it no longer gains.
    """
    call("s", *given.words())
    found = Found(np.zeros(0))

    def share(x: np.ndarray) -> float:
        for finer in (1, 4, 16):  # until the steps resolve what happens
            tried = evaluate(call, x, finer=finer)
            if tried.defect < 1e-5 * given.budget:
                break
        most = max(tried.to_walls, tried.by_servos) - given.budget - tried.defect
        found.excess = max(found.excess, most)
        found.defect = max(found.defect, tried.defect / given.budget)
        found.is_kept &= tried.is_kept
        found.evaluations += 1
        value = tried.to_walls / given.budget
        if value > found.share:
            found.policy, found.share = x, value
        return value

    while found.evaluations < evaluations:
        some = [random_policy(rng, given) for _ in range(max(8, evaluations // 12))]
        best = some[int(np.argmax([share(x) for x in some]))]
        _evolve(share, best, rng, lambda: found.evaluations < evaluations)
    return found


def _evolve(
    value: Callable[[np.ndarray], float],
    mean: np.ndarray,
    rng: np.random.Generator,
    goes_on: Callable[[], bool],
) -> None:
    """Climb from a point until it no longer gains (Hansen, The CMA evolution strategy, 2016)."""
    n = len(mean)
    children = 4 + int(3 * np.log(n))
    parents = children // 2
    weight = np.log(parents + 0.5) - np.log(np.arange(1, parents + 1))
    weight /= weight.sum()
    mu = 1.0 / np.square(weight).sum()
    c_sigma, c_c = (mu + 2) / (n + mu + 5), (4 + mu / n) / (n + 4 + 2 * mu / n)
    c_1 = 2 / ((n + 1.3) ** 2 + mu)
    c_mu = min(1 - c_1, 2 * (mu - 2 + 1 / mu) / ((n + 2) ** 2 + mu))
    damps = 1 + c_sigma + 2 * max(0.0, np.sqrt((mu - 1) / (n + 1)) - 1)
    expected = np.sqrt(n) * (1 - 1 / (4 * n) + 1 / (21 * n * n))
    path_sigma, path_c, c, sigma = np.zeros(n), np.zeros(n), np.eye(n), 0.5
    peak, since = -np.inf, 0
    while goes_on() and since < 12 and sigma > 1e-3:
        values, vectors = np.linalg.eigh(c)
        spread = np.sqrt(np.maximum(values, 1e-12))
        steps = rng.normal(size=(children, n)) * spread @ vectors.T
        gained = np.array([value(mean + sigma * step) for step in steps])
        order = np.argsort(-gained)[:parents]
        step = weight @ steps[order]
        mean = mean + sigma * step
        white = vectors @ ((vectors.T @ step) / spread)
        path_sigma = (1 - c_sigma) * path_sigma + np.sqrt(c_sigma * (2 - c_sigma) * mu) * white
        path_c = (1 - c_c) * path_c + np.sqrt(c_c * (2 - c_c) * mu) * step
        outer = (steps[order].T * weight) @ steps[order]
        c = (1 - c_1 - c_mu) * c + c_1 * np.outer(path_c, path_c) + c_mu * outer
        sigma *= np.exp(c_sigma / damps * (np.linalg.norm(path_sigma) / expected - 1))
        since = 0 if gained.max() > peak + 1e-4 else since + 1
        peak = max(peak, gained.max())

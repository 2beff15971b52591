# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The guards of servos in C++ do what their Python twins do; no adversary takes more from them."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from vms_ph_controllers import Status
from vms_ph_controllers.guard import (
    EnergyGuardSettings,
    GuardedCommand,
    PositionGuard,
    VelocityGuard,
)
from vms_ph_dynamics import VMSModel

from .servo_adversary import excess, sliders

ROOT = Path(__file__).parents[3]
COUNTS = ("samples", "lost", "scaled", "braked", "reflexes")
NUMBERS = (
    *("duration", "budget", "given", "largest_given", "margin", "largest_unseen", "lent"),
    *("unsettled", "supplied", "level", "weight_work"),
)


class CompiledGuard:
    """The C++ guard in a process of its own, with the interface of its twin."""

    def __init__(
        self,
        call: Callable[..., list[str]],
        model: VMSModel,
        stiffness: Any,
        damping: Any = 0.0,
        *,
        uncertainty: float = 0.2,
        budget: float | None = None,
        settings: EnergyGuardSettings | None = None,
        delay: int = 0,
        velocity: bool = False,
    ) -> None:
        self._call, self._n = call, model.n
        servos = [
            *(stiffness * np.ones(model.n), damping * np.ones(model.n)),
            *(model.joints.effort, model.joints.velocity),
        ]
        answer = call("g", float(velocity), model.n, delay, uncertainty, *servos)
        assert not answer, answer
        if settings is None:
            settings = EnergyGuardSettings(tank_capacity=budget, tank_initial=budget)
        self.settings = settings
        self.engage(np.zeros(model.n))
        self.worst_time, self.allocations = 0.0, 0

    def engage(self, positions: Any, command: Any = None) -> None:
        self._send_settings()
        unknown = np.full(self._n, np.nan)
        assert self._call("e", positions, unknown if command is None else command) == ["1"]

    def update(self, positions: Any, command: Any, dt: float) -> GuardedCommand:
        self._send_settings()
        duration, allocations, status, level, *rest = self._call("u", dt, positions, command)
        self.worst_time = max(self.worst_time, float(duration))
        self.allocations += int(allocations)
        sent = np.array(rest[: self._n], float)
        return GuardedCommand(sent, Status(int(status)), " ".join(rest[self._n :]), float(level))

    def replace_last(self, command: Any, dt: float) -> None:
        """Count a command in place of the last one, as where limits behind the guard changed it."""
        self._call("l", dt, command)

    def change_budget(self, energy: float) -> None:
        self._call("b", energy)

    @property
    def certificate(self) -> Any:
        verdict, *rest = self._call("c")
        count = len(COUNTS) + len(NUMBERS)
        values = dict(zip((*COUNTS, *NUMBERS), map(float, rest[:count]), strict=True))
        return SimpleNamespace(verdict=verdict, first_loss=" ".join(rest[count:]), **values)

    def _send_settings(self) -> None:
        s = self.settings
        self._call("s", s.tank_capacity, s.tank_initial, s.refill_power, float(s.freeze))


@pytest.fixture(scope="module")
def call(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., list[str]]]:
    """Calls of the guard in C++: words and numbers to words."""
    compiler = shutil.which(os.environ.get("CXX", "c++"))
    if compiler is None:
        pytest.skip("there is no C++ compiler")
    program = tmp_path_factory.mktemp("servo_guard") / "servo_guard_program"
    sources = [
        ROOT / "ros2_control/test/servo_guard_program.cpp",
        ROOT / "native/src/energy_guard/servo_guard.cpp",
        ROOT / "native/test/allocations.cpp",
    ]
    # Without fused operations, which numpy has not: the twins agree to the last bit.
    options = ["-std=c++17", "-O0", "-ffp-contract=off", f"-I{ROOT / 'native/include'}"]
    subprocess.run([compiler, *options, *sources, "-o", program], check=True)
    with subprocess.Popen(
        [program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None

        def answer(word: str, *values: Any) -> list[str]:
            numbers = [repr(float(x)) for value in values for x in np.atleast_1d(value)]
            process.stdin.write(" ".join([word, *numbers]) + "\n")
            return process.stdout.readline().split()

        yield answer


@pytest.fixture
def compiled(call: Callable[..., list[str]]) -> Callable[..., CompiledGuard]:
    return lambda *arguments, **options: CompiledGuard(call, *arguments, **options)


@pytest.mark.parametrize("velocity", [False, True])
@pytest.mark.parametrize("delay", range(4))
def test_random_series_are_answered_as_by_the_twin_to_the_last_bit(
    compiled: Callable[..., CompiledGuard], delay: int, velocity: bool
) -> None:
    seen: set[tuple[Status, bool]] = set()
    for seed in range(3):
        rng = np.random.default_rng([delay, seed])
        n, dt = int(rng.integers(1, 8)), float(rng.choice([1e-3, 1e-2]))
        model = sliders(n, float(rng.choice([1.0, 20.0, 1e3])), 2.0)
        servos = 10.0 ** rng.uniform(0, 3, n), 10.0 ** rng.uniform(-1, 1, n)
        settings = EnergyGuardSettings(
            tank_capacity=1.0,
            tank_initial=float(rng.uniform(0.0, 1.2)),
            refill_power=float(rng.choice([0.0, 2.0])),
        )
        options = {"settings": settings, "delay": delay, "uncertainty": rng.uniform(0.0, 0.5)}
        native = compiled(model, *servos, velocity=velocity, **options)
        kind, constants = (VelocityGuard, servos[1:]) if velocity else (PositionGuard, servos)
        python = kind(model, *constants, **options)
        both = python, native
        q = rng.normal(scale=0.1, size=n)
        acting = rng.normal(scale=0.1, size=n) if seed % 2 else None
        for guard in both:
            guard.engage(q, acting)
        wanted = q.copy()
        for k in range(45):
            q = q + rng.uniform(-2.0, 2.0, n) * dt
            if k % 7 == 0:
                wanted = q * (not velocity) + rng.normal(
                    scale=5.0 if velocity else 0.2, size=n
                ) * rng.integers(0, 2)
            measured = np.where(rng.random() < 0.1, np.nan, q) + (rng.random() < 0.03)
            command = np.where(rng.random(n) < 0.02, np.nan, wanted)
            if rng.random() < 0.05:
                energy = rng.normal()
                (python.tank.refill if energy > 0 else python.tank.drain)(abs(energy))
                native.change_budget(energy)
            if rng.random() < 0.1:
                changed = {"freeze": bool(rng.integers(2)), "tank_capacity": rng.uniform(0.0, 2.0)}
                for guard in both:
                    guard.settings = EnergyGuardSettings(**{**vars(settings), **changed})
            step = float(rng.choice([dt, dt, dt, 0.0, np.nan]))
            a, b = (guard.update(measured, command, step) for guard in both)
            assert_array_equal(b.command, a.command, err_msg=f"seed {seed}, sample {k}")
            assert (b.status, b.reason, b.level) == (a.status, a.reason, a.level)
            seen.add((a.status, "tank" in a.reason))
        for name in ("verdict", "first_loss", *COUNTS, *NUMBERS):
            assert getattr(native.certificate, name) == getattr(python.certificate, name), name
        assert native.allocations == 0
    assert len(seen) == 3  # passed, in part, held


def test_a_command_that_the_tank_covers_passes_bit_for_bit(
    compiled: Callable[..., CompiledGuard],
) -> None:
    guard = compiled(sliders(3), 100.0, budget=10.0)
    wanted = np.array([0.1, -0.2, 1.0 / 3.0])
    assert_array_equal(guard.update(np.zeros(3), wanted, 0.01).command, wanted)


@pytest.mark.parametrize("velocity", [False, True])
@pytest.mark.parametrize("delay", range(3))
def test_a_command_that_is_limited_behind_the_guard_counts_as_what_acts(
    compiled: Callable[..., CompiledGuard], delay: int, velocity: bool
) -> None:
    model, dt = sliders(2), 0.01
    native = compiled(model, 50.0, 20.0, budget=2.0, delay=delay, velocity=velocity)
    # The twin is asked for no more than what acts, the other for what the guard has sent.
    kind, constants = (VelocityGuard, (20.0,)) if velocity else (PositionGuard, (50.0, 20.0))
    twin, other = (kind(model, *constants, budget=2.0, delay=delay) for _ in range(2))
    q, acting = np.zeros(2), np.zeros(2)
    for guard in (native, twin, other):
        guard.engage(q, acting)
    for k in range(60):
        wanted = np.array([1.0, -0.6]) * np.sin(0.2 * k)
        sent = native.update(q, wanted, dt).command
        acting = 0.5 * sent if velocity else acting + 0.5 * (sent - acting)
        native.replace_last(acting, dt)
        assert_array_equal(twin.update(q, acting, dt).command, acting, err_msg=f"sample {k}")
        other.update(q, sent, dt)
        # Servos of velocities give most at half the speed; nothing returns beyond the capacity.
        q = q + dt * (0.5 * acting if velocity else 2.0 * (acting - q))
    for _ in range(1 + delay):  # until nothing is under way, whose bounds add up
        levels = [guard.update(q, acting, dt).level for guard in (native, twin, other)]
    assert levels[0] == pytest.approx(levels[1], abs=1e-12)
    assert abs(levels[2] - levels[1]) > 1e-3
    assert native.certificate.given == pytest.approx(twin.certificate.given, abs=1e-12)
    # The largest includes what was granted and then limited.
    assert native.certificate.largest_given >= twin.certificate.largest_given - 1e-12
    assert native.certificate.lost == twin.certificate.lost == 0


def test_no_adversary_takes_more_than_the_budget(compiled: Callable[..., CompiledGuard]) -> None:
    shares = []
    for seed in range(7):
        beyond, budget, share = excess(seed, position_guard=compiled)
        assert beyond <= 1e-9 + 1e-9 * budget, f"seed {seed}"
        shares.append(share)
    assert max(shares) > 0.3  # the adversaries do take what is there


@pytest.mark.parametrize(
    ("stiffness", "delay", "velocity"), [(0.0, 0, 2.0), (np.nan, 0, 2.0), (1.0, 1, np.inf)]
)
def test_what_is_no_servo_is_refused(
    call: Callable[..., list[str]], stiffness: float, delay: int, velocity: float
) -> None:
    answer = call("g", 0, 1, delay, 0.2, stiffness, 0.0, 1.0, velocity)
    assert answer[:5] == ["j0:", "stiffness", "must", "be", "positive,"]
    answer = call("g", 1, 1, delay, 0.2, 1.0, 0.0, 1.0, velocity)
    assert answer == ["j0:", "damping", "must", "be", "positive"]

# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The decoupled law: its energy decreases, and every state and attitude returns."""

from dataclasses import replace

import numpy as np
import pytest

from vms_ph_controllers import DecoupledVMSController, RobotState, Status
from vms_ph_dynamics import ModelError, VMSModel
from vms_ph_io import robots

from ..support.decoupled_plants import HOLD, ROBOTS, STEP, Plant, goal, plant, without_limits

# Simulated until they have come back, s: from a random state and from half a turn at rest.
SECONDS = {"satellite_panda": 8.0, "omnidirectional_panda": 8.0, "hextilt": 16.0}
HALF_TURN = {"satellite_panda": 6.0, "omnidirectional_panda": 5.5, "hextilt": 8.0}


def assert_it_comes_back_with_falling_energy(one: Plant, seconds: float) -> None:
    before = one.energy()
    for k in range(round(seconds / STEP)):
        told = one.step()
        now = one.energy()
        # The midpoint rule errs by the third power of its step, of the energy there is;
        # a nanojoule of the tens of kilojoules at the start is rounding.
        assert now <= before + 1e-7 * max(before, 1e-5), f"rose at {k * STEP:.3f} s"
        before = now
        assert told.status is Status.OK
    away = one.law.model.difference(one.goal, one.q)
    assert np.abs(away).max() < 0.05


# The other two come back from half a turn below.
@pytest.mark.usefixtures("core")
@pytest.mark.parametrize(
    ("name", "seed"),
    [
        pytest.param(name, seed, marks=() if name == ROBOTS[1] and not seed else pytest.mark.slow)
        for name in ROBOTS
        for seed in range(2)
    ],
)
def test_the_energy_only_falls_and_every_state_comes_back(name: str, seed: int) -> None:
    one = plant(name, np.random.default_rng(seed))
    assert_it_comes_back_with_falling_energy(one, SECONDS[name])


@pytest.mark.usefixtures("core")
@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("name", ROBOTS)
def test_a_hundred_random_states_come_back(name: str, rng: np.random.Generator) -> None:
    for _ in range(100):
        assert_it_comes_back_with_falling_energy(plant(name, rng), 20.0)


AXES = {"satellite_panda": [(1, 0, 0), (0, 0, 1)], "omnidirectional_panda": [(0, 0, 1)],
        "hextilt": [(1, 0, 0), (0.6, 0, 0.8)]}  # fmt: skip


@pytest.mark.usefixtures("core")
@pytest.mark.parametrize(
    ("name", "axis"),
    [
        pytest.param(name, axis, marks=() if k == 0 else pytest.mark.slow)
        for name in ROBOTS
        for k, axis in enumerate(AXES[name])
    ],
)
def test_exactly_half_a_turn_is_left_at_once(
    name: str, axis: tuple[float, float, float], rng: np.random.Generator
) -> None:
    one = plant(name, rng)
    model = one.law.model
    half_turn = np.concatenate([np.zeros(3), np.pi * np.array(axis)])
    one.q = model.integrate(one.goal, np.zeros(model.nv))
    tangent = np.zeros(model.nv)
    tangent[: model.b] = half_turn if model.b == 6 else half_turn[[0, 1, 5]]
    one.q, one.v = model.integrate(one.goal, tangent), np.zeros(model.nv)
    first = one.step()
    frequency = one.law.gains.frequency_base
    moment = np.linalg.norm(first.wrench_base[-3 if model.b == 6 else -1 :])
    assert moment > frequency**2 * 0.1 * one.law.model.evaluate(one.goal, one.v).M_b[-1, -1]
    assert_it_comes_back_with_falling_energy(one, HALF_TURN[name])


@pytest.mark.usefixtures("core")
@pytest.mark.slow
def test_a_fast_spin_past_half_a_turn_goes_on_round_instead_of_unwinding() -> None:
    model = without_limits("satellite_panda")
    law = DecoupledVMSController(model)
    one = Plant(law, goal(model, "satellite_panda"), np.zeros(model.nv))
    one.goal = one.q.copy()
    law.set_minimum(one.goal)
    one.v[5] = 6.0  # rad/s: more than the potential at half a turn can stop
    turned, before = 0.0, one.energy()
    for seconds, dt, damping in ((5.0, 1e-3, 0.05), (7.0, STEP, 1.0)):
        one.dt, law.gains = dt, replace(law.gains, damping_ratio=damping)
        for _ in range(round(seconds / dt)):
            one.step()
            turned += dt * one.v[5]
            now = one.energy()
            assert now <= before * (1 + 1e-6) + 1e-9  # the midpoint rule, at 6 rad/s
            before = now
    assert "attitude error past half a turn: its correction is reversed" in one.reasons
    # It ended where it is after whole turns, none of them taken back.
    assert turned / (2 * np.pi) == pytest.approx(2.0, abs=0.01)
    assert np.abs(model.difference(one.goal, one.q)).max() < 0.05


def test_the_law_reports_the_energy_that_is_there(rng: np.random.Generator) -> None:
    for name in ROBOTS:
        one = plant(name, rng)
        for _ in range(20):
            expected = one.energy()
            told = one.step().energy
            assert told.closed_loop_energy == pytest.approx(expected, rel=1e-9)
            parts = told.kinetic_base + told.kinetic_shape + told.shaped_potential
            assert told.closed_loop_energy == pytest.approx(parts, rel=1e-12)
            assert min(told.damping_base, told.damping_shape) >= 0.0


@pytest.mark.usefixtures("core")
def test_a_thousand_hertz_hold_still_comes_back(rng: np.random.Generator) -> None:
    # The command is held for a millisecond, as a digital controller does.
    one = plant("omnidirectional_panda", rng)
    model, dt = one.law.model, 1e-3
    for _ in range(7000):
        told = one.law.update(RobotState(one.q, one.v), HOLD, dt)
        a = one.acceleration(one.q, one.v, told)
        q, v = model.integrate(one.q, 0.5 * dt * one.v), one.v + 0.5 * dt * a
        one.q = model.integrate(one.q, dt * v)
        one.v = one.v + dt * one.acceleration(q, v, told)
    assert np.abs(model.difference(one.goal, one.q)).max() < 0.01


def test_the_attitude_bears_the_moment_that_is_documented() -> None:
    model = robots.load("hextilt")
    law, q = DecoupledVMSController(model), model.home.copy()
    law.reset(RobotState(q, np.zeros(model.nv)))
    inertia = np.mean(np.diag(model.evaluate(q, np.zeros(model.nv)).M)[3:6])
    for angle in (0.5, 2.0, 3.1):
        q[3:7] = np.sin(angle / 2.0), 0.0, 0.0, np.cos(angle / 2.0)
        wanted = law.update(RobotState(q, np.zeros(model.nv)), HOLD, 1e-3).wrench_base
        moment = np.linalg.norm((wanted - model.evaluate(q, np.zeros(model.nv)).g[:6])[3:])
        bound = 2.0 * law.gains.frequency_base**2 * inertia
        assert moment == pytest.approx(bound * np.sin(angle / 2.0), rel=1e-6)


def test_a_robot_that_it_does_not_serve_is_refused(panda: VMSModel) -> None:
    with pytest.raises(ModelError, match="on a planar or floating base; 'panda' has a fixed one"):
        DecoupledVMSController(panda)
    with pytest.raises(ModelError, match=r"wrenches of 6 components; the planar base .* has 3"):
        DecoupledVMSController(
            robots.load("omnidirectional_panda"), allocation=robots.get("hextilt").allocation()
        )

# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The bound of an energy guard holds for what the actuators of a base deliver."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from vms_ph_controllers import Status
from vms_ph_controllers.guard import EnergyGuardSettings, PortGuard
from vms_ph_controllers.guard.delayed_grant import BaseWrenchLimiter
from vms_ph_dynamics import Allocation, ModelError, VMSModel
from vms_ph_io import robots

from ..support.guard_runs import Outcome, Scene, run, saturating

# What the plant resolves, J, and rounding of allocations.
_ROUNDING = 1e-9

VEHICLES = ("hextilt", "omnidirectional_panda")


@cache
def _vehicle(name: str) -> tuple[VMSModel, np.ndarray, Allocation]:
    known = robots.get(name)
    model = known.load()
    return model, model.configuration(known.home), known.own_actuators().allocation


def _failed(allocation: Allocation, k: int) -> Allocation:
    """Return the same actuators, of which one gives nothing."""
    works = np.ones(len(allocation.lower))
    works[k] = 0.0
    lower, upper = works * allocation.lower, works * allocation.upper
    return Allocation.of_matrix(allocation.matrix, lower, upper)


def _scene(name: str, seed: int, failed: int | None, samples: int) -> Scene:
    model, home, allocation = _vehicle(name)
    rng = np.random.default_rng(seed)
    if failed is not None:
        allocation = _failed(allocation, failed)
    dt, delay = float(rng.choice([2e-3, 5e-3, 1e-2])), int(rng.integers(0, 3))
    v = 0.5 * rng.uniform(-1, 1, model.nv) * (delay == 0)
    initial = float(rng.choice([0.0, 0.02, 0.1]))
    q = model.integrate(home, 0.3 * rng.uniform(-1, 1, model.nv))
    return Scene(model, q, v, [], dt, delay, initial, samples, seed, 0.0, allocation)


def _beyond_limits(given: Scene, parameters: np.ndarray) -> Outcome:
    """Run a controller whose wrenches are far beyond the limits, first as a brake.

    A wrench that brakes more than the actuators can seems to fill the tank; then it is spent.
    """
    model, b = given.model, given.model.b
    policy = saturating(model, given.q, parameters[:5])
    allocation = given.actuators
    assert allocation is not None
    most = np.abs(allocation.matrix) @ np.maximum(-allocation.lower, allocation.upper)
    turn = int(abs(parameters[5, 0]) * 0.3 * given.samples)

    def strong(q: np.ndarray, v: np.ndarray, k: int) -> np.ndarray:
        wanted = policy(q, v, k)
        d = model.evaluate(q, v)
        if k < turn:
            return np.asarray(d.g - 0.5 / given.dt * d.M @ v)
        wanted[:b] = d.g[:b] + 30.0 / 40.0 * most * (wanted[:b] - d.g[:b])
        return wanted

    return run(given, strong)


def _search(given: Scene, rounds: int, children: int) -> tuple[Outcome, np.ndarray]:
    """Search for the controller that takes most beyond the bound; it is an evolution strategy."""
    rng = np.random.default_rng(given.seed)
    best = rng.standard_normal((6, given.model.nv))
    found, step = _beyond_limits(given, best), 1.0
    for _ in range(rounds):
        tried = [best + step * rng.standard_normal(best.shape) for _ in range(children)]
        outcomes = [_beyond_limits(given, each) for each in tried]
        k = int(np.argmax([each.beyond for each in outcomes]))
        better = outcomes[k].beyond > found.beyond
        if better:
            best, found = tried[k], outcomes[k]
        step *= 1.3 if better else 0.6
    return found, best


@pytest.mark.parametrize("name", VEHICLES)
@pytest.mark.parametrize("failed", [None, 1])
@pytest.mark.parametrize(
    ("seeds", "rounds"), [(1, 1), pytest.param(40, 25, marks=(pytest.mark.slow,))]
)
def test_a_search_finds_no_controller_that_takes_more_than_the_bound_from_limited_actuators(
    name: str, failed: int | None, seeds: int, rounds: int
) -> None:
    for seed in range(2, 2 + seeds):
        given = _scene(name, seed, failed, 25 if rounds < 5 else 60)
        found, _ = _search(given, rounds, 3 if rounds < 5 else 4)
        assert found.beyond <= _ROUNDING, found
        # There are no contacts: nothing is given beyond the budget at all.
        assert found.excess <= _ROUNDING, found


@pytest.mark.parametrize(
    ("name", "seeds", "rounds", "children"),
    [
        ("hextilt", (3,), 1, 3),
        ("omnidirectional_panda", (2,), 2, 4),
        *(pytest.param(name, (2, 3, 4), 2, 4, marks=pytest.mark.slow) for name in VEHICLES),
    ],
)
def test_a_guard_that_does_not_know_the_actuators_counts_energy_that_was_never_taken_out(
    name: str, seeds: tuple[int, ...], rounds: int, children: int
) -> None:
    # The same search, without what this page tests: it brakes harder than the actuators can, and
    # spends what seems to have come back.
    excess = beyond = -np.inf
    for seed in seeds:
        known = _scene(name, seed, None, 30)
        found, worst = _search(replace(known, is_known=False), rounds, children)
        excess, beyond = max(excess, found.excess), max(beyond, found.beyond)
        assert _beyond_limits(known, worst).excess <= _ROUNDING
    assert excess > 0.05
    if name == "omnidirectional_panda":  # beyond the bound of a certificate as well
        assert beyond > 0.1
    print(f"{name}: {excess:.3g} J beyond the budget, {beyond:.3g} J beyond the bound")


@pytest.mark.parametrize("name", VEHICLES)
def test_every_wrench_within_the_limits_passes_bit_for_bit_and_no_other_is_sent(name: str) -> None:
    model, home, allocation = _vehicle(name)
    rng, v, b = np.random.default_rng(4), np.zeros(model.nv), model.b
    guard = PortGuard(model, EnergyGuardSettings(1e6, 1e6), allocation=allocation)
    guard.engage(home, v)
    weight = model.evaluate(home, v).g
    for k in range(40):
        # At the corners and edges of the limits as well.
        thrusts = rng.uniform(allocation.lower, allocation.upper)
        at = rng.integers(0, 3, len(thrusts))
        thrusts = np.where(at == 0, allocation.lower, np.where(at == 1, allocation.upper, thrusts))
        wanted = np.concatenate([allocation.matrix @ thrusts, weight[b:]])
        sent = guard.update(home, v, wanted, 1e-3)
        assert sent.status is Status.OK, (k, sent.reason)
        assert np.array_equal(sent.effort, wanted)
        wanted[:b] += 10.0 ** rng.uniform(4, 5) * rng.choice([-1.0, 1.0], b)
        sent = guard.update(home, v, wanted, 1e-3)
        assert sent.reason == "base wrench at the limits of its actuators"
        nearest = allocation.allocate(sent.effort[:b])
        assert np.abs(nearest.missing_wrench).max() < 1e-9 * (1.0 + np.abs(sent.effort[:b]).max())
        assert np.array_equal(sent.effort[b:], wanted[b:])


@pytest.mark.parametrize("name", VEHICLES)
@pytest.mark.parametrize("failed", [None, 0])
def test_whatever_is_wanted_or_measured_no_wrench_beyond_the_limits_is_sent(
    name: str, failed: int | None
) -> None:
    model, home, allocation = _vehicle(name)
    if failed is not None:
        allocation = _failed(allocation, failed)
    rng, b = np.random.default_rng(6), model.b
    settings = EnergyGuardSettings(1.0, 0.01, joint_speed=0.5, torque=0.7)
    guard = PortGuard(model, settings, allocation=allocation, delay=1)
    v = 0.3 * rng.uniform(-1, 1, model.nv)
    guard.engage(home, v, acting=1e3 * rng.standard_normal(model.nv))
    statuses = set()
    for k in range(40):
        wanted = 10.0 ** rng.uniform(0, 4) * rng.standard_normal(model.nv)
        if k % 7 == 3:
            wanted[0] = np.nan
        q = home if k % 9 else np.full(model.nq, np.nan)
        sent = guard.update(q, rng.uniform(-0.5, 0.5, model.nv), wanted, 1e-3)
        statuses.add(sent.status)
        missing = allocation.allocate(sent.effort[:b]).missing_wrench
        assert np.abs(missing).max() < 1e-8 * (1.0 + np.abs(sent.effort[:b]).max()), sent.reason
        assert (np.abs(sent.effort[b:]) <= model.joints.effort + 1e-9).all()
    assert statuses == {Status.SATURATED, Status.HOLDING}


def test_a_brake_of_limited_actuators_takes_energy_out_in_every_direction_of_motion() -> None:
    model, home, allocation = _vehicle("hextilt")
    rng, b = np.random.default_rng(8), model.b
    for limited in (allocation, _failed(allocation, 2)):
        wrench = BaseWrenchLimiter(model, limited)
        d = model.evaluate(home, np.zeros(model.nv))
        held = wrench.nearest_wrench(d.g[:b])
        for _ in range(60):
            v_hat = 10.0 ** rng.uniform(-2, 1) * rng.standard_normal(b)
            rate = 10.0 ** rng.uniform(0, 3)
            step = wrench.nearest_brake(held - rate * d.M_b @ v_hat, d.M_b) - held
            size = float(step @ np.linalg.solve(d.M_b, step))
            assert float(step @ v_hat) <= -size / rate + 1e-7 * float(np.abs(step).max())


def test_actuators_that_do_not_fit_are_refused() -> None:
    model, _, allocation = _vehicle("hextilt")
    planar, _, wheels = _vehicle("omnidirectional_panda")
    with pytest.raises(ModelError, match="wrenches of 3 components"):
        PortGuard(model, allocation=wheels)
    with pytest.raises(ModelError, match="numbers above zero"):
        PortGuard(model, allocation=allocation, weights=np.ones(3))
    with pytest.raises(ModelError, match="have other limits left"):
        PortGuard(model, allocation=allocation, effort_carries_weight=False)
    # The wheels of a cart do not carry its weight.
    PortGuard(planar, allocation=wheels, effort_carries_weight=False)

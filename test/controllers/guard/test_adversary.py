# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""No controller takes more energy through a guard than its budget and the work not yet seen."""

from functools import cache

import numpy as np
import pytest

from vms_ph_controllers.guard import EnergyGuardSettings, PortGuard
from vms_ph_dynamics import VMSModel
from vms_ph_io import robots

from ..support.guard_runs import Outcome, adversary, run, saturating, scene, search
from ..support.tank_runs import Plant

LONG = (pytest.mark.slow, pytest.mark.timeout(24 * 3600))

ROBOTS = ("panda", "panda", "omnidirectional_panda")

# What the plant resolves, J.
_ROUNDING = 1e-9


@cache
def _model(name: str) -> tuple[VMSModel, np.ndarray]:
    model = robots.load(name)
    return model, model.configuration(robots.get(name).home)


def _random(seed: int, with_contacts: bool, pushes: float = 0.0, samples: int = 0) -> Outcome:
    rng = np.random.default_rng(seed)
    given = scene(*_model(ROBOTS[seed % len(ROBOTS)]), rng, seed, with_contacts)
    given.pushes = pushes
    given.samples = samples or given.samples
    return run(given, adversary(given.model, rng, given.dt))


@pytest.mark.parametrize("count", [6, pytest.param(3000, marks=LONG)])
def test_without_contacts_no_energy_is_given_beyond_the_budget(count: int) -> None:
    for seed in range(count):
        found = _random(seed, with_contacts=False, samples=30 if count < 10 else 0)
        assert found.excess <= _ROUNDING, found


@pytest.mark.parametrize("count", [6, pytest.param(10_000, marks=LONG)])
def test_among_contacts_the_excess_is_at_most_the_work_of_the_samples_not_seen(count: int) -> None:
    worst = 0.0
    for seed in range(1000, 1000 + count):
        found = _random(seed, with_contacts=True, samples=20 if count < 10 else 0)
        worst = max(worst, found.excess / max(found.unseen, _ROUNDING))
        assert found.beyond <= _ROUNDING, found
        assert found.verdict != "kept" or found.measured <= 1e-8, found
    print(f"{count} runs: at most {worst:.3f} of the work not seen")


@pytest.mark.parametrize("count", [3, pytest.param(2000, marks=LONG)])
def test_pushes_in_succession_do_not_let_a_debt_accumulate(count: int) -> None:
    for seed in range(20_000, 20_000 + count):
        found = _random(seed, with_contacts=True, pushes=0.05, samples=20 if count < 10 else 0)
        assert found.beyond <= _ROUNDING, found


@pytest.mark.parametrize(
    ("scenes", "generations", "children"), [(1, 1, 3), pytest.param(200, 6, 6, marks=LONG)]
)
def test_a_search_for_the_worst_controller_finds_none_beyond_the_bound(
    scenes: int, generations: int, children: int
) -> None:
    took, guarded = [], []
    for seed in range(30_000, 30_000 + scenes):
        rng = np.random.default_rng(seed)
        given = scene(*_model("panda"), rng, seed, True)
        given.pushes, given.initial = 0.0, 0.1
        given.samples = 20 if scenes == 1 else given.samples
        found, worst = search(given, rng, generations, children)
        assert found.excess <= found.unseen + found.by_weight + _ROUNDING, found
        free = run(given, saturating(given.model, given.q, worst), is_guarded=False)
        guarded.append(found.taken)
        took.append(free.taken)
    print(f"taken behind the guard {max(guarded):.3g} J, without it {max(took):.3g} J")
    assert max(took) > 10.0 * max(guarded)


def _turned(model: VMSModel, plant: Plant, force: np.ndarray) -> np.ndarray:
    """Return the velocity of the same kinetic energy along which a force gives the most."""
    d = model.evaluate(plant.q, plant.v)
    a = np.linalg.solve(d.M, force)
    size = float(np.sqrt(max(0.0, force @ a)))
    return np.sqrt(2.0 * d.kinetic_energy) / size * a if size > 1e-12 else plant.v


@pytest.mark.parametrize(
    ("delay", "dt", "samples"),
    [(0, 0.02, 60), (1, 0.002, 80), pytest.param(3, 0.005, 400, marks=pytest.mark.slow)],
)
def test_contacts_that_turn_the_motion_the_worst_way_in_every_sample_do_not_raise_a_debt_again(
    delay: int, dt: float, samples: int
) -> None:
    # Such contacts give no energy. The weight is left out: it is held, not scaled, and has an
    # error of its own when the motion is turned.
    panda, home = _model("panda")
    model = panda.without_gravity()
    settings = EnergyGuardSettings(tank_capacity=10.0, tank_initial=0.1)
    guard = PortGuard(model, settings, delay=delay, period=dt)
    rng, none = np.random.default_rng(1), np.zeros(model.nv)
    plant = Plant(model, home, 0.5 * rng.uniform(-1, 1, model.nv))
    guard.engage(plant.q, plant.v)
    queue, debts = [none] * delay, []
    for k in range(samples):
        wanted = model.joints.effort * np.sign(plant.v)
        sent = guard.update(plant.q, plant.v, wanted, dt if k else 0.0)
        debts.append(-sent.level)
        queue.append(np.array(sent.effort))
        force = queue.pop(0)
        plant.v = _turned(model, plant, force)
        plant.hold(force, none, dt, none)
    found = guard.certificate
    assert max(debts) <= found.largest_unseen + found.lent + _ROUNDING
    assert max(debts) > 0.1  # the turns are worth it: there is a debt
    # It has come to its ceiling, and stays there.
    assert max(debts[samples // 2 :]) < 1.02 * max(debts[: samples // 2])
    assert found.verdict == "excess"

# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Limits of torques, wrenches and brakes in closed form."""

import numpy as np
import pytest

from vms_ph_controllers.potentials.shaped_potential import ShapedPotential
from vms_ph_controllers.safety.base_actuation import BaseActuation, step_share
from vms_ph_controllers.safety.energy_tank import EnergyTank, TankPotential
from vms_ph_controllers.safety.limits import TorqueLimits
from vms_ph_controllers.safety.output_stage import OutputStage
from vms_ph_controllers.safety.sample_grant import strongest_brake
from vms_ph_dynamics import VMSModel
from vms_ph_io import robots

REST = np.zeros(7)


def test_the_power_of_torques_beyond_gravity_is_scaled_to_its_limit(panda: VMSModel) -> None:
    weight, rates = np.array([1.0, -2.0, 0.5, 3.0, 0.0, 1.0, 0.2]), np.linspace(0.5, 1.1, 7)
    desired = weight + np.linspace(2.0, 8.0, 7)
    assert weight @ rates < 10.0 < desired @ rates
    limited = TorqueLimits(panda).apply(desired, weight, rates, 0.0, 10.0, 1e-3)
    assert limited.effort @ rates == pytest.approx(10.0)
    share = (limited.effort - weight) / (desired - weight)
    np.testing.assert_allclose(share, share[0])
    assert 0.0 < share[0] < 1.0
    assert limited.reason == "power at its limit of 10 W"
    assert TorqueLimits(panda).apply(desired, weight, rates, 0.0, 100.0, 1e-3).reason == ""


def test_torques_change_at_their_largest_rate(panda: VMSModel) -> None:
    limits = TorqueLimits(panda)
    limits.apply(REST, REST, REST, 100.0, 0.0, 0.01)
    desired = np.array([3.0, -2.0, 0.5, 0.0, 1.0, -1.0, 0.2])
    first = limits.apply(desired, REST, REST, 100.0, 0.0, 0.01)
    np.testing.assert_allclose(first.effort, np.clip(desired, -1.0, 1.0))
    assert first.reason == "rate of torque at its limit"
    limits.apply(desired, REST, REST, 100.0, 0.0, 0.01)
    last = limits.apply(desired, REST, REST, 100.0, 0.0, 0.01)
    np.testing.assert_array_equal(last.effort, desired)
    assert last.reason == ""


def test_a_late_sample_changes_a_torque_no_more_than_the_one_before_it(panda: VMSModel) -> None:
    limits, desired = TorqueLimits(panda), np.full(7, 5.0)
    limits.apply(REST, REST, REST, 100.0, 0.0, 0.01)
    late = limits.apply(desired, REST, REST, 100.0, 0.0, 0.04)
    np.testing.assert_allclose(late.effort, 1.0)
    next_one = limits.apply(desired, REST, REST, 100.0, 0.0, 0.01)
    np.testing.assert_allclose(next_one.effort, 2.0)
    # A loop that stays slow has longer samples.
    limits.apply(desired, REST, REST, 100.0, 0.0, 0.02)
    np.testing.assert_allclose(limits.apply(desired, REST, REST, 100.0, 0.0, 0.02).effort, 5.0)


def test_the_share_of_a_step_within_bounds_ends_at_the_first(rng: np.random.Generator) -> None:
    lower, upper = -np.ones(3), np.array([1.0, 2.0, 3.0])
    assert step_share(np.zeros(3), np.array([0.5, 4.0, -1.0]), lower, upper) == 0.5
    assert step_share(np.zeros(3), np.array([0.5, 0.0, -4.0]), lower, upper) == 0.25
    assert step_share(np.zeros(3), np.zeros(3), lower, upper) == 1.0
    assert step_share(np.array([2.0, 0.0, 0.0]), np.array([1.0, 0.0, 0.0]), lower, upper) == 0.0


def test_a_wrench_beyond_the_rotors_keeps_its_direction_beyond_gravity() -> None:
    model = robots.load("hextilt")
    allocation = robots.get("hextilt").allocation()
    base = BaseActuation(model, allocation, True)
    weight = model.evaluate(model.neutral_configuration(), np.zeros(model.nv)).g[:6]
    step = np.array([0.3, -0.2, 1.0, 0.05, 0.02, -0.03])
    sizes = 2.0 ** np.arange(10)
    size = next(size for size in sizes if base.apply(weight + size * step, weight).reason)
    limited = base.apply(weight + size * step, weight)
    assert limited.reason.startswith("base wrench at its limit")
    share = (limited.effort - weight) / (size * step)
    np.testing.assert_allclose(share, share[0], rtol=1e-6)
    assert 0.49 < share[0] < 1.0
    inside = base.apply(weight + 0.25 * size * step, weight)
    np.testing.assert_allclose(inside.effort, weight + 0.25 * size * step, atol=1e-9)


def test_the_strongest_brake_takes_out_a_third_of_the_momentum(panda: VMSModel) -> None:
    d = panda.evaluate(np.array([0.1, -0.3, 0.2, -1.5, 0.4, 1.5, 0.0]), np.linspace(-1.0, 1.0, 7))
    impulse = 2e-3 * (strongest_brake(d, 2e-3) - d.g)
    np.testing.assert_allclose(3.0 * impulse, -(d.M @ d.v), rtol=1e-12)


def test_a_new_tank_has_spent_nothing() -> None:
    tank = EnergyTank(2.0, 1.5)
    assert (tank.spent, tank.largest_spent, tank.discarded, tank.unaccounted_energy) == (0,) * 4
    assert tank.level == tank.budget == tank.margin == 1.5
    assert EnergyTank(2.0, 5.0).level == 2.0


def test_a_tank_pays_for_what_a_potential_gains(panda: VMSModel) -> None:
    q = panda.neutral_configuration() + np.array([0, -0.3, 0, -1.5, 0, 1.5, 0])
    old = ShapedPotential(panda, q, 40.0)
    now, change = q - 0.2, np.full(7, 0.15)
    before = 0.5 * 40.0 * 7 * 0.2**2

    def after(share: float) -> float:
        return 0.5 * 40.0 * 7 * (0.2 + share * 0.15) ** 2

    for level, share in ((50.0, 1.0), (1.1 * (after(0.25) - before), 0.25)):
        budget = TankPotential(panda)
        budget.reset(old)
        budget.settle_sample(panda.evaluate(now, REST), 0.0, 60.0, level, 1e-3)
        added = budget.change(now, lambda s: ShapedPotential(panda, q + s * change, 40.0))
        assert added == pytest.approx(after(share) - before)
        assert budget.level == pytest.approx(level - added)
        assert budget.is_short is (share < 1.0)
        np.testing.assert_allclose(budget.potential.q_star, q + share * change)
    # An overdrawn tank lowers the whole potential, as far as it held energy.
    budget.tank.withdraw(budget.level + 1.0)  # type: ignore[union-attr]
    held = budget.energy(now)
    added = budget.change(now, lambda s: ShapedPotential(panda, q + 0.25 * change, 40.0))
    assert added == pytest.approx(-1.0)
    assert budget.energy(now) == pytest.approx(held - 1.0)
    assert budget.level == pytest.approx(0.0, abs=1e-12)


def test_where_the_configuration_is_not_known_the_last_safe_output_holds(panda: VMSModel) -> None:
    stage, home = OutputStage(panda, None, True), np.array([0.1, -0.3, 0.2, -1.5, 0.4, 1.5, 0.0])
    stage.restart(panda.evaluate(home, REST))
    weight = panda.evaluate(home, REST).g
    for q in (home, np.full(7, np.nan), home[:3]):
        np.testing.assert_array_equal(stage.safe_output_at(q).torque, weight)
    elsewhere = home + 0.2
    np.testing.assert_array_equal(
        stage.safe_output_at(elsewhere).torque, panda.evaluate(elsewhere, REST).g
    )

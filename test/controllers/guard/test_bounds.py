# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The bounds of guards in closed form, on a cart of 1 kg and on an arm."""

from dataclasses import replace

import numpy as np
import pytest

from vms_ph_controllers.guard import PortGuard, PositionGuard, TeleoperationSide, VelocityGuard
from vms_ph_controllers.guard.delayed_grant import BaseWrenchLimiter, DelayedGrant
from vms_ph_controllers.guard.effort_queue import DebtCeiling, EffortQueue
from vms_ph_controllers.guard.motion_limits import _largest_rate_share, _largest_root
from vms_ph_dynamics import VMSModel

from .test_servo_guard import sliders

DT = 0.01


def test_the_largest_share_of_a_parabola_is_its_root(rng: np.random.Generator) -> None:
    for b in (-1.3, -0.2, 0.0, 0.4, 2.0):
        a, c = rng.uniform(2.0, 4.0), -rng.uniform(0.1, 0.5)
        share = _largest_root(a, b, c)
        assert a * share**2 + b * share + c == pytest.approx(0.0, abs=1e-12)
        assert 0.0 < share < 1.0
    assert _largest_root(0.0, 2.0, -0.5) == 0.25
    assert _largest_root(1.0, 1.0, -3.0) == 1.0
    assert _largest_root(1.0, -3.0, 0.5) == 1.0  # it comes back within the limit
    assert _largest_root(1.0, 1.0, 0.5) == 0.0


def test_the_largest_share_of_a_step_keeps_every_rate_within_the_limit() -> None:
    start, step = np.array([0.2, -0.5, 0.0]), np.array([1.0, -1.0, 0.5])
    assert _largest_rate_share(start, step, 1.0) == pytest.approx(0.5)  # -0.5 - 0.5 = -1
    assert _largest_rate_share(start, step, 2.0) == 1.0
    assert _largest_rate_share(np.array([3.0]), np.array([1.0]), 1.0) == 0.0


def test_a_debt_may_be_repaid_with_what_is_left_below_its_ceiling() -> None:
    ceiling, mass = DebtCeiling(0), 4.0 * np.eye(1)
    assert ceiling.update(-0.5, 0.5, 2.0) == 0.5
    assert ceiling.largest_loan == pytest.approx(0.1)  # of 2 J, 5 %
    assert ceiling.margin == pytest.approx(0.1)  # the work not seen and a loan, less the debt
    active = np.array([30.0])
    share = ceiling.permitted_share(active, [], -0.5, mass, DT)
    assert 0.0 < share < 1.0
    # The work along the motion is 0.8 of the room: of a kinetic energy of 2 J, 1/2 4 kg v^2.
    work = 0.5 * 4.0 * ((1.0 + share * DT * 30.0 / 4.0) ** 2 - 1.0)
    assert work == pytest.approx(0.8 * 0.1)
    before = ceiling.permitted_share(active, [np.array([3.0])], -0.5, mass, DT)
    assert before == pytest.approx(share - 0.1)  # an effort under way takes its part
    # Without a debt the level is given, and 0.8 of the kinetic energy.
    share = ceiling.permitted_share(np.array([900.0]), [], 0.3, mass, DT)
    work = 0.5 * 4.0 * ((1.0 + share * DT * 900.0 / 4.0) ** 2 - 1.0)
    assert work == pytest.approx(0.3 + 0.8 * 2.0)
    ceiling.update(-0.4, -0.1, 10.0)
    assert ceiling.largest_loan == pytest.approx(0.5)
    ceiling.update(-0.4, 0.0, 0.1)
    assert ceiling.largest_loan == pytest.approx(0.5)
    ceiling.update(0.1, -0.5, 0.1)
    assert ceiling.margin == np.inf


def test_unseen_an_effort_is_sent_as_far_as_the_level_covers_it() -> None:
    model = sliders(1)
    queue = EffortQueue(model, 1)
    assert queue.covered_share(np.ones(1), 1.0, DT) == 0.0  # before any state
    queue.observe(model.evaluate(np.zeros(1), np.ones(1)), 0.0, 0.5)
    share = queue.covered_share(np.array([80.0]), 0.3, DT)
    # With 1 kg, and 10 % for a mass that changes: from 1 m/s to that of 0.3 J more.
    assert 1.0 + 1.1 * share * DT * 80.0 == pytest.approx(np.sqrt(1.6))
    assert queue.covered_share(np.array([20.0]), 0.3, DT) == 1.0
    assert queue.covered_share(np.zeros(1), 0.0, DT) == 1.0
    queue.send(np.array([10.0]), np.array([10.0]))
    later = queue.covered_share(np.array([80.0]), 0.3, DT)
    assert later == pytest.approx(share - 10.0 / 80.0)


def test_an_effort_is_clear_where_the_tank_holds_twice_its_largest_work() -> None:
    model = sliders(1)
    d, force = model.evaluate(np.zeros(1), np.ones(1)), np.array([0.5])
    budget, dt = DelayedGrant(model, BaseWrenchLimiter(model), 0), 0.18
    # Of 1 kg that is pushed along its motion from 1 m/s on, over just less than 0.2 m.
    work = 0.5 * ((1.0 + dt * 0.5) ** 2 - 1.0)
    for level, is_clear in ((2.01 * work, True), (1.99 * work, False)):
        assert budget._is_surely_covered(d, force, [], level, d.kinetic_energy, dt) is is_clear
    assert not budget._is_surely_covered(d, force, [], 100.0, d.kinetic_energy, 0.19)


def test_while_states_are_lost_the_effort_holds_the_weight_and_damps(panda: VMSModel) -> None:
    q = panda.neutral_configuration() + np.array([0, -0.3, 0, -1.5, 0, 1.5, 0])
    weight = panda.evaluate(q, np.zeros(7)).g
    for v in (np.zeros(7), np.array([0.1, -0.2, 0.1, 0.2, -0.1, 0.1, 0.3])):
        guard = PortGuard(panda)
        guard.engage(q, v)
        guard.update(q, v, weight, 0.0)
        duration = guard.certificate.duration
        sent = guard.update(np.full(7, np.nan), v, weight, 1e3)
        assert guard.certificate.duration == duration  # no time that can be believed
        np.testing.assert_allclose((sent.effort - weight)[v == 0.0], 0.0, atol=1e-12)
        assert (sent.effort - weight) @ v <= -0.01 * (v @ v)


def test_a_spring_holds_the_integral_of_its_force_up_to_the_limit() -> None:
    guard = PositionGuard(sliders(1, effort=30.0), 100.0, uncertainty=0.2)
    x = np.linspace(0.0, 0.6, 6001)
    for k, stiffness in enumerate((80.0, 120.0)):
        force = np.minimum(stiffness * x, 30.0)
        held = np.sum(0.5 * (force[1:] + force[:-1]) * np.diff(x))
        for side in (-1.0, 1.0):
            assert guard._spring_energy(np.array([side * 0.6]))[k, 0] == pytest.approx(held)
    assert guard._spring_energy(np.array([0.1]))[:, 0] == pytest.approx([0.4, 0.6])


def test_a_velocity_gives_what_its_damper_does_along_the_way() -> None:
    guard = VelocityGuard(sliders(1), 10.0, budget=1.0, uncertainty=0.0)
    guard.update([0.0], [1.0], DT)
    sent = guard.update([0.004], [0.0], DT)
    # 10 N s/m (1 m/s - 0.4 m/s) over 4 mm.
    assert sent.level == pytest.approx(1.0 - 0.024)


@pytest.mark.parametrize("place", [0.0, -0.09])
def test_a_position_that_is_retreated_to_is_followed_as_far_as_the_tank_reaches(
    place: float,
) -> None:
    guard = PositionGuard(sliders(1, velocity=2.0), 100.0, budget=0.7)
    guard.update([place], [place + 0.1], DT)  # 1/2 120 0.1^2 = 0.6 J
    guard.tank.drain(0.7)
    guard.tank.withdraw(0.1)  # a debt, for which the command goes back by 0.02 at most
    sent = guard.update([place], [place + 0.3], DT)
    assert sent.command == pytest.approx([place + np.sqrt(0.5 / 60.0)], abs=1e-6)
    assert (guard.certificate.scaled, guard.certificate.braked) == (0, 1)


def test_a_side_keeps_its_reserve_and_sends_a_share_of_the_rest() -> None:
    side = TeleoperationSide(PositionGuard(sliders(1), 100.0, budget=1.0), share=0.5, reserve=0.4)
    side.engage([0.0])
    assert [side.send().energy for _ in range(2)] == pytest.approx([0.3, 0.15])
    side.guard.tank.drain(0.3)
    assert side.send().energy == 0.0


def test_a_certificate_says_how_many_samples_are_not_measured(panda: VMSModel) -> None:
    guard = PortGuard(panda)
    guard.engage(panda.neutral_configuration(), np.zeros(7))
    found = guard.certificate
    assert (found.verdict, replace(found, unsettled=0.1).verdict) == ("kept", "unknown")
    for delay, words in ((0, "the last 1 sample, which"), (2, "the last 3 samples, which")):
        assert words in replace(found, delay=delay).not_seen[0]

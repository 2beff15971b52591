# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Guards before servos: the energy given never exceeds the budget, whatever moves the joints.

The bound does not depend on what moves the joints. So the adversary moves them as it likes, with
servos whose stiffness and damping are wrong by as much as was stated, and policies that jump,
stall, repeat, or send no numbers.
"""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from vms_ph_controllers import Status
from vms_ph_controllers.guard import (
    EnergyGuardSettings,
    PositionGuard,
    VelocityGuard,
    spring_positions,
)
from vms_ph_dynamics import OptionError
from vms_ph_io import load, simulate

from .servo_adversary import excess, sliders


@pytest.mark.parametrize("velocity", [False, True], ids=["position", "velocity"])
def test_no_adversary_takes_more_than_the_budget(velocity: bool) -> None:
    shares = []
    for seed in range(6):
        beyond, budget, share = excess(seed, velocity=velocity)
        assert beyond <= 1e-9 + 1e-9 * budget, f"seed {seed}"
        shares.append(share)
    assert max(shares) > 0.3  # the adversaries do take what is there


@pytest.mark.slow
@pytest.mark.timeout(2 * 3600)
@pytest.mark.parametrize("velocity", [False, True], ids=["position", "velocity"])
def test_no_adversary_of_ten_thousand_takes_more_than_the_budget(velocity: bool) -> None:
    assert max(excess(seed, velocity=velocity)[0] for seed in range(1000, 11000)) <= 1e-8


def test_a_command_that_the_tank_covers_passes_bit_for_bit() -> None:
    guard = PositionGuard(sliders(3), 100.0, budget=10.0)
    wanted = np.array([0.1, -0.2, 0.05])
    sent = guard.update(np.zeros(3), wanted, 0.01)
    assert sent.command is wanted
    assert (sent.status, sent.reason) == (Status.OK, "")
    assert sent.level == pytest.approx(10.0 - 0.5 * 120.0 * wanted @ wanted)


def test_a_jump_is_sent_as_far_as_the_tank_reaches() -> None:
    guard = PositionGuard(sliders(1), 100.0, budget=0.6, uncertainty=0.2)
    sent = guard.update([0.0], [1.0], 0.01)
    assert sent.command == pytest.approx([0.1], abs=1e-6)  # 1/2 120 0.1^2 = 0.6 J
    assert sent.status is Status.SATURATED
    assert sent.reason == "the energy tank covers 10% of the change of the command"
    # The energy given is a bound, and said to be one.
    assert "no more than 0.6 J now, 0.6 J ever" in str(guard.certificate)


def test_what_people_do_to_a_held_command_costs_nothing() -> None:
    guard = PositionGuard(sliders(1), 100.0, budget=0.6)
    guard.update([0.0], [0.05], 0.01)
    level = guard.tank.level
    for k in range(200):
        sent = guard.update([0.3 * np.sin(0.1 * k)], [0.05], 0.01)
        assert sent.status is Status.OK
    assert guard.tank.level == pytest.approx(level, abs=1e-12)


def test_a_damper_hidden_by_the_limit_of_the_force_pays_nothing_back() -> None:
    guard = PositionGuard(sliders(1, 5.0), 100.0, 10.0, budget=1.0, uncertainty=0.0)
    q, given = 0.0, 0.0
    for _ in range(100):  # someone moves the joint towards the command, at 2 m/s
        command = guard.update([q], [q + 10.0], 0.01).command[0]
        for _ in range(10):
            force = np.clip(100.0 * (command - q) - 10.0 * 2.0, -5.0, 5.0)
            q, given = q + 2e-3, given + 2e-3 * force
    assert given <= 1.0
    assert guard.tank.level < 0.7  # nothing came back


def test_a_velocity_servo_takes_no_more_than_its_force_from_a_push() -> None:
    guard = VelocityGuard(sliders(1, 5.0, 10.0), 10.0, budget=1.0, uncertainty=0.0)
    guard.engage([0.0])
    guard.tank.drain(0.9)
    guard.update([0.0], [0.0], 0.01)
    level = guard.update([0.1], [0.0], 0.01).level  # at 10 m/s, against 5 N instead of 100
    assert level == pytest.approx(0.1 + 5.0 * 0.1 - 10.0 * 0.25**2 * 0.01)


@pytest.mark.parametrize("delay", [0, 2])
def test_energy_comes_back_with_the_command(delay: int) -> None:
    guard = PositionGuard(sliders(1), 100.0, budget=0.6, delay=delay)
    sent = guard.update([0.0], [0.09], 0.01)
    assert guard.tank.level < 0.2
    assert sent.command[0] > 0.04
    for _ in range(2 * delay + 1):
        guard.update([0.0], [0.0], 0.01)
    assert guard.tank.level == pytest.approx(0.6)


def test_a_frozen_tank_lets_commands_come_back_only() -> None:
    settings = EnergyGuardSettings(tank_capacity=5.0, tank_initial=5.0)
    guard = PositionGuard(sliders(1), 100.0, settings=settings)
    guard.update([0.0], [0.1], 0.01)
    guard.settings = EnergyGuardSettings(tank_capacity=5.0, tank_initial=5.0, freeze=True)
    assert guard.update([0.0], [0.2], 0.01).command == pytest.approx([0.1], abs=1e-6)
    assert_array_equal(guard.update([0.0], [0.05], 0.01).command, [0.05])


def test_a_drained_tank_takes_the_command_back_without_a_step() -> None:
    guard = PositionGuard(sliders(1, velocity=2.0), 100.0, budget=5.0)
    guard.update([0.0], [0.2], 0.01)
    guard.tank.drain(5.0)
    guard.tank.withdraw(1.0)  # a debt
    sent = guard.update([0.0], [0.2], 0.01)
    assert sent.command == pytest.approx([0.18])  # 2 m/s for 10 ms
    assert sent.status is Status.SATURATED
    assert (guard.certificate.scaled, guard.certificate.braked) == (0, 1)


def test_a_joint_without_velocity_limit_is_taken_back_in_no_time_by_nothing() -> None:
    guard = PositionGuard(sliders(1, velocity=0.0), 100.0, budget=5.0)  # no limit
    guard.update([0.0], [0.2], 0.01)
    guard.tank.withdraw(6.0)
    assert_array_equal(guard.update([0.0], [0.2], 0.0).command, [0.2])


def test_a_velocity_is_paid_for_before_it_acts() -> None:
    guard = VelocityGuard(sliders(1), 10.0, budget=0.03)
    sent = guard.update([0.0], [2.0], 0.01)
    assert sent.command == pytest.approx([1.0], abs=1e-6)  # 12 (1 m/s)^2 0.01 s / 4 = 0.03 J
    assert guard.update([np.nan], [2.0], 0.01).command == pytest.approx([0.0])


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"stiffness": -1.0}, "stiffness must be one number or 2, positive"),
        ({"stiffness": [1.0, 2.0, 3.0]}, "stiffness must be one number or 2"),
        ({"stiffness": 1.0, "uncertainty": 1.0}, "uncertainty must be from 0 to below 1"),
        ({"stiffness": 1.0, "budget": np.nan}, "budget must be an energy"),
        ({"stiffness": 1.0, "delay": 6}, "a number of samples from 0 to 5"),
    ],
)
def test_what_is_no_setting_is_refused(arguments: dict, sentence: str) -> None:
    with pytest.raises(OptionError, match=sentence):
        PositionGuard(sliders(2), **arguments)


def test_positions_that_jump_are_not_believed() -> None:
    guard = PositionGuard(sliders(2, velocity=2.0), 100.0, budget=5.0)
    guard.update([0.0, 0.0], [0.01, 0.0], 0.01)
    sent = guard.update([0.0, 3.0], [0.02, 0.0], 0.01)
    assert sent.status is Status.HOLDING
    assert sent.reason == "j1 jumped by 3, farther than its velocity limit allows"
    assert_array_equal(sent.command, [0.01, 0.0])
    certificate = guard.certificate
    assert (certificate.lost, certificate.first_loss) == (1, sent.reason)
    assert "an integrator, a feed-forward" in str(certificate)


def test_a_guard_that_was_not_engaged_begins_at_the_first_measured_positions() -> None:
    guard = PositionGuard(sliders(2), 100.0, budget=1.0)
    sent = guard.update(np.full(2, np.nan), np.ones(2), 0.01)
    assert np.isnan(sent.command).all()  # not zero, where the robot is not
    assert sent.status is Status.HOLDING
    sent = guard.update([0.5, -0.7], [0.51, -0.7], 0.01)
    assert_array_equal(sent.command, [0.51, -0.7])
    assert guard.certificate.verdict == "kept"


def test_servos_carry_the_weight_at_a_joint_limit_and_pull_no_joint_in() -> None:
    model, stiffness = load("package://vms_ph/urdf/so101.urdf"), 17.8
    limits, still = model.joints, np.zeros(model.nv)
    start = np.where(np.isfinite(limits.upper), limits.upper, 0.0)
    start[0] = limits.upper[0] + 0.1  # as an arm that is switched on beyond its limit

    def positions(q: np.ndarray, carries_beyond: bool) -> np.ndarray:
        torque = model.evaluate(q, still).g + 0.05
        if carries_beyond:
            return spring_positions(model, q, torque, stiffness)
        return np.clip(q + torque / stiffness, limits.lower, np.maximum(limits.upper, q))

    sag = {
        carries_beyond: np.abs(
            simulate(
                model,
                lambda q, v, dt, k=carries_beyond: stiffness * (positions(q, k) - q) - 0.2 * v,
                0.5,
                q=start,
            ).q[-1]
            - start
        ).max()
        for carries_beyond in (True, False)
    }
    assert sag[False] > 0.05
    assert sag[True] < 1e-3
    inside = np.full(model.n, 0.1)
    np.testing.assert_allclose(
        positions(inside, True), inside + (model.evaluate(inside, still).g + 0.05) / stiffness
    )


def test_a_servo_that_is_stated_as_soft_is_sent_hardly_beyond_a_joint_limit() -> None:
    model = load("package://vms_ph/urdf/so101.urdf")
    limits, weight = model.joints, model.evaluate(model.home, np.zeros(model.nv)).g
    sent = spring_positions(model, model.home, weight, 1e-6)
    assert (sent <= limits.upper + 0.1).all()
    assert (sent >= limits.lower - 0.1).all()

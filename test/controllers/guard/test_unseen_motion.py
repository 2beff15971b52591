# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""What an energy guard bounds and its certificate says where contacts move a robot unseen."""

from dataclasses import replace

import numpy as np
import pytest

from vms_ph_controllers import Status
from vms_ph_controllers.guard import EnergyGuardSettings, PortGuard
from vms_ph_dynamics import VMSModel

from ..support.unseen_motion import LARGEST_SHARE, Adversary, cart, random_adversary, run

REST = np.zeros(1)


@pytest.mark.usefixtures("core")
@pytest.mark.parametrize(("delay", "seconds"), [(0, 0.4), (1, 0.4), (5, 0.4)])
def test_contacts_that_move_a_cart_between_two_samples_do_not_raise_a_debt(
    delay: int, seconds: float
) -> None:
    # At every sample the cart moves slowly against the effort: the effort seems to brake. The
    # contacts hold the rest of the energy, and between two samples carry the cart along it.
    found = run(cart(), REST, Adversary(delay=delay, samples=int(1e3 * seconds)))
    bound = found.certificate.largest_unseen + found.certificate.lent
    assert 0.0 < found.excess <= bound + 1e-9
    assert bound < 0.02 * (delay + 1) + 2e-3  # 10 N at 2 m/s over the samples not seen, and a loan


@pytest.mark.usefixtures("core")
@pytest.mark.parametrize("delay", range(6))
@pytest.mark.parametrize("rate", [50.0])
def test_at_low_rates_and_long_delays_a_spring_takes_no_more_than_a_share_of_the_energy(
    rate: float, delay: int
) -> None:
    for period in (2.3, 4.2, 8.0):
        for law in ("along", "against"):
            a = Adversary(1.0 / rate, delay, 0.2, 0.5, 0.5 * rate, law, period=period, samples=60)
            found = run(cart(), REST, a)
            lent = found.certificate.lent
            assert found.excess <= LARGEST_SHARE * (found.kinetic + a.budget) + lent + 1e-9, a


def test_while_every_second_sample_is_lost_nothing_is_kept_that_was_not_counted() -> None:
    a = Adversary(0.02, 0, 0.5, 0.3, 50.0, "along", (False, True), 4.2, samples=200)
    found = run(cart(), REST, a)
    assert found.excess <= 0.0
    assert not found.is_wrong
    assert found.certificate.lost == 100
    assert found.certificate.given > 0.0


def test_a_brake_on_a_velocity_of_the_past_ends() -> None:
    model = cart()
    for level in (0.0, 1.0):
        guard = PortGuard(model, EnergyGuardSettings(10.0, level))
        guard.engage(REST, np.ones(1))
        guard.update(REST, np.ones(1), REST, 0.0)
        risk, speed = 0.0, 1.0
        for _ in range(200):
            sent = guard.hold("no state", 1e-3)
            assert sent.status is Status.HOLDING
            risk += 0.5 * ((speed + 1e-3 * abs(sent.effort[0])) ** 2 - speed**2)
            speed += 1e-3 * abs(sent.effort[0])
        assert risk <= level + 1e-12
        assert (risk > 0.0) == (level > 0.0)


def test_a_weight_in_the_model_that_is_not_there_is_detected() -> None:
    # The robot is weightless, and the guard holds a weight: it rises without energy of the ports.
    model = cart(9.81)
    guard = PortGuard(model, EnergyGuardSettings(1.0, 1.0), period=1e-2)
    q, v = np.zeros(1), np.zeros(1)
    guard.engage(q, v)
    for k in range(60):
        sent = guard.update(q, v, model.evaluate(q, v).g, 1e-2 if k else 0.0)
        q = q + 1e-2 * v + 0.5e-4 * sent.effort
        v = v + 1e-2 * sent.effort
    found = guard.certificate
    assert found.supplied > 1.0
    assert found.verdict == "unknown"


def test_another_delay_than_the_declared_one_is_detected_by_the_credit_that_it_invents() -> None:
    model, dt = cart(), 1e-2
    guard = PortGuard(model, EnergyGuardSettings(1e3, 1.0), delay=0, period=dt)
    q, v = np.zeros(1), np.zeros(1)
    guard.engage(q, v)
    queue = [np.zeros(1)] * 2
    for k in range(400):
        wanted = np.array([20.0 * np.cos(0.6 * k)])
        queue.append(guard.update(q, v, wanted, dt if k else 0.0).effort)
        force = queue.pop(0)
        q, v = q + dt * v + 0.5 * dt * dt * force, v + dt * force
    found = guard.certificate
    assert found.verdict != "kept" or found.supplied < found.margin + 1e-3


def test_a_push_does_not_make_a_certificate_unknown() -> None:
    model, dt = cart(), 1e-3
    guard = PortGuard(model, EnergyGuardSettings(1.0, 1.0), period=dt)
    q, v = np.zeros(1), np.zeros(1)
    guard.engage(q, v)
    for k in range(600):
        sent = guard.update(q, v, np.zeros(1), dt if k else 0.0)
        force = sent.effort + (30.0 if 200 <= k < 300 else 0.0)
        q, v = q + dt * v + 0.5 * dt * dt * force, v + dt * force
    found = guard.certificate
    assert found.supplied > 4.0
    assert found.verdict == "kept"


@pytest.mark.parametrize("is_lossy", [False, True])
@pytest.mark.parametrize("robot", ["cart", "panda"])
def test_no_certificate_says_less_than_what_was_given(
    panda: VMSModel, robot: str, is_lossy: bool
) -> None:
    model = cart() if robot == "cart" else panda.without_gravity()
    home = REST if robot == "cart" else panda.neutral_configuration()
    for seed in range(7):
        a = random_adversary(np.random.default_rng(seed), is_lossy)
        a = replace(a, samples=40, period=a.period if robot == "cart" else 0.0)
        found = run(model, home, a)
        assert not found.is_wrong, (a, found)
        bound = LARGEST_SHARE * (found.kinetic + a.budget) + found.certificate.lent
        assert is_lossy or found.excess <= bound + 1e-9, a

# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The energy guard passes efforts unchanged while its tank allows, and brakes when it is empty."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from vms_ph_controllers import Status
from vms_ph_controllers.guard import EnergyGuardSettings, PortGuard
from vms_ph_dynamics import ModelError, OptionError, VMSModel
from vms_ph_io import robots

from ..support.guard_runs import ContactPlant

DT = 1e-3


def _home(model: VMSModel) -> np.ndarray:
    return model.configuration(robots.get("panda").home)


def _along(model: VMSModel, plant: ContactPlant) -> np.ndarray:
    """Return an effort that accelerates along the motion."""
    d = model.evaluate(plant.q, plant.v)
    effort: np.ndarray = d.g + 20.0 * d.M @ plant.v
    return effort


def _guard(model: VMSModel, v: np.ndarray, options: Any = None, **settings: Any) -> PortGuard:
    guard = PortGuard(model, EnergyGuardSettings(**settings), **(options or {}))
    guard.engage(_home(model), v)
    return guard


@pytest.mark.parametrize("delay", [0, 2])
def test_with_a_full_tank_efforts_pass_bit_for_bit(panda: VMSModel, delay: int) -> None:
    rng = np.random.default_rng(3)
    plant = ContactPlant(panda, _home(panda), np.zeros(7), [])
    guard = PortGuard(panda, EnergyGuardSettings(100.0, 100.0), delay=delay)
    guard.engage(plant.q, plant.v)
    for k in range(40):
        wanted = panda.evaluate(plant.q, plant.v).g + rng.uniform(-1, 1, 7)
        sent = guard.update(plant.q, plant.v, wanted, DT if k else 0.0)
        assert sent.status is Status.OK, sent.reason
        assert np.array_equal(sent.effort, wanted)
        plant.hold(sent.effort, np.zeros(7), DT, np.zeros(7))


def test_joints_that_are_too_fast_to_be_believed_are_counted_by_their_positions(
    panda: VMSModel,
) -> None:
    # The last joint passes its bound of 13 rad/s, as one that a wound up integral flings.
    v = 12.5 * np.eye(7)[6]
    plant = ContactPlant(panda, _home(panda), v, [])
    guard = _guard(panda, v, tank_initial=1.0)
    reasons = []
    for k in range(60):
        wanted = panda.evaluate(plant.q, plant.v).g + np.eye(7)[6]
        sent = guard.update(plant.q, plant.v, wanted, DT if k else 0.0)
        reasons.append(sent.reason)
        assert guard.level == pytest.approx(1.0 - plant.given, abs=1e-9)
        plant.hold(sent.effort, np.zeros(7), DT, np.zeros(7))
    assert any("panda_joint7 moves at" in reason for reason in reasons)
    found = guard.certificate
    assert found.lost == 0
    assert found.verdict == "kept"


def test_after_a_frozen_tank_a_wound_up_integral_leaves_no_debt(panda: VMSModel) -> None:
    # A trajectory controller with the gains of config/panda_energy_guard_controllers.yaml, wound up
    # while the tank granted nothing: it flings the light joints.
    p = np.array([100.0, 400.0, 100.0, 150.0, 15.0, 20.0, 4.0])
    i = np.array([50.0, 300.0, 50.0, 150.0, 10.0, 20.0, 2.0])
    d = np.array([12.0, 40.0, 10.0, 15.0, 0.4, 0.5, 0.08])
    largest = np.array([20.0, 60.0, 20.0, 40.0, 5.0, 8.0, 2.0])
    home = np.array([0.0, 0.0, 0.0, -1.5, 0.0, 1.5, 0.0])
    goal = np.array([0.3, -0.2, 0.2, -1.3, 0.1, 1.4, 0.2])
    wound = np.array([36.0, -190.0, 25.0, 94.0, 4.0, -0.4, 1.0])
    plant, dt = ContactPlant(panda, home, np.zeros(7), []), 2e-3
    settings = EnergyGuardSettings(8.0, 8.0, engagement_time=0.0)
    guard = PortGuard(panda, settings, period=dt)
    guard.engage(plant.q, plant.v)
    fastest = 0.0
    for k in range(250):
        error = goal - plant.q
        wound += dt * i * error
        wanted = p * error + np.clip(wound, -largest, largest) - d * plant.v
        sent = guard.update(plant.q, plant.v, wanted, dt if k else 0.0)
        plant.hold(sent.effort, np.zeros(7), dt, np.zeros(7))
        fastest = max(fastest, abs(plant.v[6]))
    assert fastest > 13.05  # the bound of its states
    found = guard.certificate
    assert found.verdict == "kept"
    assert found.lost == 0
    assert guard.level > 4.0


def test_with_an_empty_tank_efforts_along_the_motion_are_refused_and_the_robot_slows(
    panda: VMSModel,
) -> None:
    v = np.full(7, 0.5)
    plant = ContactPlant(panda, _home(panda), v, [])
    guard = _guard(panda, v, tank_initial=0.0)
    first = panda.evaluate(plant.q, plant.v)
    for k in range(40):
        wanted = _along(panda, plant)
        sent = guard.update(plant.q, plant.v, wanted, DT if k else 0.0)
        assert sent.status is Status.SATURATED
        plant.hold(sent.effort, np.zeros(7), DT, np.zeros(7))
        assert plant.given <= 1e-12
    # Its weight is carried: what moves is no faster than before.
    after = panda.evaluate(plant.q, plant.v)
    assert after.kinetic_energy <= first.kinetic_energy + 1e-9


def test_a_brake_is_not_held_back_by_an_empty_tank(panda: VMSModel) -> None:
    v = np.full(7, 0.5)
    guard = _guard(panda, v, tank_initial=0.0)
    d = panda.evaluate(_home(panda), v)
    brake = d.g - 5.0 * d.M @ v
    sent = guard.update(_home(panda), v, brake, DT)
    assert np.array_equal(sent.effort, brake)


def test_what_is_braked_out_of_the_robot_may_be_spent_again(panda: VMSModel) -> None:
    v = np.full(7, 1.0)
    plant = ContactPlant(panda, _home(panda), v, [])
    guard = _guard(panda, v, tank_initial=0.0)
    for k in range(100):
        d = panda.evaluate(plant.q, plant.v)
        sent = guard.update(plant.q, plant.v, d.g - 10.0 * d.M @ plant.v, DT if k else 0.0)
        plant.hold(sent.effort, np.zeros(7), DT, np.zeros(7))
    guard.update(plant.q, plant.v, sent.effort, DT)
    assert guard.level == pytest.approx(-plant.given, abs=1e-9)
    assert guard.level > 0.5


def test_hardware_that_carries_the_weight_is_given_no_weight(panda: VMSModel) -> None:
    options = {"effort_carries_weight": False}
    guard = _guard(panda, np.zeros(7), options, tank_initial=1.0)
    sent = guard.update(_home(panda), np.zeros(7), np.zeros(7), DT)
    assert np.array_equal(sent.effort, np.zeros(7))
    # In a reflex the effort is a brake without weight.
    held = guard.update(np.full(7, np.nan), np.zeros(7), np.zeros(7), DT)
    assert held.status is Status.HOLDING
    assert np.abs(held.effort).max() < 1e-9


@pytest.mark.parametrize("carries", [True, False])
def test_the_weight_is_never_scaled_and_its_work_is_booked_apart(
    panda: VMSModel, carries: bool
) -> None:
    v = np.array([0.0, 0.8, 0.0, 0.4, 0.0, 0.0, 0.0])
    plant = ContactPlant(panda if carries else panda.without_gravity(), _home(panda), v, [])
    guard = _guard(panda, v, {"effort_carries_weight": carries}, tank_initial=0.0)
    start = panda.evaluate(plant.q, v).potential_energy
    for k in range(50):
        d = panda.evaluate(plant.q, plant.v)
        wanted = (d.g if carries else 0.0) + d.M @ (20.0 * plant.v)
        sent = guard.update(plant.q, plant.v, wanted, DT if k else 0.0)
        active = sent.effort - (d.g if carries else 0.0)
        # What is left of the wanted effort beyond the weight is next to nothing.
        assert np.abs(active).max() < 1.0
        plant.hold(sent.effort, np.zeros(7), DT, np.zeros(7))
    guard.update(plant.q, plant.v, sent.effort, DT)
    risen = panda.evaluate(plant.q, plant.v).potential_energy - start
    found = guard.certificate
    assert found.weight_work == pytest.approx(risen, abs=1e-9)
    assert found.given == pytest.approx(plant.given, abs=1e-9)
    assert abs(risen) > 0.1


@pytest.mark.parametrize(
    ("limit", "words"),
    [
        ({"power": 5.0}, "power at its limit of 5 W"),
        ({"speed": 0.3}, "speed at its limit of 0.3 m/s"),
        ({"joint_speed": 0.4}, "joint rate at its limit of 0.4"),
        ({"kinetic_energy": 0.05}, "kinetic energy at its limit of 0.05 J"),
        ({"torque": 0.1}, "torque at 10% of its limit"),
        ({"torque_rate": 10.0}, "rate of torque at its limit"),
    ],
)
@pytest.mark.parametrize("delay", [0, 1])
def test_limits_hold_and_say_so(
    panda: VMSModel, limit: dict[str, float], words: str, delay: int
) -> None:
    plant = ContactPlant(panda, _home(panda), np.zeros(7), [])
    settings = EnergyGuardSettings(100.0, 100.0, **limit)
    guard = PortGuard(panda, settings, delay=delay, effort_carries_weight=True)
    guard.engage(plant.q, plant.v)
    queue = [np.array(panda.evaluate(plant.q, plant.v).g)] * delay
    said, last = "", queue[0] if queue else None
    for k in range(60):
        before, d = plant.given, panda.evaluate(plant.q, plant.v)
        sent = guard.update(plant.q, plant.v, d.g + d.M @ np.full(7, 20.0), DT if k else 0.0)
        said += sent.reason
        if "torque" in limit:
            assert (np.abs(sent.effort) <= 0.1 * panda.joints.effort + 1e-12).all()
        if "torque_rate" in limit and last is not None and k:
            assert np.abs(sent.effort - last).max() <= 0.01 + 1e-9
        last = sent.effort
        queue.append(sent.effort)
        plant.hold(queue.pop(0), np.zeros(7), DT, np.zeros(7))
        d = panda.evaluate(plant.q, plant.v)
        J = d.J_end_effector[:3]
        speed = float(np.linalg.norm(J @ d.v))
        mass = 1.0 / float((J @ d.v) @ J @ np.linalg.solve(d.M, J.T @ J @ d.v)) * speed**2
        # The prediction is of first order in the sample.
        assert speed <= limit.get("speed", np.inf) * 1.01
        assert np.abs(d.v).max() <= limit.get("joint_speed", np.inf) * 1.02
        assert 0.5 * mass * speed**2 <= limit.get("kinetic_energy", np.inf) * 1.03
        assert (plant.given - before) / DT <= limit.get("power", np.inf) * 1.02
    assert words in said


def test_the_budget_changes_at_run_time(panda: VMSModel) -> None:
    guard = _guard(panda, np.zeros(7), tank_capacity=4.0, tank_initial=1.0)
    assert guard.refill(2.0) == 2.0
    assert guard.refill(5.0) == 1.0  # as far as there is room
    guard.settings = replace(guard.settings, tank_capacity=6.0)
    assert guard.refill(5.0) == 2.0  # without an update in between
    assert guard.drain(2.0) == 2.0
    assert guard.drain(1.5) == 1.5
    assert guard.drain(100.0) == 2.5
    assert guard.level == 0.0
    assert guard.refill(-1.0) == guard.drain(-1.0) == guard.refill(np.nan) == 0.0
    found = guard.certificate
    assert found.budget == 0.0


def test_a_frozen_tank_grants_nothing_and_keeps_its_level(panda: VMSModel) -> None:
    v = np.full(7, 0.2)
    guard = _guard(panda, v, tank_initial=3.0, freeze=True)
    d = panda.evaluate(_home(panda), v)
    along = d.g + 10.0 * v
    sent = guard.update(_home(panda), v, along, DT)
    assert float((sent.effort - d.g) @ v) <= 1e-9
    assert sent.level == 3.0
    guard.settings = replace(guard.settings, freeze=False)
    assert np.array_equal(guard.update(_home(panda), v, along, 0.0).effort, along)


def test_the_refill_power_pays_for_work_against_friction(panda: VMSModel) -> None:
    guard = _guard(panda, np.zeros(7), tank_capacity=5.0, tank_initial=0.0, refill_power=2.0)
    weight = panda.evaluate(_home(panda), np.zeros(7)).g
    for _ in range(100):
        guard.update(_home(panda), np.zeros(7), weight, 0.01)
    assert guard.level == pytest.approx(2.0)
    assert guard.certificate.budget == pytest.approx(2.0)


def test_the_effort_does_not_jump_at_engagement_nor_after_a_reflex(panda: VMSModel) -> None:
    rest = np.zeros(7)
    acting = panda.evaluate(_home(panda), rest).g + 3.0
    guard = PortGuard(panda, EnergyGuardSettings(engagement_time=0.05), period=DT)
    guard.engage(_home(panda), rest, acting)
    wanted, last = acting - 4.0, acting
    steps = []
    for k in range(60):
        sent = guard.update(_home(panda), rest, wanted, DT if k else 0.0)
        steps.append(float(np.abs(sent.effort - last).max()))
        last = sent.effort
    assert max(steps) <= 4.0 / 50 + 1e-9
    assert np.array_equal(last, wanted)
    lost = guard.update(np.full(7, np.nan), rest, wanted, DT)
    assert lost.status is Status.HOLDING
    while guard.update(_home(panda), rest, wanted, DT).status is Status.HOLDING:
        pass
    assert not np.array_equal(guard.update(_home(panda), rest, wanted, DT).effort, wanted)


def test_an_effort_that_is_no_number_is_a_reflex_with_a_reason(panda: VMSModel) -> None:
    v = np.full(7, 0.3)
    guard = _guard(panda, v)
    for wrong in (np.full(7, np.nan), np.zeros(3), np.full(7, np.inf)):
        sent = guard.update(_home(panda), v, wrong, 0.0)
        assert sent.status is Status.HOLDING
        assert sent.reason.startswith("reflex: the effort is not finite")
        assert np.isfinite(sent.effort).all()
        active = sent.effort - panda.evaluate(_home(panda), v).g
        assert float(active @ v) < 0.0  # brakes
    counted = guard.certificate.samples
    assert guard.hold("the state is old", DT).reason.startswith("reflex: the state is old")
    assert guard.certificate.samples == counted + 1


@pytest.mark.parametrize("delay", [-1, 6, 1.5, "2"])
def test_a_delay_out_of_range_is_refused_in_a_sentence(panda: VMSModel, delay: Any) -> None:
    with pytest.raises(OptionError, match="must be a number of samples from 0 to 5; given"):
        PortGuard(panda, delay=delay)


def test_a_robot_whose_base_has_no_actuators_is_guarded(rng: np.random.Generator) -> None:
    known = robots.get("satellite_panda")
    model = known.load()
    q, v = model.configuration(known.home), 0.1 * rng.uniform(-1, 1, model.nv)
    plant = ContactPlant(model, q, v, [])
    guard = PortGuard(model, EnergyGuardSettings(tank_initial=0.0), base_actuated=False)
    guard.engage(q, v)
    for k in range(20):
        wanted = np.concatenate([np.zeros(6), 10.0 * np.sign(plant.v[6:])])
        sent = guard.update(plant.q, plant.v, wanted, DT if k else 0.0)
        assert not sent.effort[:6].any()
        d = model.evaluate(plant.q, plant.v)
        unheld = -np.concatenate([d.g[:6], d.A.T @ d.g[:6]])
        plant.hold(sent.effort, unheld, DT, np.zeros(model.nv))
        assert plant.given <= 1e-9


def test_a_robot_in_a_fluid_carries_its_weight_itself() -> None:
    with pytest.raises(ModelError, match="buoyancy acts without gravity too"):
        PortGuard(robots.load("bluerov2_alpha5"), effort_carries_weight=False)


@pytest.mark.parametrize("period", [0.0, -1.0, 2.0, np.nan])
def test_a_period_out_of_range_is_refused_in_a_sentence(panda: VMSModel, period: float) -> None:
    with pytest.raises(OptionError, match="period must be above 0 s"):
        PortGuard(panda, period=period)

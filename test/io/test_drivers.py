# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Drivers of real arms: what they add, what they limit, and what a law sends them."""

from dataclasses import replace

import numpy as np
import pytest

from vms_ph_controllers import CartesianImpedance, EnergyGuard, Reference, RobotState
from vms_ph_controllers.guard import EnergyGuardSettings
from vms_ph_dynamics import ModelError, OptionError
from vms_ph_dynamics.actuation import Friction
from vms_ph_io import Push, drivers, load, robots, simulate


@pytest.mark.parametrize("name", drivers.names())
def test_every_driver_is_whole_and_says_where_it_was_read(name: str) -> None:
    driver = drivers.get(name)
    assert driver.title
    assert driver.rate > 0.0
    assert driver.measured_effort in ("torque", "current", "none")
    assert driver.sources
    for source in driver.sources:
        assert set(source) == {"fact", "where"}
    if driver.interfaces:
        assert "effort" in driver.interfaces
    else:
        with pytest.raises(OptionError, match="takes no torques"):
            driver.model(robots.load("fr3"))


def test_a_law_for_the_franka_sends_no_weight_and_keeps_the_rate_of_its_torques() -> None:
    model = robots.load("fr3")
    law = drivers.get("franka_fr3").law(CartesianImpedance, model)
    rest = RobotState(model.home, np.zeros(model.nv))
    law.reset(rest)
    np.testing.assert_allclose(law.update(rest, Reference(), 1e-3).torque, 0.0, atol=1e-9)
    assert law.gains.torque_rate == pytest.approx(900.0)
    own = CartesianImpedance(model)
    assert np.abs(own.update(rest, Reference(), 1e-3).torque).max() > 10.0
    with pytest.raises(OptionError, match="adds it again"):
        simulate("fr3", own, seconds=0.01, driver="franka_fr3")
    for unloaded in (law, EnergyGuard(law, budget=1.0)):
        with pytest.raises(OptionError, match=r"without gravity.* would fall; give driver="):
            simulate("fr3", unloaded, seconds=0.01)
    simulate(model.without_gravity(), law, seconds=0.01)
    with pytest.raises(ModelError, match=r"fixed base; .*joint7.* locked_joints=\["):
        drivers.get("franka_fr3").model(robots.load("omnidirectional_panda"))
    with pytest.raises(OptionError, match="there are franka_fer"):
        drivers.get("franka")


def test_friction_is_compensated_once() -> None:
    driver, model = drivers.get("franka_fr3"), robots.load("fr3")
    law = driver.law(CartesianImpedance, model)
    assert law.gains.friction_compensation == 0.0
    law.gains = replace(law.gains, friction_compensation=0.5)
    with pytest.raises(OptionError, match=r"a share of 0\.5 of the friction, and .* again"):
        driver.law(law, model)


def test_the_weight_that_the_driver_carries_is_a_port_of_its_own() -> None:
    place = Reference(position=np.array([0.35, 0.1, 0.7]))
    runs = {
        name: simulate("fr3", CartesianImpedance, 0.5, reference=place, driver=name, stride=5)
        for name in (None, "franka_fr3")
    }
    run, other = runs["franka_fr3"], runs[None]
    # A law that holds the weight itself brakes what holding it over a sample gives.
    np.testing.assert_allclose(run.q[-1], other.q[-1], atol=1e-3)
    ports = {name: float(np.sum(work)) for name, work in run.audit.supplied.items()}
    model = robots.load("fr3")
    high, low = (model.evaluate(q, np.zeros(7)).potential_energy for q in run.q[[-1, 0]])
    lifted = high - low
    assert lifted > 0.5
    assert ports["driver_weight"] == pytest.approx(lifted, rel=5e-3)
    assert abs(ports["torque"]) < 0.3 * lifted
    for name, energy in ports.items():
        mean = 0.5 * (run.power[name][1:] + run.power[name][:-1])
        assert np.diff(run.t) @ mean == pytest.approx(energy, abs=1e-2 * lifted)
    assert np.abs(run.audit.residual).max() < 1e-9


def test_a_simulation_has_the_rate_of_the_driver_and_the_friction_that_it_leaves() -> None:
    push = Push("wrench_end_effector", [0, 20, 0, 0, 0, 0])
    dissipated, own = {}, Friction(np.ones(7), np.zeros(7))
    for name, effect in (("franka_fr3", "friction"), ("openarm", "friction"), ("franka_fr3", own)):
        robot = load(drivers.get(name).robot) if name == "openarm" else "fr3"
        run = simulate(
            robot, CartesianImpedance, 0.2, driver=name, effects=effect, disturbances=push
        )
        assert np.diff(run.t) == pytest.approx(1.0 / drivers.get(name).rate)
        dissipated[name, effect == "friction"] = float(np.sum(run.audit.dissipated))
    assert dissipated["franka_fr3", True] == 0.0  # compensated by the robot
    assert dissipated["openarm", True] > 1e-4
    assert dissipated["franka_fr3", False] > 1e-4


def test_torques_act_late_within_the_limits_of_the_driver_which_are_said() -> None:
    driver = replace(drivers.get("franka_fr3"), torque=(5.0,) * 7, torque_rate=100.0, delay=2.0)
    wanted: list[float] = []

    def law(q: np.ndarray, v: np.ndarray, dt: float) -> np.ndarray:
        wanted.append((1.0, 1.05, 9.0)[len(wanted) // 10 if len(wanted) < 30 else 2])
        return np.full(7, wanted[-1])

    run, model = simulate("fr3", law, 0.1, driver=driver), robots.load("fr3")
    weight = np.array([model.evaluate(q, np.zeros(7)).g for q in run.q])
    sent = (run.torque - weight)[:-1, 0]
    # Two samples late, at the changes the mean of both sides; from 1.05 on by 0.1 N m in a sample.
    np.testing.assert_allclose(sent[[0, 11, 12, 13, 21]], [1.0, 1.0, 1.025, 1.05, 1.05])
    np.testing.assert_allclose(np.diff(sent[23:60]), 0.1, atol=1e-9)
    np.testing.assert_allclose(sent[65:], 5.0)
    assert run.limited == {
        "SATURATED, driver: rate of torque at its limit": 39,
        f"SATURATED, driver: torque at its limit: {', '.join(model.joint_names)}": 40,
    }
    assert (run.control["status"][:-1] > 0).sum() == 78


def test_an_arm_moves_between_the_samples_of_a_slow_driver() -> None:
    model, runs = load(drivers.get("openarm").robot), {}
    for rate, driver in ((None, "openarm"), (1000.0, None), (100.0, None)):
        run = simulate(model, lambda q, v, dt: np.zeros(model.n), 0.3, rate=rate, driver=driver)
        runs[rate] = run.q[-1]
    np.testing.assert_allclose(runs[None], runs[1000.0], atol=1e-12)
    assert np.abs(runs[100.0] - runs[1000.0]).max() > 1e-7


def test_the_certificate_counts_the_law_and_not_the_weight() -> None:
    place = Reference(position=np.array([0.35, 0.1, 0.7]))
    run = simulate(
        "fr3", CartesianImpedance, 0.5, reference=place, driver="franka_fr3",
        guard=EnergyGuard(budget=1.0),
    )  # fmt: skip
    # Lifting takes 3 J, which the driver gives.
    assert run.certificate.verdict == "kept"
    assert run.certificate.largest_given <= 1.0
    assert run.certificate.delay == drivers.get("franka_fr3").delay


def test_a_guard_takes_what_its_driver_does() -> None:
    model, driver = robots.load("fr3"), drivers.get("franka_fr3")
    guard = driver.guard(model, EnergyGuardSettings(tank_capacity=2.0, tank_initial=2.0))
    assert (guard.delay, guard.carries_weight, guard.level) == (1, False, 2.0)
    assert (guard.settings.torque_rate, guard.settings.torque) == pytest.approx((900.0, 1.0))
    weaker = replace(driver, torque=(87.0,) * 6 + (3.0,), compensates_weight=False)
    guard = weaker.guard(model, delay=2)
    assert (guard.delay, guard.carries_weight, guard.settings.torque) == (2, True, 0.25)
    with pytest.raises(OptionError, match="takes no torques"):
        drivers.get("so101").guard(load(drivers.get("so101").robot))


def test_observers_are_told_what_the_driver_measures() -> None:
    model, openarm = robots.load("fr3"), drivers.get("openarm")
    assert drivers.get("franka_fr3").observed_friction(model) is None
    friction = openarm.observed_friction(load(openarm.robot))
    assert friction is not None
    for name, kind in (("ur_e_series", "a motor current"), ("so101", "not measured")):
        with pytest.raises(OptionError, match=f"observers need torques.* is {kind}"):
            drivers.get(name).observed_friction(model)


def test_a_driver_keeps_stricter_limits_and_no_guard_of_another_run() -> None:
    driver = drivers.get("franka_fr3")
    assert driver.gains(CartesianImpedance.Gains(torque_rate=100.0)).torque_rate == 100.0
    assert driver.gains(CartesianImpedance.Gains(torque_rate=5e3)).torque_rate == 900.0
    guard = EnergyGuard(budget=1.0)
    simulate("fr3", CartesianImpedance, 0.01, guard=guard, driver="franka_fr3")
    simulate("fr3", CartesianImpedance, 0.01, guard=guard)
    assert guard.certificate.effort_carries_weight

# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""A robot with motors, battery and heat: its motion, its energy balance and what the heat does."""

from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from vms_ph_dynamics import ModelError, OptionError, Ports, StandardForm
from vms_ph_dynamics.simulation import Simulation
from vms_ph_ephs.files import drives_file
from vms_ph_ephs.robot import Battery, EphsEngine
from vms_ph_io import robots

from .driven_arm import HOME, arm, drives, simulation, swinging

PUSH = Ports(wrench_end_effector=np.array([3.0, 0.0, 1.0, 0.0, 0.2, 0.0]))


def _constant(*torque: float) -> Callable[[np.ndarray, np.ndarray], np.ndarray]:
    """Return a law of constant torques, N m."""
    return lambda q, v: np.array(torque)


def test_without_heat_and_sag_the_robot_moves_as_in_minimal_coordinates() -> None:
    def control(q: np.ndarray, v: np.ndarray, dt: float) -> Any:
        return SimpleNamespace(torque=swinging(q, v), wrench_base=np.zeros(0))

    ours = simulation(drives=drives(softening=0.0))
    theirs = Simulation(StandardForm(arm()), HOME, 2e-3, control, True, joint_stops=True)
    for each in (ours, theirs):
        each.apply(PUSH)
        each.advance(40, PUSH)
    a, b = ours.sample(), theirs.sample()
    assert np.abs(a.q - HOME).max() > 0.02
    assert a.q == pytest.approx(b.q, abs=1e-9)
    assert a.v == pytest.approx(b.v, abs=2e-8)
    assert a.torque == pytest.approx(b.torque, abs=2e-8)
    assert a.port_energy == pytest.approx(b.port_energy, abs=1e-8)
    assert a.dissipated == pytest.approx(b.dissipated, abs=1e-8)


def test_the_balance_of_battery_work_and_heat_closes_and_every_destroyer_only_destroys() -> None:
    run = simulation()
    run.apply(PUSH)
    last = run.exergy_map().destroyed
    for _ in range(4):
        run.advance(10, PUSH)
        now = run.exergy_map()
        assert min(now.destroyed[name] - last[name] for name in last) >= 0.0
        last = now.destroyed
    assert run.is_finite()
    assert now.residual == pytest.approx(0.0, abs=1e-9)
    assert now.stored["battery"] < -0.5
    assert set(now.supplied) == {"wrench_end_effector"}
    # Electric energy is the work of the shafts and what the windings and the electronics take.
    heat = sum(
        run.engine.powertrain.destroyed[name].sum() + 0.0
        for name in ("winding", "winding_to_housing")
    )
    assert heat > 0.0
    for name in ("shoulder/winding", "elbow/friction", "battery", "electronics"):
        assert now.destroyed[name] > 0.0
    run.reset()
    assert run.exergy_map().residual == 0.0
    assert max(run.exergy_map().temperatures.values()) == 298.15


def test_a_joint_stop_gives_its_heat_to_the_housing() -> None:
    run = simulation(_constant(12.0, 12.0), home=np.array([0.0, 1.95]))
    run.advance(50, Ports())
    found = run.exergy_map()
    assert found.destroyed["elbow/joint_stops"] > 0.01
    assert found.temperatures["elbow/housing"] > found.temperatures["shoulder/housing"]
    assert found.residual == pytest.approx(0.0, abs=1e-7)


def test_friction_heats_the_housing_and_falls_with_its_temperature() -> None:
    idle = _constant(0.0, 0.0)
    small = drives()
    thin = replace(
        small.motors, housing_capacity=np.full(2, 3e-3), housing_conductance=np.full(2, 1e-3)
    )
    small = replace(small, motors=replace(thin, winding_conductance=np.full(2, 1e-3)))
    soft, stiff = (
        simulation(idle, drives=replace(small, softening=softening)) for softening in (0.05, 0.0)
    )
    for each in (soft, stiff):
        each.advance(40, Ports())
    assert soft.exergy_map().temperatures["shoulder/housing"] > 300.0
    assert np.abs(soft.sample().v).max() > np.abs(stiff.sample().v).max()
    assert soft.sample().dissipated < stiff.sample().dissipated


def test_a_warm_winding_takes_more_power_for_the_same_torque() -> None:
    hold = _constant(20.0, 8.0)
    run = simulation(hold, joint_stops=False)
    train = run.engine.powertrain
    cold = train.limits(np.zeros(2), np.zeros(0))
    first = train.supplied
    run.advance(1, Ports())
    first = train.supplied - run.sample().port_energy["torque"]
    train.theta[:2] += 100.0
    before, work = train.supplied, run.sample().port_energy["torque"]
    run.advance(1, Ports())
    warm = (train.supplied - before) - (run.sample().port_energy["torque"] - work)
    idle = 5.0 * run.dt
    assert (warm - idle) / (first - idle) == pytest.approx(1.4, rel=1e-3)
    assert cold.upper[0] == pytest.approx(4.0 * 8.0)


def test_the_voltage_of_the_battery_limits_the_torque_and_an_empty_one_gives_none() -> None:
    wish = _constant(60.0, 0.0)
    strong = replace(drives().motors, largest_current=np.full(2, 1e3))
    run = simulation(wish, drives=drives(motors=strong))
    # V / R k at rest; the battery sags under the current of the first step.
    assert run.sample().torque[0] == pytest.approx(60.0)
    weak = Battery(full=10.0, empty=8.0, charge=400.0, resistance=0.01, level=0.5)
    run = simulation(wish, drives=drives(motors=strong, battery=weak))
    assert run.sample().torque[0] == pytest.approx(4.0 * 9.0 / 0.8)
    run.advance(30, Ports())
    rate = run.sample().v[0]
    resistance = 0.8 * (1.0 + 0.004 * (run.exergy_map().temperatures["shoulder/winding"] - 298.15))
    now = run.exergy_map()
    assert now.voltage < 9.0
    assert run.sample().torque[0] == pytest.approx(
        4.0 * (now.voltage - 4.0 * rate) / resistance, rel=1e-2
    )
    flat = Battery(full=10.0, empty=8.0, charge=0.02, resistance=0.01)
    run = simulation(wish, drives=drives(motors=strong, battery=flat))
    run.advance(40, Ports())
    assert run.exergy_map().level <= 0.0
    assert run.sample().torque == pytest.approx(0.0)
    assert run.is_finite()


def test_a_full_battery_takes_no_energy_back_and_the_brake_resistor_does() -> None:
    # Braked by its motor, a falling arm gives more than the winding and the electronics take.

    def brake(q: np.ndarray, v: np.ndarray) -> np.ndarray:
        return -1.5 * v

    full = replace(drives(idle=0.0), battery=replace(drives().battery, level=1.0))
    thin = replace(full.motors, resistance=np.full(2, 1e-3))
    run = simulation(brake, drives=replace(full, motors=thin), friction=False)
    run.advance(40, Ports())
    found = run.exergy_map()
    assert found.destroyed["brake_resistor"] > 0.01
    assert found.level == 1.0
    assert found.residual == pytest.approx(0.0, abs=1e-9)


def test_friction_that_is_faster_than_the_step_is_held_and_its_heat_goes_to_the_housings() -> None:
    model = robots.load("hextilt")
    given = drives_file.load(model, "hextilt", "", robots.get("hextilt").allocation())
    home = model.configuration(robots.get("hextilt").home)
    run = Simulation(StandardForm(model), home, 1e-3, friction=True, engine=EphsEngine(given))
    run.apply(Ports(torque=0.05 * np.ones(model.n)))
    run.advance(4, Ports())
    found = run.exergy_map()
    rubbed = [value for name, value in found.destroyed.items() if name.endswith("/friction")]
    assert max(rubbed) > 0.0
    assert min(rubbed) >= 0.0
    assert run.sample().dissipated > 0.0
    assert found.residual == pytest.approx(0.0, abs=1e-6)


def test_a_vehicle_in_water_moves_as_in_minimal_coordinates_and_its_drag_heats_the_water() -> None:
    model = robots.load("bluerov2_alpha5")
    home = model.configuration(robots.get(model.name).home)

    def control(q: np.ndarray, v: np.ndarray, dt: float) -> Any:
        wrench = np.array([20.0, 5.0, 15.0, 0.5, 1.0, 2.0]) - 2.0 * v[:6]
        return SimpleNamespace(torque=np.zeros(model.n), wrench_base=wrench)

    given = drives_file.load(model, model.name)
    ours = Simulation(
        StandardForm(model), home, 2e-3, control, friction=True, engine=EphsEngine(given)
    )
    theirs = Simulation(StandardForm(model), home, 2e-3, control, True)
    last = 0.0
    for each in (ours, theirs):
        each.apply(Ports())
        for _ in range(4):
            each.advance(5, Ports())
            if each is ours:
                drag = ours.exergy_map().destroyed["fluid_drag"]
                assert drag > last
                last = drag
    a, b, found = ours.sample(), theirs.sample(), ours.exergy_map()
    assert np.abs(a.v).max() > 0.5
    assert a.q == pytest.approx(b.q, abs=1e-9)
    assert a.v == pytest.approx(b.v, abs=1e-8)
    assert a.port_energy == pytest.approx(b.port_energy, abs=1e-9)
    assert a.dissipated == pytest.approx(b.dissipated, abs=1e-9)
    assert last == pytest.approx(a.dissipated, abs=1e-12)  # no joint of it has friction
    assert abs(found.residual) < 1e-9  # of the scheme
    assert min(found.destroyed.values()) >= 0.0


def test_robots_that_bodies_and_joints_do_not_cover_are_refused_by_name() -> None:
    model = robots.load("prismatic_hopper")
    with pytest.raises(ModelError, match=r"prismatic_hopper.*rotational inertia.*engine:=vms_ph"):
        Simulation(
            StandardForm(model),
            model.neutral_configuration(),
            1e-3,
            engine=EphsEngine(_any(model.n)),
        )
    with pytest.raises(OptionError, match="no scheme 'euler'"):
        simulation(scheme="euler")


def _any(n: int) -> Any:
    some = drives()
    fields = {name: np.ones(n) for name in vars(some.motors)}
    return replace(some, motors=type(some.motors)(**fields))

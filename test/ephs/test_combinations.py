# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The engine of bodies, drives and heat with the effects of a simulation."""

import numpy as np
import pytest

from vms_ph_dynamics import ModelError, Ports, StandardForm
from vms_ph_dynamics.capture import Body, capture
from vms_ph_dynamics.simulation import Mechanism, Simulation
from vms_ph_ephs.files import drives_file
from vms_ph_ephs.robot import EphsEngine
from vms_ph_io import robots


def panda(**effects: object) -> Simulation:
    model = robots.load("panda")
    engine = EphsEngine(drives_file.load(model, "panda", "", None))

    def law(q: np.ndarray, v: np.ndarray, dt: float) -> Ports:
        return Ports(model.evaluate(q, v).g - 0.5 * v + 0.8)

    return Simulation(StandardForm(model), model.home, 1e-3, law, engine=engine, **effects)  # type: ignore[arg-type]


def test_motors_open_a_door_and_the_balance_from_the_battery_to_the_door_closes() -> None:
    door = Mechanism(np.array([0.0, 0.5, 0.0]), np.array([0.0, 0.0, 1.0]), 2.0)
    simulation = panda(mechanism=door)
    simulation.advance(60)
    held = simulation.mechanism
    assert held is not None
    assert held.angle > 1e-3
    assert abs(simulation.exergy_map().residual) < 1e-9
    # Its wrench is held in the axes of the start of each step.
    assert abs(held.residual) < 1e-3 * abs(held.energy_to_robot)


def test_a_robot_keeps_its_temperatures_and_its_battery_when_it_takes_a_body() -> None:
    simulation = panda(friction=True)
    simulation.advance(20)
    engine = simulation.engine
    assert isinstance(engine, EphsEngine)
    theta, level = engine.powertrain.theta.copy(), engine.powertrain.level
    model = simulation.form.model
    body = Body(0.5, np.zeros(3), np.diag([1e-3, 1e-3, 1e-3]))
    loaded = capture(model, simulation.q, simulation.v, body, np.zeros(6))
    simulation.change_robot(StandardForm(loaded.model), loaded.v)
    np.testing.assert_array_equal(engine.powertrain.theta, theta)
    simulation.advance(20)
    assert not simulation.failure
    assert engine.powertrain.level < level


def test_a_base_is_not_driven_twice() -> None:
    model, known = robots.load("hextilt"), robots.get("hextilt")
    engine = EphsEngine(drives_file.load(model, "hextilt", "", known.allocation()))
    with pytest.raises(ModelError, match="drives the base by drives of its own"):
        Simulation(
            StandardForm(model), model.home, 1e-3, actuators=known.own_actuators(), engine=engine
        )

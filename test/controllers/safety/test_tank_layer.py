# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The energy tank of the output stage: it bounds the energy put into the robot."""

from dataclasses import replace

import numpy as np
import pytest

from vms_ph_controllers import DecoupledVMSController, RobotState

from ..support.decoupled_plants import HOLD, Plant, goal, without_limits


@pytest.mark.usefixtures("core")
def test_an_empty_tank_lets_the_law_brake_and_no_more(rng: np.random.Generator) -> None:
    # A target far away asks for kilojoules; the tank holds one.
    model = without_limits("satellite_panda")
    law = DecoupledVMSController(model)
    law.gains = replace(law.gains, tank_capacity=50.0, tank_initial=1.0)
    one = Plant(law, model.random_configuration(rng), np.zeros(model.nv))
    law.set_minimum(goal(model, "satellite_panda"))
    granted, most, dt = set(), 0.0, 1e-3
    for _ in range(3000):
        told = law.update(RobotState(one.q, one.v), HOLD, dt)
        granted.add("tank" in told.reason)
        a = one.acceleration(one.q, one.v, told)
        q, v = model.integrate(one.q, 0.5 * dt * one.v), one.v + 0.5 * dt * a
        one.q = model.integrate(one.q, dt * v)
        one.v = one.v + dt * one.acceleration(q, v, told)
        most = max(most, model.evaluate(one.q, one.v).kinetic_energy)
    assert granted == {True, False}
    # What a sample can overdraw: its power grows during the sample by the acceleration.
    assert most < 1.0 * (1 + 0.05)


@pytest.mark.usefixtures("core")
def test_the_tank_takes_in_what_braking_gives(rng: np.random.Generator) -> None:
    model = without_limits("omnidirectional_panda")
    law = DecoupledVMSController(model)
    law.gains = replace(law.gains, tank_capacity=1e3, tank_initial=1.0)
    one = Plant(law, goal(model, "omnidirectional_panda"), 0.3 * rng.uniform(-1, 1, model.nv))
    law.set_minimum(one.q)
    law.update(RobotState(one.q, one.v), HOLD, 1e-3)
    start, dt = model.evaluate(one.q, one.v).kinetic_energy, 4e-3
    for _ in range(2000):
        told = law.update(RobotState(one.q, one.v), HOLD, dt)
        a = one.acceleration(one.q, one.v, told)
        q, v = model.integrate(one.q, 0.5 * dt * one.v), one.v + 0.5 * dt * a
        one.q = model.integrate(one.q, dt * v)
        one.v = one.v + dt * one.acceleration(q, v, told)
    # The robot is at rest where it began: all of its energy is in the tank.
    assert told.energy.tank_level == pytest.approx(1.0 + start, rel=1e-3)

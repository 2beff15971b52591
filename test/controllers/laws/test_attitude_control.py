# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Attitude control by reaction wheels: its energy, and the robots that it is not for."""

import numpy as np
import pytest

from vms_ph_controllers import AttitudeControl, Reference, RobotState
from vms_ph_dynamics import Allocation, ModelError, Ports, Rotor, StandardForm
from vms_ph_io import robots


def test_the_storage_function_falls_by_the_damping(rng: np.random.Generator) -> None:
    model = robots.load("satellite_panda")
    home = model.configuration(robots.get("satellite_panda").home)
    # Strong actuators: nothing is at its limits.
    actuators = robots.get("satellite_panda").own_actuators().allocation
    allocation = Allocation.of_matrix(
        actuators.matrix, 1e6 * actuators.lower, 1e6 * actuators.upper
    )
    gains = AttitudeControl.Gains(frequency_shape=1.0)
    law, form, step = AttitudeControl(model, gains, allocation), StandardForm(model), 1e-5
    for _ in range(3):
        law.reset(RobotState(home, np.zeros(model.nv)))
        q = model.integrate(home, 0.1 * rng.normal(size=model.nv))
        v = 0.05 * rng.normal(size=model.nv)
        now = law.update(RobotState(q, v), Reference(), 0.0)
        assert not now.reason
        np.testing.assert_allclose(now.wrench_base[:3], 0.0, atol=1e-12)
        start = form.state(q, v)
        rate = form.rate(start, Ports(now.torque, now.wrench_base))
        energies = []
        for sign in (-1.0, 1.0):
            at = model.integrate(q, sign * step * v)
            there = type(start)(at, start.z + sign * step * rate.zdot)
            state = RobotState(at, form.velocity(there))
            energies.append(law.update(state, Reference(), 0.0).energy.closed_loop_energy)
        found = (energies[1] - energies[0]) / (2.0 * step)
        lost = now.energy.damping_base + now.energy.damping_shape
        assert now.energy.clipped_power == pytest.approx(0.0, abs=1e-6 * lost)
        assert found == pytest.approx(-lost, rel=1e-4)


def test_robots_that_it_is_not_for_are_told_why() -> None:
    with pytest.raises(ModelError, match="for robots that float freely in space"):
        AttitudeControl(robots.load("borinot"))
    satellite = robots.load("satellite_panda")
    with pytest.raises(ModelError, match="give its allocation, as actuators:=own does"):
        AttitudeControl(satellite)
    with pytest.raises(ModelError, match="cannot turn it about all axes"):
        AttitudeControl(satellite, allocation=Allocation([Rotor(np.eye(3)[0], np.eye(3)[1])]))

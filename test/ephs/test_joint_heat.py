# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Joints warm by the heat of friction, simulated with the bodies or from their velocities."""

from itertools import pairwise

import numpy as np
import pytest

from vms_ph_dynamics import Friction
from vms_ph_ephs import StructureError, assemble, simulate
from vms_ph_ephs import multibody as mb
from vms_ph_ephs.multibody.joint_heat import JointHeat
from vms_ph_io import robots


def friction(*viscous: float) -> Friction:
    return Friction(np.array(viscous), np.zeros(len(viscous)))


def test_a_joint_without_an_environment_warms_by_work_over_capacity() -> None:
    heat = JointHeat(["a", "b"], friction(0.5, 0.2), mb.Heat(capacity=10.0))
    for _ in range(100):
        found = heat.update(np.array([2.0, 3.0]), np.array([2.0, 3.0]), 0.01)
    # c dtheta = mu u^2 t: entropy enters at the temperature of the joint, steps of fourth order.
    assert found["a"] == pytest.approx(298.15 + 0.5 * 4.0 / 10.0, abs=1e-9)
    assert found["b"] == pytest.approx(298.15 + 0.2 * 9.0 / 10.0, abs=1e-9)
    assert heat.friction_heat == pytest.approx(0.5 * 4.0 + 0.2 * 9.0)


def test_a_joint_at_constant_speed_reaches_the_temperature_of_balance() -> None:
    heat = JointHeat(["a"], friction(0.5), mb.Heat(capacity=1.0, conductance=2.0))
    for _ in range(200):
        found = heat.update(np.array([2.0]), np.array([2.0]), 0.1)
    assert found["a"] == pytest.approx(298.15 + 0.5 * 4.0 / 2.0, abs=1e-9)


def test_a_long_interval_is_cut_into_stable_steps() -> None:
    heat = JointHeat(["a"], friction(0.5), mb.Heat(capacity=0.1, conductance=10.0))
    found = heat.update(np.array([2.0]), np.array([2.0]), 1.0)
    assert found["a"] == pytest.approx(298.15 + 0.2, abs=1e-6)


def watched_and_simulated(dt: float) -> tuple[np.ndarray, np.ndarray]:
    """Temperatures of a falling Panda: from sampled velocities, and with bodies and joints."""
    robot, heat = robots.get("panda"), mb.Heat(capacity=0.05, conductance=0.01)
    model = robot.load()
    system = mb.from_urdf(robot.description(), robot.base, robot.gravity, heat=heat)
    equations = assemble(system, check=False)
    q = model.configuration(robot.home)
    x = mb.state_of(equations, model, q, np.zeros(7))
    motion = simulate(equations, x, dt, round(0.1 / dt))
    watching = JointHeat(model.joint_names, Friction.from_model(model), heat)
    rates = [mb.configuration_of(equations, model, x)[1] for x in motion.states]
    for before, after in pairwise(rates):
        found = watching.update(before, after, dt)
    expected = equations.storages.temperatures(motion.final)
    names = model.joint_names
    return np.array([found[n] for n in names]), np.array([expected[f"{n}.th.s"] for n in names])


def test_temperatures_from_velocities_are_those_of_bodies_and_joints_together() -> None:
    errors = []
    for dt in (2e-3, 1e-3):
        found, expected = watched_and_simulated(dt)
        errors.append(float(np.abs(found - expected).max()))
    assert expected.max() > 298.16
    # Rates are taken as straight between samples, which is of second order.
    assert errors[1] < 1e-5
    assert errors[0] / errors[1] == pytest.approx(4.0, rel=0.15)


def test_joints_without_a_capacity_are_refused() -> None:
    with pytest.raises(StructureError, match="heat capacity"):
        JointHeat(["a"], friction(0.5), mb.Heat())

# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Simulated robots on wheels that do not slip: friction and joint stops respect the wheels."""

import numpy as np
import pytest

from dynamics.nonholonomic.carts import differential_drive
from vms_ph_dynamics import Friction, ModelError, Ports
from vms_ph_dynamics.nonholonomic import NonholonomicForm
from vms_ph_dynamics.simulation import FormEngine, Simulation
from vms_ph_dynamics.simulation.joint_effects import held_friction

DT = 0.01


def _balance(simulation: Simulation, form: NonholonomicForm, start: float) -> float:
    now = simulation.sample()
    d = form.model.evaluate(now.q, now.v)
    stored = d.kinetic_energy + d.potential_energy - start
    return float(stored - sum(now.port_energy.values()) + now.dissipated)


def test_a_cart_coasts_onto_the_stop_of_its_elbow_and_its_wheels_do_not_slip() -> None:
    form = differential_drive()
    model = form.model
    q = model.configuration({"elbow": 2.8})
    nu = {"left": 3.0, "right": 2.0, "shoulder": 0.5, "elbow": 8.0}
    names = [model.joint_names[i - model.b] for i in form.independent_ids]
    v = form.terms(q, np.array([nu[name] for name in names])).d.v
    simulation = Simulation(form, q, DT, None, joint_stops=True, start_velocity=v)
    start = model.evaluate(q, v)
    begun = start.kinetic_energy + start.potential_energy
    for _ in range(40):
        simulation.advance(2)
        now = simulation.sample()
        rows = form.constraint_jacobian(model.evaluate(now.q, now.v))
        assert np.abs(rows @ now.v).max() < 1e-12
        assert model.joint_positions(now.q)[model.joint_index("elbow")] < 3.001
    assert simulation.sample().dissipated > 0.1
    assert abs(_balance(simulation, form, begun)) < 1e-6
    # The heading follows from the angles of the wheels, at any time.
    angles = model.joint_positions(now.q)
    turned = 0.1 * (angles[model.joint_index("right")] - angles[model.joint_index("left")]) / 0.6
    rotation = model.base_pose(now.q)
    assert np.arctan2(rotation[1, 0], rotation[0, 0]) == pytest.approx(turned, abs=1e-12)


def test_friction_that_is_held_stops_the_motion_that_the_wheels_allow() -> None:
    form = differential_drive()
    model, rng = form.model, np.random.default_rng(2)
    friction = Friction(np.full(model.n, 0.1), np.full(model.n, 0.3))
    q = model.configuration({"elbow": 0.5})
    v = form.terms(q, rng.normal(size=form.dimension)).d.v
    torque = held_friction(form, friction, q, v, Ports(gravity=False), DT)
    # The torque is that at the velocity at the end of the step, to first order.
    after = form.rate(form.state(q, v), Ports(torque=torque, gravity=False))
    terms = form.terms(q, v[form.independent_ids])
    gained = np.linalg.solve(terms.mass, DT * after.zdot - DT * terms.mass_rate @ terms.nu)
    end = (v + terms.basis @ gained + DT * terms.basis_rate @ terms.nu)[model.b :]
    np.testing.assert_allclose(torque, friction.force(end), rtol=0.02, atol=2e-3)


def test_there_is_no_such_scheme_in_cpp() -> None:
    form = differential_drive()
    with pytest.raises(ModelError, match="have no scheme in C"):
        Simulation(form, form.model.neutral_configuration(), DT, engine=FormEngine(native=True))

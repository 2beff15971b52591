# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Friction too stiff for an explicit integrator is held, from the velocity at a step's end."""

import numpy as np
import pytest

from vms_ph_dynamics import Friction, PHState, Ports, StandardForm, VMSModel
from vms_ph_dynamics.simulation import Simulation, in_world_axes
from vms_ph_dynamics.simulation.joint_effects import held_friction

# A fingertip of 0.1 g on a link of a gripper's size.
FINGER = """
<robot name="finger">
  <link name="palm"/>
  <link name="near"><inertial><origin xyz="0.02 0 0"/><mass value="{mass}"/>
    <inertia ixx="1e-6" iyy="1e-6" izz="1e-6" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="tip"><inertial><origin xyz="0.01 0 0"/><mass value="{mass}"/>
    <inertia ixx="1e-8" iyy="1e-8" izz="1e-8" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="first" type="revolute"><parent link="palm"/><child link="near"/><axis xyz="0 1 0"/>
    <limit lower="-3" upper="3" effort="1" velocity="9"/>
    <dynamics damping="{damping}" friction="{friction}"/></joint>
  <joint name="second" type="continuous"><origin xyz="0.04 0 0"/><parent link="near"/>
    <child link="tip"/><axis xyz="0 1 0"/>
    <dynamics damping="{damping}" friction="{friction}"/></joint>
</robot>
"""


def finger(damping: float, friction: float = 0.0, mass: float = 0.001) -> VMSModel:
    text = FINGER.format(damping=damping, friction=friction, mass=mass)
    return VMSModel.from_urdf(text, base="fixed")


def simulation(model: VMSModel, dt: float = 1e-3) -> Simulation:
    return Simulation(StandardForm(model), model.neutral_configuration(), dt, None, friction=True)


def energy(model: VMSModel, at: Simulation) -> float:
    now = at.sample()
    d = model.evaluate(now.q, now.v)
    return d.kinetic_energy + d.potential_energy


def test_friction_that_the_scheme_can_follow_is_part_of_the_scheme(panda: VMSModel) -> None:
    assert simulation(panda)._held_friction is None
    assert simulation(finger(damping=1.0))._held_friction is not None
    assert simulation(finger(damping=1.0), dt=1e-9)._held_friction is None


def test_the_error_of_constant_efforts_friction_is_of_first_order_in_the_step() -> None:
    model = finger(damping=1e-4)
    errors, reference = [], simulation(model, dt=4e-5)
    assert reference._held_friction is None
    reference.advance(500, Ports())
    for dt in (1e-3, 5e-4, 2.5e-4):
        coarse = simulation(model, dt)
        assert coarse._held_friction is not None
        coarse.advance(round(0.02 / dt), Ports())
        errors.append(np.abs(coarse.sample().q[0] - reference.sample().q[0]))
    orders = np.log2(np.divide(errors[:-1], errors[1:]))
    assert np.all(np.abs(orders - 1.0) < 0.15), (errors, orders)


def test_a_load_below_coulomb_friction_creeps_as_slowly_as_the_law_says() -> None:
    model = finger(damping=0.0, friction=0.1)
    held = simulation(model)
    load = (
        -0.5 * model.joints.friction + model.evaluate(model.neutral_configuration(), np.zeros(2)).g
    )
    held.apply(Ports(torque=load))
    held.advance(150, Ports(torque=load))
    creep = -0.01 * np.arctanh(0.5)
    assert held.sample().v == pytest.approx([creep, creep], rel=5e-3)
    assert held.sample().q[0] == pytest.approx(0.15 * creep, rel=5e-3)


@pytest.mark.parametrize("damping", [0.0, 1e-3, 1.0, 1e6])
@pytest.mark.parametrize("friction", [1e-2, 1.0, 1e6])
def test_the_energy_balance_closes_and_friction_never_supplies(
    damping: float, friction: float
) -> None:
    model = finger(damping, friction, mass=0.1)
    held, rng = simulation(model), np.random.default_rng(7)
    start, exchanged, dissipated = energy(model, held), 0.0, 0.0
    for _ in range(12):
        torque = rng.normal(size=2) * 0.02
        push = Ports(torque, wrench_end_effector=rng.normal(size=6) * 0.01)
        held.advance(5, in_world_axes(model, push))
        now = held.sample()
        assert not held.failure
        assert now.dissipated >= dissipated
        dissipated = now.dissipated
        exchanged = max(exchanged, *map(abs, now.port_energy.values()), dissipated)
    stored = energy(model, held) - start
    unaccounted = stored - sum(now.port_energy.values()) + dissipated
    assert dissipated > 0.0
    assert abs(unaccounted) < 1e-12 + 1e-8 * exchanged


def test_on_a_stop_it_dissipates_what_falls_and_no_torque_supplies_any() -> None:
    model = finger(damping=1e-3, mass=0.1)
    start, stop = model.configuration({"first": 2.9}), model.joints.upper[0]
    held = Simulation(StandardForm(model), start, 1e-3, None, friction=True, joint_stops=True)
    assert held._held_friction is not None
    before = energy(model, held)
    torque = Ports(model.evaluate(start, np.zeros(2)).g + np.array([0.02, 0.0]))
    held.apply(torque)
    held.advance(100, torque)
    now = held.sample()
    assert now.q[0] == pytest.approx(stop, abs=1e-4)
    work = float(torque.torque @ model.difference(start, now.q))
    assert now.port_energy["torque"] == pytest.approx(work, rel=1e-8)
    assert now.dissipated == pytest.approx(before - energy(model, held) + work, rel=1e-6)


def test_every_joint_feels_the_friction_of_the_velocity_that_it_reaches() -> None:
    model, rng = finger(damping=0.0, friction=1e-2), np.random.default_rng(11)
    friction, form, ports = (
        Friction.from_model(model),
        StandardForm(model),
        Ports(np.zeros(2), gravity=False),
    )
    for _ in range(20):
        q, v = model.random_configuration(rng), rng.normal(size=2)
        torque = held_friction(form, friction, q, v, ports, 1e-3)
        x = form.state(q, v)
        z = x.z + 1e-3 * (form.rate(x, ports).zdot + torque)
        reached = form.velocity(PHState(model.integrate(q, 1e-3 * v), z))
        np.testing.assert_allclose(
            torque, friction.force(reached), atol=1e-9 * np.abs(torque).max()
        )


@pytest.mark.parametrize("speed", [1e-9, 1e-2, 1.0, 1e4])
def test_friction_never_turns_a_joint_back(speed: float) -> None:
    model, rng = finger(damping=1e3, friction=1e3), np.random.default_rng(11)
    friction, form = Friction.from_model(model), StandardForm(model)
    for _ in range(50):
        q, v = model.random_configuration(rng), speed * rng.normal(size=2)
        ports = Ports(torque=np.zeros(2), gravity=False)
        torque = held_friction(form, friction, q, v, ports, 1e-3)
        x, rate = form.state(q, v), form.rate(form.state(q, v), ports)
        at_end = PHState(model.integrate(q, 1e-3 * v), x.z + 1e-3 * (rate.zdot + torque))
        reached = form.velocity(at_end)
        assert torque @ reached <= 0.0
        assert reached @ model.evaluate(at_end.q, reached).M @ reached <= x.z @ v

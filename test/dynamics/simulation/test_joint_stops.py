# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Stops at the ends of the joints: one-sided, never a source of energy, and places of rest."""

import re

import numpy as np
import pytest

from vms_ph_dynamics import Ports, StandardForm, VMSModel
from vms_ph_dynamics.integrators import IntegrationError
from vms_ph_dynamics.simulation import FormEngine, Simulation
from vms_ph_dynamics.simulation.efforts import in_world_axes
from vms_ph_dynamics.simulation.joint_effects import JointStops, stop_impulses
from vms_ph_io import robots


def energy(simulation: Simulation, model: VMSModel) -> float:
    now = simulation.sample()
    d = model.evaluate(now.q, now.v)
    return d.kinetic_energy + d.potential_energy


def beyond(model: VMSModel, q: np.ndarray) -> float:
    at, joints = model.joint_positions(q), model.joints
    return float(np.maximum(joints.lower - at, at - joints.upper).max())


def test_an_arm_without_torque_comes_to_rest_on_its_stops(panda: VMSModel) -> None:
    text = re.sub(r'damping="[^"]*"', 'damping="5.0"', robots.get("panda").description())
    damped = robots.get("panda").model(text)
    q = damped.configuration({"panda_joint2": 1.5, "panda_joint4": -1.6, "panda_joint6": 2.3})
    arm = Simulation(StandardForm(damped), q, 2e-3, None, friction=True, joint_stops=True)
    start, farthest = energy(arm, damped), -np.inf
    for _ in range(7):
        arm.advance(100, Ports())
        farthest = max(farthest, beyond(damped, arm.sample().q))
    now = arm.sample()
    assert arm.is_finite()
    assert farthest < 2e-4
    assert np.abs(now.v).max() < 0.1
    assert abs(now.v[1]) < 1e-5
    # The shoulder lies on its stop, which carries the weight of all that it moves.
    assert now.q[1] == pytest.approx(panda.joints.upper[1], abs=2e-4)
    assert abs(damped.evaluate(now.q, now.v).g[1]) > 20.0
    assert now.dissipated == pytest.approx(start - energy(arm, damped), rel=1e-6)
    assert sum(now.port_energy.values()) == pytest.approx(0.0, abs=1e-9)


ARM = """<robot name="arm"><link name="base"><inertial><mass value="3"/>
  <inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="upper"><inertial><origin xyz="0.2 0 0"/><mass value="1"/>
  <inertia ixx="0.01" iyy="0.02" izz="0.02" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="lower"><inertial><origin xyz="0.15 0 0"/><mass value="0.5"/>
  <inertia ixx="0.005" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="shoulder" type="revolute"><parent link="base"/><child link="upper"/>
  <axis xyz="0 1 0"/><limit lower="-0.3" upper="0.3" effort="9" velocity="9"/></joint>
  <joint name="elbow" type="revolute"><origin xyz="0.4 0 0"/><parent link="upper"/>
  <child link="lower"/><axis xyz="0 0.8 0.6"/>
  <limit lower="-0.2" upper="0.4" effort="9" velocity="9"/></joint></robot>"""


@pytest.mark.parametrize("base", ["fixed", "planar", "floating"])
@pytest.mark.parametrize("scheme", ["projected_rk4", "discrete_gradient"])
def test_stops_only_take_energy_and_the_balance_closes(base: str, scheme: str) -> None:
    model = VMSModel.from_urdf(ARM, base=base)  # type: ignore[arg-type]
    form, rng = StandardForm(model), np.random.default_rng(1)
    start = model.neutral_configuration()
    arm = Simulation(form, start, 1e-3, joint_stops=True, engine=FormEngine(scheme))
    stored, taken = energy(arm, model), 0.0
    for _ in range(20):
        acting = Ports(rng.normal(scale=10.0, size=model.n))
        arm.apply(acting)
        arm.advance(10, acting)
        now = arm.sample()
        assert beyond(model, now.q) < 2e-4
        assert now.dissipated >= taken - 1e-4
        taken = now.dissipated
    assert arm.is_finite()
    assert taken > 0.5
    gained = energy(arm, model) - stored
    assert gained == pytest.approx(sum(now.port_energy.values()) - taken, abs=1e-5 * taken)


@pytest.mark.parametrize(
    ("base", "joints", "torque", "dissipated"),
    [
        (
            "fixed",
            (0.30000009217258705, 0.010028707714541344),
            0.5899714761450837,
            1.77886151901376,
        ),
        ("floating", (0.29999998723138, -0.2000076646710313), 0.8000076391105452, 1.17706963223951),
    ],
)
def test_the_twin_in_cpp_has_these_numbers(
    base: str, joints: tuple[float, float], torque: float, dissipated: float
) -> None:
    """native/test/joint_stops.cpp asserts the same ones of simulated hardware."""
    model = VMSModel.from_urdf(ARM, base=base)  # type: ignore[arg-type]
    wrench = None if base == "fixed" else np.array([0.0, 0.0, 40.0, 0.0, 0.5, 0.0])
    acting = Ports(np.array([2.0, -1.0]), wrench)
    start = model.neutral_configuration()
    arm = Simulation(
        StandardForm(model), start, 1e-3, joint_stops=True, engine=FormEngine(native=False)
    )
    arm.apply(acting)
    arm.advance(400, acting)
    now = arm.sample()
    assert now.q[-2:] == pytest.approx(joints, abs=1e-9)
    assert now.port_energy["torque"] == pytest.approx(torque, abs=1e-9)
    assert now.dissipated == pytest.approx(dissipated, abs=1e-9)


def test_a_joint_leaves_its_stop_without_being_held_back(panda: VMSModel) -> None:
    upper = panda.joints.upper[0]
    q = panda.configuration({"panda_joint1": upper, "panda_joint4": -1.5, "panda_joint6": 1.5})
    hold = panda.evaluate(q, np.zeros(panda.nv)).g
    free, stopped = (
        Simulation(StandardForm(panda), q, 1e-3, None, joint_stops=stops) for stops in (False, True)
    )
    away = Ports(hold - np.array([5.0, *[0.0] * 6]))
    for each in (free, stopped):
        each.apply(away)
        each.advance(50, away)
    assert stopped.sample().q == pytest.approx(free.sample().q, abs=1e-12)
    assert stopped.sample().dissipated == 0.0
    into = Ports(hold + np.array([50.0, *[0.0] * 6]))
    pressed = Simulation(StandardForm(panda), q, 1e-3, None, joint_stops=True)
    pressed.apply(into)
    pressed.advance(50, into)
    assert pressed.sample().q[0] == pytest.approx(upper, abs=1e-6)
    assert abs(pressed.sample().v[0]) < 1e-3


def test_a_fast_joint_stops_at_its_limit_and_not_beyond() -> None:
    text = """<robot name="slide"><link name="world"/><link name="cart"><inertial><mass value="2"/>
    <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
    <joint name="x" type="prismatic"><parent link="world"/><child link="cart"/><axis xyz="1 0 0"/>
    <limit lower="-1" upper="0.1" effort="9" velocity="9"/></joint></robot>"""
    model = VMSModel.from_urdf(text, base="fixed")
    cart = Simulation(StandardForm(model), np.zeros(1), 1e-3, None, joint_stops=True)
    push = Ports(np.array([400.0]))
    cart.apply(push)
    cart.advance(1000, push)
    now = cart.sample()
    assert now.q[0] == pytest.approx(0.1, abs=1e-9)
    assert abs(now.v[0]) < 1e-9
    # All of the work of the push until the stop.
    assert now.dissipated == pytest.approx(400.0 * 0.1, rel=1e-9)
    assert now.port_energy["torque"] == pytest.approx(400.0 * 0.1, rel=1e-9)


def test_the_impulses_of_stops_solve_their_complementarity() -> None:
    rng = np.random.default_rng(0)
    for _ in range(200):
        root = rng.normal(size=(5, 5))
        mobility, free = root @ root.T + np.eye(5), rng.normal(size=5)
        least, most = -rng.uniform(0, 0.5, 5), rng.uniform(0, 0.5, 5)
        least[0], most[1] = -np.inf, np.inf
        impulse = stop_impulses(mobility, free, least, most)
        rates = free + mobility @ impulse
        assert (rates >= least - 1e-9).all()
        assert (rates <= most + 1e-9).all()
        assert rates[impulse > 0] == pytest.approx(least[impulse > 0], abs=1e-9)
        assert rates[impulse < 0] == pytest.approx(most[impulse < 0], abs=1e-9)


def test_stops_whose_torques_are_not_found_end_a_simulation_with_a_sentence() -> None:
    # Two joints that move one light part almost alike, and are to part.
    mobility = np.array([[1.0, 1.0 - 1e-9], [1.0 - 1e-9, 1.0]])
    apart = np.array([1.0, -np.inf]), np.array([np.inf, -1.0])
    with pytest.raises(IntegrationError, match=r"still change a rate by .* after 4000 sweeps"):
        stop_impulses(mobility, np.zeros(2), *apart)


def test_without_limits_nothing_is_watched() -> None:
    model = VMSModel.from_urdf(ARM.replace("revolute", "continuous"), base="fixed")
    arm = Simulation(
        StandardForm(model), model.neutral_configuration(), 1e-3, None, joint_stops=True
    )
    assert arm._stops is None


def test_a_stop_holds_an_arm_that_a_push_in_world_axes_drives_into_it() -> None:
    model = VMSModel.from_urdf(ARM, base="fixed")
    start, push = model.neutral_configuration(), np.array([0.0, 0.0, -8.0, 0.0, 0.0, 0.0])
    arm = Simulation(StandardForm(model), start, 1e-3, joint_stops=True)
    stored = energy(arm, model)
    # The push keeps its direction while the arm turns under it.
    pushing = in_world_axes(model, Ports(wrench_end_effector=push))
    arm.apply(pushing)
    arm.advance(250, pushing)
    now = arm.sample()
    assert arm.is_finite(), arm.failure
    assert now.q[0] == pytest.approx(0.3, abs=1e-5)
    assert np.abs(now.v).max() < 1e-3
    tool = [model.placement(model.end_effector, q)[2, 3] for q in (start, now.q)]
    assert now.port_energy["wrench_end_effector"] == pytest.approx(-8.0 * (tool[1] - tool[0]))
    taken = stored - energy(arm, model) + sum(now.port_energy.values())
    assert now.dissipated == pytest.approx(taken, rel=1e-6)


def test_stops_are_looked_at_where_a_joint_may_reach_one() -> None:
    model = robots.load("panda")
    stops = JointStops(StandardForm(model))
    q, away = model.home.copy(), np.zeros(7)
    assert not stops.is_near(q, away, 0.1)
    q[3] = model.joints.upper[3] - 0.05
    away[3] = 0.6
    assert stops.is_near(q, away, 0.1)
    assert stops.is_near(q, -away, 0.1)

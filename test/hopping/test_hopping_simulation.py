# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The bundled hoppers simulated as their launch files and parameters say, without ROS."""

from dataclasses import replace

import numpy as np
import pytest
import yaml

from vms_ph_controllers import Command, Reference, RobotState, Status
from vms_ph_controllers.hosting.supervisor import Supervisor
from vms_ph_dynamics import Ports
from vms_ph_dynamics.integrators.stepper import Efforts
from vms_ph_dynamics.simulation import Sample, in_world_axes
from vms_ph_hopping import HoppingController, Leg
from vms_ph_hopping.simulation import HoppingSimulation
from vms_ph_io import robots, share_directory

HOPPERS = [name for name in robots.names() if robots.get(name).on_floor]
NOTHING = Ports()


def simulation(name: str, continuous: bool = True, step: float = 1e-3) -> HoppingSimulation:
    known = robots.get(name)
    model = known.load()
    text = (share_directory() / f"config/{name}.yaml").read_text()
    asked = yaml.safe_load(text)["/**/controller"]["ros__parameters"]
    assert asked.pop("controller") == "vms_ph_hopping:HoppingController"
    controller = HoppingController(model)
    controller.gains = replace(controller.gains, **asked)

    def control(q: np.ndarray, v: np.ndarray, dt: float) -> Command:
        return controller.update(RobotState(q, v), Reference(), dt)

    home = model.configuration(known.home, known.home_base)
    law = (lambda: controller.law) if continuous else None
    return HoppingSimulation(model, home, step, control, law)


def energy(name: str, sample: Sample) -> float:
    d = robots.load(name).evaluate(sample.q, sample.v)
    return d.kinetic_energy + d.potential_energy


def unbalanced(name: str, first: Sample, last: Sample) -> float:
    return energy(name, last) - energy(name, first) - sum(last.port_energy.values())


@pytest.mark.parametrize("name", HOPPERS)
@pytest.mark.parametrize("hops", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_the_bundled_hopper_goes_on_hopping_and_its_energy_balance_closes(
    name: str, hops: int
) -> None:
    hopping = simulation(name)
    leg, first = Leg(robots.load(name)), hopping.sample()
    heights = []
    for _ in range(60 * hops):
        hopping.advance(10, NOTHING)
        sample = hopping.sample()
        heights.append(leg.at(sample.q, sample.v).centre[1])
    assert hopping.time == pytest.approx(0.6 * hops)
    assert hopping.is_finite()
    # Hops of about 0.4 s, all of them high.
    tops = [b for a, b, c in zip(heights, heights[1:], heights[2:], strict=False) if a < b >= c]
    assert len(tops) >= hops
    assert min(tops) > 0.2
    last = hopping.sample()
    assert last.port_energy["wrench_end_effector"] < {1: -0.24, 2: -0.5}[hops]
    assert abs(unbalanced(name, first, last)) < 1e-6


@pytest.mark.parametrize("name", HOPPERS)
def test_a_guarded_law_is_told_the_time_between_the_samples_and_takes_them_for_plausible(
    name: str,
) -> None:
    known = robots.get(name)
    model = known.load()
    guard = Supervisor(HoppingController(model))
    home = model.configuration(known.home, known.home_base)
    guard.reset(RobotState(home, np.zeros(model.nv)))
    found: list[tuple[float, Status, str]] = []

    def control(q: np.ndarray, v: np.ndarray, dt: float) -> Command:
        command = guard.update(RobotState(q, v), Reference(), dt)
        found.append((dt, command.status, command.reason))
        return command

    law = HoppingController(model).law
    hopping = HoppingSimulation(model, home, 1e-3, control, lambda: law)
    for _ in range(40):
        hopping.advance(10, NOTHING)
    assert [dt for dt, _, _ in found] == pytest.approx([1e-3, *[1e-2] * 40])
    assert [reason for _, status, reason in found if status is Status.HOLDING] == []


def test_a_push_on_the_foot_is_part_of_the_port_at_the_end_effector() -> None:
    name = "revolute_hopper"
    hopping = simulation(name)
    first = hopping.sample()
    force = np.array([0.4, 0.1, 0.0, 0.0, 0.0, 0.002])
    for k in range(26):
        push = Ports(np.array([0.01]), np.array([0.1, 0, 0.01]), force)
        hopping.advance(10, push if k >= 13 else in_world_axes(robots.load(name), push))
    assert abs(unbalanced(name, first, hopping.sample())) < 1e-7
    quiet = simulation(name)
    quiet.advance(260, NOTHING)
    assert abs(quiet.sample().q[0] - hopping.sample().q[0]) > 1e-4


def test_the_wrench_at_the_foot_is_the_floors_in_its_axes() -> None:
    """In stance the mean force carries the leg: minus its change of momentum and its weight."""
    name = "revolute_hopper"
    hopping = simulation(name)
    leg = Leg(robots.load(name))
    forces, before = [], None
    while hopping.time < 0.25:
        hopping.advance(1, NOTHING)
        sample = hopping.sample()
        seen = leg.at(sample.q, sample.v)
        if hopping.time >= 0.2:
            before = seen if before is None else before
            forces.append(seen.foot_axes @ sample.wrench_end_effector[:2])
    assert before is not None
    impulse = 1e-3 * (np.sum(forces, axis=0) - 0.5 * (forces[0] + forces[-1]))
    weight = np.array([0.0, -1.007 * 9.81 * (len(forces) - 1) * 1e-3])
    # The trapezoidal rule over samples of a smooth force, 1 ms apart.
    np.testing.assert_allclose(seen.momentum - before.momentum, impulse + weight, atol=2e-3)


@pytest.mark.slow
def test_a_law_held_over_its_steps_comes_near_the_continuous_one() -> None:
    name = "revolute_hopper"
    continuous, held = simulation(name), simulation(name, continuous=False, step=2e-4)
    continuous.advance(250, NOTHING)
    held.advance(1250, NOTHING)
    np.testing.assert_allclose(held.sample().q, continuous.sample().q, atol=5e-3)


def test_a_reset_returns_to_the_start_with_all_port_energies_at_zero() -> None:
    hopping = simulation("prismatic_hopper")
    start = hopping.sample()
    hopping.advance(100, NOTHING)
    hopping.reset()
    again = hopping.sample()
    np.testing.assert_array_equal(again.q, start.q)
    assert not any(again.port_energy.values())
    assert hopping.resets == 1
    assert hopping.steps == 0


def _push(force: float) -> Efforts:
    push = Ports(wrench_end_effector=np.array([force, 0.0, 0.0, 0.0, 0.0, 0.0]))
    return in_world_axes(robots.load("prismatic_hopper"), push)


def _without_law() -> HoppingSimulation:
    known = robots.get("prismatic_hopper")
    model = known.load()
    return HoppingSimulation(model, model.configuration(known.home, known.home_base), 1e-3, None)


def test_a_simulation_that_cannot_go_on_stands_until_it_is_reset() -> None:
    simulation = _without_law()
    simulation.advance(10, _push(1e200))
    simulation.advance(10, NOTHING)
    assert simulation.failure
    stands = simulation.sample()
    assert np.isfinite([*stands.q, *stands.v]).all()
    simulation.advance(10, NOTHING)
    assert simulation.time == stands.time
    simulation.reset()
    simulation.advance(10, NOTHING)
    assert simulation.is_finite()
    assert simulation.time == pytest.approx(0.01)


def test_a_reset_forgets_external_efforts() -> None:
    simulation, free = _without_law(), _without_law()
    simulation.advance(1, _push(50.0))
    simulation.reset()
    for each in (simulation, free):
        each.advance(5, NOTHING)
    np.testing.assert_array_equal(simulation.sample().v, free.sample().v)

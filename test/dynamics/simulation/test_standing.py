# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""A simulation that cannot go on stands in its last state, and goes on after a reset."""

import numpy as np
import pytest

from vms_ph_controllers import Command
from vms_ph_dynamics import Ports, StandardForm
from vms_ph_dynamics.integrators.stepper import Efforts
from vms_ph_dynamics.simulation import Simulation, in_world_axes
from vms_ph_io import robots


def _simulation(name: str) -> Simulation:
    known = robots.get(name)
    model = known.load()
    home = model.configuration(known.home, known.home_base or None)
    return Simulation(StandardForm(model), home, 1e-3, None)


def _push(name: str, force: float) -> Efforts:
    push = Ports(wrench_end_effector=np.array([force, 0.0, 0.0, 0.0, 0.0, 0.0]))
    return in_world_axes(robots.load(name), push)


@pytest.mark.parametrize("name", ["panda", "hextilt"])
def test_a_simulation_that_cannot_go_on_stands_until_it_is_reset(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    simulation = _simulation(name)
    simulation.advance(10, _push(name, 1e200))
    good = simulation.sample()
    simulation.advance(10, Ports())
    assert simulation.failure
    assert not simulation.is_finite()
    stands = simulation.sample()
    assert np.isfinite([*stands.q, *stands.v]).all()
    monkeypatch.setattr(simulation, "_step", None)  # none is tried
    simulation.advance(10, Ports())
    monkeypatch.undo()
    assert simulation.time == stands.time == good.time
    simulation.reset()
    assert simulation.is_finite()
    simulation.advance(10, Ports())
    assert simulation.is_finite()
    assert simulation.time == pytest.approx(0.01)


def test_a_reset_forgets_external_efforts() -> None:
    name = "panda"
    simulation = _simulation(name)
    simulation.advance(1, _push(name, 50.0))
    simulation.reset()
    free = _simulation(name)
    for each in (simulation, free):
        each.advance(5, Ports())
    np.testing.assert_array_equal(simulation.sample().v, free.sample().v)


@pytest.mark.parametrize("name", ["panda", "borinot", "hextilt"])
def test_no_effort_makes_a_step_cost_more_than_a_bounded_number_of_attempts(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    attempts = []
    simulation = _simulation(name)
    stepper = simulation.engine.stepper
    step = stepper.step
    monkeypatch.setattr(stepper, "step", lambda *a: (attempts.append(1), step(*a))[1])
    for force in (1e6, 1e7, 1e9, 1e12):
        simulation.reset()
        simulation.advance(1, _push(name, force))
        attempts.clear()
        simulation.advance(1, _push(name, force))
        assert 1 <= len(attempts) <= 31


def test_a_controller_that_returns_no_numbers_stops_the_simulation_and_not_the_process() -> None:
    known = robots.get("panda")
    model = known.load()
    broken = Command(np.zeros(0), np.full(7, np.nan))
    simulation = Simulation(
        StandardForm(model), model.configuration(known.home), 1e-3, lambda q, v, dt: broken
    )
    simulation.advance(10, Ports())
    assert simulation.failure
    assert np.isfinite(simulation.sample().q).all()

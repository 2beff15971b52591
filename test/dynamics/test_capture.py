# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Capture of a free body by a robot that floats freely."""

import numpy as np
import pytest

from vms_ph_dynamics import ModelError, StateError, VMSModel
from vms_ph_dynamics.capture import Body, capture, with_body
from vms_ph_dynamics.forms import momenta
from vms_ph_io import robots

from .conftest import state_of


@pytest.fixture(scope="module")
def satellite() -> VMSModel:
    return robots.load("satellite_panda", bus_mass="60", bus_ixx="3", bus_iyy="2.5", bus_izz="3.5")


@pytest.mark.parametrize("seed", range(3))
def test_capture_keeps_the_momentum_and_loses_energy(satellite: VMSModel, seed: int) -> None:
    rng = np.random.default_rng(seed)
    q, v = state_of(satellite, rng)
    root = rng.normal(size=(3, 3))
    points = root @ root.T
    body = Body(7.0, 0.2 * rng.normal(size=3), np.trace(points) * np.eye(3) - points)
    twist = rng.normal(size=6)
    caught = capture(satellite, q, v, body, twist)
    before, after = satellite.evaluate(q, v), caught.model.evaluate(caught.q, caught.v)
    placement = before.placement(satellite.end_effector)
    rotation, origin = placement[:3, :3], placement[:3, 3]
    # The momentum of the body from its velocity at its centre, in inertial axes.
    centre, spin = np.asarray(body.centre), twist[3:]
    linear = body.mass * rotation @ (twist[:3] + np.cross(spin, centre))
    angular = rotation @ (np.asarray(body.inertia) @ spin)
    angular += np.cross(origin + rotation @ centre, linear)
    total = momenta(before).spatial + np.concatenate([linear, angular])
    assert np.abs(momenta(after).spatial - total).max() < 1e-11 * np.abs(total).max()
    own = 0.5 * linear @ linear / body.mass + 0.5 * spin @ np.asarray(body.inertia) @ spin
    lost = before.kinetic_energy + own - after.kinetic_energy
    assert caught.lost_energy == pytest.approx(lost, rel=1e-10)
    assert caught.lost_energy > 0.0
    # The frame moves with the body afterwards, and the body with the impulse.
    at_tool = after.J_end_effector @ caught.v
    assert np.abs(body.spatial_inertia() @ (at_tool - twist) - caught.impulse).max() < 1e-10
    assert caught.model.total_mass == pytest.approx(satellite.total_mass + body.mass)


def test_a_robot_with_a_body_is_not_that_of_its_description() -> None:
    body = Body(1.0, np.zeros(3), 0.01 * np.eye(3))
    panda = robots.load("panda")
    assert panda.urdf
    assert with_body(panda, body).urdf == ""


def test_bodies_that_cannot_be_are_refused_in_words(satellite: VMSModel) -> None:
    home, rest = satellite.home, np.zeros(satellite.nv)
    with pytest.raises(ModelError, match="positive mass"):
        capture(satellite, home, rest, Body(-1.0, np.zeros(3), np.eye(3)), np.zeros(6))
    with pytest.raises(ModelError, match="sum of the others"):
        capture(satellite, home, rest, Body(1.0, np.zeros(3), np.diag([1, 1, 3])), np.zeros(6))
    with pytest.raises(StateError, match="6 finite numbers"):
        capture(satellite, home, rest, Body(1.0, np.zeros(3), np.eye(3)), np.zeros(5))
    with pytest.raises(ModelError, match="is not a frame"):
        capture(satellite, home, rest, Body(1.0, np.zeros(3), np.eye(3)), np.zeros(6), "nowhere")

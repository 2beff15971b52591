# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""A body that is taken: its momentum and energy, seen before and after."""

from dataclasses import replace

import numpy as np
import pytest

from vms_ph_dynamics import ModelError, VMSModel, momenta
from vms_ph_dynamics.capture import Body, capture, with_body
from vms_ph_dynamics.groups import SE3
from vms_ph_dynamics.simulation import Payload
from vms_ph_dynamics.simulation.payload import carried_energies, carried_wrench, plastic_loss
from vms_ph_io import robots

BODY = Payload(
    30.0,
    np.array([1.0, 1.2, 1.4]),
    capture_time=2.0,
    centre=np.array([0.1, 0.2, -0.1]),
    velocity=np.array([0.03, -0.02, 0.01]),
    spin=np.array([0.1, -0.2, 0.05]),
)


def test_a_caught_body_brings_its_momentum_and_loses_what_the_mobilities_say(
    rng: np.random.Generator,
) -> None:
    model = robots.load("satellite_panda")
    q, v = model.random_configuration(rng), 0.05 * rng.standard_normal(model.nv)
    d = model.evaluate(q, v)
    pose = d.placement(model.end_effector)
    handle = pose[:3, 3] + np.array([0.004, -0.002, 0.003])
    body, twist = BODY.body_and_twist_in_tool(d, handle)
    seen = SE3().Ad(SE3().inverse(pose)).T @ (body.spatial_inertia() @ twist)
    np.testing.assert_allclose(seen, BODY.momentum(handle), atol=1e-13)
    assert 0.5 * twist @ body.spatial_inertia() @ twist == pytest.approx(
        BODY.kinetic_energy, abs=1e-14
    )
    caught = capture(model, q, v, body, twist)
    after = momenta(caught.model.evaluate(q, caught.v)).spatial
    np.testing.assert_allclose(after, momenta(d).spatial + BODY.momentum(handle), atol=1e-12)
    assert plastic_loss(d, body, twist) == pytest.approx(caught.lost_energy, rel=1e-9)
    assert caught.lost_energy > 1e-3
    carried = carried_energies(model, body, q, caught.v)[0]
    own = model.evaluate(q, caught.v).kinetic_energy
    assert own + carried == pytest.approx(
        caught.model.evaluate(q, caught.v).kinetic_energy, rel=1e-12
    )


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"mass": 0.0}, "a body has a positive mass"),
        ({"moments": np.array([1.0, 1.0, 3.0])}, "none larger than the sum of the others"),
        ({"spin": np.zeros(2)}, r"spin of a payload must have shape \(3,\)"),
        ({"reach": 0.0}, "reach of a payload must be above zero, m; given: 0"),
        (
            {"capture_time": np.nan},
            r"\(at in files\) of a payload must be zero or more, s; given: nan",
        ),
        ({"capture_time": np.inf}, "a payload that moves needs capture_time"),
        ({"release": 1.0}, r"must follow capture_time \(at in files\), 2 s; given: 1"),
    ],
)
def test_what_is_no_body_to_take_is_refused(change: dict[str, object], said: str) -> None:
    with pytest.raises(ModelError, match=said):
        replace(BODY, **change)


def test_the_wrench_of_a_carried_body_is_what_the_robot_alone_lacks(
    rng: np.random.Generator,
) -> None:
    model = robots.load("hextilt")
    q, v, a = model.random_configuration(rng), *rng.standard_normal((2, model.nv))
    d, handle = model.evaluate(q, v), np.zeros(3)
    body, _ = replace(BODY, velocity=np.zeros(3), spin=np.zeros(3)).body_and_twist_in_tool(
        d, handle
    )
    loaded = with_body(model, body).evaluate(q, v)
    alone, together = (each.M @ a + each.C @ v + each.g for each in (d, loaded))
    wrench = carried_wrench(d, body, a)
    # Rounding of moments of some hundred N m.
    np.testing.assert_allclose(d.J_end_effector.T @ wrench, alone - together, atol=1e-9)


def test_a_free_body_comes_to_its_place_with_its_velocity() -> None:
    place, step = np.array([0.3, 0.1, 0.5]), 1e-6
    at, before = (
        BODY.free_pose(BODY.capture_time, place),
        BODY.free_pose(BODY.capture_time - step, place),
    )
    np.testing.assert_array_equal(at[:3, 3], place)
    np.testing.assert_allclose((at - before)[:3, 3] / step, BODY.velocity, atol=1e-6)
    turned = (at - before)[:3, :3] / step
    np.testing.assert_allclose(turned[[2, 0, 1], [1, 2, 0]], BODY.spin, atol=1e-6)
    centre = place + BODY.centre - 1.5 * (BODY.velocity + np.cross(BODY.spin, BODY.centre))
    early = BODY.free_pose(BODY.capture_time - 1.5, place)
    np.testing.assert_allclose(early[:3, :3] @ BODY.centre + early[:3, 3], centre, atol=1e-14)


@pytest.mark.parametrize("name", ["panda", "hextilt"])
def test_energies_of_a_held_body_are_what_it_adds_to_those_of_the_robot(
    name: str, rng: np.random.Generator
) -> None:
    model, body = robots.load(name), Body(0.8, np.array([0.1, 0.2, -0.1]), 3e-3 * np.eye(3))
    robot = model.pinocchio
    frame = robot.frames[model.end_effector_id]
    robot.inertias[frame.parentJoint] += frame.placement.act(body.pinocchio_inertia())
    loaded = VMSModel.from_pinocchio(robot, model.end_effector)
    q, v = model.random_configuration(rng), rng.normal(size=model.nv)
    alone, both = model.evaluate(q, v), loaded.evaluate(q, v)
    kinetic, potential = carried_energies(model, body, q, v)
    assert kinetic == pytest.approx(both.kinetic_energy - alone.kinetic_energy, rel=1e-10)
    assert potential == pytest.approx(both.potential_energy - alone.potential_energy, rel=1e-10)

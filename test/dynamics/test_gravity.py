# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Gravity acts on the base too: its wrench on SE(3) and SE(2) [A, proposition 4.1]."""

import numpy as np
import pinocchio as pin
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vms_ph_dynamics import FreeFloating, Ports, VMSModel
from vms_ph_io import robots

from .conftest import random_tree, state_of
from .forms.test_forms import FORMS

# Neither along an axis: of a cart on a slope, gravity has a part in its plane.
TILTED = (1.5, -2.5, -9.0)


def tilted_tree(seed: int) -> VMSModel:
    """A random tree under a gravity in a random direction."""
    source = random_tree(seed).pinocchio
    source.gravity.linear = np.random.default_rng(seed).uniform(-10, 10, 3)
    return VMSModel.from_pinocchio(source)


trees = st.integers(0, 2**31).map(tilted_tree)


def differential(model: VMSModel, q: np.ndarray) -> np.ndarray:
    """The slope of the potential along each velocity, by fourth-order differences."""
    step, zero = 1e-3, np.zeros(model.nv)

    def potential(dv: np.ndarray) -> float:
        return model.evaluate(model.integrate(q, dv), zero).potential_energy

    return np.array(
        [
            (
                8 * (potential(step * e) - potential(-step * e))
                - (potential(2 * step * e) - potential(-2 * step * e))
            )
            / (12 * step)
            for e in np.eye(model.nv)
        ]
    )


@pytest.fixture(params=["planar", "floating"])
def vehicle(request: pytest.FixtureRequest) -> VMSModel:
    xml = robots.get("panda").description()
    return VMSModel.from_urdf(xml, request.param, "panda_link8", gravity=TILTED)


def base_pose(model: VMSModel, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Rotation (3,3) and position (3,) of the base, from q alone."""
    if model.base == "floating":
        return pin.Quaternion(q[3:7]).toRotationMatrix(), q[:3]
    (x, y, c, s) = q[:4]
    return np.array([[c, -s, 0], [s, c, 0], [0, 0, 1.0]]), np.array([x, y, 0.0])


def test_the_base_carries_the_whole_weight_at_the_centre_of_mass(
    vehicle: VMSModel, rng: np.random.Generator
) -> None:
    source = vehicle.pinocchio
    for _ in range(20):
        q, v = state_of(vehicle, rng)
        rotation, position = base_pose(vehicle, q)
        centre = rotation.T @ (pin.centerOfMass(source, source.createData(), q) - position)
        weight = vehicle.total_mass * rotation.T @ np.array(TILTED)
        wrench = np.concatenate([weight, np.cross(centre, weight)])
        if vehicle.base == "planar":
            wrench = wrench[[0, 1, 5]]
        # g is the force that holds the robot, so minus what gravity does.
        ours = vehicle.evaluate(q, v).g[: vehicle.b]
        np.testing.assert_allclose(ours, -wrench, atol=1e-11)
        assert np.abs(ours).max() > 1.0


@given(trees, st.integers(0, 2**31))
@settings(max_examples=25, deadline=None)
def test_gravity_is_the_differential_of_the_potential_on_base_and_joints(
    tree: VMSModel, seed: int
) -> None:
    q, v = state_of(tree, np.random.default_rng(seed))
    g = tree.evaluate(q, v).g
    # Rounding of a potential of 1e2 J over the step, and step^4.
    np.testing.assert_allclose(g, differential(tree, q), atol=1e-9)
    source = tree.pinocchio
    theirs = pin.computeGeneralizedGravity(source, source.createData(), q)
    np.testing.assert_allclose(g, theirs, atol=1e-12 * max(1.0, np.abs(theirs).max()))


def test_on_level_ground_gravity_does_not_push_a_cart(rng: np.random.Generator) -> None:
    model = robots.load("omnidirectional_panda")
    q, v = state_of(model, rng)
    np.testing.assert_allclose(model.evaluate(q, v).g[:3], 0.0, atol=1e-12)


def test_gravity_drives_the_momentum_of_the_base_in_both_forms(
    vehicle: VMSModel, rng: np.random.Generator
) -> None:
    q, v = state_of(vehicle, rng)
    b = vehicle.b
    g = vehicle.evaluate(q, v).g
    for kind in FORMS:
        form = kind(vehicle)
        x = form.state(q, v)
        heavy, weightless = (form.rate(x, Ports(gravity=on)).zdot for on in (True, False))
        np.testing.assert_allclose(heavy[:b] - weightless[:b], -g[:b], atol=1e-10)
        balance = form.power_balance(x, Ports())
        # What motion gains the potential loses: no port is open.
        assert abs(balance.residual) < 1e-10 * np.abs(g * v).sum()
        assert balance.stored == pytest.approx(0.0, abs=1e-10 * np.abs(g * v).sum())


def test_the_whole_robot_falls_freely(rng: np.random.Generator) -> None:
    model = VMSModel.from_urdf(
        robots.get("panda").description(), "floating", "panda_link8", gravity=TILTED
    )
    q, _ = state_of(model, rng)
    d = model.evaluate(q, np.zeros(model.nv))
    fall = np.linalg.solve(d.M, -d.g)
    rotation, _ = base_pose(model, q)
    np.testing.assert_allclose(fall[:3], rotation.T @ TILTED, atol=1e-10)
    np.testing.assert_allclose(fall[3:], 0.0, atol=1e-10)


LINK = (
    '<link name="{0}"><inertial><origin xyz="0.1 0.2 {1}"/><mass value="{2}"/><inertia ixx="1" '
    'iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>'
)


def mounted(kind: str) -> VMSModel:
    """A robot whose floating or planar joint is mounted on the world with an <origin>."""
    return VMSModel.from_urdf(
        '<robot name="mounted"><link name="world"/>'
        + LINK.format("hull", 0.3, 2)
        + LINK.format("arm", 0.4, 1)
        + f'<joint name="base" type="{kind}"><parent link="world"/><child link="hull"/>'
        '<origin xyz="1 2 3" rpy="0.3 0.4 0.5"/><axis xyz="0 0 1"/></joint>'
        '<joint name="j" type="revolute"><parent link="hull"/><child link="arm"/>'
        '<axis xyz="0 1 0"/><limit lower="-1" upper="1" effort="1" velocity="1"/></joint></robot>'
    )


@pytest.mark.parametrize("kind", ["planar", "floating"])
def test_a_base_mounted_askew_feels_gravity_in_the_axes_of_its_mount(
    kind: str, rng: np.random.Generator
) -> None:
    model = mounted(kind)
    source = model.pinocchio
    q, v = state_of(model, rng)
    d = model.evaluate(q, v)
    np.testing.assert_allclose(d.g, differential(model, q), atol=1e-9)
    expected = pin.computePotentialEnergy(source, source.createData(), q)
    assert d.potential_energy == pytest.approx(expected, rel=1e-12)
    assert np.abs(d.g[:2]).max() > 1.0
    # The world does not move with it.
    np.testing.assert_array_equal(d.placement("world"), np.eye(4))


def test_the_free_floating_equations_take_the_base_for_the_base_not_the_world(
    rng: np.random.Generator,
) -> None:
    model = mounted("floating")
    q, v = state_of(model, rng)
    terms = FreeFloating(model).evaluate(q, v)
    hull = model.evaluate(q, v).placement("hull")
    np.testing.assert_allclose(terms.r_0, (hull @ [0.1, 0.2, 0.3, 1.0])[:3], atol=1e-14)
    source = model.pinocchio
    data = source.createData()
    pin.ccrba(source, data, q, v)
    np.testing.assert_allclose(terms.P, data.hg.linear, atol=1e-12)

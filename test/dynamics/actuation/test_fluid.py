# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Robots in a fluid: against Kirchhoff's equations, and the physics one expects."""

from dataclasses import replace

import numpy as np
import pinocchio as pin
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vms_ph_dynamics import ModelError, VMSModel, momenta
from vms_ph_dynamics.actuation.fluid import Fluid, ImmersedBody, immersed_cylinder
from vms_ph_dynamics.forms import DecoupledForm, Ports, StandardForm
from vms_ph_io import robots

from ..conftest import random_tree, state_of
from ..forms.test_forms import FORMS, acceleration, random_ports, whole_force
from ..newton_euler import accelerations, equations


def immersed_tree(seed: int) -> VMSModel:
    """A random tree on a random base, its tip with an added mass that couples everything."""
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(6, 6))
    tip = ImmersedBody(
        "tip",
        root @ root.T,
        rng.uniform(0, 1e-3),
        rng.uniform(-0.2, 0.2, 3),
        rng.uniform(0, 5, 6),
        rng.uniform(0, 5, 6),
    )
    return random_tree(seed).in_fluid(Fluid((tip,)))


trees = st.integers(0, 2**31).map(immersed_tree)


def box(volume: float = 2e-3, centre: float = 0.0, added: float = 0.0) -> VMSModel:
    """A floating cube of 2 kg with a paddle of 0.5 kg on a vertical axis through its centre."""
    link = (
        '<link name="{0}"><inertial><origin xyz="{3} 0 0"/><mass value="{1}"/><inertia ixx="{2}"'
        ' iyy="{2}" izz="{2}" ixy="0" ixz="0" iyz="0"/></inertial></link>'
    )
    model = VMSModel.from_urdf(
        '<robot name="box">'
        + link.format("hull", 2, 0.02, 0)
        + link.format("paddle", 0.5, 0.001, 0.3)
        + '<joint name="j" type="revolute"><parent link="hull"/><child link="paddle"/>'
        '<axis xyz="0 0 1"/><limit lower="-3" upper="3" effort="1" velocity="1"/></joint></robot>',
        "floating",
    )
    mass = np.diag([added, 2 * added, 3 * added, 0.0, 0.0, 0.0])
    hull = ImmersedBody("hull", mass, volume, np.array([0.0, 0.0, centre]))
    # The paddle displaces its own mass of water, its centres coincide.
    paddle = ImmersedBody("paddle", volume=0.5e-3, centre_of_buoyancy=np.array([0.3, 0.0, 0.0]))
    return model.in_fluid(Fluid((hull, paddle)))


@pytest.mark.parametrize("states", [30, pytest.param(1000, marks=pytest.mark.slow)])
def test_the_underwater_robot_accelerates_as_newton_and_euler_say(
    states: int, rng: np.random.Generator
) -> None:
    robot = robots.load("bluerov2_alpha5")
    standard, decoupled = StandardForm(robot), DecoupledForm(robot)
    for _ in range(states):
        q, v = state_of(robot, rng)
        ports = random_ports(robot, rng)
        expected = accelerations(robot, q, v, whole_force(robot, q, v, ports))
        for form in (standard, decoupled):
            found = acceleration(form, form.state(q, v), ports)
            np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9 * np.abs(expected).max())


@given(trees, st.integers(0, 2**31))
@settings(max_examples=20, deadline=None)
def test_immersed_trees_on_all_bases_accelerate_as_newton_and_euler_say(
    tree: VMSModel, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    q, v = state_of(tree, rng)
    ports = random_ports(tree, rng)
    expected = accelerations(tree, q, v, whole_force(tree, q, v, ports))
    condition = np.linalg.cond(tree.evaluate(q, v).M)
    for kind in FORMS:
        form = kind(tree)
        found = acceleration(form, form.state(q, v), ports)
        tolerance = 1e-13 * max(condition, 1e3) * np.abs(expected).max()
        np.testing.assert_allclose(found, expected, rtol=0, atol=tolerance)


@given(trees, st.integers(0, 2**31))
@settings(max_examples=20, deadline=None)
def test_every_term_is_that_of_the_recursion(tree: VMSModel, seed: int) -> None:
    q, v = state_of(tree, np.random.default_rng(seed))
    d, e = tree.evaluate(q, v), equations(tree, q, v)
    pairs = [(d.M, e.mass), (d.C @ v, e.bias), (-d.g, e.gravity), (tree.fluid.drag(d), e.drag)]
    for ours, theirs in pairs:
        np.testing.assert_allclose(ours, theirs, atol=1e-12 * max(1.0, np.abs(theirs).max()))


@given(trees, st.integers(0, 2**31))
@settings(max_examples=15, deadline=None)
def test_the_inertia_with_the_fluid_changes_at_the_rate_of_the_coriolis_matrix(
    tree: VMSModel, seed: int
) -> None:
    q, v = state_of(tree, np.random.default_rng(seed))
    step = 1e-5
    ahead, behind = (tree.evaluate(tree.integrate(q, s * v), v).M for s in (step, -step))
    d = tree.evaluate(q, v)
    # Central differences: O(step^2) truncation and 1e-16/step rounding, each near 1e-11 |M|.
    tolerance = 2e-9 * max(1.0, np.abs(d.M).max())
    np.testing.assert_allclose((ahead - behind) / (2 * step), d.C + d.C.T, atol=tolerance)


@given(trees, st.integers(0, 2**31))
@settings(max_examples=20, deadline=None)
def test_the_power_balance_closes_and_drag_only_takes(tree: VMSModel, seed: int) -> None:
    rng = np.random.default_rng(seed)
    q, v = state_of(tree, rng)
    for ports in (random_ports(tree, rng), replace(random_ports(tree, rng), drag=False)):
        for kind in FORMS:
            form = kind(tree)
            balance = form.power_balance(form.state(q, v), ports)
            flow = sum(map(abs, balance.supplied.values())) + balance.dissipated
            assert abs(balance.residual) < 1e-10 * max(flow, abs(balance.stored))
            assert (balance.dissipated > 0) == ports.drag


@given(trees, st.integers(0, 2**31))
@settings(max_examples=15, deadline=None)
def test_weight_and_buoyancy_are_the_gradient_of_the_potential(tree: VMSModel, seed: int) -> None:
    q, _ = state_of(tree, np.random.default_rng(seed))
    step, zero = 1e-6, np.zeros(tree.nv)
    gradient = [
        (
            tree.evaluate(tree.integrate(q, step * e), zero).potential_energy
            - tree.evaluate(tree.integrate(q, -step * e), zero).potential_energy
        )
        / (2 * step)
        for e in np.eye(tree.nv)
    ]
    # Rounding of an energy of some 1e2 J over the step.
    np.testing.assert_allclose(tree.evaluate(q, zero).g, gradient, atol=1e-7)


def test_buoyancy_acts_up_with_the_weight_of_the_displaced_water_at_its_centre() -> None:
    robot = box(volume=3e-3, centre=0.1)
    q = robot.configuration({}, [5.0, 6.0, 7.0, 0.0, np.sin(0.2), 0.0, np.cos(0.2)])
    d = robot.evaluate(q, np.zeros(7))
    # Three litres lift 2 kg of hull: 1 kg up, in base axes turned by 0.4 about y.
    up = 9.81 * np.array([-np.sin(0.4), 0.0, np.cos(0.4)])
    np.testing.assert_allclose(d.g[:3], -up, atol=1e-12)
    # The centre of buoyancy 0.1 m above: the moment turns the hull back about -y.
    lift = 3 * 9.81
    np.testing.assert_allclose(d.g[3:6], [0.0, 0.1 * lift * np.sin(0.4), 0.0], atol=1e-12)
    assert robot.fluid is not None
    assert robot.fluid.displaced_mass == pytest.approx(3.5)


@pytest.mark.parametrize("kind", FORMS)
def test_a_neutrally_buoyant_robot_hangs_still_in_any_attitude(
    kind: type[StandardForm] | type[DecoupledForm], rng: np.random.Generator
) -> None:
    robot = box(added=1.0)
    form = kind(robot)
    for _ in range(20):
        q = robot.random_configuration(rng)
        rate = form.rate(form.state(q, np.zeros(7)), Ports())
        np.testing.assert_array_equal(rate.qdot, 0.0)
        # Weights of 25 N cancel to rounding.
        np.testing.assert_allclose(rate.zdot, 0.0, atol=1e-13)
        assert robot.evaluate(q, rate.qdot).potential_energy == pytest.approx(0.0, abs=1e-13)


def test_a_hull_with_its_buoyancy_above_its_weight_rights_itself() -> None:
    robot = box(centre=0.05)
    level = robot.neutral_configuration()
    zero = np.zeros(7)
    lowest = robot.evaluate(level, zero).potential_energy
    for axis in (3, 4):
        tilt = zero.copy()
        tilt[axis] = 0.3
        d = robot.evaluate(robot.integrate(level, tilt), zero)
        assert d.potential_energy > lowest
        # The force that holds it there points on; released, it turns back.
        assert d.g[axis] > 0


def test_added_mass_is_felt_by_a_push_but_not_by_gravity() -> None:
    robot = box(volume=0.0, added=1.0)
    q, still = robot.neutral_configuration(), np.zeros(7)
    d = robot.evaluate(q, still)
    np.testing.assert_allclose(np.diag(d.M)[:3], [2.5 + 1.0, 2.5 + 2.0, 2.5 + 3.0])
    # Only the rigid mass weighs; the paddle is borne by the water.
    assert d.g[2] == pytest.approx(2.0 * 9.81)
    # Let go, the hull sinks more slowly than it would fall in a vacuum.
    form = StandardForm(robot)
    sinking = acceleration(form, form.state(q, still), Ports())[2]
    assert -9.81 / 2 < sinking < 0


def test_a_body_towed_askew_feels_the_munk_moment() -> None:
    robot = box(added=1.0)
    v = np.array([1.0, 2.0, 0.0, 0.0, 0.0, 0.0, 0.0])
    d = robot.evaluate(robot.neutral_configuration(), v)
    # To tow it steadily takes the moment v x (M_A v): rigid parts drop out.
    momentum = np.array([1.0, 2.0, 3.0]) * v[:3]
    np.testing.assert_allclose((d.C @ v)[:6], [0, 0, 0, *np.cross(v[:3], momentum)], atol=1e-12)


def test_the_impulse_of_robot_and_fluid_is_conserved_without_forces(
    rng: np.random.Generator,
) -> None:
    robot = robots.load("bluerov2_alpha5")
    still = Ports(gravity=False, drag=False)
    for kind in FORMS:
        form = kind(robot)
        x = form.state(*state_of(robot, rng))
        f, m = np.split(form.evaluation(x).p, 2)
        v, w = np.split(form.velocity(x)[:6], 2)
        # The rate that components in turning axes have while the vector in space stands still.
        expected = np.concatenate([np.cross(f, w), np.cross(m, w) + np.cross(f, v)])
        np.testing.assert_allclose(form.rate(x, still).zdot[:6], expected, atol=1e-12)


def test_the_momentum_in_space_is_that_of_the_base_moved_to_the_origin(
    rng: np.random.Generator,
) -> None:
    model = robots.load("bluerov2_alpha5")
    assert model.fluid is not None
    d = model.evaluate(model.random_configuration(rng), rng.normal(size=model.nv))
    pose = model.base_pose(d.q)
    linear = pose[:3, :3] @ d.p[:3]  # Ad^-T of the pose
    angular = pose[:3, :3] @ d.p[3:] + np.cross(pose[:3, 3], linear)
    np.testing.assert_allclose(momenta(d).spatial, [*linear, *angular], atol=1e-10)


def test_a_slender_cylinder_carries_its_own_volume_along_across_its_axis() -> None:
    radius, length = 0.02, 0.4
    cylinder = immersed_cylinder("tip", radius, np.zeros(3), np.array([0, 0, length]))
    water = 1000.0 * np.pi * radius**2 * length
    assert cylinder.volume * 1000.0 == pytest.approx(water)
    np.testing.assert_allclose(np.diag(cylinder.added_mass)[:3], [water, water, 0], atol=1e-15)
    # Swung about its end as a rod: m L^2 / 3.
    swing = water * length**2 / 3
    np.testing.assert_allclose(np.diag(cylinder.added_mass)[3:], [swing, swing, 0], atol=1e-15)
    # Drag of the end-on swing: rho c_d r times the integral of s^3.
    area = 1000.0 * 1.2 * radius
    np.testing.assert_allclose(
        cylinder.quadratic_drag,
        [area * length, area * length, 0, area * length**4 / 4, area * length**4 / 4, 0],
        atol=1e-15,
    )


def test_a_cylinder_askew_is_the_upright_one_seen_from_other_axes(
    rng: np.random.Generator,
) -> None:
    start, end = rng.normal(size=3), rng.normal(size=3)
    length = float(np.linalg.norm(end - start))
    upright = immersed_cylinder("tip", 0.1, np.zeros(3), np.array([0, 0, length]), 998.0)
    askew = immersed_cylinder("tip", 0.1, start, end, 998.0)
    z = (end - start) / length
    x = np.cross(z, [1.0, 0.0, 0.0])
    x /= np.linalg.norm(x)
    there = pin.SE3(np.stack([x, np.cross(z, x), z], axis=1), start).inverse().toActionMatrix()
    np.testing.assert_allclose(askew.added_mass, there.T @ upright.added_mass @ there, atol=1e-9)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"added_mass": np.eye(6) + np.eye(6, k=1)}, "must be symmetric; it differs"),
        ({"added_mass": np.diag([1, 1, 1, 1, 1, -2.0])}, "smallest eigenvalue is -2"),
        ({"added_mass": np.eye(3)}, r"must have shape \(6, 6\); given: shape \(3, 3\)"),
        ({"added_mass": np.diag([np.nan, 1, 1, 1, 1, 1])}, "must be finite"),
        ({"volume": -1.0}, r"volume of 'hull' must not be negative; given: -1\.0 m\^3"),
        ({"volume": np.nan}, "volume"),
        ({"centre_of_buoyancy": np.zeros(2)}, r"centre of buoyancy of 'hull' must have shape"),
        ({"linear_drag": np.zeros(3)}, r"linear drag of 'hull' must have shape \(6,\)"),
        ({"quadratic_drag": -np.ones(6)}, "quadratic drag of 'hull' must not be negative"),
    ],
)
def test_what_no_body_in_a_fluid_can_have_is_refused(wrong: dict, said: str) -> None:
    with pytest.raises(ModelError, match=said):
        ImmersedBody("hull", **wrong)


def test_a_fluid_that_does_not_fit_the_robot_is_refused() -> None:
    with pytest.raises(
        ModelError, match=r"'keel' is not a frame of 'box'; its links are hull, pad"
    ):
        box().in_fluid(Fluid((ImmersedBody("keel"),)))
    with pytest.raises(ModelError, match="density of a fluid must be positive; given: -1"):
        Fluid((), density=-1.0)
    with pytest.raises(ModelError, match="cylinder of 'hull' must have a positive radius"):
        immersed_cylinder("hull", 0.0, np.zeros(3), np.ones(3))


def test_a_body_in_a_fluid_cannot_be_changed_by_the_caller() -> None:
    mass = np.eye(6)
    body = ImmersedBody("hull", mass)
    mass[0, 0] = 5.0
    assert body.added_mass[0, 0] == 1.0
    with pytest.raises(ValueError, match="read-only"):
        body.added_mass[0, 0] = 2.0

# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The free-floating equations of motion of source E, and what space robotics uses them for."""

from dataclasses import replace

import numpy as np
import pinocchio as pin
import pytest
from hypothesis import given, settings

from vms_ph_dynamics import FreeFloating, Friction, PHState, Ports, StandardForm, VMSModel
from vms_ph_dynamics.forms.free_floating import FreeFloatingEvaluation
from vms_ph_dynamics.groups import SO3
from vms_ph_dynamics.integrators.runge_kutta import RK4
from vms_ph_io import robots

from ..conftest import random_tree, state_of
from .free_floating_sums import (
    FLOATING,
    Space,
    agree,
    case,
    differs,
    floating_trees,
    light_satellite,
    own_floating_joint,
    seeds,
    sums_of,
)

# A central difference errs by about STEP^2, and by rounding over STEP.
STEP, DIFFERENCE = 1e-5, 1e-7


@pytest.fixture
def space_robot(rng: np.random.Generator) -> Space:
    return case(light_satellite(), rng)


def acceleration_by_aba(e: FreeFloatingEvaluation, ports: Ports) -> np.ndarray:
    """(V_0dot, w_0dot, phiddot) from ABA, the base's from the body acceleration by hand."""
    d, model = e.d, e.d.model
    source = model.pinocchio
    force = replace(ports, gravity=False).force(d)
    vdot = pin.aba(source, source.createData(), d.q, d.v, force)
    rotation = e.to_inertial[:3, :3]
    c, v, w = source.inertias[1].lever, d.v[:3], d.v[3:6]
    linear = vdot[:3] + np.cross(vdot[3:6], c) + np.cross(w, v + np.cross(w, c))
    return np.concatenate([rotation @ linear, rotation @ vdot[3:6], vdot[6:]])


def check_motion(model: VMSModel, rng: np.random.Generator) -> None:
    _, e = case(model, rng)
    d, rotation = e.d, e.to_inertial[:3, :3]
    base, torque = rng.uniform(-5, 5, 6), rng.uniform(-5, 5, model.n)
    contact = rng.uniform(-5, 5, 6)
    friction = Friction(rng.uniform(0, 1, model.n), rng.uniform(0, 1, model.n), slip=0.1)
    # The same efforts as the ports take them: in body axes, at the frames' origins.
    f, m = rotation.T @ base[:3], rotation.T @ base[3:]
    centre = model.pinocchio.inertias[1].lever
    tool = d.placement(model.end_effector)[:3, :3]
    ports = Ports(
        torque,
        np.concatenate([f, m + np.cross(centre, f)]),
        np.concatenate([tool.T @ contact[:3], tool.T @ contact[3:]]),
        friction=friction,
    )
    expected = acceleration_by_aba(e, ports)
    force = e.force(base, torque + friction.force(d.v[6:]), contact)
    found = e.acceleration(force)
    # Through the inverse of an inertia whose condition is some thousands.
    agree(found, expected, 1e-10)
    # [38] and [37] term by term: H xddot + Hdot xdot + c = force.
    gravity = e.from_inertial.T @ d.g
    agree(e.H @ expected + e.bias + gravity, force, 1e-10)


@given(floating_trees, seeds)
@settings(max_examples=20, deadline=None)
def test_a_tree_accelerates_as_aba_under_contact_actuation_and_friction(
    tree: VMSModel, seed: int
) -> None:
    check_motion(tree, np.random.default_rng(seed))


@pytest.mark.parametrize("name", FLOATING)
def test_a_bundled_robot_accelerates_as_aba_under_contact_actuation_and_friction(
    name: str, rng: np.random.Generator
) -> None:
    model = robots.load(name)
    for _ in range(5):
        check_motion(model, rng)


def test_a_robot_with_its_own_floating_joint_accelerates_as_aba(rng: np.random.Generator) -> None:
    check_motion(own_floating_joint(), rng)


@given(floating_trees, seeds)
@settings(max_examples=20, deadline=None)
def test_the_terms_of_37_are_the_rates_and_gradients_they_are_called(
    tree: VMSModel, seed: int
) -> None:
    _, e = case(tree, np.random.default_rng(seed))
    d, of = e.d, FreeFloating(tree)

    def moved(dq: np.ndarray) -> FreeFloatingEvaluation:
        return of.evaluate(tree.integrate(d.q, dq), d.v)

    rate = (moved(STEP * d.v).H - moved(-STEP * d.v).H) / (2 * STEP)
    agree(e.Hdot, rate, DIFFERENCE)
    x = e.velocity
    gradient = [
        (x @ moved(STEP * u).H @ x - x @ moved(-STEP * u).H @ x) / (4 * STEP)
        for u in np.eye(tree.nv)[6:]
    ]
    agree(e.c_m, -np.array(gradient), DIFFERENCE)
    agree(e.bias, e.Hdot @ x + np.concatenate([e.c_0, e.c_m]))


def test_the_gradient_of_the_energy_enters_with_a_minus(space_robot: Space) -> None:
    # [35], [36]: c = -dL/dq is printed as + 1/2 d(...).
    _, e = space_robot
    expected = acceleration_by_aba(e, Ports())
    inertial = e.H @ expected
    agree((inertial + e.bias)[6:], np.zeros(e.d.model.n), 1e-10)
    differs((inertial + e.bias - 2 * np.concatenate([e.c_0, e.c_m]))[6:], 0 * e.c_m)


def test_the_attitude_is_no_coordinate_whose_rate_is_the_angular_velocity(
    space_robot: Space,
) -> None:
    # [28], [35], [37]: -dL/dx_0 taken literally, the base turned about its centre of mass with
    # V_0, w_0 and phidot held, is V_0 x P + w_0 x L_0; the equations hold with V_0 x P alone.
    _, e = space_robot
    d, model = e.d, e.d.model
    of, group = FreeFloating(model), SO3()
    rotation, centre = e.to_inertial[:3, :3], model.pinocchio.inertias[1].lever

    def energy(turn: np.ndarray) -> float:
        turned = group.exp(turn) @ rotation
        q = d.q.copy()
        q[:3] = e.r_0 - turned @ centre
        q[3:7] = pin.Quaternion(turned).coeffs()
        x = of.evaluate(q, d.v)
        np.testing.assert_allclose(x.r_0, e.r_0, atol=1e-12)
        return float(0.5 * e.velocity @ x.H @ e.velocity)

    literal = np.array([-(energy(STEP * u) - energy(-STEP * u)) / (2 * STEP) for u in np.eye(3)])
    V_0, w_0 = e.velocity[:3], e.velocity[3:6]
    agree(literal, np.cross(V_0, e.P) + np.cross(w_0, e.L_0), DIFFERENCE)
    agree(e.c_0, np.concatenate([np.zeros(3), np.cross(V_0, e.P)]), 1e-15)
    expected = e.H @ acceleration_by_aba(e, Ports()) + e.bias
    agree(expected[:6], np.zeros(6), 1e-10)
    as_printed = expected[3:6] - e.c_0[3:] + literal
    agree(as_printed, np.cross(w_0, e.L_0), DIFFERENCE)
    differs(as_printed, np.zeros(3))


@given(floating_trees, seeds)
@settings(max_examples=20, deadline=None)
def test_the_velocities_are_those_of_the_base_centre_of_mass(tree: VMSModel, seed: int) -> None:
    _, e = case(tree, np.random.default_rng(seed))
    agree(e.to_inertial @ e.from_inertial, np.eye(tree.nv), 1e-13)
    of = FreeFloating(tree)
    ahead, behind = (of.evaluate(tree.integrate(e.d.q, s * e.d.v), e.d.v) for s in (STEP, -STEP))
    agree(e.velocity[:3], (ahead.r_0 - behind.r_0) / (2 * STEP), DIFFERENCE)


@given(floating_trees, seeds)
@settings(max_examples=15, deadline=None)
def test_the_generalized_jacobian_moves_the_end_effector_at_zero_momentum(
    tree: VMSModel, seed: int
) -> None:
    s, e = case(tree, np.random.default_rng(seed))
    drift = e.J_s @ np.linalg.solve(e.H_0, np.concatenate([e.P, e.L_0]))
    agree(e.J_g @ s.phidot + drift, s.V_tool, 1e-10)
    # At zero momentum the base moves with -A phidot.
    at_rest = np.concatenate([-e.d.A @ s.phidot, s.phidot])
    of, still = FreeFloating(tree), sums_of(tree, e.d.q, at_rest)
    f = of.evaluate(e.d.q, at_rest)
    agree(np.concatenate([f.P, f.L]), np.zeros(6), 1e-10)
    agree(f.J_g @ s.phidot, still.V_tool, 1e-10)


@given(floating_trees, seeds)
@settings(max_examples=15, deadline=None)
def test_the_reaction_null_space_does_not_turn_the_base(tree: VMSModel, seed: int) -> None:
    rng = np.random.default_rng(seed)
    _, e = case(tree, rng)
    null = e.reaction_null_space
    assert null.shape == (tree.n, tree.n - np.linalg.matrix_rank(e.H_w_phi, 1e-9))
    phidot = null @ rng.normal(size=null.shape[1])
    v = np.concatenate([-e.d.A @ phidot, phidot])
    agree(v[3:6], np.zeros(3), 1e-10)


def test_along_the_reaction_null_space_the_satellite_keeps_its_attitude() -> None:
    model = light_satellite()
    of = FreeFloating(model)
    home = {f"panda_joint{i + 1}": x for i, x in enumerate((0.3, -0.4, 0.2, -1.8, 0.1, 1.6, 0.4))}
    q = model.configuration(home)
    attitude, joints = q[3:7].copy(), q[7:].copy()
    push, dt = np.array([1.0, -0.5, 0.3, 0.8, -0.6, 0.4, 0.2]), 1e-2
    for _ in range(100):
        null = of.evaluate(q, np.zeros(model.nv)).reaction_null_space
        assert null.shape == (7, 4)
        phidot = null @ null.T @ push
        v = np.concatenate([-model.evaluate(q, np.zeros(model.nv)).A @ phidot, phidot])
        q = model.integrate(q, dt * v)
    assert np.linalg.norm(q[7:] - joints) > 0.5
    # The base is held by the null space at every step, so not even the steps' error turns it.
    np.testing.assert_allclose(q[3:7], attitude, atol=1e-12)


def test_momenta_are_conserved_whatever_the_joints_do() -> None:
    model = light_satellite()
    form, of = StandardForm(model), FreeFloating(model)
    rng = np.random.default_rng(3)
    q, v = state_of(model, rng)
    strength = rng.uniform(-5, 5, 7)
    friction = Friction(np.full(7, 0.5), np.zeros(7))
    start = of.evaluate(q, v)
    before = np.concatenate([start.P, start.L])

    scheme = RK4(form, gravity=False)

    def push(t: float, x: PHState) -> Ports:
        return Ports(np.cos(9 * t) * strength, friction=friction, gravity=False)

    def drift(steps: int) -> float:
        x, dt = form.state(q, v), 0.2 / steps
        for k in range(steps):
            x = scheme.step(x, push, k * dt, dt).solver_state
        e = of.evaluate(x.q, form.velocity(x))
        # The joints have moved, and with them the base.
        assert np.linalg.norm(e.d.q[7:] - q[7:]) > 0.1
        return float(np.abs(np.concatenate([e.P, e.L]) - before).max())

    coarse, fine = drift(100), drift(200)
    assert coarse < 1e-3 * np.abs(before).max()
    # What is left is the scheme's: it falls at least with the square of the step, to rounding.
    assert fine < max(coarse / 3.5, 1e-11)


def test_contact_changes_the_momenta_by_its_impulse(space_robot: Space) -> None:
    s, e = space_robot
    contact = np.array([3.0, -1.0, 2.0, 0.4, 0.2, -0.3])
    acceleration = e.acceleration(e.force(np.zeros(6), np.zeros(7), contact))
    # d/dt (P, L_0) = H xddot + Hdot xdot; about the origin L = L_0 + r_0 x P.
    rate = (e.H @ acceleration + e.Hdot @ e.velocity)[:6]
    agree(rate[:3], contact[:3], 1e-10)
    about_origin = rate[3:] + np.cross(e.velocity[:3], e.P) + np.cross(e.r_0, rate[:3])
    agree(about_origin, contact[3:] + np.cross(s.p_r, contact[:3]), 1e-10)


@pytest.mark.parametrize("seed", [2, 5, 8, 11])
def test_rate_of_the_connection_is_its_derivative_along_the_motion(seed: int) -> None:
    model, h = random_tree(seed), 1e-6
    q, v = state_of(model, np.random.default_rng(seed))
    ahead, behind = (model.evaluate(model.integrate(q, s * v), v).A for s in (h, -h))
    assert np.abs(model.evaluate(q, v).A_rate - (ahead - behind) / (2 * h)).max() < 1e-7

# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Hamel and passive Coriolis matrices and the general decoupling transform [B, 3.1 and 3.3]."""

import numpy as np
import pinocchio as pin
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vms_ph_dynamics import DecouplingTransform, Evaluation, ModelError, StateError, VMSModel
from vms_ph_dynamics.decoupling import (
    BodyCoriolis,
    base_pose,
    centre_of_mass,
    centre_of_mass_frame,
    external_velocity,
    inertial_frame,
    mass_rate,
    momentum_map,
)
from vms_ph_io import robots

from ..moving_trees import Smooth, evaluated, free_acceleration, moved, moving_trees, planar_chain

seeds = st.integers(0, 2**30)
# Forces of the random trees reach a few hundred newton; this is rounding of sums of them.
ROUNDING = 1e-10


def random_transform(d: Evaluation, rng: np.random.Generator) -> DecouplingTransform:
    x, y = Smooth(d.model.b, d.model.n, rng), Smooth(d.model.n, d.model.n, rng)
    return DecouplingTransform(d, x(d), y(d), x.rate(d), y.rate(d))


def size(matrix: np.ndarray) -> float:
    return float(np.abs(matrix).max(initial=0.0))


@given(moving_trees, seeds)
@settings(max_examples=40, deadline=None)
def test_hamel_and_euler_newton_give_the_forces_of_the_recursive_algorithm(
    model: VMSModel, seed: int
) -> None:
    """[B, proposition 3.1.1]."""
    d, _ = evaluated(model, seed)
    bodies, m = BodyCoriolis(d), model.pinocchio
    m.gravity.setZero()
    expected = pin.nonLinearEffects(m, m.createData(), d.q, d.v)
    for matrix in (d.C_hamel, bodies.newton_euler, bodies.passive, d.C):
        assert size(matrix @ d.v - expected) < ROUNDING * max(1.0, size(expected))
    assert size(bodies.passivity @ d.v) < ROUNDING * max(1.0, size(expected))


@given(moving_trees, seeds)
@settings(max_examples=40, deadline=None)
def test_only_the_passive_matrix_splits_the_rate_of_the_inertia(model: VMSModel, seed: int) -> None:
    d, _ = evaluated(model, seed)
    rate, passive = mass_rate(d), BodyCoriolis(d).passive
    assert size(rate - passive - passive.T) < ROUNDING * max(1.0, size(rate))
    hamel = d.C_hamel
    assert size(rate - hamel - hamel.T) > 1e-6 * size(rate)


@given(moving_trees, seeds)
@settings(max_examples=40, deadline=None)
def test_any_transform_decouples_the_hamel_equations(model: VMSModel, seed: int) -> None:
    """[B, proposition 3.3.1]."""
    d, rng = evaluated(model, seed)
    t = random_transform(d, rng)
    hamel = d.C_hamel
    made = t.dynamics(hamel)
    # The rule of transformation itself [B (3.77)], without the blocks.
    mass = t.inverse.T @ d.M @ t.inverse
    whole = t.inverse.T @ hamel @ t.inverse - mass @ t.rate @ t.inverse
    scale = max(1.0, size(whole))
    assert size(made.M - mass) < ROUNDING * max(1.0, size(mass))
    assert size(made.C - whole) < ROUNDING * scale
    assert size(made.C_xy) < ROUNDING * scale


@given(moving_trees, seeds)
@settings(max_examples=40, deadline=None)
def test_a_passive_matrix_stays_coupled_and_skew_across(model: VMSModel, seed: int) -> None:
    """[B, proposition 3.3.2 and (3.86)]; (3.84) prints C_xy^T for its negative."""
    d, rng = evaluated(model, seed)
    t, bodies, b = random_transform(d, rng), BodyCoriolis(d), model.b
    made = t.dynamics(bodies.passive)
    k = bodies.passivity
    inner = k[:b, b:] - k[:b, :b] @ d.A
    printed = np.linalg.solve(t.T_x.T, inner) @ np.linalg.inv(t.T_y)
    scale = max(1.0, size(made.C))
    assert size(made.C_xy - printed) < ROUNDING * scale
    assert size(made.C_yx + made.C_xy.T) < ROUNDING * scale


def test_the_passive_matrix_of_a_floating_arm_is_far_from_decoupled(
    rng: np.random.Generator,
) -> None:
    model = VMSModel.from_urdf(robots.get("panda").description(), "floating")
    d = model.evaluate(model.random_configuration(rng), rng.uniform(-1, 1, model.nv))
    transform = momentum_map(d, centre_of_mass_frame(d))
    assert size(transform.dynamics(BodyCoriolis(d).passive).C_xy) > 1e-3
    assert size(transform.dynamics(d.C_hamel).C_xy) < ROUNDING


@given(moving_trees, seeds)
@settings(max_examples=40, deadline=None)
def test_a_momentum_map_of_a_conserved_momentum_is_invariant(model: VMSModel, seed: int) -> None:
    """[B (3.85)] for both Coriolis matrices; C_x alone vanishes for the inertial frame only."""
    d, _ = evaluated(model, seed)
    for frame in (inertial_frame(d), centre_of_mass_frame(d, "inertial")):
        t = momentum_map(d, frame)
        # v_x is the momentum in the frame.
        assert size(t.velocity[: model.b] - frame.momentum(d)) < 1e-9 * max(1.0, size(d.p))
        for matrix in (d.C_hamel, BodyCoriolis(d).passive):
            made = t.dynamics(matrix)
            drift = made.C_x @ t.velocity[: model.b] + made.C_xy @ t.velocity[model.b :]
            assert size(drift) < ROUNDING * max(1.0, size(made.C_x)) * max(1.0, size(t.velocity))
    hamel = d.C_hamel
    assert size(momentum_map(d, inertial_frame(d)).dynamics(hamel).C_x) < ROUNDING
    assert size(momentum_map(d, centre_of_mass_frame(d)).dynamics(hamel).C_x) > 1e-6


@given(moving_trees, seeds)
@settings(max_examples=25, deadline=None)
def test_the_transformed_equations_predict_the_transformed_motion(
    model: VMSModel, seed: int
) -> None:
    d, rng = evaluated(model, seed)
    x, y = Smooth(model.b, model.n, rng), Smooth(model.n, model.n, rng)
    force = rng.uniform(-5, 5, model.nv)
    acceleration = free_acceleration(d, force)

    def transform(state: Evaluation) -> DecouplingTransform:
        return DecouplingTransform(state, x(state), y(state), x.rate(state), y.rate(state))

    h = 1e-5
    later, sooner = (transform(moved(d, acceleration, s * h)).velocity for s in (1.0, -1.0))
    t = transform(d)
    for matrix in (d.C_hamel, BodyCoriolis(d).passive):
        made = t.dynamics(matrix)
        predicted = np.linalg.solve(made.M, t.force(force) - made.C @ t.velocity)
        error = predicted - (later - sooner) / (2 * h)
        # Central differences of step 1e-5: h^2 times third derivatives, and rounding over h, both
        # of the size of accelerations, which light last links make large.
        assert size(error) < 1e-6 * max(1.0, size(acceleration)) ** 2


def test_a_robot_that_stays_in_the_plane_is_decoupled_too(rng: np.random.Generator) -> None:
    for joints in (1, 2, 4):
        model = planar_chain(joints, rng)
        d = model.evaluate(model.random_configuration(rng), rng.uniform(-1, 1, model.nv))
        t = random_transform(d, rng)
        assert size(t.dynamics(d.C_hamel).C_xy) < 1e-12
        assert size(t.inverse @ t.matrix - np.eye(model.nv)) < 1e-12
        velocity = external_velocity(d, inertial_frame(d)).velocity[:3]
        assert size(inertial_frame(d).A @ d.v_hat - velocity) < 1e-12


def test_a_force_on_the_joints_does_not_reach_the_first_half(rng: np.random.Generator) -> None:
    model = planar_chain(3, rng)
    d = model.evaluate(model.random_configuration(rng), rng.uniform(-1, 1, model.nv))
    t = random_transform(d, rng)
    torque = np.concatenate([np.zeros(3), rng.uniform(-5, 5, 3)])
    assert size(t.force(torque)[:3]) < 1e-14
    assert t.force(torque) @ t.velocity == pytest.approx(torque @ d.v, abs=1e-12)


def test_what_cannot_be_decoupled_is_refused_in_words(rng: np.random.Generator) -> None:
    fixed = robots.load("panda")
    with pytest.raises(ModelError, match="has a fixed base: load it with base='planar'"):
        _ = fixed.evaluate(fixed.neutral_configuration(), np.zeros(7)).C_hamel
    wet = robots.load("bluerov2_alpha5")
    with pytest.raises(ModelError, match="is in a fluid"):
        BodyCoriolis(wet.evaluate(wet.neutral_configuration(), np.zeros(wet.nv)))
    model = planar_chain(2, rng)
    d = model.evaluate(model.neutral_configuration(), np.zeros(5))
    at_rest = fixed.evaluate(fixed.neutral_configuration(), np.zeros(7))
    for needs_centre in (centre_of_mass, centre_of_mass_frame):
        with pytest.raises(ModelError, match="has a fixed base"):
            needs_centre(at_rest)
    for needs_pose in (base_pose, inertial_frame):
        with pytest.raises(ModelError, match=r"only a planar or floating base .* given: 'fixed'"):
            needs_pose(at_rest)
    with pytest.raises(ModelError, match="has a fixed base"):
        momentum_map(at_rest, inertial_frame(d))
    with pytest.raises(StateError, match=r"T_y must be a finite matrix of shape \(2, 2\)"):
        DecouplingTransform(d, T_y=np.eye(3))
    with pytest.raises(StateError, match="T_x is singular"):
        DecouplingTransform(d, T_x=np.zeros((3, 3)))

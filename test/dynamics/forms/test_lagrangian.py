# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The Lagrangian counterparts of the decoupled form [A, section 6], and what A prints wrongly.

Accelerations are Pinocchio's ABA; derivatives along the joints and along the motion are central
differences of the mass matrix. Each misprint has a test in which the printed line fails on a robot
on a moving base and the corrected one holds.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pinocchio as pin
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vms_ph_dynamics import CanonicalForm, DecoupledForm, Evaluation, Ports, StandardForm, VMSModel
from vms_ph_dynamics.forms import DecoupledEvaluation
from vms_ph_dynamics.groups import SE2, SE3, Group
from vms_ph_io import robots
from vms_ph_studies.reproduce.lagrangian import (
    HamelCoefficients,
    LockedAcceleration,
    ReducedEulerLagrange,
    boltzmann_hamel_forces,
    structure_constants,
)

from ..conftest import random_tree, state_of

trees = st.integers(0, 2**31).map(random_tree)
seeds = st.integers(0, 2**31)
# A central difference errs by about STEP^2 and by rounding over STEP, both 1e-10 of what is taken
# the difference of; 1e-7 leaves room for long sums.
STEP, DIFFERENCE = 1e-5, 1e-7
# How far a misprint must be off, relative to the right value.
WRONG = 1e-2


class Motion(NamedTuple):
    """A robot at a state under known forces, with its acceleration from ABA."""

    model: VMSModel
    d: Evaluation
    t: DecoupledEvaluation
    force: np.ndarray
    acceleration: np.ndarray

    @property
    def rates(self) -> np.ndarray:
        return self.d.v[self.model.b :]

    @property
    def locked(self) -> LockedAcceleration:
        """v_hat_dot = vdot + A qddot + Adot qdot, with Adot from a difference of A."""
        b = self.model.b
        qddot = self.acceleration[b:]
        a_rate = along_the_motion(self.d, lambda d: d.A)
        v_hat_dot = self.acceleration[:b] + self.d.A @ qddot + a_rate @ self.rates
        return LockedAcceleration(v_hat_dot, qddot)

    @property
    def transformed(self) -> np.ndarray:
        """The forces (w_hat, tau_hat) of (73), (nv,)."""
        w, tau = np.split(self.force, [self.model.b])
        return np.concatenate([w, tau - self.d.A.T @ w])


def motion_of(model: VMSModel, rng: np.random.Generator) -> Motion:
    q, v = state_of(model, rng)
    d = model.evaluate(q, v)
    force = rng.uniform(-10, 10, model.nv)
    # ABA knows the robot's own gravity; the forces here hold everything, gravity included.
    acceleration = pin.aba(model.pinocchio, model.pinocchio.createData(), q, v, force + d.g)
    return Motion(model, d, DecoupledEvaluation(d), force, acceleration)


def along_the_motion(d: Evaluation, term: Callable[[Evaluation], np.ndarray]) -> np.ndarray:
    ahead, behind = (
        term(d.model.evaluate(d.model.integrate(d.q, s * d.v), d.v)) for s in (STEP, -STEP)
    )
    return (ahead - behind) / (2 * STEP)


def along_the_joints(d: Evaluation, term: Callable[[Evaluation], np.ndarray]) -> np.ndarray:
    """The derivatives of a term of q along every joint, stacked first."""
    model, slopes = d.model, []
    for e in np.eye(model.nv)[model.b :]:
        ahead, behind = (
            term(model.evaluate(model.integrate(d.q, s * e), d.v)) for s in (STEP, -STEP)
        )
        slopes.append((ahead - behind) / (2 * STEP))
    return np.stack(slopes)


def agree(found: np.ndarray, expected: np.ndarray, tolerance: float = 1e-10) -> None:
    """Agreement relative to the largest entry; 1e-10 is rounding through an inverse or two."""
    scale = max(1.0, np.abs(expected).max(initial=0.0))
    np.testing.assert_allclose(found, expected, atol=tolerance * scale)


def differs(printed: np.ndarray, right: np.ndarray) -> None:
    assert np.abs(printed - right).max() > WRONG * np.abs(right).max()


@pytest.fixture(params=["planar", "floating"])
def moving(request: pytest.FixtureRequest, rng: np.random.Generator) -> Motion:
    xml = robots.get("panda").description()
    return motion_of(VMSModel.from_urdf(xml, request.param, "panda_link8"), rng)


@given(trees, seeds)
@settings(max_examples=20, deadline=None)
def test_the_reduced_euler_lagrange_equations_accelerate_as_aba(tree: VMSModel, seed: int) -> None:
    m = motion_of(tree, np.random.default_rng(seed))
    w, tau = np.split(m.force, [tree.b])
    found = ReducedEulerLagrange(m.t).acceleration(w, tau)
    agree(found.qddot, m.acceleration[tree.b :])
    agree(found.v_hat_dot, m.locked.v_hat_dot, DIFFERENCE)


@given(trees, seeds)
@settings(max_examples=20, deadline=None)
def test_the_reduced_euler_lagrange_equations_are_the_decoupled_form(
    tree: VMSModel, seed: int
) -> None:
    # Prop. 6.3, with (109) and (110): no difference in between.
    m, b = motion_of(tree, np.random.default_rng(seed)), tree.b
    w, tau = np.split(m.force, [b])
    found = ReducedEulerLagrange(m.t).acceleration(w, tau)
    mass_rate = np.einsum("kij,k->ij", m.d.dM[:, :b, :b], m.rates)
    shape_rate = np.einsum("kij,k->ij", m.t.dM_hat_m, m.rates)
    pdot = mass_rate @ m.d.v_hat + m.d.M_b @ found.v_hat_dot
    pi_hat_dot = shape_rate @ m.rates + m.d.M_hat_m @ found.qddot
    form = DecoupledForm(tree)
    rate = form.rate(form.state(m.d.q, m.d.v), Ports(tau, w, gravity=False))
    agree(np.concatenate([pdot, pi_hat_dot]), rate.zdot)


@given(trees, seeds)
@settings(max_examples=20, deadline=None)
def test_what_the_coriolis_matrices_of_the_reduced_equations_do_not_store_is_skew(
    tree: VMSModel, seed: int
) -> None:
    m = motion_of(tree, np.random.default_rng(seed))
    e = ReducedEulerLagrange(m.t)
    mass_rate = along_the_motion(m.d, lambda d: ReducedEulerLagrange(DecoupledEvaluation(d)).M_hat)
    gyroscopic = mass_rate - 2 * e.C1_hat
    agree(gyroscopic, -gyroscopic.T, DIFFERENCE)
    agree(e.C2_hat, -e.C2_hat.T, 1e-13)


@given(trees, seeds)
@settings(max_examples=20, deadline=None)
def test_the_rates_and_gradients_of_the_inertias_are_those_of_lemma_6_1(
    tree: VMSModel, seed: int
) -> None:
    m = motion_of(tree, np.random.default_rng(seed))
    d, t, rates = m.d, m.t, m.rates
    mass_rate = along_the_motion(d, lambda d: d.M_b)
    shape_rate = along_the_motion(d, lambda d: d.M_hat_m)
    agree((t.C_hat_m + t.C_hat_m.T) @ rates, shape_rate @ rates, DIFFERENCE)  # (74)
    by_shape = along_the_joints(d, lambda x: rates @ x.M_hat_m @ rates)
    agree(2 * t.C_hat_m.T @ rates, by_shape, DIFFERENCE)  # (75)
    agree(t.E_b @ rates + t.P_b @ d.v_hat, mass_rate @ d.v_hat, DIFFERENCE)  # (76)
    by_base = along_the_joints(d, lambda x: d.v_hat @ x.M_b @ d.v_hat)
    agree(2 * t.E_b.T @ d.v_hat, by_base, DIFFERENCE)  # (77)
    slopes = along_the_joints(d, lambda x: x.M_b)
    agree(t.E_b, 0.5 * (slopes @ d.v_hat).T, DIFFERENCE)  # (78)
    agree(t.P_b, 0.5 * np.einsum("kij,k->ij", slopes, rates), DIFFERENCE)  # (79)
    k = along_the_joints(d, lambda x: x.M_hat_m)
    christoffel = 0.5 * (
        np.einsum("kij,k->ij", k, rates)
        + np.einsum("jik,k->ij", k, rates)
        - np.einsum("ijk,k->ij", k, rates)
    )
    agree(t.C_hat_m, christoffel, DIFFERENCE)  # (80)


@given(trees, seeds)
@settings(max_examples=20, deadline=None)
def test_the_gradients_in_momenta_are_those_in_velocities(tree: VMSModel, seed: int) -> None:
    m = motion_of(tree, np.random.default_rng(seed))
    d, t, b = m.d, m.t, tree.b
    agree(t.N_b.T @ d.p, -t.E_b.T @ d.v_hat)
    agree(t.N_hat_m.T @ d.pi_hat, -t.C_hat_m.T @ m.rates)
    form = DecoupledForm(tree)
    by_p, by_q, by_pi = np.split(form.gradient(form.state(d.q, d.v)), [b, b + tree.n])
    agree(by_p, d.v_hat)  # (61), (82)
    agree(by_q, t.N_b.T @ d.p + t.N_hat_m.T @ d.pi_hat)  # (62)
    agree(by_q, -t.E_b.T @ d.v_hat - t.C_hat_m.T @ m.rates)  # (83)
    agree(by_pi, m.rates)  # (63), (84)
    # (64), (65) by differences of the inverses.
    inverse = along_the_joints(d, lambda x: np.linalg.inv(x.M_b))
    agree(t.N_b, 0.5 * (inverse @ d.p).T, DIFFERENCE)
    inverse = along_the_joints(d, lambda x: np.linalg.inv(x.M_hat_m))
    agree(t.N_hat_m, 0.5 * (inverse @ d.pi_hat).T, DIFFERENCE)


@given(trees, seeds)
@settings(max_examples=20, deadline=None)
def test_velocities_and_gradients_change_coordinates_as_dual_to_each_other(
    tree: VMSModel, seed: int
) -> None:
    m, b, n = motion_of(tree, np.random.default_rng(seed)), tree.b, tree.n
    psi = np.block([[np.eye(b), m.d.A], [np.zeros((n, b)), np.eye(n)]])
    e = ReducedEulerLagrange(m.t)
    agree(psi.T @ e.M_hat @ psi, m.d.M, 1e-12)  # (103), (105)
    agree(np.linalg.solve(psi.T, m.d.momentum), np.concatenate([m.d.p, m.d.pi_hat]))  # (104)
    standard, decoupled = StandardForm(tree), DecoupledForm(tree)
    by_x = standard.gradient(standard.state(m.d.q, m.d.v))
    by_x_hat = decoupled.gradient(decoupled.state(m.d.q, m.d.v))
    agree(m.t.Phi.T @ by_x_hat, by_x)  # (107)


@given(trees, seeds)
@settings(max_examples=15, deadline=None)
def test_the_boltzmann_hamel_equations_ask_for_the_forces_that_act(
    tree: VMSModel, seed: int
) -> None:
    m = motion_of(tree, np.random.default_rng(seed))
    agree(boltzmann_hamel_forces(m.t, m.locked), m.transformed, DIFFERENCE)
    # Without the difference in between: the acceleration of (85).
    reduced = ReducedEulerLagrange(m.t).acceleration(*np.split(m.force, [tree.b]))
    agree(boltzmann_hamel_forces(m.t, reduced), m.transformed)


@given(trees, seeds)
@settings(max_examples=20, deadline=None)
def test_b_is_the_curvature_of_the_connection_paired_with_the_momentum(
    tree: VMSModel, seed: int
) -> None:
    m, b = motion_of(tree, np.random.default_rng(seed)), tree.b
    d, t = m.d, m.t
    slope = along_the_joints(d, lambda x: x.A).reshape(tree.n, b, tree.n)
    agree(t.dA, slope, DIFFERENCE)
    group = {"planar": SE2(), "floating": SE3()}.get(tree.base)
    curvature = np.zeros((tree.n, tree.n))
    for i in range(tree.n):
        for j in range(tree.n):
            bracket = group.ad(d.A[:, i]) @ d.A[:, j] if group else np.zeros(0)
            curvature[i, j] = d.p @ (slope[j, :, i] - slope[i, :, j] + bracket)
    agree(t.B, curvature, DIFFERENCE)
    agree(np.einsum("kij,k->ij", HamelCoefficients(t).shape, d.p), t.B)
    agree(t.B, -t.B.T, 1e-13)


@pytest.mark.parametrize(("base", "group"), [("planar", SE2()), ("floating", SE3())])
def test_the_structure_constants_are_the_brackets_of_the_base(
    base: str, group: Group, rng: np.random.Generator
) -> None:
    model = VMSModel.from_urdf(robots.get("panda").description(), base)
    c, basis = structure_constants(model), np.eye(group.dimension)
    for i, x in enumerate(map(group.hat, basis)):
        for j, y in enumerate(map(group.hat, basis)):
            np.testing.assert_array_equal(group.vee(x @ y - y @ x), c[:, i, j])
    np.testing.assert_array_equal(c, -c.transpose(0, 2, 1))
    form, p = StandardForm(model), rng.normal(size=model.b)
    x = form.state(model.neutral_configuration(), np.zeros(model.nv))
    z = np.concatenate([p, np.zeros(model.n)])
    poisson = form.interconnection(type(x)(x.q, z))[: model.b, : model.b]
    np.testing.assert_allclose(poisson, -np.einsum("kij,k->ij", c, p), atol=1e-15)  # (117)


def test_a_fixed_base_has_no_structure_constants_and_no_curvature(rng: np.random.Generator) -> None:
    model = robots.load("panda")
    m = motion_of(model, rng)
    assert structure_constants(model).shape == (0, 0, 0)
    np.testing.assert_array_equal(m.t.B, np.zeros((7, 7)))
    np.testing.assert_array_equal(HamelCoefficients(m.t).shape, np.zeros((0, 7, 7)))


def test_the_shape_accelerates_with_plus_the_gradient_of_the_locked_energy(moving: Motion) -> None:
    # (114) prints -E_b^T v_hat; (113), from which it comes, has the plus.
    d, t, rates = moving.d, moving.t, moving.rates
    others = (
        -t.C_hat_m @ rates
        - d.A.T @ t.coadjoint_matrix @ d.v_hat
        - t.B @ rates
        + moving.transformed[moving.model.b :]
    )
    found = d.M_hat_m @ moving.acceleration[moving.model.b :]
    agree(others + t.E_b.T @ d.v_hat, found)
    differs(others - t.E_b.T @ d.v_hat, found)


def test_the_rate_of_the_shape_inertia_is_not_that_of_the_arm_inertia(moving: Motion) -> None:
    # (74) prints Mdot_m; it holds for Mdot_hat_m, which is another matrix on a moving base.
    t, rates = moving.t, moving.rates
    by_christoffel = (t.C_hat_m + t.C_hat_m.T) @ rates
    agree(by_christoffel, along_the_motion(moving.d, lambda d: d.M_hat_m) @ rates, DIFFERENCE)
    differs(by_christoffel, along_the_motion(moving.d, lambda d: d.M_m) @ rates)


def test_the_gradients_of_the_inverse_inertias_are_twice_what_d_1_prints(moving: Motion) -> None:
    # D.1, after (106): N carries the half of the energy, so the quadratic forms have gradient 2 N.
    d, t = moving.d, moving.t
    by_base = along_the_joints(d, lambda x: d.p @ np.linalg.inv(x.M_b) @ d.p)
    agree(2 * t.N_b.T @ d.p, by_base, DIFFERENCE)
    differs(t.N_b.T @ d.p, by_base)
    by_shape = along_the_joints(d, lambda x: d.pi_hat @ np.linalg.inv(x.M_hat_m) @ d.pi_hat)
    agree(2 * t.N_hat_m.T @ d.pi_hat, by_shape, DIFFERENCE)
    differs(t.N_hat_m.T @ d.pi_hat, by_shape)


def test_the_columns_of_l_run_over_all_joints(moving: Motion) -> None:
    # (58) prints the derivative along q_2 in the last column.
    d, t = moving.d, moving.t
    slopes = along_the_joints(d, lambda x: x.A.T @ d.p)
    agree(t.L, slopes.T, DIFFERENCE)
    differs(slopes[1], t.L[:, -1])


def test_a_symmetric_coupling_makes_power_whose_sign_is_that_of_the_motion(moving: Motion) -> None:
    # A, section 7, on the missing minus of other authors: the symmetric form is wrong indeed, but
    # its power is not "always positive or always negative": it is odd in the velocity.
    d = moving.d

    def power(v: np.ndarray) -> float:
        t = DecoupledEvaluation(d.model.evaluate(d.q, v))
        rates = v[d.model.b :]
        return float(2 * t.d.v_hat @ t.E_b @ rates)

    assert abs(power(d.v)) > 1e-3
    assert power(-d.v) == pytest.approx(-power(d.v), rel=1e-12)


def test_a_tool_wrench_acts_on_the_base_as_well(moving: Motion) -> None:
    # Theorem 5.2 takes the base wrench of (41), in which the wrench on the end effector is missing.
    model, d, b = moving.model, moving.d, moving.model.b
    wrench = np.array([3.0, -2.0, 1.0, 0.5, -0.4, 0.3])
    force = moving.force + d.J_end_effector.T @ wrench
    expected = pin.aba(model.pinocchio, model.pinocchio.createData(), d.q, d.v, force + d.g)
    w, tau = np.split(moving.force, [b])
    form = StandardForm(model)
    rate = form.rate(form.state(d.q, d.v), Ports(tau, w, wrench, gravity=False))
    found = np.linalg.solve(d.M, rate.zdot - (d.C + d.C.T) @ d.v)
    agree(found, expected)
    on_joints_only = rate.zdot - np.concatenate([d.J_end_effector[:, :b].T @ wrench, 0 * tau])
    differs(np.linalg.solve(d.M, on_joints_only - (d.C + d.C.T) @ d.v), expected)


def test_gravity_on_the_base_is_that_of_the_whole_system(moving: Motion) -> None:
    # Theorem 5.2 takes (31) and (41), with the potentials of arm and base alone; V(h, q) is one
    # function of both, and pulls the base down with the weight of the arm too.
    model, d = moving.model, moving.d
    units = np.eye(model.nv)

    def potential(dq: np.ndarray) -> float:
        return model.evaluate(model.integrate(d.q, dq), d.v).potential_energy

    gradient = [(potential(STEP * e) - potential(-STEP * e)) / (2 * STEP) for e in units]
    agree(np.array(gradient), d.g, DIFFERENCE)
    if model.base == "floating":
        base_mass = model.pinocchio.inertias[1].mass
        weight = np.linalg.norm(d.g[:3])
        assert weight == pytest.approx(9.81 * model.total_mass)
        assert weight > 1.5 * 9.81 * base_mass


def test_the_momentum_of_an_arm_grows_with_plus_its_transposed_coriolis_matrix(
    rng: np.random.Generator,
) -> None:
    # The proof of Prop. 3.2 prints pidot = -C_m^T qdot + ..., against (23), (26) and its own (32).
    model = robots.load("panda")
    m = motion_of(model, rng)
    d = m.d
    expected = d.M @ m.acceleration + along_the_motion(d, lambda x: x.M) @ d.v
    agree(d.C.T @ d.v + m.force, expected, DIFFERENCE)
    differs(-d.C.T @ d.v + m.force, expected)
    form = CanonicalForm(model)
    rate = form.rate(form.state(d.q, d.v), Ports(m.force, gravity=False))
    agree(rate.zdot, d.C.T @ d.v + m.force, 1e-12)

# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The task-space form with every kind of task on every base: the identities of source D."""

from functools import cache

import numpy as np
import pytest

from vms_ph_dynamics import Ports, StandardForm, TaskSpaceForm
from vms_ph_dynamics.forms.standard import coadjoint_matrix

from ..tasks.task_cases import (
    CASES,
    MODELS,
    TASKS,
    derivative,
    forward_dynamics,
    nearby,
    regular_state,
)


class Case:
    """A random regular state of a robot with a task, and random forces."""

    def __init__(self, robot: str, kind: str, rng: np.random.Generator) -> None:
        self.model = model = MODELS[robot]()
        task = TASKS[kind](model)
        self.q, self.v = regular_state(model, task, rng, 0.03)
        at = nearby(model, self.q, rng)
        self.form = TaskSpaceForm(model, task, reference=at, singular_below=0.02)
        self.t = self.form.evaluate(self.q, self.v)
        # Large entries of the inverse take their share of the digits.
        self.size = max(1.0, np.abs(self.t.J_bar_inverse).max() * np.abs(self.t.J_bar).max())
        self.force = rng.uniform(-5, 5, model.nv)
        base = self.force[: model.b] if model.b else None
        self.ports = Ports(self.force[model.b :], base, drag=False)


@cache
def case_of(robot: str, kind: str) -> Case:
    return Case(robot, kind, np.random.default_rng(20))


@pytest.fixture(params=CASES, ids=lambda pair: "-".join(pair))
def case(request: pytest.FixtureRequest) -> Case:
    return case_of(*request.param)


def test_the_extended_jacobian_inverts_and_decouples_the_inertia(case: Case) -> None:
    t, nv = case.t, case.model.nv
    tolerance = 1e-10 * case.size
    np.testing.assert_allclose(t.J_bar @ t.J_bar_inverse, np.eye(nv), atol=tolerance)
    np.testing.assert_allclose(t.J_bar_inverse @ t.J_bar, np.eye(nv), atol=tolerance)
    inverse = t.J_bar_inverse
    inertia = inverse.T @ t.d.M @ inverse
    scale = np.abs(t.Lambda_bar).max()
    np.testing.assert_allclose(inertia, t.Lambda_bar, atol=1e-10 * scale * case.size)
    pi_e = np.concatenate([t.pi, t.pi_nu])
    np.testing.assert_allclose(pi_e, inverse.T @ t.d.momentum, atol=1e-10 * scale * case.size)
    assert t.kinetic_task + t.kinetic_null == pytest.approx(t.d.kinetic_energy, rel=1e-10)


def test_velocities_and_forces_split_without_mixed_power(case: Case) -> None:
    t, v, force = case.t, case.v, case.force
    along, null = t.P @ v, v - t.P @ v
    of_task, rest = t.P.T @ force, force - t.P.T @ force
    bound = 1e-10 * case.size * max(1.0, np.abs(force).max())
    np.testing.assert_allclose(t.P @ t.P, t.P, atol=1e-10 * case.size**2)
    np.testing.assert_allclose(null, t.Z.T @ t.nu, atol=bound)
    # (22): the power is that of the two parts, (30): also at the ports; Remark 2: for any metric.
    assert abs(of_task @ null) < bound
    assert abs(rest @ along) < bound
    power = t.power(force)
    assert power.task == pytest.approx(of_task @ along, abs=bound)
    assert power.null_space == pytest.approx(rest @ null, abs=bound)
    assert power.task + power.null_space == pytest.approx(force @ v, abs=bound)
    np.testing.assert_allclose(np.linalg.solve(t.d.M, rest) @ t.J.T, 0.0, atol=bound)


def test_a_task_force_does_no_work_in_the_null_space_whatever_the_metric(
    case: Case, rng: np.random.Generator
) -> None:
    # Remark 2: the null-space velocity of a metric that is not the inertia.
    t, nv = case.t, case.model.nv
    root = rng.normal(size=(nv, nv))
    metric = root @ root.T + np.eye(nv)
    n = np.linalg.solve(t.Z @ metric @ t.Z.T, t.Z @ metric)
    null = t.Z.T @ n @ case.v
    of_task = t.J.T @ rng.uniform(-5, 5, len(t.J))
    assert abs(of_task @ null) < 1e-10 * case.size


def test_the_structure_matrix_is_skew_and_gives_the_rate(case: Case) -> None:
    t, nv = case.t, case.model.nv
    np.testing.assert_allclose(t.J_z, -t.J_z.T, atol=0.0)
    x = case.form.state(case.q, case.v)
    gradient = case.form.gradient(x)
    force = case.ports.force(t.d)
    rate = case.form.rate(x, case.ports)
    by_matrices = t.J_z @ gradient + case.form.input_map(x) @ force
    scale = max(1.0, np.abs(rate.zdot).max()) * case.size
    np.testing.assert_allclose(rate.zdot, by_matrices[nv:], atol=1e-10 * scale)
    np.testing.assert_allclose(rate.qdot, by_matrices[:nv], atol=1e-10 * case.size)
    # The product that needs no matrix agrees with the matrix.
    np.testing.assert_allclose(t.coupling.E_v, t.coupling.E @ case.v, atol=1e-11 * scale)


def test_the_gradient_is_that_of_the_energy_at_fixed_momenta(case: Case) -> None:
    x = case.form.state(case.q, case.v)
    gradient = case.form.gradient(x)[: case.model.nv]

    def energy(dq: np.ndarray) -> np.ndarray:
        t = case.form.evaluate(case.model.integrate(case.q, dq), 0.0 * case.v)
        return 0.5 * x.z @ np.linalg.solve(t.Lambda_bar, x.z)

    slope = [derivative(lambda s, u=u: energy(s * u)) for u in np.eye(case.model.nv)]
    np.testing.assert_allclose(gradient, slope, atol=1e-10 * max(1.0, np.abs(slope).max()))


def test_the_rate_is_that_of_the_momenta_along_the_true_motion(case: Case) -> None:
    model, form = case.model, case.form
    x = form.state(case.q, case.v)
    rate = form.rate(x, case.ports)
    if model.is_plain:
        acceleration = forward_dynamics(model, case.q, case.v, case.force)
    else:
        d = model.evaluate(case.q, case.v)
        canonical = StandardForm(model).rate(StandardForm(model).state(case.q, case.v), case.ports)
        mass_rate = d.C + d.C.T
        acceleration = np.linalg.solve(d.M, canonical.zdot - mass_rate @ case.v)

    def momenta(s: float) -> np.ndarray:
        return form.state(model.integrate(case.q, s * case.v), case.v + s * acceleration).z

    scale = max(1.0, np.abs(rate.zdot).max())
    along = derivative(momenta)
    np.testing.assert_allclose(rate.zdot, along, atol=1e-10 * scale)


def test_khatibs_task_dynamics_are_the_same_motion(case: Case) -> None:
    t, model = case.t, case.model
    x = case.form.state(case.q, case.v)
    zdot = case.form.rate(x, case.ports).zdot
    d = t.d
    bias = t.J_sharp.T @ (d.C @ d.v) - t.Lambda_t @ (t.regular.rate(t.task.jacobian_rate(d)) @ d.v)
    mass_rate = d.C + d.C.T
    momentum_rate = StandardForm(model).rate_arrays(case.q, d.momentum, case.ports)[1]
    acceleration = np.linalg.solve(d.M, momentum_rate - mass_rate @ case.v)
    eta_dot = t.J @ acceleration + t.task.jacobian_rate(d) @ case.v
    left = t.Lambda_t @ eta_dot + bias + t.J_sharp.T @ d.g
    scale = max(1.0, np.abs(zdot).max()) * case.size
    np.testing.assert_allclose(left, t.sigma(case.force), atol=1e-10 * scale)


def test_the_energy_that_null_space_and_task_exchange_is_what_one_loses_and_the_other_gains(
    case: Case,
) -> None:
    # Free motion: no force but what cancels gravity.
    form, model = case.form, case.model
    gravity = case.t.d.g
    free = Ports(gravity[model.b :], gravity[: model.b] if model.b else None, drag=False)
    x = form.state(case.q, case.v)
    rate = form.rate(x, free)
    v_dot = np.linalg.solve(
        case.t.d.M,
        StandardForm(model).rate_arrays(case.q, case.t.d.momentum, free)[1]
        - (case.t.d.C + case.t.d.C.T) @ case.v,
    )

    def energies(s: float) -> np.ndarray:
        t = form.evaluate(model.integrate(case.q, s * rate.qdot), case.v + s * v_dot)
        return np.array([t.kinetic_task, t.kinetic_null])

    gain, loss = derivative(energies)
    scale = max(1.0, abs(gain)) * case.size
    assert case.t.coupling.exchange == pytest.approx(gain, abs=1e-10 * scale)
    assert loss == pytest.approx(-gain, abs=1e-10 * scale)


def test_the_exchange_does_not_depend_on_the_basis_but_its_share_through_G_12_does(
    rng: np.random.Generator,
) -> None:
    case = Case("panda", "position", rng)
    other = TaskSpaceForm(case.model, case.form.task, reference=nearby(case.model, case.q, rng))
    t = other.evaluate(case.q, case.v)
    assert t.coupling.exchange == pytest.approx(case.t.coupling.exchange, rel=1e-11)
    assert t.coupling.exchange_through_G_12 != pytest.approx(
        case.t.coupling.exchange_through_G_12, rel=1e-3
    )


def test_the_power_at_the_ports_is_the_rate_of_the_energy(case: Case) -> None:
    x = case.form.state(case.q, case.v)
    power = case.form.task_power(x, case.ports)
    balance = case.form.power_balance(x, case.ports)
    bound = 1e-10 * max(1.0, abs(balance.stored)) * case.size
    assert power.task + power.null_space == pytest.approx(balance.stored, abs=bound)
    assert abs(balance.residual) < bound


def test_a_moving_base_adds_its_lie_poisson_structure(rng: np.random.Generator) -> None:
    case = Case("floating panda", "pose", rng)
    t = case.t
    product = t.coupling.E @ t.J_bar_inverse
    without = product - product.T
    block = np.zeros((13, 13))
    block[:6, :6] = coadjoint_matrix(case.model, t.d.p)
    np.testing.assert_allclose(
        t.G - without, t.J_bar_inverse.T @ block @ t.J_bar_inverse, atol=1e-10 * case.size
    )
    assert np.abs(t.G - without).max() > 1.0

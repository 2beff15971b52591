# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The linear dynamics around a state, against the forms' own rates."""

from collections.abc import Callable

import numpy as np
import pinocchio as pin
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.linalg import expm

from vms_ph_dynamics import ModelError, StateError, VMSModel
from vms_ph_dynamics.actuation.friction import Friction
from vms_ph_dynamics.forms import DecoupledForm, Form, PHState, Ports, StandardForm
from vms_ph_dynamics.forms.linearization import linearize
from vms_ph_dynamics.forms.task_space import TaskSpaceForm
from vms_ph_dynamics.groups import SE2, SE3
from vms_ph_dynamics.tasks import PositionTask
from vms_ph_io import robots

from ..conftest import random_tree, state_of

trees = st.integers(0, 2**31).map(random_tree)
seeds = st.integers(0, 2**31)
# A central difference errs by STEP^2 times a third derivative, and by the rounding of the
# acceleration, some 1e-13 of it through the inverse of M, over STEP: 1e-8 for either.
STEP, DIFFERENCE = 1e-5, 1e-6


def acceleration(form: Form, q: np.ndarray, v: np.ndarray, ports: Ports) -> np.ndarray:
    """The acceleration that the form's rate means, from d/dt (M v) = M vdot + Mdot v."""
    x = form.state(q, v)
    zdot, d = form.rate(x, ports).zdot.copy(), form.model.evaluate(q, v)
    if isinstance(form, DecoupledForm):
        # pi = pi_hat + A^T p along the motion.
        b = form.model.b
        zdot[b:] += d.A.T @ zdot[:b] + form.terms(x).L @ v[b:]
    return np.linalg.solve(d.M, zdot - (d.C + d.C.T) @ v)


def differences(function: Callable[[np.ndarray], np.ndarray], size: int) -> np.ndarray:
    """The derivative of a function of a vector at zero, a column for each entry."""
    columns = [(function(STEP * e) - function(-STEP * e)) / (2 * STEP) for e in np.eye(size)]
    return np.stack(columns, axis=1)


def ports_of(model: VMSModel, rng: np.random.Generator, gravity: bool = True) -> Ports:
    n = model.n
    return Ports(
        rng.uniform(-10, 10, n),
        rng.uniform(-10, 10, model.b),
        rng.uniform(-10, 10, 6),
        gravity=gravity,
        friction=Friction(rng.uniform(0, 1, n), rng.uniform(0, 1, n), slip=0.5),
    )


def check(form: Form, q: np.ndarray, v: np.ndarray, ports: Ports) -> None:
    model, nv, b = form.model, form.model.nv, form.model.b
    found = linearize(form, form.state(q, v), ports)
    by_q = differences(lambda dq: acceleration(form, model.integrate(q, dq), v, ports), nv)
    by_v = differences(lambda dv: acceleration(form, q, v + dv, ports), nv)

    def by_force(du: np.ndarray) -> np.ndarray:
        assert ports.torque is not None
        assert ports.wrench_base is not None
        more = Ports(
            ports.torque + du[b:],
            ports.wrench_base + du[:b],
            ports.wrench_end_effector,
            ports.gravity,
            ports.friction,
        )
        return acceleration(form, q, v, more)

    for block, expected in (
        (found.A[nv:, :nv], by_q),
        (found.A[nv:, nv:], by_v),
        (found.B[nv:], differences(by_force, nv)),
        (found.acceleration, acceleration(form, q, v, ports)),
    ):
        scale = max(1.0, np.abs(expected).max(), np.abs(found.acceleration).max())
        np.testing.assert_allclose(block, expected, atol=DIFFERENCE * scale)
    np.testing.assert_array_equal(found.A[:nv, nv:], np.eye(nv))
    np.testing.assert_array_equal(found.B[:nv], 0.0)


@pytest.mark.parametrize("kind", [StandardForm, DecoupledForm])
@given(tree=trees, seed=seeds)
@settings(max_examples=20, deadline=None)
def test_a_tree_changes_its_acceleration_as_the_matrices_say(
    kind: type[StandardForm] | type[DecoupledForm], tree: VMSModel, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    q, v = state_of(tree, rng)
    check(kind(tree), q, v, ports_of(tree, rng, gravity=bool(seed % 2)))


@pytest.mark.parametrize("gravity", [True, False])
def test_a_bundled_robot_changes_its_acceleration_as_the_matrices_say(
    bundled_dry: VMSModel, gravity: bool, rng: np.random.Generator
) -> None:
    q, v = state_of(bundled_dry, rng)
    check(StandardForm(bundled_dry), q, v, ports_of(bundled_dry, rng, gravity))


@pytest.mark.parametrize("base", ["fixed", "planar", "floating"])
def test_a_robot_with_joints_that_mimic_is_linearised_too(
    base: str, rng: np.random.Generator
) -> None:
    xml = robots.get("panda").path().read_text()
    model = VMSModel.from_urdf(xml, base, "panda_rightfinger")
    assert model.tree.projection is not None
    q, v = state_of(model, rng)
    check(StandardForm(model), q, v, ports_of(model, rng))


def test_at_an_equilibrium_nothing_accelerates_and_the_matrices_hold(
    panda_on: VMSModel, rng: np.random.Generator
) -> None:
    q, v = panda_on.random_configuration(rng), np.zeros(panda_on.nv)
    wrench, b = rng.normal(size=6), panda_on.b
    d = panda_on.evaluate(q, v)
    hold = d.g - d.J_end_effector.T @ wrench
    friction = Friction(np.full(7, 0.3), np.full(7, 0.2), slip=0.5)
    ports = Ports(hold[b:], hold[:b], wrench, friction=friction)
    form = StandardForm(panda_on)
    found = linearize(form, form.state(q, v), ports)
    # Rounding of torques of some 10 N m over inertias of some 0.01 kg m^2.
    np.testing.assert_allclose(found.acceleration, 0.0, atol=1e-11)
    check(form, q, v, ports)


@given(trees, seeds)
@settings(max_examples=20, deadline=None)
def test_errors_of_the_configuration_are_carried_along_by_the_base(
    tree: VMSModel, seed: int
) -> None:
    # The upper rows: q and a neighbour integrate(q, dq) move with v and v + dv; the rate of
    # difference(q, neighbour) is -ad_v dq + dv, to first order.
    rng = np.random.default_rng(seed)
    q, v = state_of(tree, rng)
    form, nv = StandardForm(tree), tree.nv
    a = linearize(form, form.state(q, v), Ports()).A
    error = rng.normal(size=2 * nv)
    # The product of both steps divides rounding by 1e-8; what is left is the square of a step.
    eps = 1e-4

    def apart(size: float, t: float) -> np.ndarray:
        near = tree.integrate(q, size * error[:nv])
        moved = tree.integrate(near, t * (v + size * error[nv:]))
        return tree.difference(tree.integrate(q, t * v), moved)

    mixed = (apart(eps, eps) - apart(eps, -eps) - apart(-eps, eps) + apart(-eps, -eps)) / (
        4 * eps * eps
    )
    np.testing.assert_allclose(a[:nv] @ error, mixed, atol=1e-6)


def flow(form: Form, q: np.ndarray, v: np.ndarray, ports: Ports, time: float) -> tuple:
    """The motion after a time, by RK4 in a chart ``q exp(y)`` around the start, and its chart."""
    model, b, steps = form.model, form.model.b, 100
    group = {"planar": SE2(), "floating": SE3()}.get(model.base)

    def rate(y: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        turned = v.copy()
        if group is not None:
            turned[:b] = group.dexp_inverse(y[:b]) @ v[:b]
        return turned, acceleration(form, model.integrate(q, y), v, ports)

    y, dt = np.zeros(model.nv), time / steps
    for _ in range(steps):
        k1 = rate(y, v)
        k2 = rate(y + dt / 2 * k1[0], v + dt / 2 * k1[1])
        k3 = rate(y + dt / 2 * k2[0], v + dt / 2 * k2[1])
        k4 = rate(y + dt * k3[0], v + dt * k3[1])
        y = y + dt / 6 * (k1[0] + 2 * k2[0] + 2 * k3[0] + k4[0])
        v = v + dt / 6 * (k1[1] + 2 * k2[1] + 2 * k3[1] + k4[1])
    return model.integrate(q, y), v


def transition(form: Form, q: np.ndarray, v: np.ndarray, ports: Ports, time: float) -> np.ndarray:
    """The product of the linear flows over short steps of the motion, at their middles."""
    phi, steps = np.eye(2 * form.model.nv), 50
    for k in range(steps):
        at = flow(form, q, v, ports, (k + 0.5) * time / steps)
        phi = expm(linearize(form, form.state(*at), ports).A * time / steps) @ phi
    return phi


def errors(
    form: Form, q: np.ndarray, v: np.ndarray, ports: Ports, phi: np.ndarray, time: float
) -> list[float]:
    """How far neighbours end from where the linear flow takes them; the distance halves twice."""
    model, nv = form.model, form.model.nv
    direction = np.random.default_rng(4).normal(size=2 * nv)
    end = flow(form, q, v, ports, time)
    found = []
    for size in (2e-3, 1e-3, 5e-4):
        start = size * direction
        near = flow(form, model.integrate(q, start[:nv]), v + start[nv:], ports, time)
        apart = np.concatenate([model.difference(end[0], near[0]), near[1] - end[1]])
        found.append(float(np.abs(apart - phi @ start).max()))
    return found


def test_the_linear_flow_at_an_equilibrium_errs_with_the_square_of_the_distance(
    panda_on: VMSModel,
) -> None:
    home = {f"panda_joint{i + 1}": x for i, x in enumerate((0.3, -0.4, 0.2, -1.8, 0.1, 1.6, 0.4))}
    q, v, b, time = panda_on.configuration(home), np.zeros(panda_on.nv), panda_on.b, 0.1
    hold = panda_on.evaluate(q, v).g
    ports = Ports(hold[b:], hold[:b], friction=Friction(np.full(7, 0.5), np.zeros(7)))
    form = StandardForm(panda_on)
    phi = expm(linearize(form, form.state(q, v), ports).A * time)
    first, second, third = errors(form, q, v, ports, phi, time)
    # Second order: halving the distance quarters the error; a fifth is left to the third order.
    assert 3.2 < first / second < 4.8
    assert 3.2 < second / third < 4.8


@pytest.mark.parametrize("name", ["omnidirectional_panda", "borinot"])
def test_the_linear_flow_along_a_motion_errs_with_the_square_of_the_distance(name: str) -> None:
    model, time = robots.load(name), 0.1
    rng = np.random.default_rng(2)
    q, v = state_of(model, rng)
    b = model.b
    hold = model.evaluate(q, v).g
    ports = Ports(hold[b:], hold[:b], friction=Friction(np.full(model.n, 0.1), np.zeros(model.n)))
    form = StandardForm(model)
    # The middles of 50 steps err by some 1e-7 of the distance, far below its square.
    phi = transition(form, q, v, ports, time)
    first, second, third = errors(form, q, v, ports, phi, time)
    assert 3.2 < first / second < 4.8
    assert 3.2 < second / third < 4.8


def test_an_upright_pendulum_falls_with_the_root_of_g_over_its_length() -> None:
    source = pin.Model()
    joint = source.addJoint(0, pin.JointModelRY(), pin.SE3.Identity(), "hinge")
    # A point at 0.5 m above the hinge; rotational inertia zero but for what a model must have.
    source.appendBodyToJoint(
        joint, pin.Inertia(2.0, np.array([0, 0, 0.5]), 1e-9 * np.eye(3)), pin.SE3.Identity()
    )
    source.addBodyFrame("bob", joint, pin.SE3.Identity(), 0)
    model = VMSModel.from_pinocchio(source)
    form = StandardForm(model)
    found = linearize(form, form.state(np.zeros(1), np.zeros(1)), Ports())
    growth = np.sort(np.linalg.eigvals(found.A).real)
    root = np.sqrt(9.81 / 0.5)
    np.testing.assert_allclose(growth, [-root, root], rtol=1e-8)


def test_the_matrices_do_not_depend_on_the_form(panda: VMSModel, rng: np.random.Generator) -> None:
    q, v = state_of(panda, rng)
    ports = Ports(rng.normal(size=7), wrench_end_effector=rng.normal(size=6))
    forms = [StandardForm(panda), DecoupledForm(panda), TaskSpaceForm(panda, PositionTask(panda))]
    first, *others = (linearize(form, form.state(q, v), ports) for form in forms)
    for other in others:
        # Through the inverse of another set of momenta and back.
        np.testing.assert_allclose(other.A, first.A, atol=1e-9 * np.abs(first.A).max())
        np.testing.assert_allclose(other.B, first.B, atol=1e-12 * np.abs(first.B).max())


def test_the_matrices_do_not_depend_on_where_the_base_is(rng: np.random.Generator) -> None:
    model = robots.load("hextilt")
    form, ports = StandardForm(model), ports_of(model, rng)
    q, v = state_of(model, rng)
    far = q.copy()
    far[:3] += [1e4, -1e4, 1e4]
    here, there = (linearize(form, form.state(at, v), ports) for at in (q, far))
    np.testing.assert_array_equal(here.A, there.A)


def test_the_results_are_read_only(panda: VMSModel) -> None:
    form = StandardForm(panda)
    found = linearize(form, form.state(np.zeros(7), np.zeros(7)), Ports())
    for array in (found.A, found.B, found.acceleration):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1.0


def test_a_fluid_and_wrong_efforts_are_refused(panda: VMSModel) -> None:
    wet = robots.load("bluerov2_alpha5")
    form = StandardForm(wet)
    x = form.state(wet.neutral_configuration(), np.zeros(wet.nv))
    with pytest.raises(ModelError, match="does not cover robots in a fluid"):
        linearize(form, x, Ports())
    dry = StandardForm(panda)
    x = dry.state(np.zeros(7), np.zeros(7))
    with pytest.raises(StateError, match=r"torque must have shape \(7,\)"):
        linearize(dry, x, Ports(np.zeros(6)))
    with pytest.raises(StateError, match="z must be finite"):
        linearize(dry, PHState(x.q, np.full(7, np.nan)), Ports())

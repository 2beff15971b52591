# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The linear port-Hamiltonian model: its structure, and the motion that it stands for."""

import numpy as np
import pinocchio as pin
import pytest
from scipy.linalg import expm

from vms_ph_dynamics import (
    DecoupledForm,
    Friction,
    Ports,
    PositionTask,
    StandardForm,
    StateError,
    TaskSpaceForm,
    VMSModel,
    integrate,
    linear_port_hamiltonian,
)
from vms_ph_dynamics.forms import PHState
from vms_ph_io import robots

from ..conftest import immersed, random_tree, state_of


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("wrench", [False, True])
@pytest.mark.parametrize("wet", [False, True])
def test_errors_about_a_motion_change_as_the_model_says(seed: int, wrench: bool, wet: bool) -> None:
    model, rng = random_tree(seed), np.random.default_rng(seed)
    model = immersed(model, seed) if wet else model
    form, nv = StandardForm(model), model.nv
    x = form.state(*state_of(model, rng))
    friction = Friction(rng.uniform(0, 1, model.n), rng.uniform(0, 1, model.n), slip=0.5)
    base, tool = (rng.uniform(-5, 5, size) if wrench else None for size in (model.b, 6))
    ports = Ports(rng.uniform(-5, 5, model.n), base, tool, friction=friction)
    linear, error = linear_port_hamiltonian(form, x, ports), rng.normal(size=2 * nv)
    # The product of both steps divides rounding by 1e-8; what is left is the square of a step.
    eps = 1e-4

    def moved(x: PHState, t: float) -> PHState:
        rate = form.rate(x, ports)
        return PHState(model.integrate(x.q, t * rate.qdot), x.z + t * rate.zdot)

    def apart(size: float, t: float) -> np.ndarray:
        first = np.linalg.solve(linear.coordinates, size * error)
        near = moved(PHState(model.integrate(x.q, first[:nv]), x.z + first[nv:]), t)
        here = moved(x, t)
        found = np.concatenate([model.difference(here.q, near.q), near.z - here.z])
        there = linear_port_hamiltonian(form, here, ports).coordinates
        return there @ found

    mixed = (apart(eps, eps) - apart(eps, -eps) - apart(-eps, eps) + apart(-eps, -eps)) / (
        4 * eps * eps
    )
    scale = max(1.0, float(np.abs(mixed).max()))
    np.testing.assert_allclose(linear.A @ error, mixed, atol=3e-6 * scale)


def test_the_structure_is_that_of_a_port_hamiltonian_system(
    bundled_dry: VMSModel, rng: np.random.Generator
) -> None:
    form, nv, b = DecoupledForm(bundled_dry), bundled_dry.nv, bundled_dry.b
    x = form.state(*state_of(bundled_dry, rng))
    friction = Friction(np.full(bundled_dry.n, 0.4), np.full(bundled_dry.n, 0.2), slip=0.3)
    ports = Ports(rng.uniform(-5, 5, bundled_dry.n), friction=friction)
    linear = linear_port_hamiltonian(form, x, ports)
    np.testing.assert_array_equal(linear.J, -linear.J.T)
    np.testing.assert_array_equal(linear.Q, linear.Q.T)
    assert np.linalg.eigvalsh(linear.R).min() >= 0.0
    minv = np.linalg.inv(bundled_dry.evaluate(x.q, np.zeros(nv)).M)
    np.testing.assert_allclose(linear.Q[nv:, nv:], minv, rtol=1e-9, atol=1e-12 * np.abs(minv).max())
    np.testing.assert_array_equal(linear.G[:nv], 0.0)
    # Torques and gravity have a potential in these coordinates, whatever the motion.
    largest = np.abs(linear.Q[:nv, :nv]).max()
    np.testing.assert_allclose(linear.circulatory, 0.0, atol=1e-12 * largest)
    assert b == 0 or np.abs(linear.coordinates - np.eye(2 * nv)).max() > 1e-3


def test_at_rest_its_stiffness_is_that_of_gravity(
    panda_on: VMSModel, rng: np.random.Generator
) -> None:
    q, v = panda_on.random_configuration(rng), np.zeros(panda_on.nv)
    hold, b = panda_on.evaluate(q, v).g, panda_on.b
    ports = Ports(hold[b:], hold[:b], friction=Friction(np.full(7, 0.5), np.zeros(7)))
    form = StandardForm(panda_on)
    x = form.state(q, v)
    linear = linear_port_hamiltonian(form, x, ports)
    steps = 1e-5 * np.eye(panda_on.nv)[b:]

    def gravity(step: np.ndarray) -> np.ndarray:
        return panda_on.evaluate(panda_on.integrate(q, step), v).g[b:]

    slopes = [gravity(e) - gravity(-e) for e in steps]
    stiffness = linear.Q[b : panda_on.nv, b : panda_on.nv]
    np.testing.assert_allclose(stiffness, np.array(slopes) / 2e-5, atol=1e-7)


def test_an_upright_pendulum_falls_with_the_root_of_g_over_its_length() -> None:
    source = pin.Model()
    joint = source.addJoint(0, pin.JointModelRY(), pin.SE3.Identity(), "hinge")
    # A point at 0.5 m above the hinge; rotational inertia zero but for what a model must have.
    source.appendBodyToJoint(
        joint, pin.Inertia(2.0, np.array([0, 0, 0.5]), 1e-9 * np.eye(3)), pin.SE3.Identity()
    )
    source.addBodyFrame("bob", joint, pin.SE3.Identity(), 0)
    form = StandardForm(VMSModel.from_pinocchio(source))
    linear = linear_port_hamiltonian(form, form.state(np.zeros(1), np.zeros(1)), Ports())
    growth = np.sort(np.linalg.eigvals(linear.A).real)
    root = np.sqrt(9.81 / 0.5)
    np.testing.assert_allclose(growth, [-root, root], rtol=1e-8)


def test_it_depends_neither_on_the_form_nor_on_where_the_base_is(rng: np.random.Generator) -> None:
    model = robots.load("hextilt")
    q, v = state_of(model, rng)
    ports = Ports(rng.normal(size=model.n), wrench_end_effector=rng.normal(size=6))
    far = q.copy()
    far[:3] += [1e4, -1e4, 1e4]
    forms = [StandardForm(model), DecoupledForm(model), TaskSpaceForm(model, PositionTask(model))]
    first, *others = (linear_port_hamiltonian(form, form.state(q, v), ports) for form in forms)
    for other in others:
        # Through the inverse of another set of momenta and back.
        np.testing.assert_allclose(other.A, first.A, atol=1e-9 * np.abs(first.A).max())
    there = linear_port_hamiltonian(forms[0], forms[0].state(far, v), ports)
    np.testing.assert_array_equal(first.A, there.A)


def test_wrong_efforts_are_refused(panda: VMSModel) -> None:
    dry = StandardForm(panda)
    x = dry.state(np.zeros(7), np.zeros(7))
    with pytest.raises(StateError, match=r"torque must have shape \(7,\)"):
        linear_port_hamiltonian(dry, x, Ports(np.zeros(6)))
    with pytest.raises(StateError, match="z must be finite"):
        linear_port_hamiltonian(dry, PHState(x.q, np.full(7, np.nan)), Ports())


def test_a_wrench_that_turns_with_the_base_circulates(rng: np.random.Generator) -> None:
    model = robots.load("borinot")
    form = StandardForm(model)
    x = form.state(model.neutral_configuration(), np.zeros(model.nv))
    hold = model.evaluate(x.q, np.zeros(model.nv)).g
    held = linear_port_hamiltonian(form, x, Ports(hold[6:], hold[:6]))
    weight = model.total_mass * 9.81
    # A thrust that tilts pushes sideways, and no displacement turns the robot back.
    assert np.abs(held.circulatory).max() == pytest.approx(weight / 2, rel=1e-9)
    np.testing.assert_array_equal(held.circulatory, -held.circulatory.T)


def test_linear_models_along_a_motion_carry_its_neighbours() -> None:
    model = robots.load("omnidirectional_panda")
    rng = np.random.default_rng(3)
    form, nv, steps, dt = StandardForm(model), model.nv, 40, 0.0025
    ports = Ports(friction=Friction(np.full(model.n, 0.2), np.zeros(model.n)))
    x0 = form.state(*state_of(model, rng))
    run = integrate(form, x0, ports, dt=dt, steps=2 * steps)
    models = [linear_port_hamiltonian(form, x, ports) for x in run.states[1::2]]
    assert len(models) == steps
    flow = np.eye(2 * nv)
    for model_at in models:
        # The middle of every second step.
        flow = expm(2 * dt * model_at.A) @ flow
    first, last = (linear_port_hamiltonian(form, run.states[k], ports) for k in (0, -1))
    direction = rng.normal(size=2 * nv)
    errors = []
    for size in (2e-3, 1e-3):
        start = np.linalg.solve(first.coordinates, size * direction)
        near = PHState(model.integrate(x0.q, start[:nv]), x0.z + start[nv:])
        other = integrate(form, near, ports, dt=dt, steps=2 * steps).states[-1]
        end = np.concatenate(
            [model.difference(run.states[-1].q, other.q), other.z - run.states[-1].z]
        )
        errors.append(np.abs(last.coordinates @ end - size * flow @ direction).max())
    # To first order: half the distance leaves a quarter of the error.
    assert 3.0 < errors[0] / errors[1] < 5.0

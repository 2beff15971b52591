# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The functions of JAX have the numbers of the library, and are differentiated by it."""

from typing import Any

import numpy as np
import pytest

from vms_ph_dynamics import (
    CentreOfMassTask,
    DecoupledForm,
    Form,
    Friction,
    ModelError,
    PoseTask,
    PositionTask,
    StandardForm,
    TaskSpaceForm,
    VMSModel,
    integrate,
    rate_derivatives,
)
from vms_ph_io import robots

from ..conftest import random_tree, state_of
from ..forms.test_derivatives import ports_of, with_fingers

jax = pytest.importorskip("jax", reason="JAX is not installed (pip install 'vms-ph[jax]')")
jax.config.update("jax_enable_x64", True)

MODELS = ("panda", "satellite_panda", "omnidirectional_panda", "hextilt", "fingers", "tree")


def model_of(name: str) -> VMSModel:
    if name == "tree":
        return random_tree(4)
    return with_fingers("floating") if name == "fingers" else robots.load(name)


def near(found: Any, expected: Any, tolerance: float = 1e-12) -> None:
    expected = np.asarray(expected)
    scale = max(1.0, float(np.abs(expected).max(initial=0.0)))
    np.testing.assert_allclose(np.asarray(found), expected, rtol=0.0, atol=tolerance * scale)


@pytest.mark.parametrize("name", MODELS)
def test_every_function_has_the_numbers_of_the_library(name: str, rng: np.random.Generator) -> None:
    model = model_of(name)
    ports, (q, v) = ports_of(model, rng), state_of(model, rng)
    d = model.evaluate(q, v)
    terms = {
        "mass_matrix": d.M,
        "generalised_gravity": d.g,
        "connection": d.A,
        "coriolis_force": d.C @ v,
        "locked_velocity": d.v_hat,
    }
    exported = StandardForm(model).jax()

    @jax.jit
    def functions(q: Any, v: Any) -> Any:
        names = ("mass_matrix", "generalised_gravity", "connection")
        found = {name: getattr(exported, name)(q) for name in names}
        found |= {name: getattr(exported, name)(q, v) for name in terms if name not in names}
        return found, exported.frame(q), exported.frame(q, root)["T"]

    root = next(f.name for f in model.pinocchio.frames[1:] if f.parentJoint == min(model.b, 1))
    found, frame, root_pose = functions(q, v)
    for term, expected in terms.items():
        near(found[term], expected)
    near(frame["T"], d.placement(model.end_effector))
    near(root_pose, d.placement(root))
    near(frame["J"], d.J_end_effector)
    forms: list[Form] = [StandardForm(model), DecoupledForm(model)]
    if name in ("panda", "satellite_panda"):
        forms.append(TaskSpaceForm(model, PositionTask(model)))
    efforts = {
        name: np.array(getattr(ports, name))
        for name in ("torque", "wrench_base", "wrench_end_effector")
    }
    tools = {name: np.array(wrench) for name, wrench in ports.wrench_tools.items()}
    # Solving with M multiplies rounding errors.
    hard = 1e-15 * max(1e3, float(np.linalg.cond(d.M)))
    for form in forms:
        x, of = form.state(q, v), form.jax(friction=ports.friction)

        @jax.jit
        def states(q: Any, v: Any, z: Any, of: Any = of) -> Any:
            rate = of.rate(q, z, **efforts, wrench_tools=tools)
            return of.momenta(q, v), of.velocity(q, z), of.hamiltonian(q, z), rate

        z, velocity, energies, rate = states(q, v, x.z)
        near(z, x.z, hard)
        near(velocity, v, hard)
        energy = form.hamiltonian(x)
        for part, value in energies.items():
            near(value, getattr(energy, part), hard * max(1.0, abs(energy.total)))
        expected_rate = form.rate(x, ports)
        near(rate["qdot"], expected_rate.qdot, hard)
        near(rate["zdot"], expected_rate.zdot, hard)


def test_tasks_have_their_inertias(rng: np.random.Generator) -> None:
    model = robots.load("satellite_panda")
    form = TaskSpaceForm(model, PoseTask(model))
    q, v = state_of(model, rng)
    found, t = jax.jit(form.jax().terms)(q), form.evaluate(q, v)
    for name in ("J", "Z", "J_sharp", "Lambda_t", "Lambda_nu"):
        near(found[name], getattr(t, name), 1e-11)
    centre = CentreOfMassTask(model)
    of_centre = TaskSpaceForm(model, centre).jax()
    near(jax.jit(lambda q: of_centre.terms(q)["J"])(q), centre.jacobian(t.d))


def test_functions_are_mapped_and_differentiated(rng: np.random.Generator) -> None:
    model = robots.load("satellite_panda")
    form = DecoupledForm(model)
    exported = form.jax(friction=Friction.from_model(model))
    Q, V = (np.array(part) for part in zip(*(state_of(model, rng) for _ in range(3)), strict=True))
    states = [form.state(q, v) for q, v in zip(Q, V, strict=True)]
    Z = np.array([x.z for x in states])
    ports = ports_of(model, rng)
    torque = ports.torque
    many = jax.jit(jax.vmap(lambda q, z: exported.rate(q, z, torque=torque)))(Q, Z)
    energy = jax.grad(lambda z, q: exported.hamiltonian(q, z)["total"])
    by_z = jax.jit(jax.vmap(energy))(Z, Q)
    slope = jax.jacfwd(lambda z, q: exported.rate(q, z, torque=torque)["zdot"])
    slopes = jax.jit(jax.vmap(slope))(Z, Q)
    held = type(ports)(torque, friction=Friction.from_model(model))
    for k, x in enumerate(states):
        near(many["zdot"][k], form.rate(x, held).zdot)
        gradient = form.gradient(x)
        near(by_z[k], np.concatenate([gradient[:6], gradient[-model.n :]]))
        near(slopes[k], rate_derivatives(form, x, held).zdot_by_z, 1e-11)


@pytest.mark.parametrize("name", ["satellite_panda", "omnidirectional_panda"])
def test_steps_are_those_of_runge_kutta(name: str, rng: np.random.Generator) -> None:
    model = robots.load(name)
    form = StandardForm(model)
    x = form.state(*state_of(model, rng))
    step = jax.jit(form.jax().step)
    q, z = x.q, x.z
    for _ in range(10):
        q, z = step(q, z, 1e-3)
    end = integrate(form, x, dt=1e-4, steps=100).states[-1]
    near(model.difference(end.q, np.asarray(q)), np.zeros(model.nv), 1e-9)
    near(z, end.z, 1e-8)


def test_a_robot_in_a_fluid_is_refused() -> None:
    with pytest.raises(ModelError, match="does not cover robots in a fluid"):
        DecoupledForm(robots.load("bluerov2_alpha5")).jax()

"""Derivatives of energies and rates, against central differences and those of CasADi."""

from collections.abc import Callable
from dataclasses import fields

import casadi as ca
import numpy as np
import pytest

from vms_ph_dynamics import (
    CanonicalForm,
    DecoupledForm,
    Form,
    Friction,
    ModelError,
    Ports,
    PositionTask,
    StandardForm,
    TaskSpaceForm,
    VMSModel,
    energy_derivatives,
    numerical_energy_derivatives,
    numerical_rate_derivatives,
    rate_derivatives,
)
from vms_ph_dynamics.casadi.tree import inertial_parameters
from vms_ph_io import robots

from ..conftest import random_tree, state_of

FORMS = {"standard": StandardForm, "decoupled": DecoupledForm}


def with_fingers(base: str) -> VMSModel:
    """Two fingers, of which one mimics the other, and a second hand."""
    xml = robots.get("panda").path().read_text()
    return VMSModel.from_urdf(xml, base, "panda_rightfinger", tools=["panda_link4"])


MODELS: dict[str, Callable[[], VMSModel]] = {
    **{f"tree {seed}": lambda seed=seed: random_tree(seed) for seed in range(9)},
    **{f"fingers {base}": lambda base=base: with_fingers(base) for base in ("fixed", "planar")},
    **{name: lambda name=name: robots.load(name) for name in ("hextilt", "borinot")},
}


def ports_of(model: VMSModel, rng: np.random.Generator) -> Ports:
    n = model.n
    return Ports(
        rng.uniform(-10, 10, n),
        rng.uniform(-10, 10, model.b),
        rng.uniform(-10, 10, 6),
        friction=Friction(rng.uniform(0, 1, n), rng.uniform(0, 1, n), slip=0.5),
        wrench_tools={name: rng.uniform(-10, 10, 6) for name in model.tools},
    )


def check_equal(found: object, expected: object, tolerance: float) -> None:
    for field in fields(found):
        one, other = getattr(found, field.name), getattr(expected, field.name)
        scale = max(1.0, float(np.abs(other).max(initial=0.0)))
        np.testing.assert_allclose(one, other, atol=tolerance * scale, err_msg=field.name)


@pytest.mark.parametrize("kind", FORMS)
@pytest.mark.parametrize("name", MODELS)
def test_rates_and_energies_change_as_the_derivatives_say(
    name: str, kind: str, rng: np.random.Generator
) -> None:
    model = MODELS[name]()
    form, (q, v), ports = FORMS[kind](model), state_of(model, rng), ports_of(model, rng)
    x = form.state(q, v)
    # Central differences with steps of 1e-5: their square times a third derivative, and the
    # rounding of the rate, 1e-13 through the inverse of the mass matrix, over the step.
    check_equal(rate_derivatives(form, x, ports), numerical_rate_derivatives(form, x, ports), 3e-6)
    check_equal(energy_derivatives(form, x), numerical_energy_derivatives(form, x), 1e-6)


def test_without_gravity_its_derivatives_are_absent(
    panda_on: VMSModel, rng: np.random.Generator
) -> None:
    form = CanonicalForm(panda_on) if panda_on.b == 0 else DecoupledForm(panda_on)
    x, free = form.state(*state_of(panda_on, rng)), Ports(gravity=False)
    check_equal(rate_derivatives(form, x, free), numerical_rate_derivatives(form, x, free), 1e-6)
    found = energy_derivatives(form, x, gravity=False)
    check_equal(found, numerical_energy_derivatives(form, x, gravity=False), 1e-6)
    # Neither the pose of the base nor its direction enters.
    np.testing.assert_array_equal(found.by_q[: panda_on.b], 0.0)


@pytest.mark.parametrize("kind", FORMS)
@pytest.mark.parametrize("name", ["panda", "omnidirectional_panda", "borinot"])
def test_the_derivatives_are_those_of_casadi_to_rounding(
    name: str, kind: str, rng: np.random.Generator
) -> None:
    model = robots.load(name)
    form, friction = FORMS[kind](model), Friction(np.full(model.n, 0.3), np.full(model.n, 0.2), 0.5)
    exported = form.casadi(friction=friction, parameters=True)
    q, z, phi = (
        ca.SX.sym(s, size)
        for s, size in (("q", model.nq), ("z", model.nv), ("phi", exported.rate.size_in(5)[0]))
    )
    torque = rng.uniform(-10, 10, model.n)
    rate = exported.rate(q=q, z=z, torque=torque, parameters=phi)
    whole = ca.vertcat(rate["qdot"], rate["zdot"])
    energy = exported.hamiltonian(q=q, z=z, parameters=phi)["total"]
    # The columns of the tangent: the coordinate rates of unit velocities.
    tangent = ca.horzcat(*(exported.coordinate_rate(q, e, phi) for e in np.eye(model.nv)))
    everything = ca.Function(
        "derivatives",
        [q, z, phi],
        [
            derivative
            for of in (whole, energy)
            for derivative in (
                ca.jacobian(of, q) @ tangent,
                ca.jacobian(of, z),
                ca.jacobian(of, phi),
            )
        ],
    )
    x = form.state(*state_of(model, rng))
    by_q, by_z, by_phi, *of_energy = (
        np.array(part) for part in everything(x.q, x.z, inertial_parameters(model))
    )
    nv = model.nv
    ports = Ports(torque, friction=friction)
    found = rate_derivatives(form, x, ports)
    for one, other in (
        (found.velocity_by_q, by_q[:nv]),
        (found.velocity_by_z, by_z[:nv]),
        (found.velocity_by_parameters, by_phi[:nv]),
        (found.zdot_by_q, by_q[nv:]),
        (found.zdot_by_z, by_z[nv:]),
        (found.zdot_by_parameters, by_phi[nv:]),
        *zip(
            vars(energy_derivatives(form, x)).values(),
            (part[0] for part in of_energy),
            strict=True,
        ),
    ):
        np.testing.assert_allclose(one, other, atol=1e-11 * np.abs(other).max())


def test_a_task_has_its_numerical_derivatives(panda: VMSModel, rng: np.random.Generator) -> None:
    form: Form = TaskSpaceForm(panda, PositionTask(panda))
    x = form.state(np.array([0.1, 0.3, -0.2, -1.5, 0.2, 1.4, 0.3]), rng.uniform(-1, 1, 7))
    found = numerical_energy_derivatives(form, x)
    t = form.gradient(x)
    np.testing.assert_allclose(found.by_z, t[7:], atol=1e-6)
    np.testing.assert_allclose(
        found.by_q, t[:7] + form.evaluation(x).g, atol=1e-6 * np.abs(found.by_q).max()
    )
    with pytest.raises(
        ModelError, match="a TaskSpaceForm has no closed derivatives; take Standard"
    ):
        rate_derivatives(form, x, Ports())


def test_a_robot_in_a_fluid_is_refused() -> None:
    wet = robots.load("bluerov2_alpha5")
    form = StandardForm(wet)
    with pytest.raises(ModelError, match=r"do not cover robots in a fluid; use form\.casadi"):
        rate_derivatives(form, form.state(wet.neutral_configuration(), np.zeros(wet.nv)), Ports())

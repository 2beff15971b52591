# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Derivatives of energies and rates, against central differences and those of CasADi."""

from collections.abc import Callable
from dataclasses import fields
from functools import cache

import numpy as np
import pytest

from vms_ph_dynamics import (
    CanonicalForm,
    DecoupledForm,
    Form,
    Friction,
    ModelError,
    PHState,
    Ports,
    PositionTask,
    RateDerivatives,
    StandardForm,
    TaskSpaceForm,
    VMSModel,
    energy_derivatives,
    rate_derivatives,
)
from vms_ph_io import robots

from ..conftest import random_tree, state_of
from .numerical_derivatives import numerical_energy_derivatives, numerical_rate_derivatives

FORMS = {"standard": StandardForm, "decoupled": DecoupledForm}


@cache
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


MORE = ("tree 3", "tree 4", "tree 5", "tree 6", "tree 7", "tree 8")  # in the campaign


@pytest.mark.parametrize("kind", FORMS)
@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=pytest.mark.slow) if name in MORE else name for name in MODELS],
)
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


def exported_derivatives(form: Form, x: PHState, ports: Ports) -> RateDerivatives:
    exported = form.casadi(friction=ports.friction, parameters=True)
    found = exported.rate_derivatives(
        q=x.q,
        z=x.z,
        torque=ports.torque,
        wrench_base=ports.wrench_base,
        wrench_end_effector=ports.wrench_end_effector,
        parameters=form.model.tree.inertial_parameters(),
    )
    return RateDerivatives(**{name: np.array(value) for name, value in found.items()})


@pytest.mark.parametrize("kind", FORMS)
@pytest.mark.parametrize("name", ["panda", "omnidirectional_panda", "borinot"])
def test_the_derivatives_are_those_of_casadi_to_rounding(
    name: str, kind: str, rng: np.random.Generator
) -> None:
    model = robots.load(name)
    form, ports = FORMS[kind](model), ports_of(model, rng)
    x = form.state(*state_of(model, rng))
    check_equal(rate_derivatives(form, x, ports), exported_derivatives(form, x, ports), 1e-11)


@pytest.mark.parametrize("name", ["task", "fluid"])
def test_what_has_no_closed_derivatives_has_those_of_casadi(
    name: str, panda: VMSModel, rng: np.random.Generator
) -> None:
    if name == "task":
        form: Form = TaskSpaceForm(panda, PositionTask(panda))
        q = np.array([0.1, 0.3, -0.2, -1.5, 0.2, 1.4, 0.3])
    else:
        form = DecoupledForm(robots.load("bluerov2_alpha5"))
        q = form.model.random_configuration(rng)
    x, ports = form.state(q, rng.uniform(-1, 1, form.model.nv)), ports_of(form.model, rng)
    found = exported_derivatives(form, x, ports)
    check_equal(found, numerical_rate_derivatives(form, x, ports), 1e-5)
    refusal = "no closed derivatives; take Standard" if name == "task" else "robots in a fluid"
    with pytest.raises(ModelError, match=refusal):
        rate_derivatives(form, x, ports)


def test_a_task_has_its_numerical_derivatives(panda: VMSModel, rng: np.random.Generator) -> None:
    form: Form = TaskSpaceForm(panda, PositionTask(panda))
    x = form.state(np.array([0.1, 0.3, -0.2, -1.5, 0.2, 1.4, 0.3]), rng.uniform(-1, 1, 7))
    found = numerical_energy_derivatives(form, x)
    t = form.gradient(x)
    np.testing.assert_allclose(found.by_z, t[7:], atol=1e-6)
    np.testing.assert_allclose(
        found.by_q, t[:7] + form.evaluation(x).g, atol=1e-6 * np.abs(found.by_q).max()
    )

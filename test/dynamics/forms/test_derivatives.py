# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Derivatives of energies and rates, against central differences and those of CasADi."""

from collections.abc import Callable
from dataclasses import fields
from functools import cache

import casadi as ca
import numpy as np
import pytest

from vms_ph_dynamics import (
    CanonicalForm,
    CentreOfMassTask,
    DecoupledForm,
    DistanceTask,
    EnergyDerivatives,
    Form,
    Friction,
    ModelError,
    OrientationTask,
    PHState,
    Ports,
    PoseTask,
    PositionTask,
    RateDerivatives,
    StackedTask,
    StandardForm,
    StateError,
    Task,
    TaskSpaceForm,
    VMSModel,
    energy_derivatives,
    rate_derivatives,
)
from vms_ph_io import robots

from ..conftest import coupled_tree, immersed, random_tree, state_of
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
    **{f"wet {seed}": lambda seed=seed: immersed(random_tree(seed), seed) for seed in range(6)},
    "wet fingers": lambda: immersed(with_fingers("planar"), 0),
    **{f"coupled {seed}": lambda seed=seed: coupled_tree(seed) for seed in range(61, 64)},
    **{
        f"wet coupled {seed}": lambda seed=seed: immersed(coupled_tree(seed), seed)
        for seed in (75, 76, 77)
    },
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


MORE = (*(f"tree {k}" for k in range(3, 9)), "wet 3", "wet 4", "wet 5")  # in the campaign


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
@pytest.mark.parametrize(
    "name",
    [
        *("panda", "omnidirectional_panda", "borinot", "bluerov2_alpha5"),
        *(f"wet {seed}" for seed in range(3)),
        *(f"coupled {seed}" for seed in range(61, 64)),
        *(f"wet coupled {seed}" for seed in (75, 76, 77)),
    ],
)
def test_the_derivatives_are_those_of_casadi_to_rounding(
    name: str, kind: str, rng: np.random.Generator
) -> None:
    model = MODELS[name]() if name in MODELS else robots.load(name)
    form, ports = FORMS[kind](model), ports_of(model, rng)
    x = form.state(*state_of(model, rng))
    check_equal(rate_derivatives(form, x, ports), exported_derivatives(form, x, ports), 1e-11)


TASKS: dict[str, Callable[[VMSModel], Task]] = {
    "position": PositionTask,
    "orientation": OrientationTask,
    "pose": PoseTask,
    "distance": DistanceTask,
    "hands": lambda model: StackedTask(PositionTask(model), PositionTask(model, model.tools[0])),
}


def task_state(
    name: str, kind: str, rng: np.random.Generator, singular_below: float = 0.03
) -> tuple[TaskSpaceForm, PHState]:
    """A state near which the basis of the null space is smooth."""
    model = MODELS[name]()
    form = TaskSpaceForm(model, TASKS[kind](model), singular_below=singular_below)
    for _ in range(1000):
        q, v = state_of(model, rng)
        t = form.evaluate(q, v)
        # Those near a singularity are asked for by a large threshold.
        is_wanted = t.is_regular == (singular_below == 0.03)
        if is_wanted and t.regular.smallest_singular_value > 0.1 and t.alignment > 0.3:
            return form, form.state(q, v)
    raise AssertionError(f"{name} has no such state")


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("tree 0", "position"),
        ("tree 2", "pose"),
        ("tree 5", "distance"),
        ("fingers fixed", "pose"),
        ("fingers planar", "hands"),
        ("borinot", "pose"),
        ("hextilt", "orientation"),
    ],
)
def test_the_energy_of_a_task_changes_as_its_derivatives_say(
    name: str, kind: str, rng: np.random.Generator
) -> None:
    form, x = task_state(name, kind, rng)
    for gravity in (True, False):
        expected = numerical_energy_derivatives(form, x, gravity)
        check_equal(energy_derivatives(form, x, gravity), expected, 1e-5)


def test_a_task_that_depends_on_inertial_parameters_has_no_closed_derivatives(
    panda: VMSModel,
) -> None:
    task = StackedTask(CentreOfMassTask(panda), DistanceTask(panda))
    form = TaskSpaceForm(panda, task)
    with pytest.raises(ModelError, match="depends on inertial parameters"):
        energy_derivatives(form, form.state(panda.home, np.zeros(7)))


def test_near_a_singularity_the_derivatives_are_those_of_the_lifted_task(
    rng: np.random.Generator,
) -> None:
    form, x = task_state("tree 0", "position", rng, singular_below=0.3)
    check_equal(energy_derivatives(form, x), numerical_energy_derivatives(form, x), 1e-5)
    with pytest.raises(StateError, match="near a singularity of the task"):
        rate_derivatives(form, x, Ports())


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("tree 0", "position"),
        ("tree 1", "position"),
        ("tree 5", "pose"),
        ("borinot", "distance"),
        ("wet 2", "position"),
        ("coupled 62", "pose"),
    ],
)
def test_the_energy_of_a_task_has_the_derivatives_of_casadi_to_rounding(
    name: str, kind: str, rng: np.random.Generator
) -> None:
    form, x = task_state(name, kind, rng)
    exported = form.casadi(parameters=True)
    phi = form.model.tree.inertial_parameters()
    symbols = [ca.SX.sym(name, size) for name, size in (("z", x.z.size), ("phi", phi.size))]
    total = exported.hamiltonian(q=x.q, z=symbols[0], parameters=symbols[1])["total"]
    slopes = ca.Function("slopes", symbols, [ca.jacobian(total, symbol) for symbol in symbols])
    by_z, by_parameters = (np.array(slope).ravel() for slope in slopes(x.z, phi))
    kinetic = np.array(exported.gradient(q=x.q, z=x.z, parameters=phi)["dH"]).ravel()
    by_q = kinetic[: form.model.nv] + form.evaluation(x).g
    check_equal(energy_derivatives(form, x), EnergyDerivatives(by_q, by_z, by_parameters), 1e-11)


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("tree 0", "position"),
        ("tree 1", "position"),
        ("tree 2", "pose"),
        ("fingers fixed", "pose"),
        ("fingers planar", "hands"),
        ("borinot", "pose"),
        ("hextilt", "orientation"),
        ("wet fingers", "hands"),
        pytest.param("tree 8", "pose", marks=pytest.mark.slow),
    ],
)
def test_rates_of_a_task_change_as_the_derivatives_say(
    name: str, kind: str, rng: np.random.Generator
) -> None:
    form, x = task_state(name, kind, rng)
    ports = ports_of(form.model, rng)
    # As above, times the third derivatives of the basis, which turns fast near a singularity.
    found = rate_derivatives(form, x, ports)
    check_equal(found, numerical_rate_derivatives(form, x, ports), 1e-4)
    some = rate_derivatives(form, x, ports, parameters=False)
    assert some.zdot_by_parameters.shape == (form.model.nv, 0)
    size = np.abs(found.zdot_by_q).max()
    np.testing.assert_allclose(some.zdot_by_q, found.zdot_by_q, atol=1e-12 * size)


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("tree 0", "position"),
        ("tree 1", "position"),
        ("tree 5", "pose"),
        ("wet 0", "position"),
        ("wet 1", "position"),
        ("wet 2", "position"),
        ("coupled 61", "position"),
        ("wet coupled 77", "position"),
        pytest.param("tree 2", "pose", marks=pytest.mark.slow),
        pytest.param("tree 7", "position", marks=pytest.mark.slow),
        pytest.param("tree 8", "pose", marks=pytest.mark.slow),
        pytest.param("borinot", "pose", marks=pytest.mark.slow),
    ],
)
def test_the_derivatives_of_a_task_are_those_of_casadi_to_rounding(
    name: str, kind: str, rng: np.random.Generator
) -> None:
    form, x = task_state(name, kind, rng)
    ports = ports_of(form.model, rng)
    check_equal(rate_derivatives(form, x, ports), exported_derivatives(form, x, ports), 1e-11)


def test_what_has_no_closed_derivatives_has_those_of_casadi(
    panda: VMSModel, rng: np.random.Generator
) -> None:
    form = TaskSpaceForm(panda, DistanceTask(panda))
    q = np.array([0.1, 0.3, -0.2, -1.5, 0.2, 1.4, 0.3])
    x, ports = form.state(q, rng.uniform(-1, 1, form.model.nv)), ports_of(form.model, rng)
    found = exported_derivatives(form, x, ports)
    check_equal(found, numerical_rate_derivatives(form, x, ports), 1e-5)
    with pytest.raises(ModelError, match="a DistanceTask has no closed"):
        rate_derivatives(form, x, ports)

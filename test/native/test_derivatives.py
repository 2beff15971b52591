# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The derivatives of energies and rates are the same whichever language computes them."""

from collections.abc import Callable
from types import ModuleType

import numpy as np
import pytest
from dynamics.forms.test_derivatives import check_equal, ports_of

from vms_ph_dynamics import (
    OrientationTask,
    PHState,
    Ports,
    PoseTask,
    PositionTask,
    RateDerivatives,
    StackedTask,
    StateError,
    Task,
    TaskSpaceForm,
    VMSModel,
    energy_derivatives,
    rate_derivatives,
    rate_derivatives_batch,
)

from .test_terms import FORMS, ROBOTS, both, states


@pytest.mark.parametrize("name", ROBOTS)
def test_derivatives_are_the_same_in_both_languages(
    native: ModuleType, name: str, rng: np.random.Generator
) -> None:
    ours, theirs = both(name)
    for form in FORMS:
        for q, v in states(ours, rng, 3):
            one, other, ports = form(ours), form(theirs), ports_of(ours, rng)
            x = other.state(q, v)
            # Both solve with the mass matrix, which multiplies their rounding errors.
            tolerance = 1e-14 * max(1e3, float(np.linalg.cond(theirs.evaluate(q, v).M)))
            for acting in (ports, Ports(gravity=False)):
                expected = rate_derivatives(other, x, acting)
                check_equal(rate_derivatives(one, x, acting), expected, tolerance)
                found = energy_derivatives(one, x, acting.gravity)
                check_equal(found, energy_derivatives(other, x, acting.gravity), tolerance)
            assert not expected.zdot_by_q.flags.writeable


@pytest.mark.parametrize("form", FORMS)
def test_many_states_have_the_derivatives_of_each(
    native: ModuleType, form: type, rng: np.random.Generator
) -> None:
    ours, theirs = both("satellite")
    Q, V = (np.array(part) for part in zip(*states(ours, rng, 5), strict=True))
    Z = np.array([form(theirs).state(q, v).z for q, v in zip(Q, V, strict=True)])
    ports = Ports(torque=rng.normal(size=(5, ours.n)))
    found = rate_derivatives_batch(form(ours), Q, Z, ports, parameters=True, threads=2)
    check_equal(rate_derivatives_batch(form(theirs), Q, Z, ports, parameters=True), found, 1e-11)
    some = rate_derivatives_batch(form(ours), Q, Z, ports)
    assert some.zdot_by_parameters.shape == (5, ours.nv, 0)
    np.testing.assert_array_equal(some.zdot_by_q, found.zdot_by_q)
    assert isinstance(some, RateDerivatives)
    assert rate_derivatives_batch(form(ours), Q[:0], Z[:0]).zdot_by_z.shape == (0, ours.nv, ours.nv)


TASKS: dict[str, Callable[[VMSModel], Task]] = {
    "position": PositionTask,
    "orientation": OrientationTask,
    "pose": PoseTask,
    "stack": lambda model: StackedTask(OrientationTask(model), PositionTask(model)),
}


def task_forms(
    name: str, kind: str, rng: np.random.Generator
) -> tuple[TaskSpaceForm, TaskSpaceForm, PHState, float]:
    """The form in C++ and in Python, a state near which it is smooth, and a tolerance."""
    ours, theirs = both(name)
    other = TaskSpaceForm(theirs, TASKS[kind](theirs))
    # The basis of a null space is not unique.
    one = TaskSpaceForm(ours, TASKS[kind](ours), basis=other._reference)
    for q, v in states(ours, rng, 1000):
        t = other.evaluate(q, v)
        if t.regular.smallest_singular_value > 0.1 and t.alignment > 0.3:
            tolerance = 1e-14 * max(1e3, float(np.linalg.cond(t.d.M)))
            return one, other, other.state(q, v), tolerance
    raise AssertionError(f"{name} has no such state")


@pytest.mark.parametrize("kind", TASKS)
@pytest.mark.parametrize(
    "name",
    [
        *("panda", "omnidirectional panda", "satellite", "tree 31", "bluerov", "mimicking"),
        *("hand fixed", "hand floating", "coupled 62", "wet coupled 80"),
    ],
)
def test_derivatives_of_a_task_are_the_same_in_both_languages(
    native: ModuleType, name: str, kind: str, rng: np.random.Generator
) -> None:
    one, other, x, tolerance = task_forms(name, kind, rng)
    for acting in (ports_of(one.model, rng), Ports(gravity=False)):
        expected = rate_derivatives(other, x, acting)
        check_equal(rate_derivatives(one, x, acting), expected, tolerance)
        found = energy_derivatives(one, x, acting.gravity)
        check_equal(found, energy_derivatives(other, x, acting.gravity), tolerance)


def test_many_states_of_a_task_have_the_derivatives_of_each(
    native: ModuleType, rng: np.random.Generator
) -> None:
    form, _, x, _ = task_forms("satellite", "pose", rng)
    Q, Z = np.tile(x.q, (5, 1)), x.z * np.linspace(0.5, 1.5, 5)[:, None]
    found = rate_derivatives_batch(form, Q, Z, parameters=True, threads=2)
    for i, z in enumerate(Z):
        each = rate_derivatives(form, PHState(x.q, z), Ports())
        np.testing.assert_array_equal(found.zdot_by_q[i], each.zdot_by_q)
        np.testing.assert_array_equal(found.zdot_by_parameters[i], each.zdot_by_parameters)


def test_a_singular_task_is_refused_or_lifted_in_both_languages(
    native: ModuleType, rng: np.random.Generator
) -> None:
    *regular, x, tolerance = task_forms("panda", "position", rng)
    one, other = (
        TaskSpaceForm(form.model, form.task, basis=form._reference, singular_below=10.0)
        for form in regular
    )
    check_equal(energy_derivatives(one, x), energy_derivatives(other, x), tolerance)
    for refused in (
        lambda: rate_derivatives(one, x, Ports()),
        lambda: rate_derivatives_batch(one, x.q[None], x.z[None]),
    ):
        with pytest.raises(StateError, match="near a singularity"):
            refused()

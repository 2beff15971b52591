# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The checks of the structure hold for a right model, and each finds the violation it names."""

import numpy as np
import pinocchio as pin
import pytest

from vms_ph_dynamics import DecoupledForm, Evaluation, Form, PHState, StandardForm, VMSModel
from vms_ph_dynamics.forms.checks import structure_checks

from ..conftest import random_tree, state_of


def failed(d: Evaluation) -> list[str]:
    return [check.name for check in structure_checks(d) if not check.value <= check.limit]


@pytest.mark.parametrize("seed", range(4))
def test_trees_on_all_bases_pass(seed: int) -> None:
    model = random_tree(seed)
    d = model.evaluate(*state_of(model, np.random.default_rng(seed)))
    assert not failed(d)
    assert len(structure_checks(d)) == 9


def test_violations_are_relative_to_the_size_of_the_robot(panda: VMSModel) -> None:
    heavy = panda.pinocchio
    for i, inertia in enumerate(list(heavy.inertias)):
        heavy.inertias[i] = pin.Inertia(1e6 * inertia.mass, inertia.lever, 1e6 * inertia.inertia)
    model = VMSModel.from_pinocchio(heavy, panda.end_effector)
    q, v = np.array([0.3, -0.5, 0.2, -1.8, 0.4, 1.5, -0.6]), np.linspace(-0.5, 0.5, 7)
    d = model.evaluate(q, v)
    assert np.abs(d.M).max() > 1e6
    assert not failed(d)


def test_a_robot_at_rest_passes(panda: VMSModel) -> None:
    assert not failed(panda.evaluate(panda.neutral_configuration(), np.zeros(7)))


def test_a_wrong_coriolis_matrix_is_not_half_the_rate_of_the_mass_matrix(
    panda: VMSModel, rng: np.random.Generator
) -> None:
    d = panda.evaluate(panda.random_configuration(rng), rng.normal(size=7))
    d.__dict__["C"] = d.C + 0.01
    said = "the rate of the mass matrix is not C + C^T"
    assert said in failed(d)
    # Of entries below one the violation is what is missing itself.
    rest = panda.evaluate(d.q, np.zeros(7))
    rest.__dict__["C"] = rest.C + 0.01
    values = {check.name: check.value for check in structure_checks(rest)}
    assert values[said] == pytest.approx(0.02)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (-2.0 * np.eye(7), "the mass matrix has an eigenvalue below zero"),
        (1e-3 * np.triu(np.ones((7, 7)), 1), "the mass matrix is not symmetric"),
    ],
)
def test_a_wrong_mass_matrix_is_named(panda: VMSModel, change: np.ndarray, said: str) -> None:
    d = panda.evaluate(panda.neutral_configuration(), 0.1 * np.ones(7))
    d.__dict__["M"] = d.M + change
    assert said in failed(d)


@pytest.mark.parametrize(
    ("form", "said"), [(StandardForm, "J is not skew"), (DecoupledForm, "J_hat is not skew")]
)
def test_an_interconnection_that_takes_power_is_named(
    panda: VMSModel, form: type[Form], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    right = form.interconnection

    def wrong(self: Form, x: PHState) -> np.ndarray:
        matrix = right(self, x)
        return matrix - 1e-3 * np.eye(len(matrix))

    monkeypatch.setattr(form, "interconnection", wrong)
    assert said in failed(panda.evaluate(panda.neutral_configuration(), 0.1 * np.ones(7)))

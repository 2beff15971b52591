# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Many states at once give what each of them gives."""

import os

import numpy as np
import pytest

from dynamics.tasks.task_cases import MODELS
from vms_ph_dynamics import (
    DecoupledForm,
    Friction,
    OptionError,
    Ports,
    StandardForm,
    StateError,
    TaskSpaceForm,
    VMSModel,
    momenta,
)
from vms_ph_dynamics.arrays import Array
from vms_ph_dynamics.evaluation_batch import TERMS, EvaluationBatch, threads_of
from vms_ph_dynamics.forms import Form
from vms_ph_dynamics.tasks import PositionTask
from vms_ph_io import robots

# 1e-10 is what is promised of the C++ core; Python alone repeats itself to rounding.
_TOLERANCE = 1e-10


def rows(model: VMSModel, rng: np.random.Generator, count: int) -> tuple[Array, Array]:
    q = np.array([model.random_configuration(rng) for _ in range(count)])
    return q, rng.uniform(-2, 2, (count, model.nv))


def assert_batch_of_states(model: VMSModel, rng: np.random.Generator, oracle: VMSModel) -> None:
    """Compare every term of a batch with those of its states."""
    q, v = rows(model, rng, 5)
    batch = model.evaluate_batch(q, v, terms=("M", "kinetic_energy", "p"), threads=2)
    assert len(batch) == 5
    for i in range(5):
        d = oracle.evaluate(q[i], v[i])
        found = momenta(d)
        expected = {
            "centre_of_mass": found.centre_of_mass,
            "centroidal_momentum": found.centroidal,
            "spatial_momentum": found.spatial,
        }
        for name in TERMS:
            if name.endswith("regressor"):
                continue
            value = expected.get(name, getattr(d, name, None))
            term = getattr(batch, name)
            assert not term.flags.writeable
            assert term.shape[1:] == np.shape(value)
            scale = max(1.0, float(np.abs(value).max(initial=0.0)))
            if name == "M_b_inverse":
                scale *= float(np.linalg.cond(d.M))
            np.testing.assert_allclose(term[i], value, rtol=0, atol=_TOLERANCE * scale)


def assert_regressors_give_the_energies(model: VMSModel, rng: np.random.Generator) -> None:
    q, v = rows(model, rng, 4)
    batch = model.evaluate_batch(q, v)
    whole = model.tree.pinocchio
    parameters = np.concatenate(
        [whole.inertias[i].toDynamicParameters() for i in range(1, whole.njoints)]
    )
    kinetic = batch.kinetic_regressor @ parameters
    rates = v @ (np.eye(model.nv) if model.tree.projection is None else model.tree.projection).T
    geared = 0.5 * rates**2 @ whole.armature
    np.testing.assert_allclose(kinetic + geared, batch.kinetic_energy, rtol=1e-11, atol=1e-11)
    np.testing.assert_allclose(
        batch.potential_regressor @ parameters, batch.potential_energy, rtol=1e-11, atol=1e-10
    )


def assert_rates_of_states(
    form: Form, oracle: Form, rng: np.random.Generator, tools: tuple[str, ...] = ()
) -> None:
    model = form.model
    q, v = rows(model, rng, 4)
    z = np.array([oracle.state(*one).z for one in zip(q, v, strict=True)])
    friction = Friction(rng.uniform(0.1, 1, model.n), rng.uniform(0.1, 1, model.n))
    several = Ports(
        rng.normal(size=(4, model.n)),
        rng.normal(size=model.b),
        rng.normal(size=(4, 6)),
        friction=friction,
        wrench_tools={name: rng.normal(size=(4, 6)) for name in tools},
    )
    found = form.rate_batch(q, z, several, threads=2)
    free = form.rate_batch(q, z)
    assert not found.zdot.flags.writeable
    for i in range(4):
        one = Ports(
            several.torque[i],
            several.wrench_base,
            several.wrench_end_effector[i],
            friction=friction,
            wrench_tools={name: w[i] for name, w in several.wrench_tools.items()},
        )
        for batch, ports in ((found, one), (free, Ports())):
            expected = oracle.rate_arrays(q[i], z[i], ports)
            scale = max(1.0, float(np.abs(expected.zdot).max()))
            np.testing.assert_allclose(batch.qdot[i], expected.qdot, rtol=0, atol=1e-10 * scale)
            np.testing.assert_allclose(batch.zdot[i], expected.zdot, rtol=0, atol=1e-10 * scale)


@pytest.mark.parametrize("name", ["panda", "hextilt", "bluerov", "mimicking"])
def test_the_terms_of_many_states_are_those_of_each(name: str, rng: np.random.Generator) -> None:
    model = MODELS[name]()
    assert_batch_of_states(model, rng, model)


@pytest.mark.parametrize("name", ["panda", "hextilt", "mimicking"])
def test_energies_are_linear_in_the_ten_parameters_of_each_body(
    name: str, rng: np.random.Generator
) -> None:
    assert_regressors_give_the_energies(MODELS[name](), rng)


def test_the_rates_of_many_states_are_those_of_each(rng: np.random.Generator) -> None:
    model = MODELS["floating panda"]().with_tools(["panda_link5"])
    task = TaskSpaceForm(model, PositionTask(model))
    for form in (StandardForm(model), DecoupledForm(model), task):
        assert_rates_of_states(form, form, rng, ("panda_link5",))
    mimicking = DecoupledForm(MODELS["mimicking"]())
    assert_rates_of_states(mimicking, mimicking, rng)


def test_a_batch_may_be_empty() -> None:
    model = robots.load("hextilt")
    batch = model.evaluate_batch(np.zeros((0, model.nq)), np.zeros((0, model.nv)))
    assert batch.M.shape == (0, model.nv, model.nv)
    assert batch.kinetic_energy.shape == (0,)
    assert batch.pi.shape == (0, model.n)
    rates = StandardForm(model).rate_batch(batch.Q, batch.V)
    assert rates.zdot.shape == (0, model.nv)


def test_a_state_that_is_none_is_named(rng: np.random.Generator) -> None:
    model = robots.load("hextilt")
    q, v = rows(model, rng, 3)
    off, nan = q.copy(), v.copy()
    off[2, 3:7] *= 2.0
    nan[1, 0] = np.nan
    form = StandardForm(model)
    wrong = (
        (lambda: model.evaluate_batch(off, v), "state 2: .* must have length 1"),
        (lambda: model.evaluate_batch(q, nan), "state 1: v must be finite"),
        (lambda: model.evaluate_batch(q[0], v), r"Q must have shape \(N,12\)"),
        (lambda: model.evaluate_batch(q, v[:2]), "Q has 3 states and V 2"),
        (lambda: model.evaluate_batch("q", v), "Q must be numbers"),
        (lambda: form.rate_batch(q, v, Ports(torque=np.zeros((2, 5)))), r"\(5,\) .* or \(3,5\)"),
        (lambda: form.rate_batch(q, v, Ports(torque=np.full(5, np.inf))), "torque must be finite"),
        (lambda: form.rate_batch(q, v, Ports(wrench_tools={"no": np.zeros(6)})), "'no' is no tool"),
    )
    for call, words in wrong:
        with pytest.raises(StateError, match=words):
            call()
    with pytest.raises(OptionError, match="there is no term 'inertia'; the terms are M, "):
        model.evaluate_batch(q, v, terms=("inertia",))
    with pytest.raises(OptionError, match="at least 1; given: 0"):
        model.evaluate_batch(q, v, threads=0)
    batch = model.evaluate_batch(q, v)
    assert isinstance(batch, EvaluationBatch)
    assert {"M", "pi_hat"} <= set(dir(batch))
    with pytest.raises(AttributeError, match="no attribute 'inertia'; use M"):
        _ = batch.inertia


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="a system without affinities")
def test_threads_are_those_that_this_process_may_use() -> None:
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(allowed)})
    try:
        assert threads_of(None) == 1
    finally:
        os.sched_setaffinity(0, allowed)
    assert threads_of(3) == 3

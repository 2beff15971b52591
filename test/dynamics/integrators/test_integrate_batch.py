# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Many runs at once are the runs one after another."""

from collections.abc import Callable

import numpy as np
import pytest

from vms_ph_dynamics import (
    DecoupledForm,
    Friction,
    PHState,
    Ports,
    StandardForm,
    StateError,
    TrajectoryBatch,
    integrate,
    integrate_batch,
)
from vms_ph_dynamics.forms import Form
from vms_ph_io import robots


def starts(form: Form, rng: np.random.Generator, count: int) -> list[PHState]:
    model = form.model
    return [
        form.state(model.random_configuration(rng), rng.uniform(-0.5, 0.5, model.nv))
        for _ in range(count)
    ]


def assert_runs(
    batch: TrajectoryBatch, one: Callable[[int], tuple[Form, PHState, object]], **options: object
) -> None:
    """Compare a batch with single runs in Python."""
    for i in range(len(batch)):
        form, x, ports = one(i)
        run = integrate(form, x, ports, native=False, **options)
        np.testing.assert_array_equal(batch.t, run.t)
        # What rounding grows to over the run, in either language.
        np.testing.assert_allclose(batch.q[i], run.q, rtol=0, atol=1e-9)
        np.testing.assert_allclose(batch.energy[i], run.energy, rtol=1e-9, atol=1e-9)
        for name, supplied in batch.supplied.items():
            expected = run.audit.supplied.get(name, 0.0 * run.audit.stored)
            np.testing.assert_allclose(supplied[i], expected, rtol=0, atol=1e-8)
        np.testing.assert_allclose(batch.dissipated[i], run.audit.dissipated, rtol=0, atol=1e-8)
    assert np.abs(batch.residual).max() < 1e-9
    assert not batch.q.flags.writeable


def assert_batches(native: bool, rng: np.random.Generator, scheme: str) -> None:
    """Compare batches over states, over efforts, and over robots with single runs."""
    model = robots.load("hextilt").with_native(native)
    form, n = DecoupledForm(model), model.n
    states = starts(form, rng, 3)
    options: dict[str, object] = {"dt": 1e-3, "steps": 25, "stride": 10, "scheme": scheme}

    free = integrate_batch(form, states, native=native, threads=2, **options)
    assert_runs(free, lambda i: (form, states[i], None), **options)

    friction = Friction(np.full(n, 0.2), np.full(n, 0.1), 0.5)
    efforts = [
        Ports(rng.normal(size=n), rng.normal(size=6), rng.normal(size=6), friction=friction),
        lambda t, x: Ports(torque=np.full(n, np.cos(t))),
        None,
    ]
    forced = integrate_batch(form, states[:1] * 3, efforts, native=None, threads=2, **options)
    assert_runs(forced, lambda i: (form, states[0], efforts[i]), **options)


def test_runs_of_a_batch_are_single_runs(rng: np.random.Generator) -> None:
    assert_batches(False, rng, "projected_rk4")


def test_a_run_that_ends_early_is_told_and_the_others_go_on(rng: np.random.Generator) -> None:
    form = StandardForm(robots.load("panda"))
    states = starts(form, rng, 2)
    efforts = [None, Ports(torque=np.full(7, 1e200))]
    batch = integrate_batch(form, states, efforts, dt=1e-3, steps=4)
    assert list(batch.errors) == [1]
    assert "fails even at dt" in batch.errors[1]
    assert np.isfinite(batch.q[0]).all()
    assert np.isnan(batch.q[1]).all()


def test_mistakes_are_reported(rng: np.random.Generator) -> None:
    form = StandardForm(robots.load("panda"))
    two = starts(form, rng, 2)
    with pytest.raises(StateError, match="states has 2, ports has 3"):
        integrate_batch(form, two, [None] * 3, dt=1e-3, steps=1)
    with pytest.raises(StateError, match="torque must have shape"):
        integrate_batch(form, two, Ports(torque=np.zeros(2)), dt=1e-3, steps=1)
    with pytest.raises(StateError, match="dt must be finite"):
        integrate_batch(form, two, dt=0.0, steps=1)


def test_a_batch_of_one_is_the_single_run(rng: np.random.Generator) -> None:
    form = StandardForm(robots.load("panda"))
    ports, (x,) = Ports(rng.normal(size=7)), starts(form, rng, 1)
    options: dict[str, object] = {"dt": 1e-3, "steps": 4, "stride": 2}
    batch = integrate_batch(form, [x], [ports], **options)
    assert len(batch) == 1
    assert_runs(batch, lambda i: (form, x, ports), **options)

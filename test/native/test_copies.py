# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Copies and pickles, as for other processes, give what their originals give."""

import copy
import pickle
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any

import numpy as np
import pytest

from vms_ph_controllers import Reference, RobotState, TaskSpaceIDAPBC
from vms_ph_dynamics import (
    CanonicalForm,
    DecoupledForm,
    Ports,
    StandardForm,
    TaskSpaceForm,
    VMSModel,
    integrate,
)
from vms_ph_dynamics.tasks.frame import PositionTask
from vms_ph_io import robots, simulate

from .base_law_cases import CASES, Case

Copy = Callable[[Any], Any]


def pickled(original: Any) -> Any:
    return pickle.loads(pickle.dumps(original))


each_copy = pytest.mark.parametrize("copied", [pickled, copy.deepcopy])
ROBOTS = ("panda", "omnidirectional_panda", "hextilt")


@pytest.fixture(params=[False, True], ids=["Python", "C++"])
def in_cpp(request: pytest.FixtureRequest) -> bool:
    if request.param:
        request.getfixturevalue("native")
    return bool(request.param)


def state(model: VMSModel) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(4)
    return model.random_configuration(rng), rng.normal(size=model.nv)


@each_copy
@pytest.mark.parametrize("name", [*ROBOTS, "bluerov2_alpha5", "baxter"])
def test_a_copy_of_a_model_has_the_same_terms(copied: Copy, name: str, in_cpp: bool) -> None:
    model = robots.load(name).with_native(in_cpp)
    q, v = state(model)
    d = model.evaluate(q, v)
    twin = copied(model)
    assert repr(twin) == repr(model)
    assert twin.is_native == model.is_native
    assert not twin.gravity.flags.writeable
    assert not twin.home.flags.writeable
    for other in (twin.evaluate(q, v), copied(d)):
        for term in ("M", "C", "g", "J_end_effector"):
            np.testing.assert_array_equal(getattr(other, term), getattr(d, term))
        assert not other.q.flags.writeable


@each_copy
@pytest.mark.parametrize("name", ROBOTS)
def test_copies_of_forms_and_runs_give_the_same(copied: Copy, name: str, in_cpp: bool) -> None:
    model = robots.load(name).with_native(in_cpp)
    q, v = state(model)
    kinds: list[Any] = [StandardForm, DecoupledForm, lambda m: TaskSpaceForm(m, PositionTask(m))]
    for kind in [*kinds, *([CanonicalForm] if model.base == "fixed" else [])]:
        form = kind(model)
        x, twin = form.state(q, v), copied(form)
        np.testing.assert_array_equal(twin.rate(x, Ports()).zdot, form.rate(x, Ports()).zdot)

    def torque(t: float, x: Any) -> Ports:
        return Ports(torque=np.full(model.n, np.cos(t)))

    for ports in (Ports(), torque):
        form = DecoupledForm(model)
        run = integrate(form, form.state(q, 0.1 * v), ports, dt=1e-3, steps=4, native=in_cpp)
        other = copied(run)
        assert repr(other) == repr(run)
        np.testing.assert_array_equal(other.z, run.z)
        np.testing.assert_array_equal(other.v, run.v)


@each_copy
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.label)
def test_a_copy_of_a_law_begins_at_its_first_update(copied: Copy, case: Case, in_cpp: bool) -> None:
    model = case.model().with_native(in_cpp)
    law = case.make_law(model, case.allocation())
    home = case.home(model)
    start = RobotState(home, np.zeros(model.nv))
    law.reset(start)
    for _ in range(3):
        law.update(start, Reference(), 1e-3)
    twin = copied(law)
    later = RobotState(model.integrate(home, np.full(model.nv, 1e-2)), np.full(model.nv, 1e-2))
    first = twin.update(later, Reference(), 1e-3)
    law.reset(later)
    expected = law.update(later, Reference(), 1e-3)
    np.testing.assert_array_equal(first.torque, expected.torque)
    np.testing.assert_array_equal(first.wrench_base, expected.wrench_base)
    assert first.energy == expected.energy


@each_copy
def test_a_copy_of_a_simulation_has_its_arrays(copied: Copy) -> None:
    run = simulate("panda", TaskSpaceIDAPBC, seconds=0.02)
    other = copied(run)
    np.testing.assert_array_equal(other.q, run.q)
    assert str(other.audit) == str(run.audit)


def test_a_process_of_its_own_takes_a_model() -> None:
    model = robots.load("panda").with_native(False)
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        torque = pool.submit(_gravity, model).result()
    np.testing.assert_array_equal(torque, _gravity(model))


def _gravity(model: VMSModel) -> np.ndarray:
    return model.evaluate(model.home, np.zeros(model.nv)).g

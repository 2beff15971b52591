# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The terms, energies and rates of the Python API are the same whichever language computes them."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from dynamics.conftest import coupled_tree, immersed, random_tree
from dynamics.forms.test_derivatives import with_fingers
from dynamics.tasks.task_cases import MODELS
from dynamics.test_evaluation_batch import (
    assert_batch_of_states,
    assert_rates_of_states,
    assert_regressors_give_the_energies,
    rows,
)

import vms_ph_dynamics.native as choice
from vms_ph_dynamics import (
    DecoupledForm,
    FreeFloating,
    Friction,
    ModelError,
    Ports,
    StandardForm,
    StateError,
    TaskSpaceForm,
    VMSModel,
    momenta,
)
from vms_ph_dynamics.arrays import Array
from vms_ph_dynamics.robot.algorithms import native_robot
from vms_ph_dynamics.tasks import CentreOfMassTask, PoseTask, PositionTask, StackedTask
from vms_ph_io import robots

TERMS = (
    *("M", "M_b", "M_bm", "M_m", "M_b_inverse", "A", "M_hat_m", "v_hat", "momentum", "p", "pi"),
    *("pi_hat", "C", "dM", "g", "kinetic_energy", "potential_energy", "J_end_effector"),
)

ROBOTS: dict[str, Callable[[], VMSModel]] = {
    **MODELS,
    "omnidirectional panda": lambda: robots.load("omnidirectional_panda"),
    "satellite": lambda: robots.load("satellite_panda"),
    "revolute hopper": lambda: robots.load("revolute_hopper"),
    **{f"tree {seed}": lambda seed=seed: random_tree(seed) for seed in range(30, 45)},
    **{
        f"wet {seed}": lambda seed=seed: immersed(random_tree(seed), seed) for seed in range(45, 51)
    },
    **{f"hand {base}": lambda base=base: with_fingers(base) for base in ("fixed", "floating")},
    **{f"coupled {seed}": lambda seed=seed: coupled_tree(seed) for seed in range(60, 69)},
    **{
        f"wet coupled {seed}": lambda seed=seed: immersed(coupled_tree(seed), seed)
        for seed in (66, *range(75, 81))
    },
}

FORMS: tuple[Callable[[VMSModel], StandardForm | DecoupledForm], ...] = (
    StandardForm,
    DecoupledForm,
)


def near(ours: object, theirs: object, size: float = 0.0) -> None:
    """Compare to 1e-10 of the size of the quantity, as is promised."""
    expected = np.asarray(theirs, dtype=float)
    scale = max(1.0, size, float(np.abs(expected).max(initial=0.0)))
    np.testing.assert_allclose(np.asarray(ours), expected, rtol=0.0, atol=1e-10 * scale)


def both(name: str) -> tuple[VMSModel, VMSModel]:
    """Return a robot with its terms in C++ and in Python."""
    model = ROBOTS[name]()
    in_cpp, in_python = model.with_native(True), model.with_native(False)
    assert in_cpp.is_native
    assert not in_python.is_native
    return in_cpp, in_python


def states(model: VMSModel, rng: np.random.Generator, count: int) -> list[tuple[Array, Array]]:
    return [
        (model.random_configuration(rng), rng.uniform(-2.0, 2.0, model.nv)) for _ in range(count)
    ]


@pytest.mark.parametrize("name", ROBOTS)
def test_every_term_is_the_same_in_both_languages(
    native: ModuleType, name: str, rng: np.random.Generator
) -> None:
    ours, theirs = both(name)
    frames = [ours.end_effector, ours.link_names[0], ours.link_names[len(ours.link_names) // 2]]
    for q, v in states(ours, rng, 5):
        d, expected = ours.evaluate(q, v), theirs.evaluate(q, v)
        hard = float(np.linalg.cond(expected.M))
        for term in TERMS:
            near(getattr(d, term), getattr(expected, term), hard if term == "M_b_inverse" else 0.0)
            assert np.ndim(getattr(d, term)) == 0 or not getattr(d, term).flags.writeable
        for frame in frames:
            near(d.placement(frame), expected.placement(frame))
            near(d.jacobian(frame), expected.jacobian(frame))
            index = ours.frame_id(frame)
            near(d.jacobian_rate(index), expected.jacobian_rate(index))
        found, known = momenta(d), momenta(expected)
        for term in ("centre_of_mass", "centroidal", "spatial"):
            near(getattr(found, term), getattr(known, term))


def test_joints_may_have_turned_many_times(native: ModuleType, rng: np.random.Generator) -> None:
    """Whole turns are subtracted up to 1e5 rad; beyond that the C library does it."""
    ours, theirs = both("hextilt")
    for turns in (1.0, 1e3, 1.5e4, 1e6, 1e9):
        q, v = states(ours, rng, 1)[0]
        q[7:] += 2.0 * np.pi * turns * rng.uniform(-1.0, 1.0, len(q) - 7)
        d, expected = ours.evaluate(q, v), theirs.evaluate(q, v)
        for term in ("M", "C", "g", "J_end_effector", "kinetic_energy", "potential_energy"):
            near(getattr(d, term), getattr(expected, term))


def test_precision_does_not_depend_on_where_the_robot_is(
    native: ModuleType, rng: np.random.Generator
) -> None:
    """Ten kilometres away the inertia about the origin would be larger by eight digits.

    Pinocchio's Coriolis matrix of a robot mounted there is off by 1e-7, so that the comparison is
    with a robot nearby.
    """
    whole = robots.load("panda").pinocchio
    placement = whole.jointPlacements[1].copy()
    placement.translation = placement.translation + np.array([6e3, -8e3, 50.0])
    whole.jointPlacements[1] = placement
    mounted = VMSModel.from_pinocchio(whole, "panda_link8").with_native(True)
    for ours, theirs in ((mounted, robots.load("panda")), both("hextilt")):
        for q, v in states(ours, rng, 3):
            far = q.copy()
            far[: 3 if ours.b else 0] += 1e4
            d, expected = ours.evaluate(far, v), theirs.evaluate(q, v)
            for term in ("M", "C", "g", "J_end_effector", "kinetic_energy"):
                near(getattr(d, term), getattr(expected, term))
            higher = 1e4 if ours.b else 50.0
            lifted = expected.potential_energy + 9.81 * higher * ours.total_mass
            near(d.potential_energy, lifted, 1e6)


@pytest.mark.parametrize("name", ROBOTS)
def test_rates_energies_and_powers_of_the_forms_are_the_same(
    native: ModuleType, name: str, rng: np.random.Generator
) -> None:
    ours, theirs = both(name)
    names = [link for link in ours.link_names if link != ours.end_effector][-2:]
    ours, theirs = ours.with_tools(names), theirs.with_tools(names)
    for q, v in states(ours, rng, 3):
        ports = Ports(
            rng.normal(size=ours.n),
            rng.normal(size=ours.b),
            rng.normal(size=6),
            friction=Friction(rng.uniform(0.1, 1, ours.n), rng.uniform(0.1, 1, ours.n)),
            wrench_tools={name: rng.normal(size=6) for name in names},
        )
        for make in FORMS:
            form, oracle = make(ours), make(theirs)
            x = oracle.state(q, v)
            near(form.state(q, v).z, x.z)
            near(form.velocity(x), oracle.velocity(x))
            near(form.hamiltonian(x).total, oracle.hamiltonian(x).total)
            # Of a matrix-free gradient and one by derivative tensors.
            near(form.gradient(x), oracle.gradient(x))
            near(form.interconnection(x), oracle.interconnection(x))
            for acting in (ports, Ports(), Ports(gravity=False, torque=ports.torque)):
                found, expected = form.rate(x, acting), oracle.rate(x, acting)
                hard = float(np.abs(expected.zdot).max(initial=1.0))
                near(found.qdot, expected.qdot)
                near(found.zdot, expected.zdot, hard)
                balance, known = form.power_balance(x, acting), oracle.power_balance(x, acting)
                near(balance.stored, known.stored, hard)
                assert balance.supplied == pytest.approx(known.supplied, rel=1e-10, abs=1e-10)
                near(balance.dissipated, known.dissipated)
                near(balance.residual, 0.0, hard)


def test_task_space_and_free_floating_terms_are_the_same(
    native: ModuleType, rng: np.random.Generator
) -> None:
    for name in ("panda", "floating panda", "bluerov", "mimicking"):
        ours, theirs = both(name)
        for kind in (PositionTask, PoseTask, lambda m: StackedTask(PositionTask(m), _com(m))):
            if theirs.nv <= kind(theirs).dimension + 1:
                continue
            form = TaskSpaceForm(theirs, kind(theirs))
            same = TaskSpaceForm(ours, kind(ours), basis=form.evaluate(*at_rest(theirs)).Z)
            form = TaskSpaceForm(theirs, kind(theirs), basis=form.evaluate(*at_rest(theirs)).Z)
            for q, v in states(ours, rng, 2):
                t, expected = same.evaluate(q, v), form.evaluate(q, v)
                if not expected.is_regular or expected.alignment < 0.2:
                    continue
                for term in ("J", "Lambda_t", "Lambda_nu", "eta", "nu", "pi", "pi_nu"):
                    near(getattr(t, term), getattr(expected, term), 1e2)
                x, ports = form.state(q, v), Ports(rng.normal(size=ours.n))
                near(same.rate(x, ports).zdot, form.rate(x, ports).zdot, 1e3)
    ours, theirs = (FreeFloating(model) for model in both("floating panda"))
    for q, v in states(ours.model, rng, 3):
        found, known = ours.evaluate(q, v), theirs.evaluate(q, v)
        for term in ("H", "P", "L_0", "J_g", "H_w_phi", "Hdot", "c_m", "r_g"):
            near(getattr(found, term), getattr(known, term))


def _com(model: VMSModel) -> CentreOfMassTask:
    return CentreOfMassTask(model)


def at_rest(model: VMSModel) -> tuple[Array, Array]:
    rng = np.random.default_rng(3)
    return model.random_configuration(rng), np.zeros(model.nv)


def test_a_mistake_is_reported_in_the_words_of_python(native: ModuleType) -> None:
    model = robots.load("hextilt").with_native(True)
    form, q = DecoupledForm(model), model.neutral_configuration()
    x, z = form.state(q, np.zeros(model.nv)), np.zeros(model.nv)
    wrong: tuple[tuple[Callable[[], object], str], ...] = (
        (lambda: model.evaluate(q[1:], z), "q of a robot on a floating base must have shape"),
        (lambda: model.evaluate(q * 2.0, z), "must have length 1 within"),
        (lambda: model.evaluate(q, z * np.nan), "v must be finite"),
        (lambda: model.evaluate(["a"] * model.nq, z), "q of a robot on a floating base must be"),
        (lambda: form.rate(x, Ports(torque=np.zeros(1))), "torque must have shape"),
        (lambda: form.rate(x, Ports(wrench_base=np.full(6, np.inf))), "wrench_base .* finite"),
        (lambda: form.rate(x, Ports(wrench_tools={"no": np.zeros(6)})), "'no' is no tool of"),
        (lambda: form.rate(x, Ports(friction=Friction(np.ones(2), np.ones(2)))), "friction must"),
        (lambda: form.gradient(type(x)(x.q, x.z[1:])), "z must have shape"),
    )
    for call, words in wrong:
        with pytest.raises(StateError, match=words):
            call()


def test_who_insists_on_cpp_is_told_why_there_is_none(
    native: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = robots.load("panda")
    q, v = model.neutral_configuration(), np.zeros(7)
    assert model.with_native(True).evaluate(q, v).model.is_native
    assert StandardForm(model.with_native(True)).model.is_native
    monkeypatch.setenv("VMS_PH_NATIVE", "0")
    assert not model.with_native(None).is_native
    with pytest.raises(ModelError, match=r"not installed or VMS_PH_NATIVE=0 excludes it"):
        model.with_native(True)
    monkeypatch.delenv("VMS_PH_NATIVE")
    monkeypatch.setattr(choice, "native_module", lambda: None)
    with pytest.raises(ModelError, match=r"./vms native builds"):
        model.with_native(True)
    with pytest.raises(ModelError, match="the terms are computed in Python"):
        model.with_native(True)


def test_without_being_asked_a_model_uses_the_core_where_it_is(native: ModuleType) -> None:
    assert robots.load("panda").with_native(None).is_native


@pytest.mark.parametrize("name", [*MODELS, "omnidirectional panda", "tree 31", "tree 32"])
def test_batches_on_threads_give_what_python_gives(
    native: ModuleType, name: str, rng: np.random.Generator
) -> None:
    ours, theirs = both(name)
    assert_batch_of_states(ours, rng, theirs)
    if ours.fluid is None:
        assert_regressors_give_the_energies(ours, rng)
        q, v = rows(ours, rng, 3)
        found, known = ours.evaluate_batch(q, v), theirs.evaluate_batch(q, v)
        near(found.kinetic_regressor, known.kinetic_regressor)
        near(found.potential_regressor, known.potential_regressor)
    tools = tuple(link for link in ours.link_names[:1] if link != ours.end_effector)
    ours, theirs = ours.with_tools(tools), theirs.with_tools(tools)
    for make in FORMS:
        assert_rates_of_states(make(ours), make(theirs), rng, tools)


def test_every_state_of_a_large_batch_is_its_own(
    native: ModuleType, rng: np.random.Generator
) -> None:
    """More states than are divided among the threads at once, by several threads at a time."""
    model = robots.load("hextilt").with_native(True)
    few, rates = rows(model, rng, 7)
    which = rng.integers(7, size=5000)
    expected = model.evaluate_batch(few, rates, terms=("C", "potential_energy"))
    with ThreadPoolExecutor(3) as pool:
        batches = pool.map(
            lambda _: model.evaluate_batch(few[which], rates[which], terms=("C",), threads=3),
            range(3),
        )
        for batch in batches:
            np.testing.assert_array_equal(batch.C, expected.C[which])
            np.testing.assert_array_equal(batch.potential_energy, expected.potential_energy[which])


@pytest.mark.parametrize("name", ROBOTS)
def test_states_that_are_not_finite_leave_nothing_behind(
    native: ModuleType, name: str, rng: np.random.Generator
) -> None:
    model = ROBOTS[name]()
    used, fresh = (native.Dynamics(native_robot(native, model.tree)) for _ in range(2))
    q, v = states(model, rng, 1)[0]
    for bad in (np.full(model.nq, np.nan), np.full(model.nq, np.inf), q):
        all_terms(used, bad, np.full(model.nv, 1e200))
        all_terms(used, bad, np.full(model.nv, np.nan))
    for ours, theirs in zip(all_terms(used, q, v), all_terms(fresh, q, v), strict=True):
        np.testing.assert_array_equal(ours, theirs)


def all_terms(d: Any, q: Array, v: Array) -> list[Array]:
    """Return what the workspace of the C++ core computes at a state."""
    nothing = (None, None, [], None, None, 1.0, True, True)
    terms = [getattr(d, of)(q) for of in ("mass", "connection", "shape_inertia", "gravity")]
    terms += [d.coriolis(q, v), d.momentum(q, v), d.shape_momentum(q, v), d.kinetic_energy(q, v)]
    for decoupled in (False, True):
        terms.append(d.velocity(decoupled, q, v))
        terms.extend(d.energy_derivatives(decoupled, q, v, True) or ())
        terms.extend(d.rate(decoupled, q, v, *nothing) or ())
    return terms

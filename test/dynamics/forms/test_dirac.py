# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Dirac structures of base, arm and both [A, sections 3 to 5]."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vms_ph_dynamics import ModelError, VMSModel
from vms_ph_dynamics.forms import (
    CanonicalForm,
    DecoupledForm,
    Ports,
    StandardForm,
    TaskSpaceForm,
)
from vms_ph_dynamics.groups import SE3
from vms_ph_dynamics.tasks import PositionTask
from vms_ph_io import robots

from ..conftest import random_tree, state_of
from ..joint_maps import FloatingJoint, PlanarJoint
from .dirac_checks import is_dirac, same
from .dirac_structures import (
    DiracStructure,
    base_structure,
    compose,
    coupled_structure,
    direct_product,
    manipulator_structure,
    wrench_junction,
)

trees = st.integers(0, 2**31).map(random_tree)
seeds = st.integers(0, 2**31)


@given(trees, seeds)
@settings(max_examples=15, deadline=None)
def test_base_and_arm_alone_have_dirac_structures(tree: VMSModel, seed: int) -> None:
    d = tree.evaluate(*state_of(tree, np.random.default_rng(seed)))
    arm, base = manipulator_structure(d), base_structure(d)
    is_dirac(arm)
    is_dirac(base)
    assert list(arm.ports.values()) == [tree.n] * 4 + [6]
    assert list(base.ports.values()) == [tree.b] * 3


def test_the_structure_of_the_arm_as_printed_is_not_skew(panda: VMSModel) -> None:
    # After (33) the flows of actuators and tool have no sign; power then does not balance.
    d = panda.evaluate(np.full(7, 0.3), np.full(7, 0.2))
    right = manipulator_structure(d).matrix()
    printed = right.copy()
    printed[21:] *= -1
    with pytest.raises(ModelError, match="skew-symmetric"):
        DiracStructure.from_matrix(printed, manipulator_structure(d).ports)
    # Printed line by line: xdot = J_sym dH - G dV + G tau + G J^T W, qdot, qdot, V = J G^T dH.
    g, j = np.vstack([np.zeros((7, 7)), np.eye(7)]), d.J_end_effector
    np.testing.assert_array_equal(printed[:14, 14:], np.hstack([-g, g, g @ j.T]))
    np.testing.assert_array_equal(printed[14:, :14], np.vstack([g.T, g.T, j @ g.T]))


@pytest.mark.parametrize("base", ["planar", "floating"])
def test_the_base_structure_is_that_of_the_source_in_any_chart(
    base: str, rng: np.random.Generator
) -> None:
    # (43) keeps hdot = chi v and dV/dh in a chart of the base; composed with the map chi, ours is
    # that one, but for the sign of the last flow.
    model = VMSModel.from_urdf(robots.get("panda").description(), base)
    d = model.evaluate(*state_of(model, rng))
    joint = PlanarJoint() if base == "planar" else FloatingJoint()
    h = rng.uniform(-1, 1, 3) if base == "planar" else SE3().random(rng).ravel()
    chi, b, size = joint.rate_map(h), model.b, len(h)
    # The map as a structure: power in by (force, v), out by (dV/dh, hdot).
    unit, zero = np.eye(b), np.zeros((b, size))
    flows = np.block([[-unit, zero], [chi, np.zeros((size, size))]])
    efforts = np.block([[np.zeros((b, b)), chi.T], [zero.T, np.eye(size)]])
    chart = DiracStructure({"force": b, "h": size}, flows, efforts)
    is_dirac(chart)
    found = compose(base_structure(d), chart, {"potential_base": "force"})
    found = found.reordered(["p", "h", "wrench_base"])
    poisson = StandardForm(model).interconnection(StandardForm(model).state(d.q, d.v))[:b, :b]
    expected = np.block(
        [
            [poisson, -chi.T, unit],
            [chi, np.zeros((size, size)), zero.T],
            [-unit, zero, np.zeros((b, b))],
        ]
    )
    np.testing.assert_allclose(found.matrix(), expected, atol=1e-12)


def joined(base: DiracStructure, arm: DiracStructure, jacobian: np.ndarray) -> DiracStructure:
    """Base and arm side by side, the wrench at the end effector brought to both."""
    sizes = {"wrench_base": base.ports["wrench_base"], "tip": 6}
    junction = wrench_junction(np.hstack([jacobian, np.eye(6)]), sizes, "wrench_end_effector")
    is_dirac(junction)
    apart = direct_product(
        base.renamed({"wrench_base": "on_base"}), arm.renamed({"wrench_end_effector": "on_tip"})
    )
    both = compose(apart, junction, {"on_base": "wrench_base_inner", "on_tip": "tip_inner"})
    # Nothing else acts at the tip: its effort is zero, its flow free.
    free = DiracStructure({"free": 6}, np.eye(6), np.zeros((6, 6)))
    return compose(both, free, {"tip": "free"})


@given(trees, seeds)
@settings(max_examples=15, deadline=None)
def test_a_robot_is_the_product_of_its_base_and_its_arm(tree: VMSModel, seed: int) -> None:
    q, v = state_of(tree, np.random.default_rng(seed))
    d, form = tree.evaluate(q, v), StandardForm(tree)
    x = form.state(q, v)
    whole = coupled_structure(form, x)
    is_dirac(whole)
    # Without the tool: the direct product, entry by entry.
    apart = direct_product(base_structure(d), manipulator_structure(d))
    kept = [name for name in whole.ports if name != "wrench_end_effector"]
    size = sum(whole.ports[name] for name in kept)
    product = apart.reordered([*kept, "wrench_end_effector"]).matrix()
    np.testing.assert_allclose(whole.matrix()[:size, :size], product[:size, :size], atol=1e-12)
    # With the tool: its wrench reaches the base too.
    found = joined(base_structure(d), manipulator_structure(d), d.J_end_effector[:, : tree.b])
    is_dirac(found)
    same(found, whole)
    # So the product alone, with the wrench on the arm only, is another structure.
    if tree.b:
        assert np.abs(product[:, size:] - whole.matrix()[:, size:]).max() > 1e-2


@pytest.mark.parametrize("kind", [StandardForm, DecoupledForm])
@given(tree=trees, seed=seeds)
@settings(max_examples=20, deadline=None)
def test_the_flows_of_a_motion_are_those_its_structure_gives_to_its_efforts(
    kind: type[StandardForm] | type[DecoupledForm], tree: VMSModel, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    q, v = state_of(tree, rng)
    w, tau, wrench = rng.normal(size=tree.b), rng.normal(size=tree.n), rng.normal(size=6)
    form = kind(tree)
    x, d = form.state(q, v), tree.evaluate(q, v)
    efforts = np.concatenate([form.gradient(x), d.g, w, tau, wrench])
    rate = form.rate(x, Ports(tau, w, wrench))
    flows = np.concatenate([form.layout(rate), v, -v, -d.J_end_effector @ v])
    found = form.dirac(x) @ efforts
    np.testing.assert_allclose(found, flows, atol=1e-9 * max(1.0, np.abs(flows).max()))
    names = {"x": tree.b + 2 * tree.n, "potential": tree.nv, "inputs": tree.nv, "tool": 6}
    structure = DiracStructure.from_matrix(form.dirac(x), names)
    assert structure.contains(found, efforts)
    assert not structure.contains(found + 1e-3, efforts)


def test_the_decoupled_structure_is_the_standard_one_in_other_coordinates(
    panda_on: VMSModel, rng: np.random.Generator
) -> None:
    # Fig. 5: the change of coordinates, a structure from (x) to (x_hat), stands in between.
    q, v = state_of(panda_on, rng)
    standard, decoupled = StandardForm(panda_on), DecoupledForm(panda_on)
    x, x_hat = standard.state(q, v), decoupled.state(q, v)
    phi = decoupled.terms(x_hat).Phi
    size = len(phi)
    other = len(standard.dirac(x)) - size
    zero = np.zeros((size, size))
    # x_hat_dot = Phi xdot into the new store, e = Phi^T e_hat.
    change = DiracStructure(
        {"old": size, "x_hat": size},
        np.block([[-np.eye(size), zero], [phi, zero]]),
        np.block([[zero, phi.T], [zero, np.eye(size)]]),
    )
    is_dirac(change)
    before = DiracStructure.from_matrix(standard.dirac(x), {"x": size, "ports": other})
    found = compose(before, change, {"x": "old"}).reordered(["x_hat", "ports"])
    expected = decoupled.dirac(x_hat)
    np.testing.assert_allclose(found.matrix(), expected, atol=1e-9 * np.abs(expected).max())


def test_the_task_space_form_has_the_structure_of_its_motion(
    panda: VMSModel, rng: np.random.Generator
) -> None:
    task = PositionTask(panda)
    form = TaskSpaceForm(panda, task)
    q, v = state_of(panda, rng)
    x, t, tau = form.state(q, v), form.evaluate(q, v), rng.normal(size=7)
    rate = form.rate(x, Ports(tau))
    sigma = t.J_bar_inverse.T @ tau
    efforts = np.concatenate([form.gradient(x), t.d.g, sigma])
    flows = np.concatenate([form.layout(rate), v, -t.eta, -t.nu])
    np.testing.assert_allclose(form.dirac(x) @ efforts, flows, atol=1e-9 * np.abs(flows).max())
    is_dirac(DiracStructure.from_matrix(form.dirac(x), {"x": 14, "potential": 7, "task": 7}))
    # The canonical form's, with the joints' efforts in its place.
    canonical = CanonicalForm(panda)
    is_dirac(coupled_structure(canonical, canonical.state(q, v)))

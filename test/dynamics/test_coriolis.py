# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The Coriolis matrix: Mdot = C + C^T, C v + g the bias, and for which robots it holds."""

import numpy as np
import pinocchio as pin
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vms_ph_dynamics import DecoupledForm, ModelError, VMSModel
from vms_ph_dynamics.groups import SE2, SE3
from vms_ph_io import read_urdf, robots

from .conftest import random_tree, state_of
from .newton_euler import equations

trees = st.integers(0, 2**31).map(random_tree)

_STEP = 1e-3

# Fourth-order differences: step^4 times the fifth derivative, and 1e-16/step of rounding.
_DIFFERENCE = 1e-10


def mass_rate(model: VMSModel, q: np.ndarray, v: np.ndarray) -> np.ndarray:
    """The derivative of the mass matrix along a velocity."""
    m = {k: model.evaluate(model.integrate(q, k * _STEP * v), v).M for k in (-2, -1, 1, 2)}
    return (8 * (m[1] - m[-1]) - (m[2] - m[-2])) / (12 * _STEP)


def assert_levi_civita(model: VMSModel, q: np.ndarray, v: np.ndarray) -> None:
    d = model.evaluate(q, v)
    scale = max(1.0, np.abs(d.M).max())
    np.testing.assert_allclose(mass_rate(model, q, v), d.C + d.C.T, atol=_DIFFERENCE * scale)


def assert_bias(model: VMSModel, q: np.ndarray, v: np.ndarray) -> None:
    d = model.evaluate(q, v)
    bias = equations(model, q, v)
    expected = bias.bias - bias.gravity
    scale = max(1.0, np.abs(expected).max())
    np.testing.assert_allclose(d.C @ v + d.g, expected, atol=1e-12 * scale)
    if model.is_plain:
        raw = model.pinocchio
        theirs = pin.nonLinearEffects(raw, raw.createData(), q, v)
        np.testing.assert_allclose(d.C @ v + d.g, theirs, atol=1e-12 * scale)


def test_the_mass_of_every_bundled_robot_changes_at_the_rate_of_its_coriolis_matrix(
    bundled: VMSModel, rng: np.random.Generator
) -> None:
    for _ in range(10):
        assert_levi_civita(bundled, *state_of(bundled, rng))


def test_the_mass_of_the_panda_on_every_base_changes_at_the_rate_of_its_coriolis_matrix(
    panda_on: VMSModel, rng: np.random.Generator
) -> None:
    for _ in range(10):
        assert_levi_civita(panda_on, *state_of(panda_on, rng))


@given(trees, st.integers(0, 2**31))
@settings(max_examples=30, deadline=None)
def test_the_mass_of_random_trees_changes_at_the_rate_of_their_coriolis_matrix(
    tree: VMSModel, seed: int
) -> None:
    assert_levi_civita(tree, *state_of(tree, np.random.default_rng(seed)))


def test_coriolis_and_gravity_of_every_bundled_robot_are_its_bias(
    bundled: VMSModel, rng: np.random.Generator
) -> None:
    for _ in range(20):
        assert_bias(bundled, *state_of(bundled, rng))


@given(trees, st.integers(0, 2**31))
@settings(max_examples=30, deadline=None)
def test_coriolis_and_gravity_of_random_trees_are_their_bias(tree: VMSModel, seed: int) -> None:
    assert_bias(tree, *state_of(tree, np.random.default_rng(seed)))


@given(trees, st.integers(0, 2**31))
@settings(max_examples=15, deadline=None)
def test_the_coriolis_matrix_is_that_of_the_levi_civita_connection(
    tree: VMSModel, seed: int
) -> None:
    """Koszul's formula with the structure constants of the base group, by dM and brackets alone."""
    q, v = state_of(tree, np.random.default_rng(seed))
    d, nv, b = tree.evaluate(q, v), tree.nv, tree.b
    mass, zero = d.M, np.zeros(nv)
    # D[i,j,k] = e_i M_jk; base directions too, along which M does not change.
    slopes = np.stack([mass_rate(tree, q, e) for e in np.eye(nv)])
    np.testing.assert_allclose(slopes[:b], 0.0, atol=_DIFFERENCE * np.abs(mass).max())
    bracket = np.zeros((nv, nv, nv))  # [e_i, e_j] in its last index
    if b:
        group = SE3() if b == 6 else SE2()
        for i in range(b):
            bracket[i, :b, :b] = group.ad(np.eye(b)[i]).T
    lowered = bracket @ mass  # <[e_i, e_j], e_k>
    gamma = slopes + slopes.transpose(1, 0, 2) - slopes.transpose(1, 2, 0)
    gamma = gamma + lowered - lowered.transpose(0, 2, 1) - lowered.transpose(2, 0, 1)
    koszul = 0.5 * np.einsum("i,ijk->kj", v, gamma)
    scale = max(1.0, np.abs(mass).max())
    np.testing.assert_allclose(d.C, koszul, atol=1e2 * _DIFFERENCE * scale)
    assert (tree.evaluate(q, zero).C == 0).all()


@given(trees, st.integers(0, 2**31))
@settings(max_examples=15, deadline=None)
def test_the_transposed_matrix_gives_the_drift_of_the_momenta(tree: VMSModel, seed: int) -> None:
    """Base rows of C^T v are ad_v^T p; joint rows the gradient of the kinetic energy."""
    q, v = state_of(tree, np.random.default_rng(seed))
    d, b = tree.evaluate(q, v), tree.b
    drift = d.C.T @ v
    if b:
        group = SE3() if b == 6 else SE2()
        np.testing.assert_allclose(drift[:b], group.ad(v[:b]).T @ d.p, atol=1e-11)
    for k in range(b, tree.nv):
        slope = 0.5 * v @ mass_rate(tree, q, np.eye(tree.nv)[k]) @ v
        scale = max(1.0, np.abs(d.M).max())
        assert drift[k] == pytest.approx(slope, abs=1e2 * _DIFFERENCE * scale)


def test_it_holds_for_the_base_twist_in_the_base_frame_and_no_other(
    rng: np.random.Generator,
) -> None:
    """In inertial axes the mass matrix changes at another rate, so the docstring says which."""
    model = VMSModel.from_urdf(robots.get("panda").description(), "floating", "panda_link8")
    q, v = state_of(model, rng)

    def in_world_axes(at: np.ndarray) -> np.ndarray:
        turn = np.eye(model.nv)
        turn[:3, :3] = turn[3:6, 3:6] = pin.Quaternion(at[3:7]).toRotationMatrix().T
        return turn.T @ model.evaluate(at, v).M @ turn

    step = 1e-5
    ahead, behind = (in_world_axes(model.integrate(q, s * v)) for s in (step, -step))
    turn = np.eye(model.nv)
    turn[:3, :3] = turn[3:6, 3:6] = pin.Quaternion(q[3:7]).toRotationMatrix().T
    c = turn.T @ model.evaluate(q, v).C @ turn
    assert np.abs((ahead - behind) / (2 * step) - c - c.T).max() > 0.1


BODY = pin.Inertia(1.5, np.array([0.1, -0.2, 0.3]), np.diag([0.2, 0.3, 0.4]))


def with_joint(kind: object, name: str = "wrist") -> pin.Model:
    """Two bodies; the second hangs on the first by this joint."""
    model = pin.Model()
    first = model.addJoint(0, pin.JointModelRZ(), pin.SE3.Identity(), "shoulder")
    model.appendBodyToJoint(first, BODY, pin.SE3.Identity())
    second = model.addJoint(first, kind, pin.exp6(np.full(6, 0.4)), name)
    model.appendBodyToJoint(second, BODY, pin.SE3.Identity())
    return model


def composite() -> pin.JointModelComposite:
    joint = pin.JointModelComposite(pin.JointModelRX())
    joint.addJoint(pin.JointModelRY(), pin.SE3.Identity())
    return joint


@pytest.mark.parametrize(
    "make",
    [
        composite,
        pin.JointModelSphericalZYX,
        lambda: pin.JointModelUniversal(np.array([1.0, 0, 0]), np.array([0, 1.0, 0])),
        lambda: pin.JointModelEllipsoid(0.1, 0.2, 0.3),
        pin.JointModelSpherical,
        pin.JointModelTranslation,
        pin.JointModelPlanar,
        pin.JointModelFreeFlyer,
    ],
    ids=[
        "Composite",
        "SphericalZYX",
        "Universal",
        "Ellipsoid",
        "Spherical",
        "Translation",
        "Planar",
        "FreeFlyer",
    ],
)
def test_a_joint_for_which_the_matrix_may_be_wrong_is_refused_by_name(
    make: object, request: pytest.FixtureRequest
) -> None:
    kind = request.node.callspec.id
    with pytest.raises(
        ModelError, match=rf"joint 'wrist' is of type {kind}; accepted are revolute"
    ):
        VMSModel.from_pinocchio(with_joint(make()))


def test_a_mimic_joint_of_pinocchio_is_refused_by_name() -> None:
    model = pin.buildModelFromXML(read_urdf(robots.get("panda").path()), mimic=True)
    with pytest.raises(ModelError, match="joint 'panda_finger_joint2' is of type Mimic"):
        VMSModel.from_pinocchio(model)


@pytest.mark.parametrize(
    "make",
    [
        pin.JointModelRX,
        pin.JointModelPY,
        pin.JointModelRUBZ,
        lambda: pin.JointModelHZ(0.1),  # without a pitch it has none, not zero
        lambda: pin.JointModelRevoluteUnaligned(np.array([0.6, 0.0, 0.8])),
        lambda: pin.JointModelHelicalUnaligned(np.array([0.0, 0.6, 0.8]), 0.1),
    ],
    ids=["RX", "PY", "RUBZ", "HZ", "RevoluteUnaligned", "HelicalUnaligned"],
)
def test_joints_of_one_freedom_are_taken_and_right(make: object, rng: np.random.Generator) -> None:
    model = VMSModel.from_pinocchio(with_joint(make()))
    q, v = state_of(model, rng)
    assert_levi_civita(model, q, v)
    assert_bias(model, q, v)


def test_joints_that_are_not_depth_first_are_refused_by_name() -> None:
    model = pin.Model()
    branches = []
    for name in ("left", "right"):
        branches.append(model.addJoint(0, pin.JointModelRZ(), pin.SE3.Identity(), name))
        model.appendBodyToJoint(branches[-1], BODY, pin.SE3.Identity())
    late = model.addJoint(branches[0], pin.JointModelRX(), pin.SE3.Identity(), "left_elbow")
    model.appendBodyToJoint(late, BODY, pin.SE3.Identity())
    with pytest.raises(
        ModelError, match=r"'left_elbow' is attached to 'left' but comes .*depth first"
    ):
        VMSModel.from_pinocchio(model)


@pytest.mark.parametrize("name", ["omnidirectional_panda", "satellite_panda", "bluerov2_alpha5"])
def test_a_base_ten_kilometres_away_changes_no_term_at_all(
    name: str, rng: np.random.Generator
) -> None:
    model = robots.load(name)
    q, v = state_of(model, rng)
    far = q.copy()
    far[: 3 if model.b == 6 else 2] += 1e4
    here, there = model.evaluate(q, v), model.evaluate(far, v)
    for term in (
        *("M", "M_b", "M_bm", "M_m", "A", "M_hat_m", "v_hat", "p", "pi", "pi_hat", "C", "dM", "g"),
        *("kinetic_energy", "J_end_effector"),
    ):
        np.testing.assert_array_equal(getattr(here, term), getattr(there, term), err_msg=term)
    frame = model.frame_id(model.end_effector)
    np.testing.assert_array_equal(here.jacobian_rate(frame), there.jacobian_rate(frame))
    form = DecoupledForm(model)
    ours, theirs = form.terms(form.state(q, v)), form.terms(form.state(far, v))
    for term in ("J_hat", "G_hat", "B", "L", "N_b", "N_hat_m", "C_hat_m"):
        np.testing.assert_array_equal(getattr(ours, term), getattr(theirs, term), err_msg=term)


def test_the_order_in_which_terms_are_asked_for_does_not_matter(
    bundled: VMSModel, rng: np.random.Generator
) -> None:
    q, v = state_of(bundled, rng)
    terms = ("A", "M_b_inverse", "v_hat", "C", "dM", "g", "M_hat_m", "pi_hat", "M")
    one, other = bundled.evaluate(q, v), bundled.evaluate(q, v)
    first = {term: np.array(getattr(one, term)) for term in terms}
    for term in reversed(terms):
        np.testing.assert_array_equal(getattr(other, term), first[term], err_msg=term)

# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Standard and decoupled forms against ABA, each other, and the matrices as printed."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vms_ph_dynamics import ModelError, StateError, VMSModel
from vms_ph_dynamics.actuation.friction import Friction
from vms_ph_dynamics.forms import DecoupledForm, PHState, Ports, StandardForm
from vms_ph_io import robots

from ..conftest import random_tree, state_of

trees = st.integers(0, 2**31).map(random_tree)
FORMS = (StandardForm, DecoupledForm)


def random_ports(model: VMSModel, rng: np.random.Generator) -> Ports:
    return Ports(
        rng.uniform(-10, 10, model.n), rng.uniform(-10, 10, model.b), rng.uniform(-10, 10, 6)
    )


def whole_force(model: VMSModel, q: np.ndarray, v: np.ndarray, ports: Ports) -> np.ndarray:
    d = model.evaluate(q, v)
    assert ports.wrench_base is not None
    assert ports.torque is not None
    force = np.concatenate([ports.wrench_base, ports.torque])
    return force + d.J_end_effector.T @ ports.wrench_end_effector


def acceleration(form: StandardForm | DecoupledForm, x: PHState, ports: Ports) -> np.ndarray:
    """The acceleration that a rate of the momenta means."""
    model, b = form.model, form.model.b
    rate = form.rate(x, ports)
    d = model.evaluate(x.q, rate.qdot)
    conjugate = rate.zdot.copy()
    if isinstance(form, DecoupledForm):
        # pi = pi_hat + A^T p along the motion.
        conjugate[b:] += d.A.T @ rate.zdot[:b] + form.terms(x).L @ rate.qdot[b:]
    return np.linalg.solve(d.M, conjugate - (d.C + d.C.T) @ d.v)


# aba knows no fluid; test_fluid.py has the others.
@pytest.mark.parametrize("name", [n for n in robots.names() if not robots.get(n).fluid])
def test_both_forms_accelerate_as_aba_at_random_states_of_every_robot(
    name: str, rng: np.random.Generator
) -> None:
    bundled = robots.load(name)
    model = bundled.pinocchio
    data = model.createData()
    forms = [kind(bundled) for kind in FORMS]
    for _ in range(50):
        q, v = state_of(bundled, rng)
        ports = random_ports(bundled, rng)
        expected = pin.aba(model, data, q, v, whole_force(bundled, q, v, ports))
        for form in forms:
            found = acceleration(form, form.state(q, v), ports)
            scale = np.abs(expected).max()
            np.testing.assert_allclose(found, expected, atol=1e-9 * scale, rtol=1e-9)


@given(trees, st.integers(0, 2**31))
@settings(max_examples=30, deadline=None)
def test_both_forms_accelerate_as_aba_on_random_trees(tree: VMSModel, seed: int) -> None:
    rng = np.random.default_rng(seed)
    q, v = state_of(tree, rng)
    ports = random_ports(tree, rng)
    model = tree.pinocchio
    force = whole_force(tree, q, v, ports)
    expected = pin.aba(model, model.createData(), q, v, force)
    condition = np.linalg.cond(tree.evaluate(q, v).M)
    for kind in FORMS:
        form = kind(tree)
        found = acceleration(form, form.state(q, v), ports)
        tolerance = 1e-13 * max(condition, 1e3) * np.abs(expected).max()
        np.testing.assert_allclose(found, expected, rtol=0, atol=tolerance)


@given(trees, st.integers(0, 2**31))
@settings(max_examples=20, deadline=None)
def test_the_rates_are_those_of_the_matrices(tree: VMSModel, seed: int) -> None:
    rng = np.random.default_rng(seed)
    q, v = state_of(tree, rng)
    ports = random_ports(tree, rng)
    force = whole_force(tree, q, v, ports) - tree.evaluate(q, v).g
    for kind in FORMS:
        form = kind(tree)
        x = form.state(q, v)
        by_matrices = form.interconnection(x) @ form.gradient(x) + form.input_map(x) @ force
        by_rate = form.layout(form.rate(x, ports))
        np.testing.assert_allclose(by_rate, by_matrices, atol=1e-10 * np.abs(by_matrices).max())


@given(trees, st.integers(0, 2**31))
@settings(max_examples=20, deadline=None)
def test_the_change_of_coordinates_takes_one_form_to_the_other(tree: VMSModel, seed: int) -> None:
    rng = np.random.default_rng(seed)
    q, v = state_of(tree, rng)
    ports = random_ports(tree, rng)
    standard, decoupled = StandardForm(tree), DecoupledForm(tree)
    x, x_hat = standard.state(q, v), decoupled.state(q, v)
    t = decoupled.terms(x_hat)
    pushed = t.Phi @ standard.layout(standard.rate(x, ports))
    found = decoupled.layout(decoupled.rate(x_hat, ports))
    np.testing.assert_allclose(found, pushed, atol=1e-10 * np.abs(pushed).max())
    # (66), (67): the structure is pushed forward too.
    pushed_structure = t.Phi @ standard.interconnection(x) @ t.Phi.T
    np.testing.assert_allclose(t.J_hat, pushed_structure, atol=1e-11)
    np.testing.assert_allclose(t.G_hat, t.Phi @ standard.input_map(x), atol=1e-13)
    for form, state in ((standard, x), (decoupled, x_hat)):
        np.testing.assert_allclose(form.velocity(state), v, atol=1e-10)


@given(trees, st.integers(0, 2**31))
@settings(max_examples=15, deadline=None)
def test_structures_are_skew_and_conserve_power_for_any_efforts(tree: VMSModel, seed: int) -> None:
    rng = np.random.default_rng(seed)
    q, v = state_of(tree, rng)
    for kind in FORMS:
        form = kind(tree)
        x = form.state(q, v)
        structure = form.interconnection(x)
        np.testing.assert_allclose(structure, -structure.T, atol=1e-12)
        dirac = form.dirac(x)
        for _ in range(5):
            efforts = rng.normal(size=len(dirac))
            scale = np.abs(dirac).max() * (efforts @ efforts)
            assert abs(efforts @ dirac @ efforts) < 1e-12 * scale


@given(trees, st.integers(0, 2**31))
@settings(max_examples=15, deadline=None)
def test_both_power_balances_close(tree: VMSModel, seed: int) -> None:
    rng = np.random.default_rng(seed)
    q, v = state_of(tree, rng)
    n = tree.n
    friction = Friction(rng.uniform(0, 1, n), rng.uniform(0, 1, n), slip=0.1)
    given_ports = random_ports(tree, rng)
    ports = Ports(
        given_ports.torque,
        given_ports.wrench_base,
        given_ports.wrench_end_effector,
        friction=friction,
    )
    for kind in FORMS:
        form = kind(tree)
        balance = form.power_balance(form.state(q, v), ports)
        flow = sum(map(abs, balance.supplied.values())) + balance.dissipated
        assert abs(balance.residual) < 1e-10 * max(flow, abs(balance.stored))
        assert balance.dissipated >= 0
    # (72): the same power through the transformed wrenches and the locked velocity.
    d, b = tree.evaluate(q, v), tree.b
    tau_hat = ports.torque - d.A.T @ ports.wrench_base
    both = ports.wrench_base @ d.v_hat + tau_hat @ v[b:]
    assert both == pytest.approx(ports.wrench_base @ v[:b] + ports.torque @ v[b:], abs=1e-10)


@given(trees, st.integers(0, 2**31))
@settings(max_examples=15, deadline=None)
def test_the_energy_is_the_same_in_all_forms(tree: VMSModel, seed: int) -> None:
    q, v = state_of(tree, np.random.default_rng(seed))
    d = tree.evaluate(q, v)
    for kind in FORMS:
        form = kind(tree)
        energy = form.hamiltonian(form.state(q, v))
        assert energy.kinetic == pytest.approx(d.kinetic_energy, rel=1e-12)
        assert energy.potential == d.potential_energy
    split = DecoupledForm(tree).hamiltonian(DecoupledForm(tree).state(q, v))
    assert split.kinetic_base >= 0
    assert split.kinetic_shape > 0


@given(trees, st.integers(0, 2**31))
@settings(max_examples=15, deadline=None)
def test_the_gradient_of_the_decoupled_form_is_that_of_its_hamiltonian(
    tree: VMSModel, seed: int
) -> None:
    q, v = state_of(tree, np.random.default_rng(seed))
    form, b, step = DecoupledForm(tree), tree.b, 1e-6
    x = form.state(q, v)

    def kinetic(dq: np.ndarray, dz: np.ndarray) -> float:
        return form.hamiltonian(PHState(tree.integrate(q, dq), x.z + dz)).kinetic

    zero, units = np.zeros(tree.nv), np.eye(tree.nv)
    by_q = [(kinetic(step * e, zero) - kinetic(-step * e, zero)) / (2 * step) for e in units]
    by_z = [(kinetic(zero, step * e) - kinetic(zero, -step * e)) / (2 * step) for e in units]
    expected = np.concatenate([by_z[:b], by_q[b:], by_z[b:]])
    gradient = form.gradient(x)
    np.testing.assert_allclose(gradient, expected, atol=1e-7 * max(1, np.abs(gradient).max()))


def test_b_depends_on_the_centroidal_angular_momentum_only(rng: np.random.Generator) -> None:
    model = robots.load("satellite_panda", bus_mass="20", bus_ixx="1", bus_iyy="1", bus_izz="1")
    form = DecoupledForm(model)
    q, v = state_of(model, rng)
    t = form.terms(form.state(q, v))
    # Choose the base twist such that the momentum is a pure linear one through the centre of mass:
    # then there is no centroidal angular momentum, and B vanishes.
    centre = pin.centerOfMass(model.pinocchio, model.pinocchio.createData(), q)
    pose = t.d.placement("base_link")
    arm = pose[:3, :3].T @ (centre - pose[:3, 3])
    linear = rng.normal(size=3)
    p = np.concatenate([linear, np.cross(arm, linear)])
    v[:6] = np.linalg.solve(t.d.M_b, p - t.d.M_bm @ v[6:])
    turning = np.abs(t.B).max()
    assert turning > 1e-3
    without = form.terms(form.state(q, v))
    np.testing.assert_allclose(without.d.p, p, atol=1e-10)
    np.testing.assert_allclose(without.B, 0.0, atol=1e-11)


@pytest.mark.parametrize("which", ["ff_panda", "planar_panda"])
def test_everything_is_that_of_the_golden_data(
    which: str, golden: Path, golden_model: Callable[[str], pin.Model]
) -> None:
    model = VMSModel.from_pinocchio(golden_model(which))
    g = np.load(golden / f"A_states_{which}.npz")
    b = model.b
    swap = g["perm_paper_to_pin"]
    flip = np.concatenate([swap[:b], np.arange(b, model.nv)])
    x_flip = np.concatenate([swap[:b], np.arange(b, b + 2 * model.n)])
    for k in range(len(g["q"])):
        q, v = g["Qpin"][k], g["nu"][k][flip]
        form, standard = DecoupledForm(model), StandardForm(model)
        x_hat, x = form.state(q, v), standard.state(q, v)
        t = form.terms(x_hat)
        d = t.d
        force = np.concatenate([g["w"][k], g["tau"][k]])[flip]
        ports = Ports(torque=force[b:], wrench_base=force[:b])
        energy = form.hamiltonian(x_hat)
        ours = {
            "M": d.M,
            "p": d.p,
            "pi": d.pi,
            "pihat": d.pi_hat,
            "vhat": d.v_hat,
            "A": d.A,
            "Mhat": d.M_hat_m,
            "L": t.L,
            "B": t.B,
            "Jhat": t.J_hat,
            "Ghat": t.G_hat,
            "J47": standard.interconnection(x),
            "gradH": standard.gradient(x),
            "gradHhat": form.gradient(x_hat),
            "rhs47": standard.layout(standard.rate(x, ports)),
            "rhs59": form.layout(form.rate(x_hat, ports)),
            "Eb": t.E_b,
            "Pb": t.P_b,
            "Chat_m": t.C_hat_m,
            "C_LeviCivita": d.C,
            "dM": d.dM,
            "dA": t.dA,
            "dMhat": t.dM_hat_m,
            "H": np.array(energy.kinetic),
            "Hhat": np.array(energy.kinetic),
        }
        rows = {b: swap[:b], model.nv: flip, b + 2 * model.n: x_flip}
        for name, value in ours.items():
            expected = np.asarray(g[name][k], dtype=float)
            for axis, size in enumerate(expected.shape):
                if size in rows:
                    expected = np.take(expected, rows[size], axis)
            np.testing.assert_allclose(value, expected, atol=1e-9, err_msg=f"{name} at {k}")


@pytest.mark.parametrize("kind", FORMS)
def test_a_wrong_state_or_effort_is_refused_with_expected_and_given(
    kind: type[StandardForm] | type[DecoupledForm],
) -> None:
    floating = VMSModel.from_urdf(robots.get("panda").description(), "floating", "panda_link8")
    form = kind(floating)
    x = form.state(floating.neutral_configuration(), np.zeros(13))
    with pytest.raises(StateError, match=r"z must have shape \(13,\); given: shape \(7,\)"):
        form.rate(PHState(x.q, np.zeros(7)), Ports())
    with pytest.raises(StateError, match="z must be finite"):
        form.rate(PHState(x.q, np.full(13, np.nan)), Ports())
    with pytest.raises(StateError, match=r"wrench_base of a floating base must have shape \(6,\)"):
        form.rate(x, Ports(wrench_base=np.zeros(3)))
    planar = kind(VMSModel.from_urdf(robots.get("panda").description(), "planar"))
    with pytest.raises(StateError, match=r"planar base must have shape \(11,\); given: .*\(14,\)"):
        planar.rate(x, Ports())


def test_a_robot_whose_mass_matrix_is_singular_gets_no_form() -> None:
    xml = (
        '<robot name="thin"><link name="a"/><link name="rod"><inertial><mass value="1"/>'
        '<inertia ixx="0" iyy="0" izz="0" ixy="0" ixz="0" iyz="0"/></inertial></link>'
        '<joint name="spin" type="revolute"><parent link="a"/><child link="rod"/>'
        '<axis xyz="0 0 1"/><limit lower="-1" upper="1" effort="1" velocity="1"/></joint></robot>'
    )
    with pytest.raises(ModelError, match="motion of joint 'spin' moves no inertia"):
        VMSModel.from_urdf(xml)


def test_a_base_ten_kilometres_away_loses_no_precision(rng: np.random.Generator) -> None:
    model = robots.load("satellite_panda")
    for kind in FORMS:
        form = kind(model)
        q, v = state_of(model, rng)
        far = q.copy()
        far[:3] += [1e4, 1e4, -1e4]
        ports = random_ports(model, rng)
        here, there = (form.rate(form.state(p, v), ports) for p in (q, far))
        np.testing.assert_array_equal(here.zdot, there.zdot)
        np.testing.assert_array_equal(here.qdot, there.qdot)

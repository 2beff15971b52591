# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The canonical form of a fixed-base arm."""

import numpy as np
import pinocchio as pin
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vms_ph_dynamics import ModelError, StateError, VMSModel
from vms_ph_dynamics.actuation.friction import Friction
from vms_ph_dynamics.forms import CanonicalForm, PHState, Ports
from vms_ph_io import robots

PANDA = robots.load("panda")
FORM = CanonicalForm(PANDA)


def random_case(seed: int) -> tuple[np.ndarray, np.ndarray, Ports]:
    rng = np.random.default_rng(seed)
    ports = Ports(torque=rng.uniform(-20, 20, 7), wrench_end_effector=rng.uniform(-20, 20, 6))
    return PANDA.random_configuration(rng), rng.uniform(-2, 2, 7), ports


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=50, deadline=None)
def test_it_moves_as_aba_says(seed: int) -> None:
    q, v, ports = random_case(seed)
    d = PANDA.evaluate(q, v)
    force = ports.torque + d.J_end_effector.T @ ports.wrench_end_effector
    model = PANDA.pinocchio
    acceleration = pin.aba(model, model.createData(), q, v, force)
    rate = FORM.rate(FORM.state(q, v), ports)
    # pi = M v, so pidot = M vdot + (C + C^T) v.
    expected = d.M @ acceleration + (d.C + d.C.T) @ v
    np.testing.assert_allclose(rate.qdot, v, rtol=1e-9, atol=1e-10)
    np.testing.assert_allclose(rate.zdot, expected, rtol=1e-9, atol=1e-9)


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=50, deadline=None)
def test_its_power_balance_closes(seed: int) -> None:
    q, v, ports = random_case(seed)
    for friction in (False, True):
        acting = Ports(
            ports.torque,
            None,
            ports.wrench_end_effector,
            friction=Friction.from_model(PANDA) if friction else None,
        )
        balance = FORM.power_balance(FORM.state(q, v), acting)
        flow = sum(abs(p) for p in balance.supplied.values()) + abs(balance.stored)
        assert abs(balance.residual) < 1e-10 * max(flow, 1.0)
        assert balance.dissipated >= 0.0
        assert (balance.dissipated > 0.0) == friction


def test_energy_is_that_of_pinocchio(rng: np.random.Generator) -> None:
    q, v = PANDA.random_configuration(rng), rng.uniform(-1, 1, 7)
    model = PANDA.pinocchio
    data = model.createData()
    energy = FORM.hamiltonian(FORM.state(q, v))
    assert energy.kinetic == pytest.approx(pin.computeKineticEnergy(model, data, q, v), rel=1e-12)
    assert energy.potential == pytest.approx(pin.computePotentialEnergy(model, data, q), rel=1e-12)
    assert energy.total == energy.kinetic + energy.potential


def test_the_gradient_is_that_of_the_hamiltonian(rng: np.random.Generator) -> None:
    x = FORM.state(PANDA.random_configuration(rng), rng.uniform(-1, 1, 7))
    step = 1e-6

    def kinetic(dq: np.ndarray, dz: np.ndarray) -> float:
        return FORM.hamiltonian(PHState(x.q + dq, x.z + dz)).kinetic

    zero = np.zeros(7)
    by_q = [(kinetic(step * e, zero) - kinetic(-step * e, zero)) / (2 * step) for e in np.eye(7)]
    by_z = [(kinetic(zero, step * e) - kinetic(zero, -step * e)) / (2 * step) for e in np.eye(7)]
    np.testing.assert_allclose(FORM.gradient(x), np.concatenate([by_q, by_z]), atol=1e-7)


def test_structure_matrix_and_gradient_give_the_rate(rng: np.random.Generator) -> None:
    q, v, ports = random_case(5)
    x = FORM.state(q, v)
    d = PANDA.evaluate(q, v)
    force = ports.torque + d.J_end_effector.T @ ports.wrench_end_effector - d.g
    by_matrices = FORM.interconnection(x) @ FORM.gradient(x) + FORM.input_map(x) @ force
    rate = FORM.rate(x, ports)
    np.testing.assert_allclose(
        np.concatenate([rate.qdot, rate.zdot]), by_matrices, rtol=1e-10, atol=1e-10
    )


def test_the_dirac_structure_conserves_power_for_any_efforts(rng: np.random.Generator) -> None:
    x = FORM.state(PANDA.random_configuration(rng), rng.uniform(-1, 1, 7))
    dirac = FORM.dirac(x)
    for _ in range(20):
        efforts = rng.normal(size=len(dirac))
        assert abs(efforts @ dirac @ efforts) < 1e-12 * (efforts @ efforts)


def test_a_moving_base_is_sent_to_the_other_forms() -> None:
    floating = VMSModel.from_urdf(robots.get("panda").description(), "floating")
    with pytest.raises(ModelError, match="DecoupledForm"):
        CanonicalForm(floating)


def test_a_wrong_effort_is_refused_by_name() -> None:
    x = FORM.state(np.zeros(7), np.zeros(7))
    with pytest.raises(StateError, match=r"torque must have shape \(7,\); given: shape \(6,\)"):
        FORM.rate(x, Ports(torque=np.zeros(6)))
    with pytest.raises(StateError, match=r"wrench_base of a fixed base must have shape \(0,\)"):
        FORM.rate(x, Ports(wrench_base=np.zeros(6)))
    with pytest.raises(StateError, match="wrench_end_effector must be finite"):
        FORM.rate(x, Ports(wrench_end_effector=np.full(6, np.nan)))


def test_along_a_trajectory_of_aba_the_energy_changes_at_the_power_of_the_ports() -> None:
    model = PANDA.pinocchio
    data = model.createData()
    q, v, _ = random_case(11)
    dt = 1e-4

    def torque(t: float) -> np.ndarray:
        return np.array([20, -15, 8, 10, -2, 3, 1]) * np.cos(3 * t)

    def acceleration(t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        return pin.aba(model, data, q, v, torque(t))

    times, energies, powers = [], [], []
    for k in range(401):
        t = k * dt
        times.append(t)
        energies.append(FORM.hamiltonian(FORM.state(q, v)).total)
        powers.append(FORM.power_balance(FORM.state(q, v), Ports(torque(t))).stored)
        a1 = acceleration(t, q, v)
        a2 = acceleration(t + dt / 2, q + dt / 2 * v, v + dt / 2 * a1)
        a3 = acceleration(t + dt / 2, q + dt / 2 * (v + dt / 2 * a1), v + dt / 2 * a2)
        a4 = acceleration(t + dt, q + dt * (v + dt / 2 * a2), v + dt * a3)
        q = q + dt * v + dt**2 / 6 * (a1 + a2 + a3)
        v = v + dt / 6 * (a1 + 2 * a2 + 2 * a3 + a4)
    e, p = np.array(energies), np.array(powers)
    # Fourth-order central differences: truncation h^4/30 |d5H| and rounding 1e-16 |H|/h, both
    # far below the 1e-6 asked for.
    rate = (e[:-4] - 8 * e[1:-3] + 8 * e[3:-1] - e[4:]) / (12 * dt)
    np.testing.assert_allclose(rate, p[2:-2], atol=1e-6 * np.abs(p).max())

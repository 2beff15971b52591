# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The task-space form of a redundant arm, position task."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vms_ph_dynamics import ModelError, VMSModel
from vms_ph_dynamics.forms import CanonicalForm, PHState, Ports, TaskSpaceForm
from vms_ph_dynamics.tasks import PositionTask
from vms_ph_io import robots

from ..tasks.task_cases import derivative

PANDA = robots.load("panda")
TASK = PositionTask(PANDA)
seeds = st.integers(0, 2**32 - 1)


def regular_state(seed: int) -> tuple[TaskSpaceForm, np.ndarray, np.ndarray]:
    """A state away from singularities, and a form anchored near it."""
    rng = np.random.default_rng(seed)
    while True:
        q = PANDA.random_configuration(rng)
        jacobian = TASK.jacobian(PANDA.evaluate(q, np.zeros(7)))
        if np.linalg.svd(jacobian, compute_uv=False)[-1] > 0.1:
            break
    form = TaskSpaceForm(PANDA, TASK, reference=q + rng.uniform(-0.1, 0.1, 7))
    return form, q, rng.uniform(-1, 1, 7)


def test_every_term_is_that_of_the_golden_data(golden: Path) -> None:
    g = np.load(golden / "D_taskspace_state.npz")
    form = TaskSpaceForm(PANDA, TASK, basis=g["Zref"])
    t = form.evaluate(g["q"], g["qd"])
    zero = np.zeros((3, 4))
    ours = {
        "M": t.d.M,
        "J": t.J,
        "Z": t.Z,
        "Jbar": t.J_bar,
        "Lambda_bar": np.block([[t.Lambda_t, zero], [zero.T, t.Lambda_nu]]),
        "pi_e": np.concatenate([t.pi, t.pi_nu]),
        "eta_e": np.concatenate([t.eta, t.nu]),
        "G": t.G,
        "A_t": t.coupling.E[: len(t.J)],
        "A_n": t.coupling.E[len(t.J) :],
        "gravity": t.d.g,
    }
    x = form.state(g["q"], g["qd"])
    rate = form.rate(x, Ports(torque=g["tau"]))
    ours["zdot"] = np.concatenate([rate.qdot, rate.zdot])
    ours["dHbar_dq_kin"] = form.gradient(x)[:7]
    for name, value in ours.items():
        np.testing.assert_allclose(value, g[name], atol=1e-8, err_msg=name)


@given(seeds)
@settings(max_examples=15, deadline=None)
def test_the_extended_jacobian_inverts_and_decouples_the_inertia(seed: int) -> None:
    form, q, v = regular_state(seed)
    t = form.evaluate(q, v)
    np.testing.assert_allclose(t.J_bar @ t.J_bar_inverse, np.eye(7), atol=1e-10)
    block = np.linalg.inv(t.J_bar @ np.linalg.solve(t.d.M, t.J_bar.T))
    np.testing.assert_allclose(block[:3, 3:], 0.0, atol=1e-10 * np.abs(block).max())
    assert t.kinetic_task + t.kinetic_null == pytest.approx(t.d.kinetic_energy, rel=1e-10)


@given(seeds)
@settings(max_examples=15, deadline=None)
def test_it_is_the_canonical_form_in_other_coordinates(seed: int) -> None:
    form, q, v = regular_state(seed)
    canonical = CanonicalForm(PANDA)
    ports = Ports(torque=np.random.default_rng(seed).uniform(-10, 10, 7))
    x, z = canonical.state(q, v), form.state(q, v)
    rate = canonical.rate(x, ports)

    def momenta(s: float) -> np.ndarray:
        moved = PHState(x.q + s * rate.qdot, x.z + s * rate.zdot)
        return form.state(moved.q, canonical.velocity(moved)).z

    zdot = form.rate(z, ports).zdot
    np.testing.assert_allclose(zdot, derivative(momenta), atol=1e-10 * max(1.0, np.abs(zdot).max()))


@given(seeds)
@settings(max_examples=20, deadline=None)
def test_structure_matrix_and_gradient_give_the_rate(seed: int) -> None:
    form, q, v = regular_state(seed)
    torque = np.random.default_rng(seed).uniform(-10, 10, 7)
    x = form.state(q, v)
    d = PANDA.evaluate(q, v)
    by_matrices = form.interconnection(x) @ form.gradient(x) + form.input_map(x) @ (torque - d.g)
    rate = form.rate(x, Ports(torque=torque))
    whole = np.concatenate([rate.qdot, rate.zdot])
    np.testing.assert_allclose(whole, by_matrices, atol=1e-10 * max(1.0, np.abs(whole).max()))


@given(seeds)
@settings(max_examples=20, deadline=None)
def test_structure_matrices_are_skew_and_conserve_power(seed: int) -> None:
    form, q, v = regular_state(seed)
    x = form.state(q, v)
    for matrix in (form.interconnection(x), form.dirac(x), form.evaluate(q, v).G):
        np.testing.assert_allclose(matrix, -matrix.T, atol=1e-12)
    ports = Ports(torque=np.full(7, 3.0), wrench_end_effector=np.full(6, -2.0))
    balance = form.power_balance(x, ports)
    assert abs(balance.residual) < 1e-10 * max(1.0, abs(balance.stored))


def test_the_null_space_basis_is_smooth_around_its_reference() -> None:
    form, q, v = regular_state(3)
    step = 1e-6
    ahead, behind = (form.evaluate(q + s * v, v).Z for s in (step, -step))
    t = form.evaluate(q, v)
    # E_v holds Zdot p: compare with differences of Z along the motion.
    zdot_p = (ahead - behind) @ t.d.momentum / (2 * step)
    np.testing.assert_allclose(t.coupling.E_v[3:], zdot_p, atol=1e-8)
    np.testing.assert_allclose(t.coupling.E @ v, t.coupling.E_v, atol=1e-11)


def test_the_jacobian_gradient_holds_on_every_base(rng: np.random.Generator) -> None:
    step = 1e-6
    for base in ("fixed", "planar", "floating"):
        model = VMSModel.from_urdf(robots.get("panda").description(), base, "panda_link8")
        task = PositionTask(model)
        q, v = model.random_configuration(rng), rng.uniform(-1, 1, model.nv)
        d = model.evaluate(q, v)

        def jacobian(dv: np.ndarray, model=model, task=task, q=q, v=v) -> np.ndarray:
            return task.jacobian(model.evaluate(model.integrate(q, dv), v))

        differences = [
            (jacobian(step * e) - jacobian(-step * e)) / (2 * step) for e in np.eye(model.nv)
        ]
        gradient = task.jacobian_gradient(d)
        np.testing.assert_allclose(gradient, np.stack(differences, -1), atol=1e-8)
        np.testing.assert_allclose(task.jacobian_rate(d), gradient @ v, atol=1e-13)


def test_a_task_that_leaves_no_null_space_is_refused() -> None:
    xml = robots.get("panda").description()
    held = [f"panda_joint{i}" for i in (3, 5, 6, 7)]
    short = VMSModel.from_urdf(xml, end_effector="panda_link8", locked_joints=held)
    with pytest.raises(ModelError, match="3 dimensions and the robot 3"):
        TaskSpaceForm(short, PositionTask(short))

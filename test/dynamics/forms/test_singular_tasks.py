# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The task-space form near singularities, at them, and along trajectories."""

import numpy as np
import pytest

from vms_ph_dynamics import ModelError, StateError, VMSModel
from vms_ph_dynamics.forms import PHState, Ports, RegularJacobian, StandardForm, TaskSpaceForm
from vms_ph_dynamics.integrators.runge_kutta import RK4
from vms_ph_dynamics.tasks import PositionTask
from vms_ph_io import robots

from ..tasks.task_cases import derivative, forward_dynamics

# Inside the joint limits; the position Jacobian has rank two there.
SINGULAR_POSTURE = np.array([1.686, 0, 1.571, -3.072, 0, 2.665, -2.897])
REST = np.zeros(7)


@pytest.fixture
def form(panda: VMSModel) -> TaskSpaceForm:
    near = SINGULAR_POSTURE + 0.1
    return TaskSpaceForm(panda, PositionTask(panda), reference=near)


def singular_posture(form: TaskSpaceForm) -> np.ndarray:
    """The posture made exact: with q3 a right angle, the sixth joint makes the rank two."""
    q, model = SINGULAR_POSTURE.copy(), form.model
    q[2] = np.pi / 2
    for _ in range(3):
        d = model.evaluate(q, REST)
        left, values, right = np.linalg.svd(form.task.jacobian(d))
        if values[2] > 1e-12:
            slope = left[:, 2] @ form.task.jacobian_gradient(d)[:, :, 5] @ right[2]
            q[5] -= values[2] / slope
    return q


def test_near_a_singularity_the_form_is_that_of_a_nearby_task_and_says_so(
    form: TaskSpaceForm, rng: np.random.Generator
) -> None:
    posture = singular_posture(form)
    for away in (0.0, 1e-9, 1e-6, 1e-3, 3e-3, 1e-2):
        q, v = posture + away * rng.normal(size=7), rng.uniform(-1, 1, 7)
        t = form.evaluate(q, v)
        jacobian = form.task.jacobian(t.d)
        assert not t.is_regular
        assert t.regular.smallest_singular_value < 0.03
        # The distance is what is said, at most half the threshold.
        assert np.linalg.norm(t.J - jacobian, 2) == pytest.approx(t.lift, rel=1e-9)
        assert t.lift <= 0.015 * (1 + 1e-12)
        # All identities hold for it, with bounded inverses.
        np.testing.assert_allclose(t.J_bar @ t.J_bar_inverse, np.eye(7), atol=1e-10)
        np.testing.assert_allclose(t.J @ t.Z.T, 0.0, atol=1e-12)
        np.testing.assert_allclose(jacobian @ t.Z.T, 0.0, atol=1e-12)
        assert t.kinetic_task + t.kinetic_null == pytest.approx(t.d.kinetic_energy, rel=1e-9)
        largest_inertia = np.linalg.norm(t.d.M, 2)
        assert np.linalg.norm(t.Lambda_t, 2) <= largest_inertia / 0.015**2


def test_the_lifted_jacobian_joins_the_true_one_smoothly(
    form: TaskSpaceForm, panda: VMSModel
) -> None:
    posture = singular_posture(form)
    direction = np.array([0.3, 1.0, 0.2, 0.5, 0.1, -0.4, 0.0])
    low, high = 0.0, 0.2
    for _ in range(60):  # where along the line the smallest singular value is the threshold
        middle = (low + high) / 2
        d = panda.evaluate(posture + middle * direction, REST)
        below = np.linalg.svd(form.task.jacobian(d), compute_uv=False)[-1] < 0.03
        low, high = (middle, high) if below else (low, middle)
    inside, outside = (
        form.evaluate(posture + s * direction, direction) for s in (low - 1e-9, high + 1e-9)
    )
    assert not inside.is_regular
    assert outside.is_regular
    np.testing.assert_allclose(inside.J, outside.J, atol=1e-8)
    np.testing.assert_allclose(inside.coupling.E_v, outside.coupling.E_v, atol=1e-5)


def test_the_rates_of_the_lifted_form_are_exact_too(
    form: TaskSpaceForm, panda: VMSModel, rng: np.random.Generator
) -> None:
    for away in (1e-2, 3e-3):
        q = singular_posture(form) + away * np.array([0.3, 1.0, 0.2, 0.5, 0.1, -0.4, 0.0])
        # Slow: the directions of the task turn within the distance to the singularity.
        v, torque = 1e-2 * rng.uniform(-1, 1, 7), rng.uniform(-1, 1, 7)
        x = form.state(q, v)
        t = form.evaluate(q, v)
        assert not t.is_regular
        acceleration = forward_dynamics(panda, q, v, torque)
        along = derivative(lambda s, q=q, v=v, a=acceleration: form.state(q + s * v, v + s * a).z)
        zdot = form.rate(x, Ports(torque)).zdot
        np.testing.assert_allclose(zdot, along, atol=1e-8 * max(1.0, np.abs(zdot).max()))
        np.testing.assert_allclose(t.coupling.E_v, t.coupling.E @ t.d.v, atol=1e-8)
        balance = form.power_balance(x, Ports(torque))
        assert abs(balance.residual) < 1e-9 * max(1.0, abs(balance.stored))


def test_where_the_task_has_lost_rank_its_momenta_have_no_rate(form: TaskSpaceForm) -> None:
    q = singular_posture(form)
    x = form.state(q, np.full(7, 0.1))
    assert np.isfinite(x.z).all()
    assert np.isfinite(form.hamiltonian(x).total)
    with pytest.raises(StateError, match="rank 2 of 3 here"):
        form.rate(x, Ports(np.zeros(7)))


def test_lifting_is_the_identity_above_its_threshold_and_its_rate_its_own_transpose(
    rng: np.random.Generator,
) -> None:
    jacobian = rng.normal(size=(3, 7))
    regular = RegularJacobian(jacobian, 0.03)
    assert regular.matrix is jacobian
    assert regular.lift == 0.0
    lifted = RegularJacobian(jacobian, 1.9)
    assert not lifted.is_regular
    a, b = rng.normal(size=(2, 3, 7))
    assert np.sum(a * lifted.rate(b)) == pytest.approx(np.sum(b * lifted.rate(a)), rel=1e-12)
    slope = derivative(lambda s: RegularJacobian(jacobian + s * a, 1.9).matrix)
    np.testing.assert_allclose(lifted.rate(a), slope, atol=1e-10)


def test_a_swing_through_all_of_the_null_space_keeps_a_smooth_basis(panda: VMSModel) -> None:
    # A long free motion: wherever the alignment falls below one half, the form is anchored anew.
    task = PositionTask(panda)
    q, v = np.array([0, -0.3, 0, -1.5, 0, 1.5, 0]), np.array([1.0, 0.4, -1.2, 0.3, 1.5, 0.5, 2.0])
    form = TaskSpaceForm(panda, task, reference=q)
    standard = StandardForm(panda)
    x, anchored = form.state(q, v), 0
    before = form.evaluate(q, v).Z
    for k in range(200):
        d = panda.evaluate(x.q, form.velocity(x))
        hold = Ports(d.g)
        x = RK4(form).step(x, lambda t, x, p=hold: p, 0.005 * k, 0.005).solver_state
        basis = form.evaluate(x.q, REST).Z
        assert np.abs(basis - before).max() < 0.15
        before = basis
        if form.alignment(x.q) < 0.5:
            moved = form.anchored_at(x.q)
            np.testing.assert_allclose(moved.evaluate(x.q, REST).Z, basis, atol=1e-12)
            assert moved.alignment(x.q) == pytest.approx(1.0)
            form, anchored = moved, anchored + 1
    assert anchored > 0
    # The same motion in the momenta of the joints.
    y = standard.state(q, v)
    for k in range(200):
        d = panda.evaluate(y.q, standard.velocity(y))
        hold = Ports(d.g)
        y = RK4(standard).step(y, lambda t, x, p=hold: p, 0.005 * k, 0.005).solver_state
    # RK4 at 5 ms in other coordinates: the errors of the two differ by this much.
    np.testing.assert_allclose(x.q, y.q, atol=1e-4)


def test_a_task_that_is_singular_everywhere_is_refused_and_one_that_is_in_the_middle_is_not(
    panda: VMSModel,
) -> None:
    xml = robots.get("panda").description()
    held = [f"panda_joint{i}" for i in (1, 3, 5, 7)]
    flat = VMSModel.from_urdf(xml, "planar", "panda_link8", locked_joints=held)
    with pytest.raises(ModelError, match="no full row rank"):
        TaskSpaceForm(flat, PositionTask(flat, "panda_link1"))
    form = TaskSpaceForm(panda, PositionTask(panda), singular_below=0.2)
    assert form.evaluate(np.array([0, -0.3, 0, -1.5, 0, 1.5, 0]), REST).is_regular


def test_a_basis_that_is_none_is_refused(panda: VMSModel) -> None:
    task = PositionTask(panda)
    with pytest.raises(StateError, match="4 orthonormal rows"):
        TaskSpaceForm(panda, task, basis=np.ones((4, 7)))
    with pytest.raises(StateError, match="4 orthonormal rows"):
        TaskSpaceForm(panda, task, basis=np.eye(7)[:3])
    form = TaskSpaceForm(panda, task, basis=np.eye(7)[:4])
    with pytest.raises(StateError, match="must be finite"):
        form.rate(PHState(np.zeros(7), np.full(7, np.nan)), Ports())

# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Misprints of sources C and D, and what to know of Pinocchio: what is printed or given fails.

Those of A, B and E are in test_lagrangian, test_dirac, test_joint_maps, test_errata_b and
test_free_floating.
"""

import numpy as np
import pinocchio as pin
import pytest

from vms_ph_dynamics import ModelError, Ports, PositionTask, TaskSpaceForm, VMSModel
from vms_ph_dynamics.groups import SE3
from vms_ph_io import robots

from .conftest import state_of

SPACE = SE3()
# A central difference errs by STEP^2 and by rounding over STEP, both some 1e-10.
STEP, DIFFERENCE = 1e-5, 1e-7
# How far what is wrong is off at least, relative to what is right.
WRONG = 1e-2


def agree(found: np.ndarray, expected: np.ndarray, tolerance: float = 1e-11) -> None:
    scale = max(1.0, np.abs(expected).max())
    np.testing.assert_allclose(found, expected, atol=tolerance * scale)


def differs(wrong: np.ndarray, right: np.ndarray) -> None:
    assert np.abs(wrong - right).max() > WRONG * max(1.0, np.abs(right).max())


# --- source C -------------------------------------------------------------------------------------


class Pair:
    """Two bodies with a cylindrical joint between them, moving consistently [C, section 6]."""

    # The joint turns about and slides along its z axis.
    include = np.eye(6)[:, [2, 5]]

    def __init__(self, rng: np.random.Generator) -> None:
        self.q_1, self.o_1, self.o_2 = (SPACE.random(rng) for _ in range(3))
        self.q_r, self.u_r = rng.normal(size=2), rng.normal(size=2)
        self.u_1 = rng.normal(size=6)
        ahead, behind = self._second(STEP), self._second(-STEP)
        self.u_2 = SPACE.vee(SPACE.inverse(self._second(0.0)) @ (ahead - behind) / (2 * STEP))

    def relative(self, t: float = 0.0) -> np.ndarray:
        return SPACE.exp(self.include @ (self.q_r + t * self.u_r))

    def _second(self, t: float) -> np.ndarray:
        first = self.q_1 @ SPACE.exp(t * self.u_1)
        return first @ self.o_1 @ self.relative(t) @ SPACE.inverse(self.o_2)


def test_the_joint_frames_see_the_bodies_by_the_inverse_offsets(rng: np.random.Generator) -> None:
    # Section 6 prints Ad_o1, Ad_o2 in the constraint; (24) and (31) have the inverses.
    p = Pair(rng)
    back = SPACE.Ad(SPACE.inverse(p.relative()))
    moved = p.include @ p.u_r
    inverse_1, inverse_2 = (SPACE.Ad(SPACE.inverse(o)) for o in (p.o_1, p.o_2))
    agree(back @ inverse_1 @ p.u_1 - inverse_2 @ p.u_2 + moved, np.zeros(6), DIFFERENCE)
    printed = back @ SPACE.Ad(p.o_1) @ p.u_1 - SPACE.Ad(p.o_2) @ p.u_2 + moved
    differs(printed, np.zeros(6))
    # The constraint forces of section 6 go with the inverses: on both bodies together they have
    # the power of the joint's own force i* lambda, and no other.
    force = rng.normal(size=6)
    power = -force @ back @ inverse_1 @ p.u_1 + force @ inverse_2 @ p.u_2
    own = force @ moved
    assert power == pytest.approx(own, abs=1e-8)
    # Were the printed constraint met, by some u_2, they would not.
    met = np.linalg.solve(SPACE.Ad(p.o_2), back @ SPACE.Ad(p.o_1) @ p.u_1 + moved)
    power = -force @ back @ inverse_1 @ p.u_1 + force @ inverse_2 @ met
    assert abs(power - own) > WRONG


def test_the_relative_velocity_of_a_joint_is_in_the_frame_of_its_second_body(
    rng: np.random.Generator,
) -> None:
    # After (29) u_r is "expressed in frame C1"; left-trivialised, by (31), it is in C2, which
    # matters where a joint has more than one freedom: here a planar one.
    include = np.eye(6)[:, [0, 1, 5]]
    start, u_r = include @ rng.normal(size=3), include @ rng.normal(size=3)
    relative = SPACE.exp(start)
    ahead, behind = (relative @ SPACE.exp(s * u_r) for s in (STEP, -STEP))
    moved = (ahead - behind) / (2 * STEP)
    agree(SPACE.vee(SPACE.inverse(relative) @ moved), u_r, DIFFERENCE)
    in_first = SPACE.vee(moved @ SPACE.inverse(relative))
    agree(in_first, SPACE.Ad(relative) @ u_r, DIFFERENCE)
    differs(in_first, u_r)


# --- source D -------------------------------------------------------------------------------------


def test_the_coupling_terms_as_printed_are_derivatives_of_a_constant(
    panda: VMSModel, rng: np.random.Generator
) -> None:
    # Prop. 1 prints A_t = (d J#^T) Jbar^T pi_e + J#^T (d Jbar^T) pi_e: that is d[I 0] pi_e = 0.
    form = TaskSpaceForm(panda, PositionTask(panda))
    q, v = state_of(panda, rng)
    t = form.evaluate(q, v)
    pi_e = np.concatenate([t.pi, t.pi_nu])
    for k, e in enumerate(np.eye(7)):
        ahead, behind = (form.evaluate(q + s * e, v) for s in (STEP, -STEP))
        whole = ahead.J_bar_inverse.T @ ahead.J_bar.T - behind.J_bar_inverse.T @ behind.J_bar.T
        np.testing.assert_allclose(whole @ pi_e / (2 * STEP), 0.0, atol=DIFFERENCE)
        # The first terms alone are what belongs there.
        first = (ahead.J_bar_inverse - behind.J_bar_inverse).T @ t.J_bar.T @ pi_e / (2 * STEP)
        agree(t.E[:, k], first, DIFFERENCE)
    # Without them nothing couples the momenta.
    assert np.abs(t.G).max() > WRONG


def test_the_regular_pseudo_inverse_inverts_the_task(panda: VMSModel) -> None:
    # Remark 1 prints J# = J^T (J J^T).
    j = PositionTask(panda).jacobian(panda.evaluate(np.full(7, 0.4), np.zeros(7)))
    agree(j @ j.T @ np.linalg.inv(j @ j.T), np.eye(3))
    differs(j @ j.T @ (j @ j.T), np.eye(3))


def test_the_shaped_potential_counts_the_own_one_once(
    panda: VMSModel, rng: np.random.Generator
) -> None:
    # (39) prints d_q Hbar + d_q Vbar, with the robot's own V in both; it is d_q Kbar + d_q Vbar.
    form = TaskSpaceForm(panda, PositionTask(panda))
    q, v = state_of(panda, rng)
    t = form.evaluate(q, v)
    added = rng.normal(size=7)
    shaped = t.d.g + added
    kinetic = form.gradient(form.state(q, v))[:7]
    # (38) without routing and damping: G is taken off as the law (37) does.
    taken_off = t.J_bar.T @ t.G @ np.concatenate([t.eta, t.nu])
    rate = form.rate(form.state(q, v), Ports(-added - taken_off)).zdot[:3]
    agree(rate, -t.J_sharp.T @ (kinetic + shaped), 1e-10)
    differs(rate, -t.J_sharp.T @ (kinetic + t.d.g + shaped))


def test_the_stiffness_at_rest_is_softened_by_the_null_space(panda: VMSModel) -> None:
    # (40) gives J#^T W J#; an arm held by springs W yields by (J W^-1 J^T) F.
    q, w = np.array([0, -0.3, 0, -1.5, 0, 1.5, 0]), 7.0 * np.eye(7)
    t = TaskSpaceForm(panda, PositionTask(panda)).evaluate(q, np.zeros(7))
    true = np.linalg.inv(t.J @ np.linalg.inv(w) @ t.J.T)
    printed = t.J_sharp.T @ w @ t.J_sharp
    np.testing.assert_allclose(np.diag(true), [87, 14, 54], atol=0.5)
    np.testing.assert_allclose(np.diag(printed), [503, 202, 69], atol=0.5)
    # With W = J^T K J + N^T K_nu N both are K.
    wanted = np.diag([100.0, 200.0, 300.0])
    w = t.J.T @ wanted @ t.J + 5.0 * t.N.T @ t.N
    agree(np.linalg.inv(t.J @ np.linalg.inv(w) @ t.J.T), wanted, 1e-10)
    agree(t.J_sharp.T @ w @ t.J_sharp, wanted, 1e-10)


# --- Pinocchio ------------------------------------------------------------------------------------


@pytest.mark.parametrize("axes", [pin.LOCAL, pin.WORLD, pin.LOCAL_WORLD_ALIGNED])
def test_pinocchio_gives_its_kinematic_hessian_in_column_major_order(
    axes: pin.ReferenceFrame, panda: VMSModel, rng: np.random.Generator
) -> None:
    if not hasattr(pin, "computeJointKinematicHessians"):
        pytest.skip("Pinocchio 3 has no kinematic Hessians in Python")
    model, q = panda.pinocchio, panda.random_configuration(rng)
    data, joint = model.createData(), model.njoints - 1

    def jacobian(q: np.ndarray) -> np.ndarray:
        pin.computeJointJacobians(model, data, q)
        return pin.getJointJacobian(model, data, joint, axes).copy()

    slopes = [(jacobian(q + STEP * e) - jacobian(q - STEP * e)) / (2 * STEP) for e in np.eye(7)]
    right = np.stack(slopes, axis=2)
    pin.computeJointJacobians(model, data, q)
    pin.computeJointKinematicHessians(model, data)
    given = np.array(pin.getJointKinematicHessian(model, data, joint, axes))
    assert given.shape == (6, 7, 7)
    differs(given, right)
    agree(given.reshape(-1).reshape(given.shape, order="F"), right, DIFFERENCE)


@pytest.mark.parametrize("kind", ["spherical", "universal", "composite"])
def test_pinocchio_has_no_coriolis_matrix_for_joints_whose_subspace_moves(
    kind: str, rng: np.random.Generator
) -> None:
    # Why such joints are refused: C v is not the bias there, and power is made.
    joints = {
        "spherical": pin.JointModelSphericalZYX,
        "universal": lambda: pin.JointModelUniversal(np.eye(3)[0], np.eye(3)[1]),
        "composite": pin.JointModelComposite,
    }
    joint = joints[kind]()
    if kind == "composite":
        joint.addJoint(pin.JointModelRX())
        joint.addJoint(pin.JointModelRY(), pin.exp6(rng.uniform(-1, 1, 6)))
    model = pin.Model()
    index = model.addJoint(0, joint, pin.SE3.Identity(), "joint")
    inertia = pin.Inertia(2.0, np.array([0.1, 0.3, 0.2]), np.diag([0.1, 0.2, 0.25]))
    model.appendBodyToJoint(index, inertia, pin.SE3.Identity())
    model.gravity.linear[:] = 0.0
    data, q, v = model.createData(), rng.uniform(-1, 1, model.nq), rng.uniform(-1, 1, model.nv)
    bias = pin.nonLinearEffects(model, data, q, v).copy()
    coriolis = pin.computeCoriolisMatrix(model, data, q, v).copy()
    assert np.abs(coriolis @ v - bias).max() > WRONG * np.abs(bias).max()
    with pytest.raises(ModelError, match="joint 'joint' is of type"):
        VMSModel.from_pinocchio(model)


def test_pinocchio_loses_digits_far_from_the_origin_in_world_axes(
    rng: np.random.Generator,
) -> None:
    # Why terms are found with the base at the origin, and never in the WORLD convention.
    model = VMSModel.from_urdf(robots.get("panda").description(), "floating")
    source = model.pinocchio
    data = source.createData()
    q, v = state_of(model, rng)
    tau = rng.normal(size=model.nv)
    here = pin.aba(source, data, q, v, tau).copy()
    c = pin.computeCoriolisMatrix(source, data, q, v).copy()
    far = q.copy()
    far[:3] += 1e4
    local = pin.aba(source, data, far, v, tau, pin.Convention.LOCAL).copy()
    world = pin.aba(source, data, far, v, tau, pin.Convention.WORLD).copy()
    scale = np.abs(here).max()
    assert np.abs(local - here).max() < 1e-9 * scale
    assert np.abs(world - here).max() > 1e-8 * scale
    far_c = pin.computeCoriolisMatrix(source, data, far, v).copy()
    assert np.abs(far_c - c).max() > 1e-9 * np.abs(c).max()
    moved = model.evaluate(far, v).C
    np.testing.assert_array_equal(moved, model.evaluate(q, v).C)

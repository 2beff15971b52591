# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Wrong lines of source B on the decoupling of base and joints; see test_errata_b."""

import numpy as np
import pinocchio as pin
import pytest

from vms_ph_dynamics import VMSModel
from vms_ph_dynamics.groups import SE3, pose

from .test_errata_b import Robot, agree, any_maps, differs, moving_robot, transformed

SPACE = SE3()


@pytest.fixture
def moving(rng: np.random.Generator) -> Robot:
    return moving_robot(rng)


def rate_of_connection(robot: Robot) -> np.ndarray:
    d = robot.d
    return np.linalg.solve(d.M_b, robot.rate[:6, 6:] - robot.rate[:6, :6] @ d.A)


def test_the_transformed_equations_hold_for_the_transformed_velocities(
    moving: Robot, rng: np.random.Generator
) -> None:
    # (1.5) prints nu_b, qdot and (F_b, tau) beside the transformed matrices; it holds for v_x,
    # v_y of (1.4) and T^-T (F_b, tau).
    d = moving.d
    force = rng.normal(size=13)
    acceleration = np.linalg.solve(d.M, force - d.C @ d.v)
    x, y = any_maps(rng)
    t = transformed(moving, d.C, x, y)
    whole = np.block([[x[0], x[0] @ d.A], [np.zeros((7, 6)), y[0]]])
    upper = x[1] @ d.A + x[0] @ rate_of_connection(moving)
    rate = np.block([[x[1], upper], [np.zeros((7, 6)), y[1]]])
    velocity, transformed_rate = whole @ d.v, whole @ acceleration + rate @ d.v
    agree(t.M @ transformed_rate + t.C @ velocity, np.linalg.solve(whole.T, force), 1e-10)
    differs(t.M @ acceleration + t.C @ d.v, force)


def test_the_gradient_of_the_coupling_inertia_is_that_of_twist_and_joint_rates(
    moving: Robot,
) -> None:
    # (3.49) prints M_bq,q^T nu_b, of 7 by 7 and 6; its proof ends with nu_b^T A_jb^T .. A_jb nu_b
    # and the derivative by q_1 in the last row. It holds for M_bq,q qdot, by q_n of both factors.
    d, model = moving.d, moving.d.model
    nu, rates = d.v[:6], d.v[6:]
    left = np.einsum("kij,i,j->k", d.dM[:, :6, 6:], nu, rates)

    step, inertias = 1e-5, [b[0] for b in moving.bodies]
    # The bodies of the tree, in the frames of their joints.
    links = [jacobian for _, jacobian, _ in moving.bodies]
    right, printed = np.zeros(7), np.zeros(7)
    for k in range(7):
        e = np.zeros(13)
        e[6 + k] = step
        ahead, behind = (joint_jacobians(model, model.integrate(d.q, s * e)) for s in (1.0, -1.0))
        for inertia, here, there, back in zip(inertias, links, ahead, behind, strict=True):
            change = (there - back) / (2 * step)
            of_base, of_joints = change[:, :6] @ nu, change[:, 6:] @ rates
            right[k] += of_joints @ inertia @ here[:, :6] @ nu
            right[k] += of_base @ inertia @ here[:, 6:] @ rates
            printed[k] += 2.0 * of_base @ inertia @ here[:, :6] @ nu
    agree(right, left, 1e-7)
    differs(printed, left)


def joint_jacobians(model: VMSModel, q: np.ndarray) -> list[np.ndarray]:
    source, data = model.pinocchio, model.pinocchio.createData()
    pin.computeJointJacobians(source, data, q)
    joints = range(1, source.njoints)
    return [pin.getJointJacobian(source, data, j, pin.LOCAL).copy() for j in joints]


def test_six_internal_velocities_leave_a_seventh_joint_to_the_coupling(
    moving: Robot, rng: np.random.Generator
) -> None:
    # (3.91) prints (qddot + D# Ddot qdot) where D# D acts on qddot, and concludes that
    # B = A M_bb^-1 M_bq (3.92); for n > 6 any B = A M_bb^-1 M_bq + N (1 - D# D) does as well.
    d = moving.d
    a, b = np.eye(6) + 0.2 * rng.normal(size=(6, 6)), rng.normal(size=(6, 7))
    inner, inner_rate = rng.normal(size=(6, 7)), rng.normal(size=(6, 7))
    joint_acceleration, rates = rng.normal(size=7), d.v[6:]
    pseudo = np.linalg.pinv(inner)

    def coupling(b: np.ndarray) -> np.ndarray:
        inverse = np.block(
            [
                [np.linalg.inv(a), -np.linalg.solve(a, b) @ pseudo],
                [np.zeros((7, 6)), pseudo],
            ]
        )
        return (inverse.T @ d.M @ inverse)[:6, 6:]

    outer = np.linalg.inv(a).T @ (d.M[:6, 6:] - d.M_b @ np.linalg.solve(a, b))
    found = coupling(b) @ (inner @ joint_acceleration + inner_rate @ rates)
    agree(outer @ (pseudo @ inner @ joint_acceleration + pseudo @ inner_rate @ rates), found, 1e-10)
    differs(outer @ (joint_acceleration + pseudo @ inner_rate @ rates), found)
    free = b @ (np.eye(7) - pseudo @ inner)
    assert np.abs(free).max() > 0.1
    for extra in (0.0 * free, free):
        agree(coupling(a @ d.A + extra), np.zeros((6, 6)))


def test_the_fourth_condition_acts_on_the_locked_velocity(
    moving: Robot, rng: np.random.Generator
) -> None:
    # (3.94), second line, prints nu_b behind C_b - M_bb A^-1 Adot; C_e nu_ext has the locked
    # velocity nu_b + M_bb^-1 M_bq qdot there.
    d = moving.d
    x, y = any_maps(rng)
    for c in (moving.hamel, moving.passive):
        t = transformed(moving, c, x, y)
        v_x, v_y = t.velocity(d)
        found = t.C[:6, :6] @ v_x + t.C[:6, 6:] @ v_y
        of_base = c[:6, :6] - d.M_b @ np.linalg.solve(x[0], x[1])
        of_joints = c[:6, 6:] + (moving.rate[:6, :6] - c[:6, :6]) @ d.A - moving.rate[:6, 6:]
        dual = np.linalg.inv(x[0]).T
        agree(dual @ (of_base @ d.v_hat + of_joints @ d.v[6:]), found, 1e-10)
        differs(dual @ (of_base @ d.v[:6] + of_joints @ d.v[6:]), found)


def inertial_frame(moving: Robot) -> tuple[np.ndarray, np.ndarray]:
    """A_ib and its rate: the inertial frame is one in which momentum is constant."""
    d = moving.d
    base = d.placement(d.model.link_names[0])
    a = SPACE.Ad(pose(base[:3, :3], base[:3, 3]))
    return a, a @ SPACE.ad(d.v[:6])


def test_the_momentum_is_invariant_and_the_external_velocity_is_not(
    moving: Robot, rng: np.random.Generator
) -> None:
    # Before (3.95): if M_e nu_ext is a constant of motion, condition 4 is fulfilled and A = A_cb.
    # With A = A_cb momentum is constant, but C_e nu_ext + C_ei nu_int = Mdot_e nu_ext is not zero;
    # it vanishes for the momentum map A_cb^-T M_bb of Prop. 3.3.2.
    d = moving.d
    a, a_rate = inertial_frame(moving)
    dual = np.linalg.inv(a).T
    dual_rate = -dual @ SPACE.ad(d.v[:6]).T
    as_velocity, as_momentum = (a, a_rate), (dual @ d.M_b, dual_rate @ d.M_b + dual @ _of(moving))
    y = any_maps(rng)[1]
    for c in (moving.hamel, moving.passive):
        velocity, momentum = (transformed(moving, c, x, y) for x in (as_velocity, as_momentum))
        v_x, v_y = velocity.velocity(d)
        # Both carry the momentum in the inertial frame.
        agree(velocity.M[:6, :6] @ v_x, dual @ d.p)
        found = velocity.C[:6, :6] @ v_x + velocity.C[:6, 6:] @ v_y
        differs(found, np.zeros(6))
        inverse, inverse_rate = np.linalg.inv(a), -np.linalg.solve(a, a_rate) @ np.linalg.inv(a)
        mass_rate = (
            inverse_rate.T @ d.M_b @ inverse
            + inverse.T @ _of(moving) @ inverse
            + inverse.T @ d.M_b @ inverse_rate
        )
        agree(found, mass_rate @ v_x, 1e-10)
        v_x, v_y = momentum.velocity(d)
        agree(momentum.C[:6, :6] @ v_x + momentum.C[:6, 6:] @ v_y, np.zeros(6), 1e-10)


def _of(moving: Robot) -> np.ndarray:
    return moving.rate[:6, :6]


def test_the_proof_of_passive_decoupling_transforms_the_twist_of_the_base(moving: Robot) -> None:
    # The proof of Prop. 3.3.2 prints a_j A_jb (nu_j + ..) and a_j A_jb (J_jq qdot - ..), whose sum
    # does not vanish; with a_j A_jb (nu_b + ..) and a_j (J_jq qdot - A_jb ..) it does, since
    # a_j nu_j = 0.
    d = moving.d
    nu, rates, locked = d.v[:6], d.v[6:], d.A @ d.v[6:]
    printed, right, scale = np.zeros(6), np.zeros(6), 0.0
    for inertia, jacobian, _ in moving.bodies:
        of_base, of_joints = jacobian[:, :6], jacobian[:, 6:]
        twist = jacobian @ d.v
        push = of_base.T @ inertia @ SPACE.ad(twist)
        printed += push @ of_base @ (twist + locked)
        printed += push @ of_base @ (of_joints @ rates - locked)
        external, internal = of_base @ (nu + locked), of_joints @ rates - of_base @ locked
        right += push @ external + push @ internal
        scale += np.abs(push @ external).max()
    assert scale > 0.1
    np.testing.assert_allclose(right, 0.0, atol=1e-12 * scale)
    differs(printed, np.zeros(6))

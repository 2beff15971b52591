# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Joints as subgroups [A, section 2.2, appendix A], and the mass matrix as [A (14)-(20)] prints it.

The mass matrix is found here body by body from our own rigid motions; only what a URDF gives
(inertias, placements and axes of the joints) is read from Pinocchio.
"""

from collections.abc import Callable

import numpy as np
import pinocchio as pin
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vms_ph_dynamics import VMSModel
from vms_ph_dynamics.groups import SE3, pose, skew
from vms_ph_io import robots

from ..conftest import random_tree, state_of
from ..joint_maps import FloatingJoint, Joint, PlanarJoint, PrismaticJoint, RevoluteJoint

SPACE = SE3()
seeds = st.integers(0, 2**31)
# Half-truncation, half-rounding: the error of a central difference is about 1e-10.
STEP, DIFFERENCE = 1e-6, 1e-8


def unit(rng: np.random.Generator) -> np.ndarray:
    axis = rng.normal(size=3)
    return axis / np.linalg.norm(axis)


def revolute(rng: np.random.Generator) -> RevoluteJoint:
    return RevoluteJoint(unit(rng), rng.uniform(-1, 1, 3), SPACE.random(rng))


def prismatic(rng: np.random.Generator) -> PrismaticJoint:
    return PrismaticJoint(unit(rng), SPACE.random(rng))


def planar(_: np.random.Generator) -> PlanarJoint:
    return PlanarJoint()


def floating(_: np.random.Generator) -> FloatingJoint:
    return FloatingJoint()


every_joint = pytest.mark.parametrize("make", [revolute, prismatic, planar, floating])
Make = Callable[[np.random.Generator], Joint]


def configuration_of(joint: Joint, rng: np.random.Generator) -> np.ndarray:
    if isinstance(joint, FloatingJoint):
        return SPACE.random(rng).ravel()
    return rng.uniform(-2, 2, joint.dimension)


@every_joint
@given(seed=seeds)
@settings(max_examples=15, deadline=None)
def test_the_pose_moves_with_the_twist_of_the_subspace(make: Make, seed: int) -> None:
    # (9)-(11): H = phi(q) and qdot = chi v give Hdot = H hat(S v), the twist in the child.
    rng = np.random.default_rng(seed)
    joint = make(rng)
    q, v = configuration_of(joint, rng), rng.uniform(-1, 1, joint.dimension)
    qdot = joint.rate_map(q) @ v
    moved = (joint.pose(q + STEP * qdot) - joint.pose(q - STEP * qdot)) / (2 * STEP)
    np.testing.assert_allclose(
        moved, joint.pose(q) @ SPACE.hat(joint.subspace @ v), atol=DIFFERENCE
    )


@every_joint
def test_the_poses_of_a_joint_are_a_subgroup_beside_its_home(
    make: Make, rng: np.random.Generator
) -> None:
    # The exponential of any motion the joint allows takes it from one of its poses to another.
    joint = make(rng)
    q, v = configuration_of(joint, rng), rng.uniform(-1, 1, joint.dimension)
    reached = joint.pose(q) @ SPACE.exp(joint.subspace @ v)
    if isinstance(joint, FloatingJoint):
        again = reached.ravel()
    elif isinstance(joint, PlanarJoint):
        again = np.array([*reached[:2, 3], np.arctan2(reached[1, 0], reached[0, 0])])
    else:
        again = q + v
    np.testing.assert_allclose(joint.pose(again), reached, atol=1e-14)


@every_joint
def test_a_force_has_the_same_power_in_the_chart_as_on_the_twist(
    make: Make, rng: np.random.Generator
) -> None:
    # (41): chi* takes the gradient of a potential to the force that is dual to v.
    joint = make(rng)
    q, point, pull = configuration_of(joint, rng), rng.uniform(-1, 1, 4), rng.normal(size=4)
    point[3] = 1.0

    def potential(q: np.ndarray) -> float:
        return float(pull @ joint.pose(q) @ point)

    gradient = np.array(
        [(potential(q + STEP * e) - potential(q - STEP * e)) / (2 * STEP) for e in np.eye(len(q))]
    )
    force = joint.dual_rate_map(q) @ gradient
    # The same force on the body, as a wrench at its origin, brought to the joint by iota*.
    local = joint.pose(q)[:3, :3].T @ pull[:3]
    wrench = np.concatenate([local, np.cross(point[:3], local)])
    np.testing.assert_allclose(force, joint.subspace.T @ wrench, atol=DIFFERENCE)
    v = rng.normal(size=joint.dimension)
    assert force @ v == pytest.approx(gradient @ (joint.rate_map(q) @ v), abs=1e-12)


def pinocchio_joint(joint: Joint) -> tuple[pin.SE3, object]:
    """The joint as Pinocchio has it, and where its parent's frame is before it."""
    if isinstance(joint, PlanarJoint):
        return pin.SE3.Identity(), pin.JointModelPlanar()
    if isinstance(joint, FloatingJoint):
        return pin.SE3.Identity(), pin.JointModelFreeFlyer()
    home = pin.SE3(joint.home)
    if isinstance(joint, PrismaticJoint):
        return home, pin.JointModelPrismaticUnaligned(joint.axis)
    return home * pin.SE3(np.eye(3), joint.point), pin.JointModelRevoluteUnaligned(joint.axis)


def pinocchio_configuration(joint: Joint, q: np.ndarray) -> np.ndarray:
    if isinstance(joint, PlanarJoint):
        return np.array([q[0], q[1], np.cos(q[2]), np.sin(q[2])])
    if isinstance(joint, FloatingJoint):
        return pin.SE3ToXYZQUAT(pin.SE3(joint.pose(q)))
    return q


@every_joint
@given(seed=seeds)
@settings(max_examples=20, deadline=None)
def test_every_joint_is_that_of_pinocchio(make: Make, seed: int) -> None:
    rng = np.random.default_rng(seed)
    joint = make(rng)
    q, v = configuration_of(joint, rng), rng.uniform(-1, 1, joint.dimension)
    placement, kind = pinocchio_joint(joint)
    model = pin.Model()
    index = model.addJoint(0, kind, placement, "joint")
    offset = joint.point if isinstance(joint, RevoluteJoint) else np.zeros(3)
    body = pin.SE3(np.eye(3), -offset)
    model.appendBodyToJoint(index, pin.Inertia.FromEllipsoid(1.5, 0.1, 0.2, 0.3), body)
    frame = model.addBodyFrame("body", index, body, 0)
    data = model.createData()
    pin.forwardKinematics(model, data, pinocchio_configuration(joint, q), v)
    pin.updateFramePlacements(model, data)
    np.testing.assert_allclose(data.oMf[frame].homogeneous, joint.pose(q), atol=1e-14)
    twist = pin.getFrameVelocity(model, data, frame, pin.LOCAL).vector
    np.testing.assert_allclose(joint.subspace @ v, twist, atol=1e-14)


def test_the_floating_joint_moves_its_pose_by_h_and_not_by_its_inverse(
    rng: np.random.Generator,
) -> None:
    # (96) prints Hdot = H^-1 hat(V); with (2) and (3) it is H hat(V).
    joint = FloatingJoint()
    q, v = SPACE.random(rng).ravel(), rng.normal(size=6)
    moved = (joint.pose(q) @ (SPACE.exp(STEP * v) - SPACE.exp(-STEP * v))) / (2 * STEP)
    right = (joint.rate_map(q) @ v).reshape(4, 4)
    printed = SPACE.inverse(joint.pose(q)) @ SPACE.hat(v)
    np.testing.assert_allclose(moved, right, atol=DIFFERENCE)
    assert np.abs(moved - printed).max() > 0.1


def test_the_velocities_of_a_planar_joint_do_not_commute() -> None:
    # A.3 gives its configurations the product structure of a circle and a plane; the group they
    # must be, for (9) to be an isomorphism, is SE(2).
    x, y, turn = (SPACE.hat(e) for e in PlanarJoint().subspace.T)
    np.testing.assert_array_equal(turn @ x - x @ turn, y)


def body_inertia(inertia: pin.Inertia) -> np.ndarray:
    """The 6x6 inertia of a body at its frame, from mass, centre and rotational inertia there."""
    m, c = inertia.mass, skew(inertia.lever)
    return np.block([[m * np.eye(3), -m * c], [m * c, inertia.inertia - m * c @ c]])


def joint_of(model: pin.Model, i: int) -> Joint:
    joint = model.joints[i]
    kind, home = joint.shortname(), model.jointPlacements[i].homogeneous
    if kind == "JointModelPlanar":
        return PlanarJoint()
    if kind == "JointModelFreeFlyer":
        return FloatingJoint()
    data = joint.createData()
    joint.calc(data, pin.neutral(model)[joint.idx_q : joint.idx_q + joint.nq], np.zeros(1))
    subspace = np.array(data.S).ravel()
    if kind.startswith("JointModelP"):
        return PrismaticJoint(subspace[:3], home)
    return RevoluteJoint(subspace[3:], home=home)


def coordinates(model: pin.Model, i: int, q: np.ndarray) -> np.ndarray:
    joint = model.joints[i]
    part = q[joint.idx_q : joint.idx_q + joint.nq]
    if joint.shortname() == "JointModelFreeFlyer":
        x, y, z, w = part[3:]
        real, imaginary = w, np.array([x, y, z])
        rotation = np.eye(3) + 2 * real * skew(imaginary) + 2 * skew(imaginary) @ skew(imaginary)
        return pose(rotation, part[:3]).ravel()
    if joint.nq == 4:
        return np.array([part[0], part[1], np.arctan2(part[3], part[2])])
    return np.array([np.arctan2(part[1], part[0])]) if joint.nq == 2 else part


def literal_mass_matrix(model: VMSModel, q: np.ndarray) -> np.ndarray:
    """M from (14) and (18)-(20), for a tree: the sums over joints run over a body's ancestors."""
    source = model.pinocchio
    full = model.tree.full_configuration(q)
    joints = {i: joint_of(source, i) for i in range(1, source.njoints)}
    poses = {i: joint.pose(coordinates(source, i, full)) for i, joint in joints.items()}
    b = model.b
    first = 1 if b == 0 else 2
    base_subspace = joints[1].subspace if b else np.zeros((6, 0))
    n = source.nv - b
    m_b, m_bm, m_m = np.zeros((b, b)), np.zeros((b, n)), np.zeros((n, n))
    if b:
        m_b += base_subspace.T @ body_inertia(source.inertias[1]) @ base_subspace
    for i in range(first, source.njoints):
        inertia = body_inertia(source.inertias[i])
        # H^k_i, the pose of body i's frame as its k-th ancestor sees it, going up to the base.
        jacobian, seen, k = np.zeros((6, n)), np.eye(4), i
        while k >= first:
            jacobian[:, source.joints[k].idx_v - b] = (
                SPACE.Ad(SPACE.inverse(seen)) @ joints[k].subspace[:, 0]
            )
            seen = poses[k] @ seen
            k = source.parents[k]
        solver_state = SPACE.Ad(SPACE.inverse(seen)) @ base_subspace
        m_b += solver_state.T @ inertia @ solver_state
        m_bm += solver_state.T @ inertia @ jacobian
        m_m += jacobian.T @ inertia @ jacobian
    whole = np.block([[m_b, m_bm], [m_bm.T, m_m]])
    p = model.tree.projection
    return whole if p is None else p.T @ whole @ p


def check_mass_matrix(model: VMSModel, rng: np.random.Generator) -> None:
    q, v = state_of(model, rng)
    d, expected = model.evaluate(q, v), literal_mass_matrix(model, q)
    expected[model.b :, model.b :] += np.diag(model.armature)
    # Sums of some dozens of products of each other's size: rounding stays within 1e-12 of M.
    np.testing.assert_allclose(d.M, expected, atol=1e-12 * np.abs(expected).max())
    b = model.b
    np.testing.assert_array_equal(d.M_b, d.M[:b, :b])
    np.testing.assert_array_equal(d.M_bm, d.M[:b, b:])
    np.testing.assert_array_equal(d.M_m, d.M[b:, b:])


@given(seeds.map(random_tree), seeds)
@settings(max_examples=30, deadline=None)
def test_the_mass_matrix_is_the_sum_over_bodies_as_printed(tree: VMSModel, seed: int) -> None:
    check_mass_matrix(tree, np.random.default_rng(seed))


def test_the_mass_matrix_of_every_bundled_robot_is_the_sum_over_bodies(
    bundled_dry: VMSModel, rng: np.random.Generator
) -> None:
    for _ in range(5):
        check_mass_matrix(bundled_dry, rng)


def test_the_mass_matrix_with_joints_that_mimic_is_the_sum_projected(
    rng: np.random.Generator,
) -> None:
    # The Panda with its hand: one finger follows the other.
    model = VMSModel.from_urdf(robots.get("panda").path().read_text(), "floating")
    assert model.tree.projection is not None
    check_mass_matrix(model, rng)

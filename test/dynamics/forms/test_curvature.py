# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The curvature of the mechanical connection [B, 3.2.4]."""

import numpy as np
import pinocchio as pin
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vms_ph_dynamics import VMSModel, momenta
from vms_ph_dynamics.forms.decoupled import DecoupledEvaluation
from vms_ph_dynamics.groups import base_group
from vms_ph_io import robots

from ..moving_trees import evaluated, moving_trees, planar_chain

seeds = st.integers(0, 2**30)


def size(x: np.ndarray) -> float:
    return float(np.abs(x).max(initial=0.0))


@given(moving_trees, seeds)
@settings(max_examples=15, deadline=None)
def test_the_two_form_is_skew_and_has_no_linear_part_at_the_centre(
    model: VMSModel, seed: int
) -> None:
    d, _ = evaluated(model, seed)
    t, group, line = DecoupledEvaluation(d), base_group(model.base), 2 if model.b == 3 else 3
    scale = max(1.0, size(t.curvature))
    assert size(t.curvature + t.curvature.transpose(1, 0, 2)) < 1e-12 * scale
    to_centre, pose = group.identity(), model.base_pose(d.q)
    centre = momenta(d).centre_of_mass - pose[:3, 3]
    to_centre[:line, -1] = -(pose[:3, :3].T @ centre)[:line]
    assert size((t.curvature @ group.Ad(to_centre).T)[:, :, :line]) < 1e-11 * scale
    # Paired with the momentum it is the gyroscopic matrix of the decoupled form.
    assert size(t.curvature @ d.p - t.B) < 1e-10 * max(1.0, size(t.B))


@given(moving_trees, seeds)
@settings(max_examples=20, deadline=None)
def test_the_two_form_is_the_commutator_of_second_derivatives(model: VMSModel, seed: int) -> None:
    """[B (3.72)] by differences of the connection."""
    d, _ = evaluated(model, seed)
    group, b, n, h = base_group(model.base), model.b, model.n, 1e-5

    def connection(j: int, step: float) -> np.ndarray:
        move = np.zeros(model.nv)
        move[b + j] = step
        return model.evaluate(model.integrate(d.q, move), d.v).A

    slope = [(connection(j, h) - connection(j, -h)) / (2 * h) for j in range(n)]
    found = DecoupledEvaluation(d).curvature
    for i in range(n):
        for j in range(n):
            bracket = group.ad(d.A[:, i]) @ d.A[:, j]
            expected = slope[j][:, i] - slope[i][:, j] + bracket
            # Central differences: rounding over 2 h.
            assert size(found[i, j] - expected) < 1e-7 * max(1.0, size(found))


def around(model: VMSModel, q: np.ndarray, i: int, j: int, side: float, steps: int) -> np.ndarray:
    """The pose of the base after a square loop of two joints at zero momentum."""
    group, pose = base_group(model.base), base_group(model.base).identity()
    for axis, sign in ((i, 1.0), (j, 1.0), (i, -1.0), (j, -1.0)):
        move = np.zeros(model.nv)
        move[model.b + axis] = sign * side / steps
        for _ in range(steps):
            middle = model.evaluate(model.integrate(q, 0.5 * move), move)
            # Midpoint rule for v_b = -A qdot.
            pose = pose @ group.exp(-middle.A @ move[model.b :])
            q = model.integrate(q, move)
    return pose


@pytest.mark.parametrize("base", ["planar", "floating"])
def test_a_small_loop_of_two_joints_turns_the_base_by_the_curvature(
    base: str, rng: np.random.Generator
) -> None:
    model = VMSModel.from_urdf(robots.get("panda").description(), base)  # type: ignore[arg-type]
    q, side = model.random_configuration(rng), 1e-2
    found = DecoupledEvaluation(model.evaluate(q, np.zeros(model.nv))).curvature
    pairs = [(0, 1), (1, 3)] if base == "floating" else [(0, 1), (0, 2)]
    for i, j in pairs:
        # The loop is centred, so that its error is of the fourth order in its side.
        corner = np.zeros(model.nv)
        corner[[model.b + i, model.b + j]] = -0.5 * side
        group = base_group(model.base)
        moved = group.log(around(model, model.integrate(q, corner), i, j, side, 20))
        predicted = side**2 * found[i, j]
        angular = slice(3, 6) if base == "floating" else slice(2, 3)
        assert size(predicted[angular]) > 1e-8
        # The starting corner sees the base half a side away: a relative error of that order.
        np.testing.assert_allclose(
            moved[angular], predicted[angular], rtol=0, atol=2 * side * size(predicted)
        )


def test_no_arm_of_many_joints_is_integrable(rng: np.random.Generator) -> None:
    for base in ("planar", "floating"):
        model = VMSModel.from_urdf(robots.get("panda").description(), base)
        d = model.evaluate(model.random_configuration(rng), np.zeros(model.nv))
        angular = DecoupledEvaluation(d).curvature[:, :, slice(3, 6) if model.b == 6 else [2]]
        assert size(angular) > 1e-3


def test_one_joint_and_prismatic_joints_through_the_centre_are_integrable(
    rng: np.random.Generator,
) -> None:
    """Two slides along lines through the centre of mass: flat, and no turn at all."""
    model = pin.Model()
    root = model.addJoint(0, pin.JointModelPlanar(), pin.SE3.Identity(), "root")
    model.appendBodyToJoint(root, pin.Inertia(1.0, np.zeros(3), np.eye(3)), pin.SE3.Identity())
    for i, sign in enumerate((1.0, -1.0)):
        place = pin.SE3(np.diag([sign, sign, 1.0]), np.zeros(3))
        slide = model.addJoint(root, pin.JointModelPX(), place, f"slide_{i}")
        body = pin.Inertia(0.2, np.zeros(3), np.zeros((3, 3)))
        model.appendBodyToJoint(slide, body, pin.SE3.Identity())
        model.addBodyFrame(f"mass_{i}", slide, pin.SE3.Identity(), 0)
    for robot in (VMSModel.from_pinocchio(model), planar_chain(1, rng)):
        d = robot.evaluate(robot.random_configuration(rng), np.zeros(robot.nv))
        assert size(DecoupledEvaluation(d).curvature) < 1e-14

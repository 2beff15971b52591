# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""External and internal velocity of a robot [B, 3.3.4]."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vms_ph_dynamics import Evaluation, ExternalInternal, StateError, VMSModel
from vms_ph_dynamics.decoupling import BodyCoriolis, centre_of_mass_frame, internal_jacobian
from vms_ph_io import robots

from ..moving_trees import free_acceleration, moved, planar_chain

seeds = st.integers(0, 2**30)


def size(x: np.ndarray) -> float:
    return float(np.abs(x).max(initial=0.0))


def arm(rng: np.random.Generator) -> Evaluation:
    model = VMSModel.from_urdf(robots.get("panda").description(), "floating", "panda_link8")
    return model.evaluate(model.random_configuration(rng), rng.uniform(-1, 1, model.nv))


def leg(joints: int, rng: np.random.Generator) -> Evaluation:
    model = planar_chain(joints, rng)
    return model.evaluate(model.random_configuration(rng), rng.uniform(-1, 1, model.nv))


def internal_rate(d: Evaluation, frame: str) -> np.ndarray:
    """The derivative of the internal Jacobian along the motion, by central differences."""
    h = 1e-6
    rest = np.zeros(d.model.nv)
    ahead, back = (internal_jacobian(moved(d, rest, s * h), frame) for s in (1, -1))
    return (ahead - back) / (2 * h)


def decomposed(d: Evaluation, alignment: str = "inertial") -> ExternalInternal:
    frame = d.model.end_effector
    c = centre_of_mass_frame(d, alignment)  # type: ignore[arg-type]
    return ExternalInternal(d, c, internal_jacobian(d, frame), internal_rate(d, frame))


@given(seeds)
@settings(max_examples=20, deadline=None)
def test_the_velocity_of_a_body_is_the_sum_of_both(seed: int) -> None:
    rng = np.random.default_rng(seed)
    for d, rows in ((arm(rng), slice(0, 6)), (leg(2, rng), [0, 1, 5])):
        b, tool = d.model.b, d.J_end_effector
        split = decomposed(d)
        external, internal = split.velocity[:b], split.velocity[b:]
        to_tool = (tool[:, :b] @ np.linalg.inv(split.frame.A))[rows]
        np.testing.assert_allclose(
            to_tool @ external + internal, (tool @ d.v)[rows], rtol=0, atol=1e-11
        )


def test_with_enough_joints_the_task_is_met_and_torques_do_not_reach_the_outside(
    rng: np.random.Generator,
) -> None:
    d = arm(rng)
    split = decomposed(d)
    assert split.covers == "task"
    assert size(split.projector - np.eye(12)) < 1e-10
    assert size(split.M[:6, 6:]) < 1e-11
    torque = np.concatenate([np.zeros(6), rng.uniform(-5, 5, 7)])
    assert size(split.force(torque)[:6]) == 0.0
    # A weighted inverse is one too.
    weight = np.diag(rng.uniform(1, 3, 7))
    weighted = ExternalInternal(d, split.frame, split.D, weight=weight)
    assert size(weighted.projector - np.eye(12)) < 1e-10
    assert size(weighted.D_inverse - split.D_inverse) > 1e-3


def test_the_hamel_matrix_decouples_the_external_velocity_in_any_alignment(
    rng: np.random.Generator,
) -> None:
    for d in (arm(rng), leg(3, rng)):
        b = d.model.b
        for alignment in ("inertial", "locked"):
            split = decomposed(d, alignment)
            # The internal velocity is D qdot: C_ei vanishes on it, whatever D_rate is.
            hamel = split.coriolis(d.C_hamel)
            assert size(hamel[:b, b:]) < 1e-9
            passive = split.coriolis(BodyCoriolis(d).passive)
            assert size(passive[:b, b:]) > 1e-4


def test_in_the_inertial_alignment_the_momentum_of_the_external_velocity_is_conserved(
    rng: np.random.Generator,
) -> None:
    d = leg(3, rng)
    split = decomposed(d)
    external = split.velocity[:3]
    momentum = split.M[:3, :3] @ external
    np.testing.assert_allclose(momentum, split.frame.momentum(d), atol=1e-12)


@given(seeds)
@settings(max_examples=20, deadline=None)
def test_with_one_joint_no_motion_is_lost_and_the_equations_hold_on_the_image(
    seed: int,
) -> None:
    rng = np.random.default_rng(seed)
    d = leg(1, rng)
    split = decomposed(d)
    b, nv = d.model.b, d.model.nv
    assert split.covers == "joints"
    assert size(split.inverse @ split.matrix - np.eye(nv)) < 1e-11
    projector = split.projector
    assert size(projector @ projector - projector) < 1e-11
    assert np.linalg.matrix_rank(projector) == nv
    # What [B] asks for, D D# = 1, cannot be had.
    assert size(projector - np.eye(6)) > 0.1
    # (3.89) holds on the image: with nudot found from the robot's own motion.
    force = rng.uniform(-5, 5, nv)
    acceleration = free_acceleration(d, force)
    rate = split.matrix @ acceleration + split.rate @ d.v
    for matrix in (d.C_hamel, BodyCoriolis(d).passive):
        left = split.M @ rate + split.coriolis(matrix) @ split.velocity
        np.testing.assert_allclose(
            projector.T @ left,
            split.force(force),
            # D_rate is a difference quotient of step 1e-6.
            atol=1e-7 * max(1.0, size(acceleration)),
        )
    assert size(split.M[:b, b:]) < 1e-11


def test_with_as_many_joints_as_rows_both_inverses_are_one(rng: np.random.Generator) -> None:
    split = decomposed(leg(3, rng))
    assert split.covers == "both"
    assert size(split.projector - np.eye(6)) < 1e-9


def test_a_singular_internal_jacobian_is_refused_in_words(rng: np.random.Generator) -> None:
    d = leg(2, rng)
    c = centre_of_mass_frame(d)
    with pytest.raises(StateError, match="neither D D# = 1 nor D# D = 1"):
        ExternalInternal(d, c, np.ones((3, 2)))
    with pytest.raises(StateError, match="with 2 columns, one per joint"):
        ExternalInternal(d, c, np.ones((3, 3)))
    with pytest.raises(StateError, match="needs D_rate"):
        ExternalInternal(d, c, internal_jacobian(d, "foot")).coriolis(BodyCoriolis(d).passive)
